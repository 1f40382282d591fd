"""Exact values into DuckDB and out again.

They travel as what cannot change on the way: integers, floats, texts. DECIMAL goes in as text; days and microseconds
are counted. A value that the engine's type cannot hold is NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from privql.finish.table import Table
from privql.functions.scalar.numbers import integer
from privql.kernel.scalars import Value, ValueType
from privql.post.pieces import ROW

Array = npt.NDArray[Any]

_DAYS = (-2147483646, 2147483646)
_MICROSECONDS = (-9223372022400000000, (1 << 63) - 2)
_INCOMING = "incoming"

# How a column of each type is passed, and what makes it that type again.
_PASSED: dict[str, tuple[Any, str]] = {
    "INT": (np.int64, "{0}"),
    "FLOAT": (np.float64, "{0}"),
    "BOOL": (np.bool_, "{0}"),
    "TEXT": (np.object_, "{0}"),
    "DECIMAL": (np.object_, "CAST({0} AS {1})"),
    "DATE": (np.int32, "DATE '1970-01-01' + {0}"),
    "TIMESTAMP": (np.int64, "make_timestamp({0})"),
}


def load(connection: duckdb.DuckDBPyConnection, name: str, table: Table) -> None:
    """Make a table of these rows, its columns "0", "1" …, and `ROW`."""
    count = len(table.rows)
    arrays: dict[str, Array] = {ROW.strip('"'): np.arange(count, dtype=np.int64)}
    made = [ROW]
    columns: Iterable[Sequence[Value]] = zip(*table.rows, strict=True) if count else [()] * len(table.columns)
    for at, ((_, type), values) in enumerate(zip(table.columns, columns, strict=True)):
        kind, conversion = _PASSED[type.kind]
        column, fit = f'"{at}"', _fits(type)
        arrays[str(at)] = _array([None if value is None else fit(value) for value in values], kind)
        made.append(f"{conversion.format(column, type)} AS {column}")
    connection.register(_INCOMING, arrays)
    connection.execute(f"CREATE TABLE {name} AS SELECT {', '.join(made)} FROM {_INCOMING}").fetchall()
    connection.unregister(_INCOMING)


def _array(values: Sequence[Any], kind: Any) -> Array:
    if kind is np.object_:
        return np.array(values, dtype=np.object_)
    missing = [value is None for value in values]
    if not any(missing):
        return np.array(values, dtype=kind)
    filled = np.array([0 if value is None else value for value in values], dtype=kind)
    return np.ma.masked_array(filled, missing)


def _fits(type: ValueType) -> Callable[[Any], Any]:
    match type.kind:
        case "INT":
            return integer
        case "DATE":
            return lambda value: value if _DAYS[0] <= value <= _DAYS[1] else None
        case "TIMESTAMP":
            return lambda value: value if _MICROSECONDS[0] <= value <= _MICROSECONDS[1] else None
        case "FLOAT":
            return lambda value: float(value) if math.isfinite(value) else None
        case "DECIMAL":
            return partial(_decimal, type.scale, 10**type.precision)
        case _:
            return lambda value: value


def _decimal(scale: int, limit: int, value: Fraction) -> str | None:
    """There may be a million; most are of the type, and need no fractions. Others, such as a bound, round."""
    whole, rest = divmod(value.numerator * 10**scale, value.denominator)
    if rest:
        whole = round(value * 10**scale)
    if abs(whole) >= limit:
        return None
    digits = str(abs(whole)).rjust(scale + 1, "0")
    return f"{'-' if whole < 0 else ''}{digits[:-scale]}.{digits[-scale:]}" if scale else str(whole)


def read(column: str, type: ValueType) -> str:
    """A column as it leaves the engine."""
    match type.kind:
        case "FLOAT":
            return f"CASE WHEN isfinite({column}) THEN {column} END"
        case "DATE":
            return f"CASE WHEN isfinite({column}) THEN {column} - DATE '1970-01-01' END"
        case "TIMESTAMP":
            return f"CASE WHEN isfinite({column}) THEN epoch_us({column}) END"
        case _:
            return column


def exact(rows: Iterable[tuple[Any, ...]], types: Sequence[ValueType]) -> tuple[tuple[Value, ...], ...]:
    """Rows as the engine hands them out, in exact values."""
    if not any(type.kind == "DECIMAL" for type in types):
        return tuple(rows)
    return tuple(tuple(Fraction(v) if isinstance(v, Decimal) else v for v in row) for row in rows)
