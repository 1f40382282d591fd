"""BOUNDS AUTO: the bounds of a sum or a mean are looked for first, privately, and that takes a part of its ε; or a sum
is measured at knots, from 1 to as far as it may reach, and what its noise hides is told from these (`Hats`).

Knots take all of ε for one measurement, and do better where the farthest of them say how far values reach: on one side
of 0, as noise on both would not cancel; of one group, as each would have to be judged by itself; where one row is all
that a unit has, which moves its cells no farther than one at the last knot would; and where a unit comes or goes, as
one changed is in two places.

Candidates widen from the argument's own grid on, to 2, 3, 4, 6, 8, 12 and so on of it: every second one doubles.
Doubling the bounds of a sum doubles its noise, and keeps the units whole that lie between; so that is worth it while
those are more than a few times 1/ε. The penalty says so: 5/2 of 1/ε for two levels, or half of 1/ε for each group,
where there are many and each has noise of its own. Below 1.39 of it - the logarithm of 4, since noise that doubles has
four times the square - the mean square error would not even be finite, were there candidates without end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from privql.check.relations import Aggregate, Block
from privql.domains import Domain
from privql.frozen import frozen
from privql.kernel.bounds import Chosen, noisy_minimum
from privql.kernel.features import Total
from privql.kernel.noises import Noise
from privql.kernel.scalars import BOOL, INT, Apply, Const, Scalar, Value, ValueType
from privql.kernel.sums import Contribution, Hats
from privql.kernel.terms import Unit
from privql.plan.amounts import Amount
from privql.plan.bounds import contribution
from privql.plan.lower import Lowered

SHARE = Fraction(3, 10)  # of the aggregate's ε; measured by benchmarks/bounds.py, as are the two that follow
LEVEL = Fraction(5, 4)  # units, times 1/ε, that the next level must hold
GROUP = Fraction(1, 4)

_MOST_STEPS = 2**61
_FINEST, _GREATEST = Fraction(1, 2**40), Fraction(2**60)  # of a FLOAT

Interval = tuple[Fraction, Fraction]


def automatic(aggregate: Aggregate) -> bool:
    return aggregate.privacy is not None and aggregate.privacy.bounds_auto


def within(aggregate: Aggregate, interval: Interval | None = None) -> Aggregate:
    """With bounds for its argument: those given, or the widest that can be found."""
    if not automatic(aggregate):
        return aggregate
    low, high = interval if interval is not None else _candidates(aggregate)[-1]
    return replace(aggregate, domain=Domain(low, high, None, aggregate.domain.nullable, _grid(aggregate)))


@frozen
class Search:
    """The search for the bounds of one aggregate of a block: of its argument, or of each unit's `totals`."""

    block: int
    at: int  # which of the block's measurements
    aggregate: Aggregate
    unit: Unit
    intervals: tuple[Interval, ...]
    totals: bool
    epsilon: Amount
    chosen: Chosen | None  # None while ε has a parameter without a value

    @property
    def text(self) -> str:
        return f"bounds of {self.aggregate.text}"

    def contributions(self, level: int, lowered: Lowered) -> tuple[Contribution, Contribution]:
        """Within the bounds found: what a row contributes, and what the kernel takes, a unit's total perhaps."""
        interval = self.intervals[level]
        if not self.totals:
            made = contribution(within(self.aggregate, interval))
            return made, made
        made, measured = contribution(within(self.aggregate)), lowered.contributions[self.at]
        assert isinstance(made, Total) and isinstance(measured, Total)
        low, high = (int(end / made.steps.grid) for end in interval)
        return made, Total(replace(measured.steps, low=low, high=high))


def search_of(block: Block, aggregate: Aggregate, at: int, lowered: Lowered, epsilon: Amount) -> Search:
    totals = lowered.bounds.how == "totals"
    assert aggregate.argument is not None
    if totals:
        made, measured = contribution(within(aggregate)), lowered.contributions[at]
        assert isinstance(made, Total) and isinstance(measured, Total)
        steps = _widening(Fraction(0), Fraction(1), Fraction(measured.steps.low), Fraction(measured.steps.high))
        intervals = tuple((low * made.steps.grid, high * made.steps.grid) for low, high in steps)
        level, where = level_of(measured.steps.value, steps), None
    else:
        intervals = _candidates(aggregate)
        level, where = level_of(aggregate.argument, intervals), aggregate.where
    chosen = None
    if epsilon.known:
        each = max(LEVEL, GROUP * math.prod(len(key.members) for key in lowered.keys))
        penalty = math.ceil(each / epsilon.constant)
        chosen = noisy_minimum(lowered.owned, level, where, len(intervals), penalty, epsilon.constant)
    return Search(block.index, at, aggregate, block.unit, intervals, totals, epsilon, chosen)


