"""What a noisy answer costs: sensitivities of grouped integer sums, and the discrete Laplace or the Gaussian mechanism
upon them.

A contribution is the integer vector w that a row adds to its group; it lies in a set W (with 0, since a filter may
drop the row) that the term itself enforces by clamping. With r1, r2 the largest norms in W and d1, d2 the largest
norms of a difference in W, a unit of at most k rows moves the sums

    one unit more or fewer       L1 <= k*r1                 L2 <= k*r2
    one unit changed, one group  L1 <= k*d1                 L2 <= k*d2
    one unit changed, groups     L1 <= 2k*r1                L2 <= max(k*d2, √2*k*r2)

For groups under CHANGE ONE: the L2 norm of the move is convex in how the k old and the k new rows spread over the
groups, so its maximum is at a corner: all in one group (k*d2), or all old in one and all new in another (√2*k*r2).
A row falls in at most one group, so without CHANGE ONE the groups share one bound.

Where a unit has one row at most in each group (`Stable.apart`), its moves in different groups are orthogonal:

    one unit more or fewer       L2 <= √k*r2
    one unit changed             L2 <= max(√k*d2, √(2k)*r2)

For the second, of the groups that hold old or new rows let a hold one of both: their moves are at most d2 each, and
those of the others, 2k - 2a at most, r2. The square, a*d2² + (2k - 2a)*r2², is linear in a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.gaussian import greatest_mu
from privql.kernel.noises import Noise
from privql.kernel.proved import RULE, Proved, Unproved, proved
from privql.kernel.scalars import Field
from privql.kernel.stable import Stable
from privql.kernel.sums import Balance, Contribution, Hats, Key, Listed, Powers, Sums
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
        case Hats(far=far):
            # cells of at least 0 that sum to `far` at most; of a row at a knot, it is all in that one's
            return Reach(far, far**2, 2 * far, 2 * far**2)


@frozen
class Sensitivity:
    l1: int
    l2_squared: int


def sensitivity(unit: Unit, rows: int, grouped: bool, contribution: Contribution, apart: bool = False) -> Sensitivity:
    """`apart`: of the rows of a unit, each is in a group of its own."""
    w = reach(contribution)
    times = rows if apart and grouped else rows**2
    if not unit.change_one:
        return Sensitivity(rows * w.l1, times * w.l2_squared)
    if not grouped:
        return Sensitivity(rows * w.difference_l1, times * w.difference_l2_squared)
    return Sensitivity(2 * rows * w.l1, times * max(w.difference_l2_squared, 2 * w.l2_squared))


def moved(input: Stable, keys: Sequence[Key | Listed], contribution: Contribution) -> Sensitivity:
    """By one unit, in the groups of these keys. Groups that were found have one price, however many they are."""
    if input.rows is None:
        raise Unproved("nothing bounds how many rows a unit owns")
    grouped = prod(len(key.members) for key in keys) > 1 or any(isinstance(key, Listed) for key in keys)
    values = [value for key in keys for value in (key.values if isinstance(key, Listed) else (key.value,))]
    by = {value.name for value in values if isinstance(value, Field) and value.type.kind != "FLOAT"}
    apart = any(columns <= by for columns in input.apart)
    return sensitivity(input.unit, input.rows, grouped, contribution, apart)


@frozen
class Part:
    """One contribution's noise on every cell: discrete Laplace of `scale`, or a rounded Gaussian of that deviation."""

    contribution: Contribution
    scale: Fraction
    sensitivity: Sensitivity
    noise: Noise = "laplace"

    @property
    def epsilon(self) -> Fraction:
        """What Laplace noise costs: L1 / scale."""
        return self.sensitivity.l1 / self.scale

    @property
    def mu_squared(self) -> Fraction:
        """What Gaussian noise costs: L2² / σ²."""
        return self.sensitivity.l2_squared / self.scale**2


