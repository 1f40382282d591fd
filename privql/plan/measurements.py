"""One aggregate of a block, with its noise and its price; and what the kernel proves of all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from privql.check.relations import Aggregate, Block
from privql.diagnostics import refuse
from privql.frozen import frozen
from privql.kernel import measure, merged
from privql.kernel.cost import Cost
from privql.kernel.measure import Measured, Sensitivity
from privql.kernel.noises import Left, Noise, halfwidth, halfwidth_of_two
from privql.kernel.picks import Picked
from privql.kernel.ranks import Placed
from privql.kernel.sums import Balance, Contribution, Hats, Key, Listed, Powers
from privql.kernel.terms import Unit
from privql.kernel.two import weights
from privql.plan.amounts import Amount
from privql.plan.levels import Marginal
from privql.plan.lower import Lowered
from privql.plan.noises import sigma
from privql.plan.picks import chosen
from privql.plan.ranks import placed, ranked
from privql.plan.reach import moved

Made = Measured | Placed | Picked


@frozen
class Measurement:
    """One aggregate of one block: its reach, its noise and its price. `scale` is in steps of `grid`.

    `also`: others that are read off its cells. Then these are a mean's, even if no mean is asked for.
    """

    aggregate: Aggregate
    block: int
    unit: Unit
    rows: int
    contribution: Contribution
    sensitivity: Sensitivity
    grid: Fraction
    epsilon: Amount
    open: bool = False  # its bounds are still to be found: until then, the widest
    also: tuple[Aggregate, ...] = ()
    placed: Placed | None = None  # of a value that is drawn by its rank, once ε is known
    picked: Picked | None = None  # of values that are chosen by how frequent they are
    split: bool = False  # among several marginals: its error is that of what is made of them
    noise: Noise = "laplace"
    delta: Fraction = Fraction(0)  # its part of what Gaussian or Gumbel noise takes
    mu_squared: Fraction | None = None  # and of what that buys, together with ε
    reached: Fraction | None = None  # of a sum at knots, once it is answered: what is beyond was told from what is not
    before: tuple[Fraction, ...] = ()  # deviations of earlier answers that this one is merged with

    @property
    def scale(self) -> Fraction | None:
        """Of the noise in the answer. None while ε has a parameter without a value."""
        if not self.before:
            return self.drawn
        return merged.deviation((*self.before, self.drawn) if self.drawn is not None else self.before)

    @property
    def law(self) -> Left:
        """What noise is in the answer: several that are merged are another than one by itself."""
        return "merged" if len(self.before) + (self.drawn is not None) > 1 else self.noise

    @property
    def drawn(self) -> Fraction | None:
        """The scale of the noise that is added anew: None where earlier answers are near enough."""
        if self.before and not self.mu_squared:
            return None
        if self.noise == "gaussian":
            return sigma(self.sensitivity.l2_squared, self.mu_squared) if self.mu_squared is not None else None
        return self.sensitivity.l1 / self.epsilon.constant if self.epsilon.known else None

    def share(self, of: Fraction) -> Measurement:
        if of == 1:
            return self
        square = self.mu_squared * of if self.mu_squared is not None else None
        return replace(self, epsilon=self.epsilon.times(of), delta=self.delta * of, mu_squared=square)

    def among_many(self, confidence: Fraction) -> Fraction | None:
        """The farthest that noise moves what is measured of n rows, n times: a mean or a variance by one cell's alone,
        where all values are at an end of their range. None where it depends on more than that."""
        linear = ("avg", "var_pop", "var_samp", "covar_pop", "covar_samp")
        if self.split or self.aggregate.function not in linear:
            return None
        assert self.scale is not None  # nobody asks while ε is open
        return halfwidth(self.law, self.scale, confidence) * self.grid

    def halfwidth(self, confidence: Fraction, of: Aggregate | None = None) -> Fraction | None:
        """How far off the answer may be - of one that is read off it, too - where that does not depend on the data."""
        if self.scale is None or self.open or self.split or self.aggregate.choice is not None:
            return None
        match self.contribution, (of or self.aggregate).function:
            case Balance(steps=steps), "count" | "sum" as gives:
                over, grid = steps.high - steps.low, self.grid if gives == "sum" else Fraction(1)
                both = weights(steps.low, steps.high, gives)
                return halfwidth_of_two(self.law, self.scale, both, over, confidence) * grid
            case Balance() | Powers() | Hats(), _:
                return None
            case _:
                return halfwidth(self.law, self.scale, confidence) * self.grid


def by_its_rank(one: Measurement, lowered: Lowered) -> Measurement:
    """Where it is one of a value that is drawn, which and in what steps."""
    if one.aggregate.choice is not None and one.epsilon.known:
        return replace(one, picked=chosen(one.aggregate, lowered, one.epsilon.constant, one.delta))
    if not ranked(one.aggregate) or not one.epsilon.known:
        return one
    drawn = placed((one.aggregate, *one.also), lowered, one.epsilon.constant)
    within = Balance(drawn.term.steps, drawn.term.where)
    return replace(one, contribution=within, grid=drawn.term.steps.grid, placed=drawn)


def proved(
    block: Block, lowered: Lowered, measurements: Sequence[Measurement], marginals: Sequence[Marginal]
) -> tuple[Made | None, tuple[Measured, ...]]:
    """What the kernel makes of it, at the price that was planned: of each marginal, where there are any. None while
    that price has a parameter without a value, and where nothing but groups is looked for."""
    if not measurements or any(one.scale is None for one in measurements):
        return None, ()
    first: Made | None = measurements[0].placed or measurements[0].picked
    beside: tuple[Measured, ...] = ()
    if first is None:
        keys = [tuple(lowered.keys[at] for at in one.keys) for one in marginals] if not lowered.unlisted else []
        shares = [one.share for one in marginals] or [Fraction(1)]
        first, *others = map(partial(_measured, lowered, measurements), keys or [lowered.keys], shares)
        beside = tuple(others)
    planned = sum((one.epsilon.constant for one in measurements), Fraction(0))
    if isinstance(first, Measured) and first.mu_squared is not None:
        cost = measure.together((first, *beside), first.cost).cost.epsilon
    else:
        cost = sum((one.cost.epsilon for one in (first, *beside)), Fraction(0))
    if cost != planned:
        raise refuse(
            "PQL0901",
            "the price and the proof disagree",
            block.span,
            why=f"planned ε = {planned}, proved ε = {cost}",
            help="report this query: it was not run",
        )
    return first, beside


def _measured(
    lowered: Lowered, measurements: Sequence[Measurement], keys: tuple[Key | Listed, ...], share: Fraction
) -> Measured:
    """With this share of what each aggregate may spend; all Gaussian noise is paid for together."""
    scales = []
    whole = keys == lowered.keys  # then its sensitivity is known: that of all its keys
    for one, contribution in zip(measurements, lowered.contributions, strict=True):
        part = one.share(share)
        scale = (part if whole else replace(part, sensitivity=moved(lowered, keys, contribution))).drawn
        assert scale is not None
        scales.append(scale)
    shape = (lowered.stable, keys, lowered.contributions, tuple(scales))
    if measurements[0].noise == "laplace":
        return measure.laplace(*shape)
    epsilon = sum((one.epsilon.constant for one in measurements), Fraction(0))
    return measure.gaussian(*shape, Cost(epsilon, sum((one.delta for one in measurements), Fraction(0))))
