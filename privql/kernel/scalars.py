"""Row functions as the kernel sees them: opaque, total, with their input columns.

A scalar term says what is computed from one row. The kernel never looks inside it for a privacy argument - every
bound that counts is an operation of `terms` - so a wrong term can cost accuracy and nothing else. That columns in which
rows differ are compared as what they are is part of it: an engine refuses to read one as another type. Engines spell
each operation in their dialect; `privql.functions.scalar` says in Python what each one means.

How a value of each type is written in `Const` and wherever terms are evaluated in Python (NULL is None):

    INT int · FLOAT float (finite) · DECIMAL Fraction · BOOL bool · TEXT str
    DATE int, days since 1970-01-01 · TIMESTAMP int, microseconds since then, UTC
    INTERVAL (months, days, microseconds)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from privql.frozen import frozen

TypeKind = Literal["INT", "FLOAT", "DECIMAL", "BOOL", "TEXT", "DATE", "TIMESTAMP", "INTERVAL", "NULL"]


@frozen
class ValueType:
    kind: TypeKind
    precision: int = 0  # DECIMAL only
    scale: int = 0  # DECIMAL only

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})" if self.kind == "DECIMAL" else self.kind


INT = ValueType("INT")
FLOAT = ValueType("FLOAT")
BOOL = ValueType("BOOL")
TEXT = ValueType("TEXT")
DATE = ValueType("DATE")
TIMESTAMP = ValueType("TIMESTAMP")
INTERVAL = ValueType("INTERVAL")
NULL = ValueType("NULL")  # the type of a bare NULL, until its context gives it one


def decimal(precision: int, scale: int) -> ValueType:
    return ValueType("DECIMAL", precision, scale)


Value = None | bool | int | float | Fraction | str | tuple[int, int, int]


@frozen
class Field:
    """A column of the input relation."""

    name: str
    type: ValueType


@frozen
class Const:
    value: Value
    type: ValueType


@frozen
class Apply:
    """An operation of `privql.functions.scalar` on arguments of exactly the types it takes."""

    op: str
    args: tuple[Scalar, ...]
    type: ValueType


Scalar = Field | Const | Apply


def fields(term: Scalar) -> frozenset[str]:
    """The input columns that a row function reads."""
    if isinstance(term, Field):
        return frozenset((term.name,))
    found: set[str] = set()
    todo: list[Scalar] = [term]
    while todo:
        one = todo.pop()
        if isinstance(one, Field):
            found.add(one.name)
        elif isinstance(one, Apply):
            todo.extend(one.args)
    return frozenset(found)
