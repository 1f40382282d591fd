"""Literals and types in DuckDB, and 128 bits where 64 could overflow."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from privql.engines.sql.expressions import Spelled, text
from privql.functions.scalar.calendar import write_date, write_timestamp
from privql.functions.scalar.numbers import INT_MAX, INT_MIN, write_decimal
from privql.kernel.scalars import Value, ValueType

EPOCH = "DATE '1970-01-01'"


def huge(value: int | str | Spelled) -> str:
    """A constant or an expression, in 128 bits."""
    return f"CAST('{value}' AS HUGEINT)" if isinstance(value, int) else f"CAST({value} AS HUGEINT)"


def literal(value: Value, type: ValueType) -> Spelled:
    """A constant, of exactly its type."""
    if value is None:
        return Spelled(f"CAST(NULL AS {type_name(type)})", type, leaf=True)
    low, high = (value, value) if isinstance(value, int) and type.kind == "INT" else (INT_MIN, INT_MAX)
    return Spelled(_written(value, type), type, leaf=True, low=low, high=high, value=value)


def _written(value: Value, type: ValueType) -> str:
    match type.kind, value:
        case "BOOL", bool():
            return "TRUE" if value else "FALSE"
        case "INT", int() if INT_MIN <= value <= INT_MAX:
            return f"BIGINT '{int(value)}'"
        case "FLOAT", float() | int() | Fraction() if math.isfinite(value):
            return f"DOUBLE '{float(value)!r}'"
        case "DECIMAL", int() | Fraction() if abs(value) * 10**type.scale < 10**type.precision:
            return f"{type_name(type)} '{write_decimal(Fraction(value), type.scale)}'"
        case "TEXT", str():
            return text(value)
        case "DATE", int():
            return f"DATE '{write_date(value)}'"
        case "TIMESTAMP", int():
            return f"TIMESTAMP '{write_timestamp(value)}'"
        case "INTERVAL", tuple():
            return ""  # never written as such: the operations that take one spell its parts
        case _:
            raise ValueError(f"no {type} is written {value!r}")


def type_name(type: ValueType) -> str:
    match type.kind:
        case "INT":
            return "BIGINT"
        case "FLOAT":
            return "DOUBLE"
        case "BOOL":
            return "BOOLEAN"
        case "TEXT" | "NULL":
            return "VARCHAR"
        case "DECIMAL":
            return f"DECIMAL({type.precision},{type.scale})"
        case "DATE" | "TIMESTAMP" | "INTERVAL":
            return type.kind
        case _:
            assert_never(type.kind)
