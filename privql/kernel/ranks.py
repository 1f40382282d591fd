"""Values by their rank - medians, quantiles, least and greatest values - drawn by the exponential mechanism.

Of a group's n values in order, each in whole steps between two bounds, one is wanted that stands at place t = share·n +
offset: at most t values are below it, and at least t are at most it. With share = a/b, the loss of a step v is

    loss(v) = the least of clip and max(0, b·#{x < v} - b·t, b·t - b·#{x <= v})

and v is drawn, of all steps between the bounds, with a probability proportional to exp(-exponent·loss(v)).

One row more moves the loss of every step by at most max(a, b - a); one row changed, by at most b. So a unit's rows
move the losses of all groups together by `moved`, and exponent = ε / (2·moved) costs ε (docs/proofs/quantiles.md). A
least or greatest value is one at share 0 or 1 and a public offset from there: how many values there are is private.

Of several ranks the one in the middle is drawn first, with a part of ε. It cuts the rows in two - each row is on one
side, whatever the others are - and what is left of ε is spent on both sides alike, until each rank is drawn
(`kernel/places.py`): a row pays for no more draws than there are halvings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod

from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.features import Steps, Total
from privql.kernel.measure import grouping
from privql.kernel.proved import RULE, Proved, Unproved, proved
from privql.kernel.scalars import Scalar
from privql.kernel.stable import Stable
from privql.kernel.sums import Key, Listed
from privql.kernel.terms import Relation, Unit
from privql.kernel.wellformed import feature

_REST = 45  # all steps of the greatest loss together are as likely as e^-45, or less where any step has no loss
_MOST_SHARE = 10**9
FARTHEST = 2**62  # of all rows there may be, each is nearer to any place


@frozen
class Rank:
    """Which of a group's values that are not NULL: at place share·n + offset."""

    share: Fraction
    offset: int = 0


Met = tuple[int, int, int]  # a value in steps, how many are below it, how many are at most it
Ranked = tuple[int, Sequence[Met]]  # of one group: how many values it has, and those near one of the ranks


@frozen
class Ranks:
    """For every group of the product of the keys, in that order: how many values it has, and each different one, in
    steps, that takes a place no more than `far` from that of any of the ranks, with how many are below it and how many
    are at most it."""

    input: Relation
    keys: tuple[Key | Listed, ...]
    steps: Steps
    where: Scalar | None
    ranks: tuple[Rank, ...]
    far: int

    @property
    def groups(self) -> int:
        return prod(len(key.members) for key in self.keys)


def place(rank: Rank, count: int) -> Fraction:
    return rank.share * count + rank.offset


@frozen
class Draw:
    """How one of the ranks is drawn, and those `before` and `after` it then, each of the rows on its side."""

    at: int  # which of them
    rank: Rank  # of the rows that are left
    epsilon: Fraction
    moved: int
    clip: int
    before: Draw | None = None
    after: Draw | None = None

    @property
    def exponent(self) -> Fraction:
        return self.epsilon / (2 * self.moved)

    @property
    def cuts(self) -> bool:
        return self.before is not None or self.after is not None

    def loss(self, count: int, below: int, at_most: int) -> int:
        a, b = self.rank.share.numerator, self.rank.share.denominator
        target = a * count + b * self.rank.offset  # b·t
        return min(self.clip, max(0, b * below - target, target - b * at_most))

    def all(self) -> Iterator[Draw]:
        for side in (self.before, self, self.after):
            if side is self:
                yield self
            elif side is not None:
                yield from side.all()


@dataclass(frozen=True, slots=True)
class Placed(Proved):
    """A step drawn for each rank in each group of `term`, proved to cost `cost`. Made by `by_rank` alone."""

    term: Ranks
    unit: Unit
    rows: int
    draw: Draw
    cost: Cost


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
    input: Stable,
    keys: tuple[Key | Listed, ...],
    steps: Steps,
    where: Scalar | None,
    ranks: tuple[Rank, ...],
    epsilon: Fraction,
) -> Placed:
    """One step for each rank, in their order, of each group for ε."""
    proved(input, Stable)
    if input.rows is None:
        raise Unproved("nothing bounds how many rows a unit owns")
    for key in keys:
        grouping(key, input)
    feature(Total(steps, where), input.columns)
    if steps.low > steps.high or epsilon <= 0:
        raise Unproved("a value is drawn from some steps, for some ε")
    if not ranks or any(one.share >= other.share for one, other in pairwise(ranks)):
        raise Unproved("ranks are drawn in the order of their shares, each once")
    if any(not 0 <= rank.share <= 1 or rank.share.denominator > _MOST_SHARE for rank in ranks):
        raise Unproved("a share lies between 0 and 1, and is a ratio of short numbers")
    grouped = prod(len(key.members) for key in keys) > 1 or any(isinstance(key, Listed) for key in keys)
    draw = halved(tuple(enumerate(ranks)), epsilon, input.unit, input.rows, grouped, steps)
    assert draw is not None
    term = Ranks(input.term, keys, steps, where, ranks, math.ceil(_farthest(draw, Fraction(0))))
    return Placed(term, input.unit, input.rows, draw, Cost(epsilon), why=("by_rank", (input,)), by=RULE)


def halved(
    ranks: Sequence[tuple[int, Rank]], epsilon: Fraction, unit: Unit, rows: int, grouped: bool, steps: Steps
) -> Draw | None:
    """Each way from the first draw to a last one costs ε, and a row goes one way: the two sides of a cut are groups.

    Of two in the middle the one that is not at an end of the rows: the end is drawn better where it need not cut.
    """
    if not ranks:
        return None
    middle = min((len(ranks) // 2, (len(ranks) - 1) // 2), key=lambda i: abs(ranks[i][1].share - Fraction(1, 2)))
    at, rank = ranks[middle]
    now = epsilon / len(ranks).bit_length()
    far = moved(unit, rows, grouped, rank)
    if far < 1:
        raise Unproved("a measurement needs noise")
    share = rank.share
    below = [(i, Rank(one.share / share, one.offset)) for i, one in ranks[:middle]]
    above = [(i, Rank((one.share - share) / (1 - share), one.offset)) for i, one in ranks[middle + 1 :]]
    sides = (halved(side, epsilon - now, unit, rows, True, steps) for side in (below, above))
    return Draw(at, rank, now, far, clipped(steps, now / (2 * far), share.denominator), *sides)


def clipped(steps: Steps, exponent: Fraction, place: int) -> int:
    """The greatest loss that is told apart: exp(-exponent·clip) is e^-45 of 1 / the number of steps, or less. `place`:
    the loss of a whole place, half of which every cut may have."""
    return place // 2 + math.ceil((Fraction(7, 10) * (steps.high + 1 - steps.low).bit_length() + _REST) / exponent)


def _farthest(draw: Draw, off: Fraction) -> Fraction:
    """How far from its place among all rows what is asked for may be, the cuts around being `off` from theirs."""
    here = off + abs(draw.rank.offset) + Fraction(draw.clip, draw.rank.share.denominator)
    if not draw.cuts:
        return here - abs(draw.rank.offset)
    return max(here, *(_farthest(side, here) for side in (draw.before, draw.after) if side is not None))
