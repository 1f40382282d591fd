"""What is planned: what each block measures, with how much noise, and what the kernel proves it to cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

from privql.check.relations import Aggregate, Block, GroupingKey
from privql.diagnostics import refuse
from privql.frozen import frozen
from privql.kernel import measure, ranks
from privql.kernel.bounds import Chosen
from privql.kernel.cost import Cost
from privql.kernel.measure import Measured, Sensitivity, Together
from privql.kernel.noises import Noise, halfwidth, halfwidth_of_two
from privql.kernel.picks import Picked
from privql.kernel.ranks import Placed
from privql.kernel.scalars import Value
from privql.kernel.selection import Selected
from privql.kernel.sums import Balance, Contribution, Key, Listed, Powers
from privql.kernel.terms import Unit
from privql.kernel.two import weights
from privql.plan.amounts import ZERO, Amount
from privql.plan.automatic import Search
from privql.plan.levels import Marginal
from privql.plan.lower import Lowered
from privql.plan.noises import sigma
from privql.plan.picks import chosen
from privql.plan.ranks import placed, ranked
from privql.plan.reach import moved, wanted
from privql.plan.related import PublicRows
from privql.plan.selection import Selection

Made = Measured | Placed | Picked
Released = Made | Together | Selected | Chosen


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
    delta: Fraction = Fraction(0)  # its part of what Gaussian noise takes
    mu_squared: Fraction | None = None  # and of what that buys, together with ε

    @property
    def scale(self) -> Fraction | None:
        """None while ε has a parameter without a value."""
        if self.noise == "gaussian":
            return sigma(self.sensitivity.l2_squared, self.mu_squared) if self.mu_squared is not None else None
        return self.sensitivity.l1 / self.epsilon.constant if self.epsilon.known else None

    def share(self, of: Fraction) -> Measurement:
        square = self.mu_squared * of if self.mu_squared is not None else None
        return replace(self, epsilon=self.epsilon.times(of), delta=self.delta * of, mu_squared=square)

    def among_many(self, confidence: Fraction) -> Fraction | None:
        """The farthest that noise moves what is measured of n rows, n times: a mean or a variance by one cell's alone,
        where all values are at an end of their range. None where it depends on more than that."""
        linear = ("avg", "var_pop", "var_samp", "covar_pop", "covar_samp")
        if self.scale is None or self.split or self.aggregate.function not in linear:
            return None
        return halfwidth(self.noise, self.scale, confidence) * self.grid

    def halfwidth(self, confidence: Fraction, of: Aggregate | None = None) -> Fraction | None:
        """How far off the answer may be - of one that is read off it, too - where that does not depend on the data."""
        if self.scale is None or self.open or self.split or self.aggregate.choice is not None:
            return None
        match self.contribution, (of or self.aggregate).function:
            case Balance(steps=steps), "count" | "sum" as gives:
                over, grid = steps.high - steps.low, self.grid if gives == "sum" else Fraction(1)
                both = weights(steps.low, steps.high, gives)
                return halfwidth_of_two(self.noise, self.scale, both, over, confidence) * grid
            case Balance() | Powers(), _:
                return None
            case _:
                return halfwidth(self.noise, self.scale, confidence) * self.grid


@frozen
class BlockPlan:
    block: Block
    lowered: Lowered
    measurements: tuple[Measurement, ...]
    measured: Made | None  # None while a parameter of its price has no value, or where it looks for groups
    selection: Selection | None = None  # where nobody listed all of its groups
    searches: tuple[Search, ...] = ()  # for bounds that nobody stated
    levels: tuple[int, ...] | None = None  # those that each of them found
    numbers: Selection | None = None  # the search for groups, its own or another's, that counts are read off
    marginals: tuple[Marginal, ...] = ()  # where it has several grouping sets: what is measured of each aggregate
    beside: tuple[Measured, ...] = ()  # all of them but the first

    @property
    def publics(self) -> tuple[PublicRows, ...]:
        return self.lowered.publics

    @property
    def sources(self) -> tuple[int | None, ...]:
        """For each aggregate of the block, the number of the measurement that it is read off: None of the search for
        its groups."""
        places = {one.id: at for at, made in enumerate(self.measurements) for one in (made.aggregate, *made.also)}
        return tuple(places.get(aggregate.id) for aggregate in self.block.aggregates)

    def halfwidth(self, at: int, confidence: Fraction) -> Fraction | None:
        """How far off the aggregate of this number may be, where that does not depend on the data."""
        source = self.sources[at]
        if source is not None:
            return self.measurements[source].halfwidth(confidence, self.block.aggregates[at])
        assert self.numbers is not None
        return self.numbers.halfwidth(confidence)

    @property
    def measurable(self) -> tuple[Made | Selected | Chosen, ...]:
        """What is measured of the block, the groups that are still to be found being any, the bounds the widest."""
        return (*self.looked_for, *(() if self.measured is None else (self.measured,)), *self.beside)

    @property
    def looked_for(self) -> tuple[Selected | Chosen, ...]:
        """What must be known before its sums are measured."""
        selected = self.selection.selected if self.selection is not None else None
        return tuple(one for one in (selected, *(search.chosen for search in self.searches)) if one is not None)

    def within(self, levels: Sequence[int]) -> BlockPlan:
        """The same within the bounds that were found: the same price, and noise for no more than these."""
        made, measured = list(self.measurements), list(self.lowered.contributions)
        for search, level in zip(self.searches, levels, strict=True):
            made_of, measured[search.at] = search.contributions(level, self.lowered)
            one = wanted(search.aggregate, made_of, measured[search.at], self.block, self.lowered)
            made[search.at] = replace(
                made[search.at], contribution=made_of, sensitivity=one.sensitivity, grid=one.grid, open=False
            )
        lowered = replace(self.lowered, contributions=tuple(measured))
        first, beside = proved(self.block, lowered, made, self.marginals)
        return replace(
            self,
            lowered=lowered,
            measurements=tuple(made),
            measured=first,
            levels=tuple(levels),
            beside=beside,
        )

    def all_over(self, found: Sequence[tuple[Value, ...]] | None) -> tuple[Made | Together, ...]:
        """All that is measured over the groups that were found, one marginal after the other."""
        first = self.measured_over(found)
        if isinstance(first, Measured) and self.beside and first.mu_squared is not None:
            return (measure.together((first, *self.beside), first.cost),)
        return () if first is None else (first, *self.beside)

    def parts(self, at: int) -> tuple[tuple[tuple[GroupingKey, ...], Measurement], ...]:
        """What is measured of measurement number `at` in each marginal, by itself: nothing where there is but one."""
        one, contribution = self.measurements[at], self.lowered.contributions[at]
        out = []
        for marginal in self.marginals if len(self.marginals) > 1 else ():
            move = moved(self.lowered, [self.lowered.keys[key] for key in marginal.keys], contribution)
            part = replace(one.share(marginal.share), sensitivity=move, split=False)
            out.append((tuple(self.block.keys[key] for key in marginal.keys), part))
        return tuple(out)

    def measured_over(self, found: Sequence[tuple[Value, ...]] | None) -> Made | None:
        """The measurement over the groups that were found; None if there is none."""
        if found is None or self.measured is None:
            return self.measured
        if not found:
            return None
        keys = self.lowered.over(found).keys
        if isinstance(self.measured, Picked):
            return chosen(self.measurements[0].aggregate, self.lowered.over(found), self.measured.cost.epsilon)
        if isinstance(self.measured, Placed):
            term, epsilon = self.measured.term, self.measured.cost.epsilon
            return ranks.by_rank(self.lowered.stable, keys, term.steps, term.where, term.ranks, epsilon)
        shape = (self.lowered.stable, keys, self.measured.term.contributions)
        scales = tuple(part.scale for part in self.measured.parts)
        if self.measured.mu_squared is not None:
            return measure.gaussian(*shape, scales, self.measured.cost)
        return measure.laplace(*shape, scales)

    def groups(self, found: Sequence[tuple[Value, ...]] | None) -> list[tuple[Value, ...]]:
        """The groups in the order of their cells: a value for each key of the block."""
        if found is None:
            return list(product(*(key.members or () for key in self.block.keys)))
        first = next(at for at, key in enumerate(self.block.keys) if key.members is None)
        lists: list[Sequence[tuple[Value, ...]]] = []  # in the order of the cells: those found in the first one's place
        for at, key in enumerate(self.block.keys):
            if key.members is not None:
                lists.append([(member,) for member in key.members])
            elif at == first:
                lists.append(found)
        cells = [key.id for key in self.block.keys if key.members is not None]
        cells[first:first] = [key.id for key in self.block.keys if key.members is None]
        places = [cells.index(key.id) for key in self.block.keys]
        flat = (tuple(value for part in parts for value in part) for parts in product(*lists))
        return [tuple(group[place] for place in places) for group in flat]


@frozen
class Plan:
    blocks: tuple[BlockPlan, ...]

    @property
    def selections(self) -> tuple[Selection, ...]:
        return tuple(block.selection for block in self.blocks if block.selection is not None)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(one for block in self.blocks for one in block.measurements)

    @property
    def searches(self) -> tuple[Search, ...]:
        return tuple(one for block in self.blocks for one in block.searches)

    @property
    def epsilon(self) -> Amount:
        return sum(self.by_unit.values(), ZERO)

    @property
    def delta(self) -> Fraction:
        return sum(self.delta_by_unit.values(), Fraction(0))

    @property
    def cost(self) -> Cost:
        """Once all parameters have values."""
        return Cost(self.epsilon.constant, self.delta)

    @property
    def by_unit(self) -> dict[str, Amount]:
        out: dict[str, Amount] = {}
        spending = [(one.unit, one.epsilon) for one in self.measurements]
        spending += [(one.unit, one.epsilon) for one in self.selections]
        spending += [(one.unit, one.epsilon) for one in self.searches]
        for unit, epsilon in spending:
            out[unit.name] = out.get(unit.name, ZERO) + epsilon
        return out

    @property
    def delta_by_unit(self) -> dict[str, Fraction]:
        out = dict.fromkeys(self.by_unit, Fraction(0))
        spending = [(one.unit, one.delta) for one in self.selections]
        spending += [(one.unit, one.delta) for one in self.measurements]
        for unit, delta in spending:
            out[unit.name] += delta
        return out


def by_its_rank(one: Measurement, lowered: Lowered) -> Measurement:
    """Where it is one of a value that is drawn, which and in what steps."""
    if one.aggregate.choice is not None and one.epsilon.known:
        return replace(one, picked=chosen(one.aggregate, lowered, one.epsilon.constant))
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
    for one, contribution in zip(measurements, lowered.contributions, strict=True):
        scale = replace(one.share(share), sensitivity=moved(lowered, keys, contribution)).scale
        assert scale is not None
        scales.append(scale)
    shape = (lowered.stable, keys, lowered.contributions, tuple(scales))
    if measurements[0].noise == "laplace":
        return measure.laplace(*shape)
    epsilon = sum((one.epsilon.constant for one in measurements), Fraction(0))
    return measure.gaussian(*shape, Cost(epsilon, sum((one.delta for one in measurements), Fraction(0))))
