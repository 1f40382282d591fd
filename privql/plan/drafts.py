"""A block on its way to a plan: what is wanted of it, then what each part of that is paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from privql.check.env import Env
from privql.check.relations import Aggregate, Block, CheckedQuery
from privql.kernel.features import Tally
from privql.kernel.noises import Noise
from privql.plan import automatic
from privql.plan.amounts import ZERO, Amount
from privql.plan.automatic import Search, search_of
from privql.plan.bounding import Limits
from privql.plan.bounds import contribution
from privql.plan.levels import Marginal, finest
from privql.plan.lower import Lowered, lower
from privql.plan.measurements import Measurement, by_its_rank, proved
from privql.plan.noises import Asked, parts, promised
from privql.plan.picks import choosing, measured_of, takes_delta
from privql.plan.program import BlockPlan
from privql.plan.reach import wanted
from privql.plan.selection import Selection, counts_units
from privql.plan.spend import Wanted


@dataclass
class Draft:
    block: Block
    limits: Limits
    lowered: Lowered
    wanted: list[Wanted]
    spent: list[Amount] = field(default_factory=list)  # on each that is wanted
    searches: list[Search] = field(default_factory=list)
    selection: Selection | None = None
    finder: Draft | None = None  # whose search for groups counts what is in them
    counts: tuple[Aggregate, ...] = ()  # of this block, that are read off it
    marginals: tuple[Marginal, ...] = ()  # where it has several grouping sets
    asked: Asked = "laplace"
    delta: Fraction = Fraction(0)  # for its noise, where that may take one
    noise: Noise = "laplace"
    sigmas: tuple[Fraction, ...] = ()  # where errors are promised: the greatest that Gaussian noise may have

    def carrying(self, noise: Noise) -> list[Wanted]:
        made = [replace(one, noise=noise) for one in self.wanted]
        return promised(made, self.sigmas, self.delta) if noise == "gaussian" and self.sigmas and self.delta else made

    def count(self, finder: Draft) -> None:
        """What the search for its groups says is not measured again."""
        if not counts_units(self.block, self.lowered, finder.block):
            return
        pairs = list(zip(self.wanted, self.lowered.contributions, strict=True))
        said = [of == Tally() and one.aggregate.privacy is None for one, of in pairs]
        self.finder = finder
        self.counts = tuple(one.aggregate for (one, _), here in zip(pairs, said, strict=True) if here)
        left = [pair for pair, here in zip(pairs, said, strict=True) if not here]
        self.wanted = [one for one, _ in left]
        self.lowered = replace(self.lowered, contributions=tuple(of for _, of in left))

    def pay(self, amounts: Sequence[Amount]) -> None:
        """Where nobody stated bounds, a sum is measured at knots; or they are looked for first, with a part of what
        their aggregate may spend."""
        for at, (one, epsilon) in enumerate(zip(tuple(self.wanted), amounts, strict=True)):
            looking = ZERO
            if automatic.automatic(one.aggregate) and not self._at_knots(at, one.aggregate):
                looking = epsilon.times(automatic.SHARE)
                self.searches.append(search_of(self.block, one.aggregate, at, self.lowered, looking))
            self.spent.append(epsilon - looking)

    def _at_knots(self, at: int, aggregate: Aggregate) -> bool:
        found = automatic.at_knots(aggregate, at, self.block.unit, self.lowered, self.noise)
        if found is not None:
            made, measured = found
            self.wanted[at] = wanted(aggregate, made, measured, self.block, self.lowered)
            before, after = self.lowered.contributions[:at], self.lowered.contributions[at + 1 :]
            self.lowered = replace(self.lowered, contributions=(*before, measured, *after))
        return found is not None

    def planned(self) -> BlockPlan:
        open_ = {search.at for search in self.searches}

        def measurement(at: int, one: Wanted, epsilon: Amount) -> Measurement:
            assert self.lowered.rows is not None
            shape = (one.contribution, one.sensitivity, one.grid)
            block, rows = self.block, self.lowered.rows
            made = Measurement(one.aggregate, block.index, block.unit, rows, *shape, epsilon, at in open_, one.also)
            if takes_delta(block):
                made = replace(made, delta=self.delta)
            return by_its_rank(made, self.lowered)

        paid = zip(self.wanted, self.spent, strict=True)
        made = tuple(measurement(at, one, epsilon) for at, (one, epsilon) in enumerate(paid))
        if self.noise == "gaussian":
            bought = zip(made, parts(self.spent, self.delta), strict=True)
            made = tuple(replace(one, noise="gaussian", delta=d, mu_squared=square) for one, (d, square) in bought)
        marginals = self.marginals or finest(self.block)
        if len(marginals) > 1:
            made = tuple(replace(one, split=True) for one in made)
        measured, beside = proved(self.block, self.lowered, made, marginals)
        numbers = self.finder.selection if self.finder is not None and self.counts else None
        shape = self.block, self.lowered, made, measured, self.selection, tuple(self.searches)
        return BlockPlan(*shape, numbers=numbers, marginals=marginals, beside=beside)


def drafted(block: Block, limits: Limits, env: Env, query: CheckedQuery) -> Draft:
    measured, also = measured_of(block)
    contributions = tuple(contribution(automatic.within(aggregate)) for aggregate in measured)
    lowered = lower(block, contributions, limits, env, query)
    made = zip(measured, contributions, lowered.contributions, strict=True)
    return Draft(block, limits, lowered, [choosing(wanted(*one, block, lowered), lowered, also) for one in made])
