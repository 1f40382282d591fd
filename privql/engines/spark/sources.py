"""Spark's tables, and what their columns are in the language. Nothing here depends on a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from privql.engines.interface import Advice, EngineError, Recognised
from privql.engines.spark.dialect import SPARK
from privql.engines.spark.expressions import name
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.relations import Names, Rows
from privql.engines.sql.stored import Table, read_table
from privql.functions.scalar.calendar import FIRST_DATE, FIRST_TIME, LAST_DATE, LAST_TIME
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, decimal
from privql.kernel.terms import Scan

_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")
_INTEGERS = frozenset({"tinyint", "smallint", "int"})
# What a row that is its own unit is called in one reading of its table; in another it may be called otherwise.
_NUMBERED = "monotonically_increasing_id()"


def table_of(session: Any, table: str, inside: tuple[str, ...]) -> Table:
    """A catalog's, by its schema and name, or a view of the session."""
    relation = ".".join(map(name, inside))
    if not session.catalog.tableExists(relation):
        raise EngineError("missing source", table)
    rows = session.table(relation)
    filled = frozenset(field.name for field in rows.schema.fields if not field.nullable)
    return Table(relation, dict(rows.dtypes), _NUMBERED, filled=filled)


def advice(table: str, found: Table, known: Recognised) -> Iterator[Advice]:
    """Where a unit is read only because it may be NULL. Of units with many rows it is read in any case: by it they are
    brought together."""
    for column, _ in known.owners:
        own = found.column(column)
        if own is not None and own not in found.filled and (column,) in known.keys:
            told = f"as far as Spark knows, `{column}` may be NULL, so each query reads it to leave out rows of nobody"
            help = (
                "if it never is, keep a table in which the column is NOT NULL, or name a view that says"
                f" `coalesce({column}, …) AS {column}`, with a name that nobody has"
            )
            yield Advice(table, told, help)


def read_scan(scan: Scan, table: Table, names: Names) -> Rows:
    rows = read_table(scan, table, names, SPARK, _read_column)
    return replace(rows, steady=rows.rows_of is None)


def _read_column(own: str, physical: str) -> Spelled | None:
    """A TEXT is compared by its bytes, whatever collation its column has; a moment without a zone is one of UTC."""
    column = name(own)
    decimals = _DECIMAL.fullmatch(physical)
    if decimals is not None:
        return Spelled(column, decimal(int(decimals[1]), int(decimals[2])), leaf=True)
    if physical in _INTEGERS:
        return Spelled(f"CAST({column} AS BIGINT)", INT)
    if physical.startswith(("string collate", "char(", "varchar(")):
        return Spelled(f"CAST({column} AS STRING COLLATE UTF8_BINARY)", TEXT)
    match physical:
        case "bigint":
            return Spelled(column, INT, leaf=True)
        case "double":
            return Spelled(column, FLOAT, leaf=True, loose=True)
        case "float":
            return Spelled(f"CAST({column} AS DOUBLE)", FLOAT, loose=True)
        case "boolean":
            return Spelled(column, BOOL, leaf=True)
        case "string":
            return Spelled(column, TEXT, leaf=True)
        case "date":
            inside = f"unix_date({column}) BETWEEN {FIRST_DATE} AND {LAST_DATE}"
            return Spelled(f"CASE WHEN {inside} THEN {column} END", DATE)
        case "timestamp" | "timestamp_ntz":
            moment = column if physical == "timestamp" else f"CAST({column} AS TIMESTAMP)"
            inside = f"unix_micros({moment}) BETWEEN {FIRST_TIME}L AND {LAST_TIME}L"
            return Spelled(f"CASE WHEN {inside} THEN {moment} END", TIMESTAMP)
        case _:
            return None
