"""Rows, and what is made of a row or of a group of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import itemgetter
from typing import Any

from privql.functions.scalar import evaluate_term
from privql.functions.scalar.text import LONGEST
from privql.kernel.features import (
    STEP_LIMIT,
    Bits,
    Different,
    Extreme,
    Feature,
    Mode,
    Moment,
    Order,
    Quantile,
    Splice,
    Steps,
    Tally,
    Total,
)
from privql.kernel.scalars import Scalar, Value

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
    over, under = value.as_integer_ratio()
    over, under = over * steps.grid.denominator, under * steps.grid.numerator  # exact: value / grid is over / under
    nearest = round(Fraction(over, under)) if isinstance(value, float) else (2 * over + under) // (2 * under)
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
            return (max if greatest else min)(present(value, chosen), default=None)
        case Different(value=value):
            return len({evaluate_term(value, row) for row in chosen} - {None})
        case Quantile(value=value, share=share, at=at):
            listed = sorted(present(value, chosen))
            return listed[place(len(listed), share, at) - 1] if listed else None
        case Mode(value=value):
            counts = Counter(sorted(present(value, chosen)))
            return counts.most_common(1)[0][0] if counts else None  # of several the first, which is the least
        case Bits(op=op, value=value):
            bits = {"AND": int.__and__, "OR": int.__or__, "XOR": int.__xor__}[op]
            found = present(value, chosen)
            return reduce(bits, found) if found else None
        case Splice(value=value, separator=separator, order=order):
            texts = in_order(chosen, (*order, Order(value)), lambda row: 0)
            joined = [str(evaluate_term(value, row)) for row in texts if evaluate_term(value, row) is not None]
            text = separator.join(joined)
            return text if joined and len(text) <= LONGEST else None
        case Moment(factors=factors):
            products = []
            for row in chosen:
                taken = [in_steps(steps, row) for steps in factors]
                offsets = [s - steps.low for s, steps in zip(taken, factors, strict=True) if s is not None]
                if len(offsets) == len(factors):
                    products.append(math.prod(offsets))
            return Fraction(sum(products)) if products else None


def present(value: Scalar, given: list[Row]) -> list[Any]:
    """All of them of one type, so that they have an order."""
    return [v for v in (one_zero(evaluate_term(value, row)) for row in given) if v is not None]


def place(n: int, share: float, at: str) -> int:
    """In doubles, as the engines compute it."""
    if at == "LEAST":
        return max(1, n - math.floor(float(n) - float(n) * share))
    return 1 + (math.floor if at == "BELOW" else math.ceil)(float(n - 1) * share)


def in_order(given: Iterable[Row], order: tuple[Order, ...], hashed: Callable[[Row], int]) -> list[Row]:
    """By the order or, where it leaves a choice, by the hash. Sorts are stable, so the last comes first."""
    out = sorted(given, key=hashed)
    for each in reversed(order):
        valued: list[tuple[Any, Row]] = [(evaluate_term(each.value, row), row) for row in out]
        nulls = [row for value, row in valued if value is None]
        placed = sorted((one for one in valued if one[0] is not None), key=itemgetter(0), reverse=each.descending)
        others = [row for _, row in placed]
        out = nulls + others if each.nulls_first else others + nulls
    return out


def different(given: Iterable[Row]) -> list[Row]:
    return [dict(items) for items in dict.fromkeys(tuple(plain(row).items()) for row in given)]


def plain(row: Row) -> Row:
    return {c: one_zero(value) for c, value in row.items()}


def one_zero(value: Value) -> Value:
    return value + 0.0 if isinstance(value, float) else value
