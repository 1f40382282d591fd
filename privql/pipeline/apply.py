"""The owner's word meets the data and the ledger: what a policy claims is verified, then it is in force.

Only this creates a ledger, and every version stays in it. Nothing here is an analyst's: that a key is broken is a
fact about the data, told to its owner alone, and never with a value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from privql.check.conditions import present
from privql.diagnostics import NOWHERE, Diagnostic, Source, refuse
from privql.engines.interface import Engine, EngineError, Progressing
from privql.engines.interface import Source as Rows
from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.features import Tally
from privql.kernel.scalars import Field
from privql.kernel.sums import Sums
from privql.kernel.terms import Scan, Unit
from privql.ledger import NO_NOTE, Ledger, LedgerError, Note
from privql.names import fold
from privql.pipeline.policies import (
    OwnersLog,
    bindings,
    declared,
    engines,
    leads,
    meaning,
    read_policy,
    stored_text,
)
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog, Column, Table
from privql.policy.findings import Findings, accepted
from privql.syntax import quote

_AT_ONCE = 100  # columns: a statement of a thousand is slow, or beyond what a server takes


@frozen
class AppliedPolicy:
    """The version now in force, what its owner may want to reconsider, and what units have lost so far.

    A unit or a budget of another name starts anew, so its owner is shown what stands under the old ones.
    """

    version: int
    warnings: tuple[Diagnostic, ...]
    lost: Mapping[str, Cost]

    def __str__(self) -> str:
        out = [*map(str, self.warnings), f"version {self.version} of the policy is in force"]
        if self.lost:
            out[-1] += "\nlost so far: " + "; ".join(f"{unit} {cost}" for unit, cost in self.lost.items())
        return "\n\n".join(out)

    def to_json(self) -> dict[str, Any]:
        lost = {unit: {"epsilon": str(cost.epsilon), "delta": str(cost.delta)} for unit, cost in self.lost.items()}
        return {"version": self.version, "warnings": [each.to_json() for each in self.warnings], "lost": lost}


Watch = Callable[[str, Callable[[], float | None] | None], AbstractContextManager[object]]


def unwatched(what: str, progress: Callable[[], float | None] | None) -> AbstractContextManager[object]:
    return nullcontext()


def apply_policy(
    policy: str | Path,
    ledger: str | Path,
    frames: Mapping[str, object] | None = None,
    *,
    reason: str = "",
    by: str = "",
    connections: Mapping[str, object] | str | os.PathLike[str] | None = None,
    watch: Watch = unwatched,
) -> AppliedPolicy:
    """Read, verify on the data, and put in force; a PrivQLError says all that stands against it.

    `reason`: why less may be protected than before, where it is; `by`: who applies it. The ledger keeps both. `watch`:
    who is shown how far the reading of a table is.
    """
    from privql.pipeline.other_ledgers import other_ledgers
    from privql.pipeline.versions import compared_at, complained

    source, base = read_policy(policy)
    catalog, found = build_catalog(source)
    accepted(catalog, found)
    diff = compared_at(ledger, catalog)
    if not reason.strip():
        accepted(catalog, complained(diff, source))
    leading = leads(connections, base)
    bound = bindings(catalog, base, frames, leading)
    files = {table: fingerprint(rows) for table, rows in bound.items()}  # before the data is read: it may change after
    log = OwnersLog()
    engine = engines(catalog, bound, leading, log)
    try:
        found += verify(catalog, engine, source, bound, log, watch)
        if not any(each.severity == "error" for each in found):
            found += never_as_declared(catalog, engine, source, bound, watch)
    finally:
        engine.close()
    accepted(catalog, found)
    try:
        with Ledger.create(ledger) as opened:
            found += other_ledgers(ledger, opened, catalog, base)
            note = Note(reason.strip(), by, meaning(source, base))
            version = put_policy(opened, catalog, source, base, note, diff.version)
            unstated = _unstated(opened, files, catalog, diff.before)
            found += unstated.values()
            divided = _dividing(catalog)
            for table, told in files.items():
                if told is not None and not (table in unstated and table in divided):
                    opened.mark_verified(table, told)
            return AppliedPolicy(version, tuple(found), opened.losses())
    except LedgerError as problem:
        raise refuse("PQL0510", str(problem), NOWHERE) from None


def fingerprint(rows: Rows) -> str | None:
    """When and how long the files of a table are; None for a frame or a server. It says only whether to verify again.

    With the time of the last change to the file itself: a copy that keeps length and date is told apart by it.
    """
    from privql.engines.duckdb.sources import paths

    if not rows.files:
        return None
    found = []
    beside = (
        [f"{path}.wal" for path in paths(rows)] if rows.inside else []
    )  # of a database: what is not yet in its file
    for path in [*paths(rows), *filter(os.path.exists, beside)]:
        told = os.stat(path)
        found.append([path, told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_ino])
    return json.dumps(found)


def _unstated(
    ledger: Ledger, files: Mapping[str, str | None], catalog: Catalog, before: Catalog
) -> dict[str, Diagnostic]:
    """Tables whose files changed since they were verified, and of which no new REFRESH says so."""
    labels, known, divided = dict(catalog.refreshed), dict(before.refreshed), _dividing(catalog)
    alone = ", and one that reads single parts is charged to all units, who may be in others now"
    return {
        table: Diagnostic(
            "PQL0748",
            f"the files of `{table}` changed since they were verified",
            NOWHERE,
            why="while nothing states it, a query that was answered before gets its old answer"
            + (alone if table in divided else ""),
            help=f"if the data changed, write `REFRESH {quote(table)} AS '…';`",
            severity="warning",
        )
        for table, told in files.items()
        if told is not None and ledger.verified(table) not in (None, told) and labels.get(table) == known.get(table)
    }


def _dividing(catalog: Catalog) -> frozenset[str]:
    """On whose data it depends in which part a unit is."""
    divided = [table.name for table in catalog.tables if table.parts_by is not None]
    return frozenset(divided).union(*map(catalog.reached, divided))


def put_policy(
    ledger: Ledger, catalog: Catalog, source: Source, base: Path, note: Note = NO_NOTE, after: int | None = None
) -> int:
    """The version in force afterwards: a new one if anything changed. The data is the version REFRESH states last."""
    tables = [table.name for table in catalog.tables]
    version = ledger.apply_policy(stored_text(source, base), *declared(catalog), tables, note, after)
    for table, label in dict(catalog.refreshed).items():
        ledger.refresh(table, label)
    return version


def verify(
    catalog: Catalog,
    engine: Engine,
    source: Source,
    bound: Collection[str],
    log: OwnersLog | None = None,
    watch: Watch = unwatched,
) -> list[Diagnostic]:
    """Whether the data has the declared columns and keeps every declared KEY. `bound`: the tables that have data.
    `log`: what the engine truly said, of a connection that cannot be used."""
    found = Findings(source)
    with_data = {fold(name) for name in bound}
    for table in catalog.tables:
        if fold(table.name) in with_data:
            progress = engine.progress if isinstance(engine, Progressing) else None
            with watch(f"verifying {table.name}", progress):
                if _columns_there(table, engine, found, log or OwnersLog()) and _readable(table, engine, found):
                    _keys_kept(table, engine, found)
        elif table.private and table.keys:
            found.warning(
                "PQL0745",
                f"the keys of `{table.name}` are not verified yet",
                found.name(table.span, table.name),
                why="no data is bound to it",
                help="they will be when a frame is bound by this name",
            )
    return found.diagnostics


def never_as_declared(
    catalog: Catalog, engine: Engine, source: Source, bound: Collection[str], watch: Watch = unwatched
) -> list[Diagnostic]:
    """Columns of which no value reads as declared. A warning: one that nothing was written into yet looks the same."""
    found, with_data = Findings(source), {fold(name) for name in bound}
    for table in catalog.tables:
        if fold(table.name) not in with_data:
            continue
        for column in _all_null(table, engine, watch):
            found.warning(
                "PQL0751",
                f"`{table.name}` holds no {column.type} in `{column.name}`",
                found.name(column.span, column.name),
                why="read as declared it is NULL in every row",
                help="declare the type that the data has, or cast it there",
            )
    return found.diagnostics


def _all_null(table: Table, engine: Engine, watch: Watch) -> list[Column]:
    """Columns that are NULL in every row, where there are rows. The counts are told to nobody."""
    found: list[Column] = []
    progress = engine.progress if isinstance(engine, Progressing) else None
    with watch(f"reading {table.name}", progress):
        for at in range(0, len(table.columns), _AT_ONCE):
            columns = table.columns[at : at + _AT_ONCE]
            there = (present(Field(column.name, column.type)) for column in columns)
            tallies = Sums(_scan(table, columns), (), (Tally(), *map(Tally, there)))
            with suppress(EngineError):  # whether the data can be read was asked before; a warning is not worth more
                ((rows, *counts),) = engine.run(tallies, b"").tolist()
                found += [column for column, count in zip(columns, counts, strict=True) if rows and not count]
    return found


def _columns_there(table: Table, engine: Engine, found: Findings, log: OwnersLog) -> bool:
    try:
        engine.preflight([_scan(table, table.columns)])
    except EngineError as error:
        if error.kind == "unreachable":
            why, help = log.of_connection()
            place = found.last_name(table.span, table.connection[0]) if table.connection else table.span
            told = f"the rows of `{table.name}` cannot be reached"
            found.error("PQL0750", told, place, why=why, help=help or "`privql doctor` looks at each connection")
            return False
        if error.kind != "missing column":
            found.error("PQL0741", str(error), found.name(table.span, table.name), help=_help(table, error))
            return False
        for column in table.columns:
            if _missing(table, column, engine):
                found.error(
                    "PQL0742",
                    f"the data of `{table.name}` has no column `{column.name}`",
                    found.name(column.span, column.name),
                    help="name it as the data does, or leave it out",
                )
        return False
    return True


def _help(table: Table, error: EngineError) -> str:
    if error.kind == "exposed source":
        server = "`REVOKE … FROM PUBLIC` on a server, " if table.connection else ""
        return f"take the right to write from others: {server}`chmod o-w` on the files and their folder"
    if table.connection and error.kind == "unreadable source":
        return "let the role there read the declared columns: `privql source script` writes down how"
    if table.connection:
        return f"check what stands after `{table.connection[0]}` in FROM: the names of the schema and the table there"
    if table.files:
        return "check the path after `FROM`: it starts from the folder of the policy, and ends with the format"
    return "bind a pandas, Polars or Arrow frame"


def _missing(table: Table, column: Column, engine: Engine) -> bool:
    try:
        engine.preflight([_scan(table, (column,))])
    except EngineError:
        return True
    return False


def _scan(table: Table, columns: tuple[Column, ...]) -> Scan:
    """A reading of the plain columns, of rows that no unit has to be found for."""
    return Scan(table.name, table.unit or Unit(""), None, False, tuple((each.name, each.type) for each in columns))


def _readable(table: Table, engine: Engine, found: Findings) -> bool:
    if engine.readable(table.name, tuple((column.name, column.type) for column in table.columns)):
        return True
    found.error(
        "PQL0741",
        f"the data of table `{table.name}` cannot be read",
        found.name(table.span, table.name),
        why="a stored value is damaged: no query could finish",
        help="mend the file, for example text that is not UTF-8",
    )
    return False


def _keys_kept(table: Table, engine: Engine, found: Findings) -> None:
    try:
        for column in table.never_null:
            if not engine.complete(table.name, ((column.name, column.type),)):
                found.error(
                    "PQL0743",
                    f"the data of `{table.name}` breaks its key",
                    found.name(column.span, column.name),
                    label=f"`{column.name}` is NULL in some row, or no {column.type}",
                    why="a key leads to one row",
                    help=f"write `{column.name} {column.type} NOT NULL` to drop such rows, or mend the data",
                )
        for key in table.keys:
            columns = [named for name in key if (named := table.column(name)) is not None]
            if not engine.unique(table.name, tuple((column.name, column.type) for column in columns)):
                _twins(table, columns, found)
    except EngineError as error:
        found.error("PQL0741", str(error), found.name(table.span, table.name), help="check that the data is whole")


def _twins(table: Table, columns: Sequence[Column], found: Findings) -> None:
    told = " and ".join(f"`{column.name}`" for column in columns)
    of_unit = [column.name for column in columns] == [table.unit_column]
    alone = len(columns) == 1 and columns[0].key
    found.error(
        "PQL0743",
        f"the data of `{table.name}` breaks its key",
        found.name(columns[0].span, "KEY") if alone else found.last_name(table.span, "KEY"),
        label=f"two rows share {told}",
        why="every bound on what one unit can change would be wrong" if of_unit else "a key leads to one row",
        help="declare `AT MOST n ROWS PER UNIT` instead, or mend the data"
        if of_unit
        else "leave `KEY` out, or mend the data",
    )
