"""What a noisy answer costs: sensitivities of grouped integer sums, and the discrete Laplace mechanism upon them.

A contribution is the integer vector w that a row adds to its group; it lies in a set W (with 0, since a filter may
drop the row) that the term itself enforces by clamping. With r1, r2 the largest norms in W and d1, d2 the largest
norms of a difference in W, a unit of at most k rows moves the sums

    one unit more or fewer       L1 <= k*r1                 L2 <= k*r2
    one unit changed, one group  L1 <= k*d1                 L2 <= k*d2
    one unit changed, groups     L1 <= 2k*r1                L2 <= max(k*d2, √2*k*r2)

For groups under CHANGE ONE: the L2 norm of the move is convex in how the k old and the k new rows spread over the
groups, so its maximum is at a corner: all in one group (k*d2), or all old in one and all new in another (√2*k*r2).
A row falls in at most one group, so without CHANGE ONE the groups share one bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.proved import RULE, Proved, Unproved
from privql.kernel.stable import Stable
from privql.kernel.sums import Balance, Contribution, Key, Listed, Powers, Sums
from privql.kernel.terms import Unit
from privql.kernel.wellformed import feature, reads


@frozen
class Reach:
    """Of a contribution's set W: r1, r2², d1, d2²."""

    l1: int
    l2_squared: int
    difference_l1: int
    difference_l2_squared: int


def reach(contribution: Contribution) -> Reach:
    match contribution:
        case Tally():
            return Reach(1, 1, 1, 1)
        case Total(steps=Steps(low=low, high=high)):
            far, apart = max(abs(low), abs(high)), max(high, 0) - min(low, 0)
            return Reach(far, far**2, apart, apart**2)
        case Balance(steps=Steps(low=low, high=high)):
            # (s-low, high-s) sums to R; farthest from each other are the two ends, (0, R) and (R, 0)
            width = high - low
            return Reach(width, width**2, 2 * width, 2 * width**2)
        case Powers(whole=whole):
            # cells of at least 0 that sum to the whole; where all factors are at one end, it is in one cell
            return Reach(whole, whole**2, 2 * whole, 2 * whole**2)


@frozen
class Sensitivity:
    l1: int
    l2_squared: int


def sensitivity(unit: Unit, rows: int, grouped: bool, contribution: Contribution) -> Sensitivity:
    w = reach(contribution)
    if not unit.change_one:
        return Sensitivity(rows * w.l1, rows**2 * w.l2_squared)
    if not grouped:
        return Sensitivity(rows * w.difference_l1, rows**2 * w.difference_l2_squared)
    return Sensitivity(2 * rows * w.l1, rows**2 * max(w.difference_l2_squared, 2 * w.l2_squared))


@frozen
class Part:
    """One contribution's noise and its price: discrete Laplace of `scale` on every cell, epsilon = L1 / scale."""

    contribution: Contribution
    scale: Fraction
    sensitivity: Sensitivity

    @property
    def epsilon(self) -> Fraction:
        return self.sensitivity.l1 / self.scale


@dataclass(frozen=True, slots=True)
class Measured(Proved):
    """A noisy release of `term`, proved to cost `cost` to `unit`. Made by `laplace` alone."""

    term: Sums
    unit: Unit
    rows: int
    parts: tuple[Part, ...]
    cost: Cost


def laplace(
    input: Stable, keys: tuple[Key | Listed, ...], contributions: tuple[Contribution, ...], scales: tuple[Fraction, ...]
) -> Measured:
    """The sums of each contribution with discrete Laplace noise of its scale on every cell.

    Noise of scale t on integers that a unit moves by at most L1 costs epsilon = L1/t; the parts add up.
    """
    if input.rows is None:
        raise Unproved("nothing bounds how many rows a unit owns")
    if len(contributions) != len(scales) or not contributions:
        raise Unproved("one scale for each contribution")
    for key in keys:
        grouping(key, input)
    term = Sums(input.term, keys, contributions)
    grouped = term.groups > 1 or any(isinstance(key, Listed) for key in keys)  # one price, however many were found
    parts = []
    for contribution, scale in zip(contributions, scales, strict=True):
        feature(contribution, input.columns)
        moved = sensitivity(input.unit, input.rows, grouped, contribution)
        if moved.l1 < 1 or scale <= 0:
            raise Unproved("a measurement needs noise")
        parts.append(Part(contribution, scale, moved))
    total = Cost(sum((part.epsilon for part in parts), Fraction(0)), Fraction(0))
    return Measured(term, input.unit, input.rows, tuple(parts), total, by=RULE)


def grouping(key: Key | Listed, input: Stable) -> None:
    if not key.members or len(set(key.members)) != len(key.members):
        raise Unproved("the groups must be listed, each once")
    match key:
        case Key(value=value):
            reads(value, input.columns)
        case Listed(values=values, members=members):
            for value in values:
                reads(value, input.columns)
            if not values or any(len(member) != len(values) for member in members):
                raise Unproved("a group has a value for each grouping expression")
