"""Noisy cells of powers to a variance, a covariance or what is made of them, for each group.

A factor of degree d, in shares of its range, has the mean Σ i·cell / (d·W) over its terms i, where W are all cells
together: the wholes of n rows. Of degree 2, its mean square is the share of its last term. So W² times any covariance
is a whole number, and one division is at the end. Of fewer rows than it takes there is NULL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from privql.check.relations import Aggregate
from privql.kernel.sums import Powers


def spreads(one: Aggregate, powers: Powers, columns: Sequence[Sequence[int]]) -> list[float | None]:
    """`columns`: its cells alone, a column each."""
    made = _Spread(one, powers)
    return [made.answer(cells) for cells in zip(*columns, strict=True)]


def limits(one: Aggregate) -> tuple[float, float]:
    """Beyond which no exact answer lies, whatever the rows are."""
    most = float(_most(one))
    match one.function:
        case "corr":
            return -1.0, 1.0
        case "var_pop" | "covar_pop":
            return (0.0 if one.function == "var_pop" else -most), most
        case "var_samp" | "covar_samp":  # n/(n - 1) is at most 2
            return (0.0 if one.function == "var_samp" else -2 * most), 2 * most
        case _:
            return -math.inf, math.inf


def _most(one: Aggregate) -> Fraction:
    """Of a variance or a covariance of rows: half of them at each end."""
    ranges = [(domain.low, domain.high) for domain in (one.domain, *(domain for _, domain in one.others))]
    apart = [high - low if low is not None and high is not None else Fraction(0) for low, high in ranges]
    return apart[0] * apart[-1] / 4


class _Spread:
    def __init__(self, one: Aggregate, powers: Powers) -> None:
        self.function, self.whole = one.function, powers.whole
        self.degrees = [degree for _, degree in powers.factors]
        self.terms = list(product(*(range(degree + 1) for degree in self.degrees)))
        self.lows = [steps.low * steps.grid for steps, _ in powers.factors]
        self.widths = [(steps.high - steps.low) * steps.grid for steps, _ in powers.factors]
        self.most = _most(one)

    def answer(self, cells: Sequence[int]) -> float | None:
        samples = self.function.endswith("_samp")
        weight = sum(cells)
        if weight < self.whole * (2 if samples else 1):
            return None
        match self.function:
            case "corr":
                one, other, both = (self._apart(cells, *pair) for pair in ((0, 0), (1, 1), (0, 1)))
                if one <= 0 or other <= 0:
                    return None
                return math.copysign(math.sqrt(min(both**2, one * other) / (one * other)), both)
            case "regr_slope" | "regr_intercept":
                if (spread := self._apart(cells, 1, 1)) <= 0:
                    return None
                times = Fraction(self.degrees[1], self.degrees[0])
                slope = times * self._apart(cells, 0, 1) * self.widths[0] / (spread * self.widths[1])
                if self.function == "regr_slope":
                    return divided(slope.numerator, slope.denominator)
                end = self._mean(cells, 0) - slope * self._mean(cells, 1)
                return divided(end.numerator, end.denominator)
            case _:
                return self._covariance(cells, weight, samples)

    def _covariance(self, cells: Sequence[int], weight: int, samples: bool) -> float | None:
        last = len(self.degrees) - 1
        size = self.widths[0] * self.widths[last]
        above = self._apart(cells, 0, last) * size.numerator
        below = self.degrees[0] * self.degrees[last] * weight**2 * size.denominator
        if last == 0:
            above = max(above, 0)
        if abs(above) * self.most.denominator > self.most.numerator * below:
            above, below = self.most.numerator * (1 if above > 0 else -1), self.most.denominator
        if samples:
            above, below = above * weight, below * (weight - self.whole)
        return divided(above, below)

    def _apart(self, cells: Sequence[int], i: int, j: int) -> int:
        """The covariance of two factors, as a share of their ranges; times their degrees and W²."""
        if i == j:
            products = 4 * sum(cell for term, cell in zip(self.terms, cells, strict=True) if term[i] == 2)
        else:
            products = sum(term[i] * term[j] * cell for term, cell in zip(self.terms, cells, strict=True))
        return sum(cells) * products - self._sum(cells, i) * self._sum(cells, j)

    def _sum(self, cells: Sequence[int], at: int) -> int:
        return sum(term[at] * cell for term, cell in zip(self.terms, cells, strict=True))

    def _mean(self, cells: Sequence[int], at: int) -> Fraction:
        return self.lows[at] + self.widths[at] * Fraction(self._sum(cells, at), self.degrees[at] * sum(cells))


def divided(numerator: int, denominator: int) -> float | None:
    """Rounded once, and correctly."""
    try:
        return numerator / denominator
    except OverflowError:
        return None
