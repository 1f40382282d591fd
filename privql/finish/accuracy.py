"""How far a released number may be from the exact one: an interval for each, at any confidence.

A sum is off by noise whose law is public, and a count or a sum that is made of a mean's two cells by
the noise of both. A mean's interval follows from its own two noisy cells; that of a group's number of units, with which
it was found, from this number itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeGuard

from privql.finish.recipe import Law
from privql.kernel.found import units_within
from privql.kernel.noises import halfwidth, halfwidth_of_two
from privql.kernel.scalars import Value
from privql.kernel.two import weights

Cells = tuple[int, int]
Bounds = tuple[Fraction, Fraction]


def bounds(
    law: Law, values: Sequence[Value], cells: Sequence[Cells | None], confidence: Fraction
) -> list[Bounds | None]:
    """For each value of a column; None where there is no number. A mean's column has the `cells` of each row."""
    if law.kind == "found":
        return [_found(law, value, confidence) if _number(value) else None for value in values]
    if law.kind != "mean":
        reach = _reach(law, confidence)
        return [(Fraction(v) - reach, Fraction(v) + reach) if _number(v) else None for v in values]
    return [
        _mean_bounds(law, pair, confidence) if pair is not None and _number(value) else None
        for value, pair in zip(values, cells, strict=True)
    ]


def halves(
    law: Law, values: Sequence[Value], cells: Sequence[Cells | None], confidence: Fraction
) -> list[float | None]:
    """What stands behind ±, rounded up: of an interval that is not symmetric, the larger half."""
    if law.kind not in ("mean", "found"):
        reach = _rounded_up(_reach(law, confidence))
        return [reach if _number(value) else None for value in values]
    return [
        _rounded_up(max(Fraction(value) - found[0], found[1] - Fraction(value), Fraction(0)))
        if found is not None and _number(value)
        else None
        for value, found in zip(values, bounds(law, values, cells, confidence), strict=True)
    ]


def _number(value: Value) -> TypeGuard[int | float | Fraction]:
    return isinstance(value, (int, float, Fraction))


def _reach(law: Law, confidence: Fraction) -> Fraction:
    if law.kind == "sum":
        return halfwidth(law.noise, law.scale, confidence) * law.grid
    of = weights(law.low, law.high, "count" if law.kind == "count" else "sum")
    return halfwidth_of_two(law.noise, law.scale, of, law.high - law.low, confidence) * law.grid


@lru_cache(maxsize=1024)
def _found(law: Law, value: int | float | Fraction, confidence: Fraction) -> Bounds:
    low, high = units_within(int(value), law.low, law.scale, confidence)
    return Fraction(low), Fraction(high)


def _mean_bounds(law: Law, cells: Cells, confidence: Fraction) -> Bounds:
    from privql.finish.intervals import mean_interval  # brings numpy along

    low, high = mean_interval(*cells, law.scale, float(confidence), law.noise)
    width = law.high - law.low
    return law.grid * (law.low + width * Fraction(low)), law.grid * (law.low + width * Fraction(high))


def _rounded_up(half: Fraction) -> float:
    """Whole numbers stay whole."""
    if half.denominator == 1:
        return half.numerator
    try:
        near = float(half)
    except OverflowError:
        return math.inf
    return near if near >= half else math.nextafter(near, math.inf)
