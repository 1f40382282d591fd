"""Tables of DuckDB databases: files that are attached, to be read alone, before the engine is shut in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from privql.engines.connections import ConnectionProblem
from privql.engines.duckdb.sources import STORED_TEXT, described, paths
from privql.engines.interface import EngineError, OwnerLog, Source, Stored, Tables
from privql.engines.sql.expressions import name, text
from privql.engines.sql.stored import Table

if TYPE_CHECKING:
    import duckdb

    from privql.engines.duckdb.engine import DuckDBEngine


def open(  # the name that every engine's module has for it
    address: object, tables: Tables, owner_log: OwnerLog
) -> DuckDBEngine:
    """An engine over the tables of one database, at its path."""
    from privql.engines.duckdb.engine import DuckDBEngine

    path = str(address)
    if not os.path.isfile(path):
        raise ConnectionProblem(f"there is no database at `{path}`", "check the path: a DuckDB database is a file")
    return DuckDBEngine(
        {table: Source((path,), inside=inside) for table, inside in tables.items()}, owner_log=owner_log
    )


def of_values(
    address: object,
    stored: Stored,
    owner_log: OwnerLog,
) -> DuckDBEngine:
    """An engine for which these are the tables, for the conformance kit: in its memory, which is all that it writes."""
    from privql.engines.duckdb.engine import DuckDBEngine

    engine = DuckDBEngine({}, owner_log=owner_log)
    for table, (columns, rows) in stored.items():
        engine.hold(table, columns, rows)
    return engine


def attached(connection: duckdb.DuckDBPyConnection, sources: Iterable[Source]) -> Mapping[str, str]:
    """The databases that could be opened, by their paths: one in which somebody writes cannot be."""
    files = {file for source in sources if source.inside for file in paths(source)}
    found: dict[str, str] = {}
    for at, file in enumerate(sorted(files)):
        try:
            connection.execute(f"ATTACH {text(file)} AS database_{at} (TYPE duckdb, READ_ONLY)")
        except Exception:
            continue  # said of the table that is there, when it is asked for
        found[file] = f"database_{at}"
    return found


def table_of_database(
    connection: duckdb.DuckDBPyConnection, table: str, database: str | None, inside: tuple[str, ...]
) -> Table:
    """`inside`: schema and table, or a table of the schema `main`."""
    if database is None:
        raise EngineError("unreachable", table)
    if len(inside) > 2:
        raise EngineError("missing source", table)
    schema, own = inside if len(inside) > 1 else ("main", *inside)
    query = (
        "SELECT count(*) FROM information_schema.tables"
        " WHERE table_catalog = ? AND lower(table_schema) = lower(?) AND lower(table_name) = lower(?)"
    )
    ((there,),) = connection.execute(query, [database, schema, own]).fetchall()
    if not there:
        raise EngineError("missing source", table)
    relation = f"{database}.{name(schema)}.{name(own)}"
    columns = described(connection, relation)
    # the engine does not tell a column's collation, under which texts may be equal whose characters are not
    return Table(relation, {column: STORED_TEXT if type == "VARCHAR" else type for column, type in columns.items()})
