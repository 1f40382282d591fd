"""How far a released number may be from the exact one: an interval for each, at any confidence.

A sum is off by discrete Laplace noise whose law is public. A mean's interval follows from its own two noisy cells.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from privql.finish.recipe import Law
from privql.kernel.scalars import Value
from privql.kernel.tails import halfwidth

Cells = tuple[int, int]


def bounds(law: Law, value: Value, cells: Cells | None, confidence: Fraction) -> tuple[Fraction, Fraction] | None:
    """None where there is no number, or its error is not known."""
    if not isinstance(value, (int, float, Fraction)):
        return None
    if law.kind == "sum":
        reach = _reach(law, confidence)
        return Fraction(value) - reach, Fraction(value) + reach
    return None if cells is None else _mean_bounds(law, cells, confidence)


def larger_half(law: Law, value: Value, cells: Cells | None, confidence: Fraction) -> Fraction | None:
    """What stands behind ±: for an interval that is not symmetric, its larger half."""
    found = bounds(law, value, cells, confidence)
    if found is None or not isinstance(value, (int, float, Fraction)):
        return None
    return max(Fraction(value) - found[0], found[1] - Fraction(value), Fraction(0))


@lru_cache(maxsize=256)
def _reach(law: Law, confidence: Fraction) -> Fraction:
    return halfwidth(law.scale, confidence) * law.grid


def _mean_bounds(law: Law, cells: Cells, confidence: Fraction) -> tuple[Fraction, Fraction]:
    from privql.finish.intervals import mean_interval  # brings numpy along

    low, high = mean_interval(*cells, law.scale, float(confidence))
    width = law.high - law.low
    return law.grid * (law.low + width * Fraction(low)), law.grid * (law.low + width * Fraction(high))
