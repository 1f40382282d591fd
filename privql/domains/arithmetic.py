"""Interval arithmetic: where sums, products and quotients of numbers from given intervals lie, and on what grid.

Ends are exact (whole ones as int, which is faster); an open end is an infinity. Rounding to FLOAT is monotone, so the
rounded ends of an exact interval enclose the rounded results.
"""

from __future__ import annotations

import math
from fractions import Fraction

from privql.domains.domain import Domain, finite, grid_of, shared_grid
from privql.kernel.scalars import ValueType

Bound = int | Fraction | float  # a float is an infinity
Span = tuple[Bound, Bound]
INF = math.inf

DAY = 86_400_000_000  # microseconds
FIRST_DATE, LAST_DATE = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31 in days since 1970
_LIMITS: dict[str, tuple[int, int]] = {
    "INT": (-(2**63), 2**63 - 1),
    "DATE": (FIRST_DATE, LAST_DATE),
    "TIMESTAMP": (FIRST_DATE * DAY, LAST_DATE * DAY + DAY - 1),
}


def limits(type: ValueType) -> tuple[int | Fraction, int | Fraction]:
    """The least and the greatest value that an exact type holds."""
    if type.kind == "DECIMAL":
        most = Fraction(10**type.precision - 1, 10**type.scale)
        return -most, most
    return _LIMITS[type.kind]


def span(domain: Domain) -> Span:
    low, high = domain.low, domain.high
    return (-INF if low is None else _light(low)), (INF if high is None else _light(high))


def step(domain: Domain) -> Fraction | None:
    """What every value is a multiple of; of a single value, that value (0 for zero: a multiple of anything)."""
    if domain.values is not None and len(domain.values) == 1 and domain.low is not None:
        return abs(domain.low)
    return domain.grid


def fitted(type: ValueType, ends: Span, grid: Fraction | None, overflow: bool = False) -> Domain:
    """The domain of results between two ends as their type holds them.

    With `overflow`, what the type does not hold has become NULL, and an open end may stand for such values.
    """
    low, high = ends
    if type.kind == "FLOAT":
        low, high = nearest(low), nearest(high)
        beyond = low == -INF or high == INF
        grid = float_grid(grid, low, high)
    else:
        least, most = limits(type)
        beyond = low < least or high > most
        low = low if low == -INF else max(low, least)
        high = high if high == INF else min(high, most)
        grid = grid_of(type) if grid is None else grid
    nullable = overflow and beyond
    if low > high or low == INF or high == -INF:  # nothing that the type holds
        return Domain(values=(), nullable=nullable, grid=grid)
    if low == high:
        value = Fraction(low)
        member = float(value) if type.kind == "FLOAT" else value if type.kind == "DECIMAL" else int(value)
        return finite([member], nullable, grid or None)
    bounds = (None if low == -INF else Fraction(low)), (None if high == INF else Fraction(high))
    return Domain(*bounds, None, nullable, grid).on_grid()


def nearest(end: Bound) -> Bound:
    """The double nearest to an exact end, as an exact number; an infinity beyond the greatest."""
    if isinstance(end, float) or (isinstance(end, int) and -(2**53) <= end <= 2**53):
        return end
    try:
        return _light(Fraction(float(end)))
    except OverflowError:
        return INF if end > 0 else -INF


def float_grid(grid: Fraction | None, low: Bound, high: Bound) -> Fraction | None:
    """The grid of exact results, as far as rounding them to FLOAT keeps them on it."""
    if grid is None or grid.denominator & (grid.denominator - 1):
        return None
    if low * grid.denominator >= -(2**53) and high * grid.denominator <= 2**53:
        return grid
    return Fraction(1) if grid.denominator == 1 else None


def plus(x: Span, y: Span) -> Span:
    return _sum(x[0], y[0]), _sum(x[1], y[1])


def minus(x: Span, y: Span) -> Span:
    return _sum(x[0], -y[1]), _sum(x[1], -y[0])


def times(x: Span, y: Span) -> Span:
    corners = [_product(a, b) for a in x for b in y]
    return min(corners), max(corners)


def divisors(y: Domain) -> list[Span]:
    """A divisor's interval without zero: as far from it as the grid says."""
    if y.values is not None:
        numbers = [_light(Fraction(v)) for v in y.values if isinstance(v, (int, float, Fraction))]
        sides = [v for v in numbers if v > 0], [v for v in numbers if v < 0]
        return [(side[0], side[-1]) for side in sides if side]
    low, high = span(y)
    gap: Bound = _light(y.grid) if y.grid is not None else 0
    parts: list[Span] = []
    if high > 0:
        parts.append((low if low > 0 else gap, high))
    if low < 0:
        parts.append((low, high if high < 0 else -gap))
    return [part for part in parts if part[0] <= part[1]]


def over(x: Span, parts: list[Span]) -> Span:
    """Quotients by divisors of one sign each; an end of 0 stands for divisors as near to 0 as one likes."""
    corners = [_quotient(a, b, part[1] > 0) for part in parts for a in x for b in part]
    return min(corners), max(corners)


def both_steps(x: Domain, y: Domain) -> Fraction | None:
    """The grid of sums and differences."""
    return shared_grid(step(x), step(y))


def product_step(x: Domain, y: Domain) -> Fraction | None:
    first, second = step(x), step(y)
    return None if first is None or second is None else first * second


def magnitude(x: Span) -> Span:
    low, high = x
    nearest_to_zero = low if low > 0 else -high if high < 0 else 0
    return nearest_to_zero, max(-low, high)


def _light(bound: Fraction) -> int | Fraction:
    return bound.numerator if bound.denominator == 1 else bound


def _sum(a: Bound, b: Bound) -> Bound:
    """One of two opposite infinities never meets the other: ends are added low to low, high to high."""
    if isinstance(a, float):
        return a
    return b if isinstance(b, float) else a + b


def _product(a: Bound, b: Bound) -> Bound:
    if a == 0 or b == 0:
        return 0
    if isinstance(a, float) or isinstance(b, float):
        return INF if (a > 0) == (b > 0) else -INF
    return a * b


def _quotient(a: Bound, b: Bound, positive: bool) -> Bound:
    if a == 0 or isinstance(b, float):
        return 0
    if b == 0 or isinstance(a, float):
        return INF if (a > 0) == positive else -INF
    return _light(Fraction(a) / b)
