"""What is planned: what each block measures, with how much noise, and what that costs each unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from privql.check.relations import Block, GroupingKey
from privql.frozen import frozen
from privql.kernel import measure, ranks
from privql.kernel.bounds import Chosen
from privql.kernel.cost import Cost
from privql.kernel.events import Events, Losing, cost_of, events, read_within
from privql.kernel.measure import Measured, Together
from privql.kernel.parts import Parts
from privql.kernel.picks import Picked
from privql.kernel.ranks import Placed
from privql.kernel.scalars import Value
from privql.kernel.selection import Selected
from privql.kernel.terms import Unit
from privql.plan.amounts import ZERO, Amount
from privql.plan.automatic import Search
from privql.plan.levels import Marginal
from privql.plan.lower import Lowered
from privql.plan.measurements import Made, Measurement, proved
from privql.plan.picks import chosen
from privql.plan.reach import moved, wanted
from privql.plan.related import PublicRows
from privql.plan.selection import Selection


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
    def charged(self) -> tuple[Made | Selected | Chosen, ...]:
        """The same, without those that another one pays for: the marginals of Gaussian noise have one price."""
        shared = isinstance(self.measured, Measured) and self.measured.mu_squared is not None
        return tuple(one for one in self.measurable if not (shared and one in self.beside))

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
            cost = self.measured.cost
            return chosen(self.measurements[0].aggregate, self.lowered.over(found), cost.epsilon, cost.delta)
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
    def events_by_unit(self) -> dict[str, Events]:
        """What each unit meets, once all parameters have values: whatever is found on the way, its price is this."""
        told, deltas = self.by_unit, self.delta_by_unit
        out: dict[str, Events] = dict.fromkeys(told, ())
        for block in self.blocks:
            for one in block.charged:
                out[one.unit.name] = out.get(one.unit.name, ()) + events(one)
        for unit, met in out.items():  # what people are told, and what is charged
            assert cost_of(met) == Cost(told[unit].constant, deltas[unit])
        return out

    @property
    def parts_by_unit(self) -> dict[str, Parts]:
        """Where what a unit's plan measures has rows of single parts only, as the kernel finds in its terms."""
        made: dict[str, list[Losing]] = {}
        for block in self.blocks:
            for one in block.measurable:
                made.setdefault(one.unit.name, []).append(one)
        return {unit: found for unit, of in made.items() if (found := read_within(of)) is not None}

    @property
    def cost(self) -> Cost:
        """Once all parameters have values."""
        return Cost(self.epsilon.constant, self.delta)

    @property
    def by_unit(self) -> dict[str, Amount]:
        out: dict[str, Amount] = {}
        for unit, epsilon in self._spending:
            out[unit.name] = out[unit.name] + epsilon if unit.name in out else epsilon
        return out

    @property
    def _spending(self) -> list[tuple[Unit, Amount]]:
        spending = [(one.unit, one.epsilon) for one in self.measurements if one.epsilon or not one.before]
        spending += [(one.unit, one.epsilon) for one in self.selections]
        return spending + [(one.unit, one.epsilon) for one in self.searches]

    @property
    def delta_by_unit(self) -> dict[str, Fraction]:
        out = dict.fromkeys((unit.name for unit, _ in self._spending), Fraction(0))
        spending = [(one.unit, one.delta) for one in self.selections]
        spending += [(one.unit, one.delta) for one in self.measurements]
        for unit, delta in spending:
            if delta:
                out[unit.name] += delta
        return out
