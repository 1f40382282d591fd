"""Rows, and what is made of a row or of a group of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from privql.functions.scalar import evaluate_term
from privql.kernel.rules import STEP_LIMIT
from privql.kernel.scalars import Scalar, Value
from privql.kernel.terms import Different, Extreme, Feature, Steps, Tally, Total

Row = Mapping[str, Value]
Tables = Mapping[str, list[Row]]
Publics = Mapping[str, Sequence[tuple[Value, ...]]]  # in the order of the columns
Holder = Value | tuple[str, int]  # a unit: a value or, of rows that are units of their own, a table and a place in it
Owned = tuple[Holder, Row]  # a row and its unit; None, where it is nobody's any more


def holds(condition: Scalar | None, row: Row) -> bool:
    return condition is None or evaluate_term(condition, row) is True


def equal(one: Value, other: Value) -> bool:
    return one is not None and one == other


def in_steps(steps: Steps, row: Row) -> int | None:
    value = evaluate_term(steps.value, row)
    if value is None:
        return None
    assert isinstance(value, (int, float, Fraction))
    exact = Fraction(value) / steps.grid
    nearest = round(exact) if isinstance(value, float) else math.floor(exact + Fraction(1, 2))
    return min(max(nearest, steps.low), steps.high)


def gathered(feature: Feature, given: list[Row]) -> Value:
    chosen = [row for row in given if holds(feature.where, row)]
    match feature:
        case Tally():
            return len(chosen)
        case Total(steps=steps):
            summed = [s for s in (in_steps(steps, row) for row in chosen) if s is not None]
            return min(max(sum(summed), -STEP_LIMIT), STEP_LIMIT) if summed else None
        case Extreme(value=value, greatest=greatest):
            found = [v for v in (one_zero(evaluate_term(value, row)) for row in chosen) if v is not None]
            return (max if greatest else min)(found, default=None)
        case Different(value=value):
            return len({evaluate_term(value, row) for row in chosen} - {None})


def different(given: Iterable[Row]) -> list[Row]:
    return [dict(items) for items in dict.fromkeys(tuple(plain(row).items()) for row in given)]


def plain(row: Row) -> Row:
    return {c: one_zero(value) for c, value in row.items()}


def one_zero(value: Value) -> Value:
    return value + 0.0 if isinstance(value, float) else value
