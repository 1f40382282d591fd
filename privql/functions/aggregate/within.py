"""Where aggregates and windows of one unit's own rows lie: closer than those of released rows, whose meaning is the
engine's. What the plan computes of a unit is clamped into what is said here, so that sums over units are bounded."""

from __future__ import annotations

import math
from fractions import Fraction

from privql.domains import Domain, finite, interval
from privql.domains.arithmetic import INF, Span, fitted
from privql.functions.aggregate.public import aggregate_domain
from privql.kernel.scalars import FLOAT

SPREADS = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp"})
PAIRS = frozenset({"covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept"})
MOMENTS = SPREADS | PAIRS
RANKED = frozenset({"quantile", "min", "max"})  # of private rows: values that are drawn by their rank


def domain_within(function: str, domains: tuple[Domain, ...], rows: int | None, distinct: bool = False) -> Domain:
    """`rows`: how many a unit has at most, by the owner's declaration; if they are `distinct`, no more than values."""
    if distinct and len(domains) == 1 and (size := domains[0].size) is not None:
        rows = size if rows is None else min(rows, size)
    match function:
        case "count" | "count_if":
            return interval(0, rows, False, Fraction(1))
        case "sum" if rows is not None and domains[0].bounded:
            return _sum_of(domains[0], rows)
        case "var_pop" | "covar_pop":
            return _spread(domains, 4, function == "var_pop")
        case "var_samp" | "covar_samp":
            return _spread(domains, 2, function == "var_samp")
        case "stddev_pop" | "stddev_samp":
            return _root(_spread(domains, 4 if function == "stddev_pop" else 2, True))
        case "bit_and" | "bit_or" | "bit_xor":
            return _bits(function, domains[0])
        case "ntile":
            return interval(1, domains[0].high, True, Fraction(1))
        case "row_number" | "rank" | "dense_rank":
            return interval(1, rows, False, Fraction(1))
        case _:
            return aggregate_domain(function, domains)


def _sum_of(of: Domain, rows: int) -> Domain:
    assert of.low is not None and of.high is not None
    return interval(min(of.low, of.low * rows), max(of.high, of.high * rows), True, of.grid)


def _spread(domains: tuple[Domain, ...], part: int, square: bool) -> Domain:
    """Σ(x - x̄)(y - ȳ) of n rows is the greatest when half of them lie at each end: n/4 of the product of the ranges.
    Divided by n - 1, it is at most half of it, of two rows."""
    first, second = domains[0], domains[-1]
    if first.empty or second.empty:
        return finite((), True)
    most: Fraction | float = INF
    if first.low is not None and first.high is not None and second.low is not None and second.high is not None:
        most = (first.high - first.low) * (second.high - second.low) / part
    ends: Span = (0 if square else -most, most)
    return fitted(FLOAT, ends, None).with_null()


def _root(square: Domain) -> Domain:
    if square.high is None or square.empty:
        return square
    return fitted(FLOAT, (0, Fraction(math.sqrt(float(square.high)))), None).with_null()


def _bits(function: str, of: Domain) -> Domain:
    """Numbers of at least 0 have no more bits than the greatest; together with others, they may lose or gain them."""
    if of.low is None or of.high is None or of.low < 0:
        return interval(None, None, True, Fraction(1))
    low = of.low if function == "bit_or" else 0
    high = of.high if function == "bit_and" else 2 ** int(of.high).bit_length() - 1
    return interval(low, high, True, Fraction(1))
