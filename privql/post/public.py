"""Public tables on the engine for post-processing, which may read their files and nothing else of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from privql.engines.duckdb.session import give_meaning, shut_in
from privql.engines.duckdb.sources import described, paths, read_scan, table_of_files
from privql.engines.interface import EngineError, Source
from privql.engines.sql.relations import Names
from privql.engines.sql.stored import Table
from privql.kernel.scalars import ValueType
from privql.kernel.terms import Scan, Unit
from privql.post.emit import Leaf
from privql.post.pieces import ROW
from privql.post.values import read

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,  # so that sums of floats do not vary
    "temp_directory": "",
}


def connected(files: Iterable[str]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config=_CONFIG)
    give_meaning(connection)
    shut_in(connection, files)
    connection.execute("SELECT 1").fetchall()  # what is left of the last answer would keep frames from being registered
    return connection


def public_leaf(
    connection: duckdb.DuckDBPyConnection, table: str, source: Source, columns: Sequence[tuple[str, ValueType]]
) -> Leaf:
    opened = _opened(connection, table, source)
    for column, _ in columns:
        if opened.columns and opened.column(column) is None:
            raise EngineError("missing column", table, column)
    rows = read_scan(Scan(table, Unit("row"), None, False, tuple(columns)), opened, Names())
    made = []
    for at, (column, type) in enumerate(columns):
        spelled = rows.columns[column].spelled.sql
        made.append(f'{read(spelled, type) if type.kind == "FLOAT" else spelled} AS "{at}"')
    made.append(f"row_number() OVER () - 1 AS {ROW}")
    wanted = ", ".join(made)
    return Leaf(f"(SELECT {wanted} FROM ({rows.sql(wanted)}))", tuple(column for column, _ in columns))


def _opened(connection: duckdb.DuckDBPyConnection, table: str, source: Source) -> Table:
    if source.frame is not None:
        name = f'"public {table.encode().hex()}"'
        connection.register(name.strip('"'), source.frame)
        return Table(name, described(connection, name))
    files = paths(source)
    if not files:
        raise EngineError("missing source", table)
    return table_of_files(connection, table, files)
