"""What is summed for `Steps`, and what is common to how engines come to it."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from privql.engines.interface import EngineError
from privql.frozen import frozen
from privql.kernel.features import Steps
from privql.kernel.scalars import INT

if TYPE_CHECKING:
    from privql.engines.sql.dialect import Dialect

_WIDE = 2**126


@frozen
class Measure:
    sql: str
    scale: int = 0  # digits behind the point of what is summed: it is in steps of 10^-scale
    counted: str = ""  # what is not NULL where there are steps, or what is marked, if not the sql itself
    null_as: int = 0  # what is summed for a NULL, and must be taken off again
    reach: int | None = None  # what is summed are whole numbers from -reach to reach, where that makes a difference
    mark: int = 0  # what is summed for a value that is none: so far beyond all sums that these tell how many there were


def clamped(x: str, low: str, high: str) -> str:
    """NULL takes the ELSE. `CASE` with two comparisons was the cheapest of the spellings that keep NULL."""
    return f"CASE WHEN {x} > {high} THEN {high} WHEN {x} < {low} THEN {low} ELSE {x} END"


def whole_steps(value: str, unit: Fraction, beyond: int, steps: Steps, dialect: Dialect) -> str:
    """Steps of an exact number of `unit`s, `beyond` at most: floor((2b·n + a) / 2a) where grid = a/b units."""
    grid = steps.grid / unit
    a, b = grid.numerator, grid.denominator
    low, high = math.ceil(steps.low * grid), math.floor(steps.high * grid)
    low, high = (min(max(end, -beyond - 1), beyond + 1) for end in (low, high))
    shift = -((2 * b * low + a) // (2 * a))  # makes the dividend positive, so that the quotient is the floor
    constants = (2 * b, a + 2 * a * shift, 2 * a, shift, 2 * b * high + a + 2 * a * shift, 2 * b * low)
    if max(map(abs, constants)) >= _WIDE:
        raise EngineError("unsupported")
    wide = dialect.wide

    def body(names: list[str]) -> str:
        (n,) = names
        inside = clamped(n, wide(low), wide(high))
        floor = dialect.quotient(f"(({inside}) * {wide(2 * b)} + {wide(a + 2 * a * shift)})", wide(2 * a))
        return (
            f"CASE WHEN {n} < {wide(low)} THEN {dialect.literal(steps.low, INT)} WHEN {n} > {wide(high)}"
            f" THEN {dialect.literal(steps.high, INT)} ELSE CAST(({floor} - {wide(shift)}) AS BIGINT) END"
        )

    return dialect.bound("__n", [value], body)


def power_of_two(grid: Fraction) -> None:
    """Doubles are scaled exactly by those alone."""
    if grid <= 0 or (grid.numerator & (grid.numerator - 1)) or (grid.denominator & (grid.denominator - 1)):
        raise EngineError("unsupported")
    if not Fraction(2) ** -1022 <= grid <= Fraction(2) ** 1023:
        raise EngineError("unsupported")


def outward(end: Fraction, side: int) -> float:
    """The double nearest to a bound on its outer side, or the last one there is."""
    largest = sys.float_info.max
    nearest = float(min(max(end, -Fraction(largest)), Fraction(largest)))
    inside = (Fraction(nearest) - end) * side < 0
    return math.nextafter(nearest, side * largest) if inside else nearest
