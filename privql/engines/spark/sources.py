"""Spark's tables, and what their columns are in the language. Nothing here depends on a row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from privql.engines.interface import EngineError
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
    columns = dict(session.table(relation).dtypes)
    return Table(relation, columns, _NUMBERED)


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
