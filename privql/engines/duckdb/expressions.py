"""Expressions, and what their text proves about them; how an argument is bound so that it is written once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import assert_never

from privql.frozen import frozen
from privql.functions.scalar.calendar import write_date, write_timestamp
from privql.functions.scalar.numbers import INT_MAX, INT_MIN, write_decimal
from privql.kernel.scalars import Value, ValueType


@frozen
class Spelled:
    """An expression, and what its text proves about it."""

    sql: str
    type: ValueType
    leaf: bool = False  # a name or a literal: may be written twice
    loose: bool = False  # a FLOAT that may be NaN or infinite, which stands for NULL
    low: int = INT_MIN  # of an INT
    high: int = INT_MAX
    value: Value = None  # of a literal

    def __str__(self) -> str:
        return self.sql


Spelling = Callable[["Call"], "Spelled | str"]

EPOCH = "DATE '1970-01-01'"


@frozen
class Call:
    """An operation to be spelled, its arguments ready."""

    op: str
    args: tuple[Spelled, ...]
    result: ValueType
    names: count[int]

    def let(self, args: tuple[Spelled, ...], body: Callable[..., str]) -> str:
        """The body over names for these arguments; those that are no leaves are bound, and so computed once."""
        compound = [arg for arg in args if not arg.leaf]
        if not compound:
            return body(*args)
        name = f"__{next(self.names)}"
        if len(compound) == 1:
            bound = compound[0].sql
            given = [replace(a, sql=name, leaf=True) if not a.leaf else a for a in args]
        else:
            bound = "{" + ", ".join(f"'f{i}': {arg.sql}" for i, arg in enumerate(args) if not arg.leaf) + "}"
            given = [replace(a, sql=f"{name}.f{i}", leaf=True) if not a.leaf else a for i, a in enumerate(args)]
        return f"list_transform([{bound}], lambda {name}: {body(*given)})[1]"


def function(name: str) -> Spelling:
    """A call of the engine's function of this name."""
    return lambda call: f"{name}({', '.join(arg.sql for arg in call.args)})"


def infix(sign: str) -> Spelling:
    return lambda call: f"({call.args[0]} {sign} {call.args[1]})"


def huge(value: int | str | Spelled) -> str:
    """A constant or an expression, in 128 bits."""
    return f"CAST('{value}' AS HUGEINT)" if isinstance(value, int) else f"CAST({value} AS HUGEINT)"


# ---- literals and names


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


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def name(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


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
