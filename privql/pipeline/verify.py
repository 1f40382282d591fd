"""Whether the data is what a policy declares: its columns are there and can be read, and every KEY holds.

All of it is the owner's to know: no message quotes a value, and none is an analyst's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext

from privql.check.conditions import present
from privql.diagnostics import Diagnostic, Source
from privql.engines.interface import Engine, EngineError, Progressing
from privql.kernel.features import Tally
from privql.kernel.scalars import Field
from privql.kernel.sums import Sums
from privql.kernel.terms import Scan, Unit
from privql.names import fold
from privql.pipeline.policies import OwnersLog
from privql.policy.catalog import Catalog, Column, Table
from privql.policy.findings import Findings

_AT_ONCE = 100  # columns: a statement of a thousand is slow, or beyond what a server takes

Watch = Callable[[str, Callable[[], float | None] | None], AbstractContextManager[object]]


def unwatched(what: str, progress: Callable[[], float | None] | None) -> AbstractContextManager[object]:
    return nullcontext()


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


def without_values(table: Table, engine: Engine, watch: Watch = unwatched) -> list[Column]:
    """Columns of which no value reads as declared, although there are rows. The counts are told to nobody."""
    found: list[Column] = []
    progress = engine.progress if isinstance(engine, Progressing) else None
    with watch(f"reading {table.name}", progress):
        for at in range(0, len(table.columns), _AT_ONCE):
            columns = table.columns[at : at + _AT_ONCE]
            there = (present(Field(column.name, column.type)) for column in columns)
            tallies = Sums(_scan(table, columns), (), (Tally(), *map(Tally, there)))
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
