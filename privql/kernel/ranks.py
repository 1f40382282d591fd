"""Values by their rank - medians, quantiles, least and greatest values - drawn by the exponential mechanism.

Of a group's n values in order, each in whole steps between two bounds, one is wanted that stands at place t = share·n +
offset: at most t values are below it, and at least t are at most it. With share = a/b, the loss of a step v is

    loss(v) = the least of clip and max(0, b·#{x < v} - b·t, b·t - b·#{x <= v})

and v is drawn, of all steps between the bounds, with a probability proportional to exp(-exponent·loss(v)).

One row more moves the loss of every step by at most max(a, b - a); one row changed, by at most b. So a unit's rows
move the losses of all groups together by `moved`, and exponent = ε / (2·moved) costs ε (docs/proofs/quantiles.md). A
least or greatest value is one at share 0 or 1 and a public offset from there: how many values there are is private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.features import Steps, Total
from privql.kernel.measure import grouping
from privql.kernel.proved import RULE, Proved, Unproved
from privql.kernel.scalars import Scalar
from privql.kernel.stable import Stable
from privql.kernel.sums import Key, Listed
from privql.kernel.terms import Relation, Unit
from privql.kernel.wellformed import feature

_REST = 45  # all steps of the greatest loss together are as likely as e^-45, or less where any step has no loss
_MOST_SHARE = 10**9


@frozen
class Rank:
    """Which of a group's values that are not NULL: at place share·n + offset."""

    share: Fraction
    offset: int = 0


Met = tuple[int, int, int]  # a value in steps, how many are below it, how many are at most it
Ranked = tuple[int, Sequence[Met]]  # of one group: how many values it has, and those of a loss below the clip


@frozen
class Ranks:
    """For every group of the product of the keys, in that order: how many values it has, and each different one, in
    steps, whose loss is below `clip`, with how many are below it and how many are at most it."""

    input: Relation
    keys: tuple[Key | Listed, ...]
    steps: Steps
    where: Scalar | None
    rank: Rank
    clip: int

    @property
    def groups(self) -> int:
        return prod(len(key.members) for key in self.keys)

    def target(self, count: int) -> int:
        """b·t."""
        return self.rank.share.numerator * count + self.rank.share.denominator * self.rank.offset

    def loss(self, count: int, below: int, at_most: int) -> int:
        target, times = self.target(count), self.rank.share.denominator
        return min(self.clip, max(0, times * below - target, target - times * at_most))

    def pieces(self, group: Ranked) -> list[tuple[int, int]]:
        """All steps in order, as runs of one loss each: how many there are, and their loss.

        Between two values that follow each other nothing changes. Below the first that was met, and above the last,
        every loss is the clip - or there are no values there, and it is that of a step with none below (above) it.
        """
        count, met = group
        out = []
        at, below = self.steps.low, met[0][1] if met else 0
        for step, under, up_to in met:
            if step > at:
                out.append((step - at, self.loss(count, under, under)))
            out.append((1, self.loss(count, under, up_to)))
            at, below = step + 1, up_to
        if at <= self.steps.high:
            out.append((self.steps.high + 1 - at, self.loss(count, below, below)))
        return out


@dataclass(frozen=True, slots=True)
class Placed(Proved):
    """A step drawn for each group of `term`, proved to cost `cost`. Made by `by_rank` alone."""

    term: Ranks
    unit: Unit
    rows: int
    moved: int
    cost: Cost

    @property
    def exponent(self) -> Fraction:
        return self.cost.epsilon / (2 * self.moved)


def moved(unit: Unit, rows: int, grouped: bool, rank: Rank) -> int:
    """How far one unit moves the losses of a step, added up over all groups.

    A row is in one group. Under CHANGE ONE a row that leaves and one that comes are one changed row where they are in
    one group, and there at most b; apart, each is at most max(a, b - a), and two of these are no less than b.
    """
    a, b = rank.share.numerator, rank.share.denominator
    if not unit.change_one:
        return rows * max(a, b - a)
    return 2 * rows * max(a, b - a) if grouped else rows * b


def by_rank(
    input: Stable, keys: tuple[Key | Listed, ...], steps: Steps, where: Scalar | None, rank: Rank, epsilon: Fraction
) -> Placed:
    """One step of each group for ε."""
    if input.rows is None:
        raise Unproved("nothing bounds how many rows a unit owns")
    for key in keys:
        grouping(key, input)
    feature(Total(steps, where), input.columns)
    if steps.low > steps.high or epsilon <= 0:
        raise Unproved("a value is drawn from some steps, for some ε")
    if not 0 <= rank.share <= 1 or rank.share.denominator > _MOST_SHARE:
        raise Unproved("a share lies between 0 and 1, and is a ratio of short numbers")
    grouped = prod(len(key.members) for key in keys) > 1 or any(isinstance(key, Listed) for key in keys)
    far = moved(input.unit, input.rows, grouped, rank)
    if far < 1:
        raise Unproved("a measurement needs noise")
    term = Ranks(input.term, keys, steps, where, rank, clipped(steps, epsilon / (2 * far)))
    return Placed(term, input.unit, input.rows, far, Cost(epsilon), by=RULE)


def clipped(steps: Steps, exponent: Fraction) -> int:
    """The greatest loss that is told apart: exp(-exponent·clip) is e^-45 of 1 / the number of steps, or less."""
    return math.ceil((Fraction(7, 10) * (steps.high + 1 - steps.low).bit_length() + _REST) / exponent)