@dataclass(frozen=True, slots=True)
class Measured(Proved):
    """A noisy release of `term`, proved to cost `cost` to `unit`. Made by `laplace` and `gaussian` alone."""

    term: Sums
    unit: Unit
    rows: int
    parts: tuple[Part, ...]
    cost: Cost

    @property
    def mu_squared(self) -> Fraction | None:
        """It is μ-Gaussian private, which says more than its cost: where all of its noise is Gaussian, μ²."""
        if any(part.noise != "gaussian" for part in self.parts):
            return None
        return sum((part.mu_squared for part in self.parts), Fraction(0))


@dataclass(frozen=True, slots=True)
class Together(Proved):
    """Several Gaussian releases that are paid for at once. Made by `together` alone."""

    of: tuple[Measured, ...]
    unit: Unit
    cost: Cost


def laplace(
    input: Stable, keys: tuple[Key | Listed, ...], contributions: tuple[Contribution, ...], scales: tuple[Fraction, ...]
) -> Measured:
    """The sums of each contribution with discrete Laplace noise of its scale on every cell.

    Noise of scale t on integers that a unit moves by at most L1 costs epsilon = L1/t; the parts add up.
    """
    parts = _parts(input, keys, contributions, scales, "laplace")
    total = Cost(sum((part.epsilon for part in parts), Fraction(0)), Fraction(0))
    return _released("laplace", input, keys, parts, total)


def gaussian(
    input: Stable,
    keys: tuple[Key | Listed, ...],
    contributions: tuple[Contribution, ...],
    sigmas: tuple[Fraction, ...],
    cost: Cost,
) -> Measured:
    """The sums of each contribution with a rounded Gaussian of its deviation on every cell, for (ε, δ) together.

    Divided by their deviations, all cells together move by √(Σ L2²/σ²) at most: one Gaussian release of that μ.
    """
    parts = _parts(input, keys, contributions, sigmas, "gaussian")
    _afforded(sum((part.mu_squared for part in parts), Fraction(0)), cost)
    return _released("gaussian", input, keys, parts, cost)


def together(of: tuple[Measured, ...], cost: Cost) -> Together:
    """Gaussian releases of one unit beside each other, for (ε, δ) together: their cells, too, are one vector's."""
    for one in of:
        proved(one, Measured)
    squares = [one.mu_squared for one in of]
    known = [square for square in squares if square is not None]
    if not of or len(known) < len(of) or any(one.unit != of[0].unit for one in of):
        raise Unproved("only Gaussian noise for one unit is paid for at once")
    _afforded(sum(known, Fraction(0)), cost)
    return Together(of, of[0].unit, cost, why=("together", of), by=RULE)


def _afforded(mu_squared: Fraction, cost: Cost) -> None:
    if cost.epsilon <= 0 or not 0 < cost.delta < 1:
        raise Unproved("Gaussian noise takes an ε and a δ")
    if mu_squared > greatest_mu(cost.epsilon, cost.delta) ** 2:
        raise Unproved("this noise costs more than that")


def _parts(
    input: Stable,
    keys: tuple[Key | Listed, ...],
    contributions: tuple[Contribution, ...],
    scales: tuple[Fraction, ...],
    noise: Noise,
) -> tuple[Part, ...]:
    proved(input, Stable)
    if len(contributions) != len(scales) or not contributions:
        raise Unproved("one scale for each contribution")
    for key in keys:
        grouping(key, input)
    parts = []
    for contribution, scale in zip(contributions, scales, strict=True):
        feature(contribution, input.columns)
        move = moved(input, keys, contribution)
        if move.l1 < 1 or scale <= 0:
            raise Unproved("a measurement needs noise")
        parts.append(Part(contribution, scale, move, noise))
    return tuple(parts)


def _released(
    rule: str, input: Stable, keys: tuple[Key | Listed, ...], parts: tuple[Part, ...], cost: Cost
) -> Measured:
    assert input.rows is not None  # else nothing bounds what a unit moves
    term = Sums(input.term, keys, tuple(part.contribution for part in parts))
    return Measured(term, input.unit, input.rows, parts, cost, why=(rule, (input,)), by=RULE)


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
