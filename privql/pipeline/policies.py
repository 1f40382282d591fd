"""From where a policy is read, and where its tables' rows are.

A path in FROM is relative to the policy's folder. The ledger keeps that folder beside the text, in a comment at its
head, so that what it keeps is still a policy that can be read, compared and applied again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from traceback import extract_tb

from privql.diagnostics import NOWHERE, Source, refuse
from privql.engines.connections import ConnectionProblem, Connections, scheme, shown
from privql.engines.interface import Engine, OwnerLog
from privql.engines.interface import Source as Rows
from privql.engines.opening import Engines, open_engine
from privql.ledger import BudgetRow, GrantRow, Ledger, PolicyRecord
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog, Table
from privql.policy.findings import accepted, listing, nearest
from privql.syntax import ast, parse_file, unparse

_HEAD = "-- privql policy "


def read_policy(policy: str | Path) -> tuple[Source, Path]:
    """A policy's text and its folder. A string with a line's end or a `;` is the text itself, any other its path."""
    if isinstance(policy, str) and ("\n" in policy or ";" in policy):
        return Source(policy, "<policy>"), Path.cwd()
    path = Path(policy)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError:
        raise refuse("PQL0740", f"the policy `{path}` cannot be read", NOWHERE, help="check the path") from None
    except UnicodeDecodeError:
        raise refuse("PQL0740", f"the policy `{path}` is not UTF-8 text", NOWHERE, help="save it as UTF-8") from None
    return Source(text, path.name), path.resolve().parent


def bindings(
    catalog: Catalog,
    base: Path,
    frames: Mapping[str, object] | None = None,
    connections: Connections | None = None,
) -> dict[str, Rows]:
    """The rows of every table that has a FROM or a frame, by its declared name. Other tables stay unbound."""
    bound = {
        table.name: Rows(files=tuple(str(base / file) for file in table.files))
        for table in catalog.tables
        if table.files
    }
    for behind in catalog.tables:
        if behind.connection:
            bound[behind.name] = Rows(_database(behind, connections), inside=behind.connection[1:])
    for name, frame in (frames or {}).items():
        table = catalog.table(name)
        if table is None:
            meant = nearest(name, [each.name for each in catalog.tables])
            known = listing(each.name for each in catalog.tables)
            raise refuse(
                "PQL0744",
                f"a frame is given for `{name}`, which the policy does not declare",
                NOWHERE,
                help=f"did you mean `{meant}`?" if meant else f"the tables are {known}",
            )
        if not any(hasattr(frame, mark) for mark in ("__arrow_c_stream__", "__dataframe__", "columns")):
            raise refuse(
                "PQL0744",
                f"what is given for `{table.name}` is a {type(frame).__name__}, not a frame",
                NOWHERE,
                help="give a pandas, Polars or Arrow frame",
            )
        if table.name in bound:
            raise refuse(
                "PQL0744",
                f"a frame is given for `{table.name}`, whose rows come from {'files' if table.files else 'a database'}",
                NOWHERE,
                why="the policy says `FROM`, and a table has one source",
                help="give no frame, or leave `FROM` out of the policy",
            )
        bound[table.name] = Rows(frame=frame)
    return bound


def _database(table: Table, connections: Connections | None) -> tuple[str, ...]:
    """The file of a DuckDB database. What leads to none is said when it is opened: who only checks needs none."""
    try:
        address = None if connections is None else connections.find(table.connection[0])
    except ConnectionProblem:
        return ()
    return (address,) if isinstance(address, str) and scheme(address) == "duckdb" else ()


class OwnersLog:
    """What an engine truly said last. It may quote rows and addresses: for the owner alone."""

    def __init__(self) -> None:
        self.cause: BaseException | None = None

    def __call__(self, cause: BaseException) -> None:
        self.cause = cause

    def taken(self) -> str:
        """Its words, once."""
        cause, self.cause = self.cause, None
        if cause is None:
            return ""
        where = extract_tb(cause.__traceback__)[-1:]  # an engine's words need none, a fault of our own has few else
        return f"{type(cause).__name__}: {cause}" + "".join(f" ({one.filename}:{one.lineno})" for one in where)

    def of_connection(self) -> tuple[str, str]:
        """Why it cannot be used, without a password, and what to do."""
        cause, self.cause = self.cause, None
        lines = shown(str(cause)).splitlines() if cause is not None else []
        return lines[0] if lines else "", cause.help if isinstance(cause, ConnectionProblem) else ""


def leads(given: Mapping[str, object] | str | os.PathLike[str] | None, base: Path) -> Connections:
    """Where connections lead: as Python says, or the file that it names, or what is found beside the policy."""
    if given is None or isinstance(given, Mapping):
        return Connections(given or {}, folder=str(base))
    return Connections(file=os.fspath(given), folder=str(base))


def engines(catalog: Catalog, bound: Mapping[str, Rows], connections: Connections, owner_log: OwnerLog) -> Engines:
    """One engine for all of these tables; behind it one for each connection, and one for files and frames."""
    from privql.engines.duckdb import DuckDBEngine

    places = {table.name: table.place for table in catalog.tables if table.name in bound}
    names = {table.place: table.connection[0] for table in catalog.tables if table.connection}

    def opens(place: str) -> Engine:
        here = {name: bound[name] for name, at in places.items() if at == place}
        if not place:
            return DuckDBEngine(here, owner_log=owner_log)
        inside = {name: rows.inside for name, rows in here.items()}
        return open_engine(connections.find(names[place]), inside, owner_log)

    return Engines(places, opens, owner_log)


def stored_text(source: Source, base: Path) -> str:
    """What a ledger keeps of a policy."""
    return _HEAD + json.dumps({"name": source.name, "folder": str(base)}) + "\n" + source.text


def meaning(source: Source, base: Path) -> str:
    """What a checked query rests on: all that is declared but budgets, grants and the state of the data."""
    moved = ast.CreateBudget | ast.AlterBudget | ast.Grant | ast.Refresh | ast.PadTime
    kept = [unparse(each.statement) for each in parse_file(source)[0] if not isinstance(each.statement, moved)]
    return json.dumps([str(base), *kept])


def declared(catalog: Catalog) -> tuple[list[BudgetRow], list[GrantRow]]:
    """Its budgets and grants as a ledger knows them."""
    budgets = [
        BudgetRow(
            each.name,
            each.unit,
            each.epsilon,
            each.delta,
            each.default_epsilon,
            each.default_delta,
            each.max_epsilon,
            each.shares,
            each.every,
        )
        for each in catalog.budgets
    ]
    return budgets, [GrantRow(each.budget, each.analyst, each.epsilon, each.delta) for each in catalog.grants]


def catalog_from_ledger(ledger: Ledger) -> tuple[Catalog, Source, Path, int]:
    """The policy in force, its text, the folder that its paths start from, and its version."""
    record = ledger.policy()
    return *read_record(record), record.version


def owners_text(record: PolicyRecord) -> str:
    """As the owner wrote it."""
    return record.text.partition("\n")[2]


def read_record(record: PolicyRecord) -> tuple[Catalog, Source, Path]:
    kept = json.loads(record.text.partition("\n")[0].removeprefix(_HEAD))
    source = Source(owners_text(record), kept["name"])
    return accepted(*build_catalog(source)), source, Path(kept["folder"])
