"""Rows of exact values, as they pass between finishing, post-processing and the ledger.

Values are written as `privql.kernel.scalars` says; as JSON a DECIMAL is its ratio in text, all others are themselves.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from privql.frozen import frozen
from privql.kernel.scalars import Value, ValueType


@frozen
class Table:
    """`columns` are identifiers (or names) with their types."""

    columns: tuple[tuple[str, ValueType], ...]
    rows: tuple[tuple[Value, ...], ...]

    def position(self, id: str) -> int:
        return next(at for at, (known, _) in enumerate(self.columns) if known == id)

    def alike(self, columns: frozenset[str]) -> int:
        """How many rows have the same values in these columns, at most; 1 of none."""
        at = [self.position(id) for id, _ in self.columns if id in columns]
        return max(Counter(tuple(row[place] for place in at) for row in self.rows).values(), default=1)


def value_to_json(value: Value) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def value_from_json(value: Any, type: ValueType) -> Value:
    match type.kind:
        case _ if value is None:
            return None
        case "DECIMAL":
            return Fraction(value)
        case _:
            return value  # type: ignore[no-any-return]


def type_to_json(type: ValueType) -> list[Any]:
    return [type.kind, type.precision, type.scale]


def type_from_json(written: list[Any]) -> ValueType:
    kind, precision, scale = written
    return ValueType(kind, precision, scale)
