"""Literals and types in Spark SQL, and 38 digits where 64 bits could overflow."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from privql.engines.sql.expressions import Spelled
from privql.functions.scalar.numbers import INT_MAX, INT_MIN, write_decimal
from privql.kernel.scalars import Value, ValueType

LEAST = f"({INT_MIN}L)"


def wide(value: int | str | Spelled) -> str:
    """A constant or an expression, in 38 digits: a little more than 127 bits."""
    return f"CAST('{value}' AS DECIMAL(38,0))" if isinstance(value, int) else f"CAST({value} AS DECIMAL(38,0))"


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
            return f"({value}L)" if value < 0 else f"{int(value)}L"
        case "FLOAT", float() | int() | Fraction() if math.isfinite(value):
            return double(float(value))
        case "DECIMAL", int() | Fraction() if abs(value) * 10**type.scale < 10**type.precision:
            return f"CAST('{write_decimal(Fraction(value), type.scale)}' AS {type_name(type)})"
        case "TEXT", str():
            return text(value)
        case "DATE", int():
            return f"date_from_unix_date({value})"
        case "TIMESTAMP", int():
            return f"timestamp_micros({value}L)"
        case "INTERVAL", tuple():
            return ""  # never written as such: the operations that take one spell its parts
        case _:
            raise ValueError(f"no {type} is written {value!r}")


def double(value: float) -> str:
    written = f"{value!r}D"
    return f"({written})" if written.startswith("-") else written


def text(value: str) -> str:
    """Where `\\` takes the next character as it is."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def name(identifier: str) -> str:
    return "`" + identifier.replace("`", "``") + "`"


def type_name(type: ValueType) -> str:
    match type.kind:
        case "INT":
            return "BIGINT"
        case "FLOAT":
            return "DOUBLE"
        case "BOOL":
            return "BOOLEAN"
        case "TEXT" | "NULL":
            return "STRING"
        case "DECIMAL":
            return f"DECIMAL({type.precision},{type.scale})"
        case "DATE" | "TIMESTAMP" | "INTERVAL":
            return type.kind
        case _:
            assert_never(type.kind)