def at_knots(aggregate: Aggregate, at: int, unit: Unit, lowered: Lowered, noise: Noise) -> tuple[Hats, Hats] | None:
    """What a row contributes, and what the kernel takes, a unit's total perhaps; None where bounds are looked for."""
    made, measured = contribution(within(aggregate)), lowered.contributions[at]
    if _grid(aggregate) is None or not isinstance(made, Total) or not isinstance(measured, Total):
        return None
    low, high = measured.steps.low, measured.steps.high
    if low < 0 < high or lowered.keys or lowered.stable.rows != 1 or unit.change_one or noise != "laplace":
        return None
    far = max(2, 1 << (max(-low, high) - 1).bit_length())
    low, high = (-far, 0) if low < 0 else (0, far)
    of_row, of_unit = (Hats(replace(one.steps, low=low, high=high), one.where) for one in (made, measured))
    return of_row, of_unit


def level_of(value: Scalar, intervals: Sequence[Interval]) -> Scalar:
    """The number of the first of nested intervals that holds the value, else of the last; NULL of NULL."""
    lows, highs = ([interval[side] for interval in intervals] for side in (0, 1))

    def holds(at: int) -> Scalar:
        tests = [Apply("le", (value, _const(highs[at], value.type)), BOOL)] if highs[0] != highs[-1] else []
        tests += [Apply("ge", (value, _const(lows[at], value.type)), BOOL)] if lows[0] != lows[-1] else []
        return Apply("and", tuple(tests), BOOL) if len(tests) > 1 else tests[0]

    def among(first: int, end: int) -> Scalar:
        if end - first == 1:
            return Const(first, INT)
        middle = (first + end) // 2
        return Apply("case", (holds(middle - 1), among(first, middle), among(middle, end)), INT)

    return Apply("case", (Apply("is_null", (value,), BOOL), Const(None, INT), among(0, len(intervals))), INT)


def _candidates(aggregate: Aggregate) -> tuple[Interval, ...]:
    """Around 0 - a mean's, around what is nearest to it - as far as the argument can reach, on every side it can."""
    domain, grid = aggregate.domain, _grid(aggregate)
    low, high = (Fraction(0), Fraction(0)) if domain.empty else (domain.low, domain.high)
    start = Fraction(0)
    if aggregate.function == "avg":
        start = max(start, low) if low is not None else start
        start = min(start, high) if high is not None else start
    most = _most(aggregate, grid)
    low, high = min(start, -most if low is None else low), max(start, most if high is None else high)
    return _widening(start, grid if grid is not None else _FINEST, low, high)


def _widening(start: Fraction, least: Fraction, low: Fraction, high: Fraction) -> tuple[Interval, ...]:
    out, size, next_ = [(max(start - least, low), min(start + least, high))], 2 * least, 3 * least
    while out[-1] != (low, high):
        out.append((max(start - size, low), min(start + size, high)))
        size, next_ = next_, 2 * size
    return tuple(out)


def _grid(aggregate: Aggregate) -> Fraction | None:
    """None of a FLOAT: its steps are chosen when its bounds are known."""
    type = aggregate.argument_type
    assert type is not None
    if type.kind == "FLOAT":
        return None
    return aggregate.domain.grid or Fraction(1, 10**type.scale)


def _most(aggregate: Aggregate, grid: Fraction | None) -> Fraction:
    type = aggregate.argument_type
    assert type is not None
    if grid is None:
        return _GREATEST
    greatest = _MOST_STEPS * grid
    return min(greatest, Fraction(10**type.precision - 1, 10**type.scale)) if type.kind == "DECIMAL" else greatest


def _const(end: Fraction, type: ValueType) -> Scalar:
    value: Value = end
    if type.kind == "INT":
        value = int(end)
    elif type.kind == "FLOAT":
        value = float(end)
    return Const(value, type)
