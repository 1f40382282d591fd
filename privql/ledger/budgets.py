"""Budgets as they are declared and as they stand: what of one is lost, what is left, and what it cannot pay for.

`privql/kernel/filters.py` says when a history is within a promise of (ε, δ). A budget is one such promise, over what
everybody spent of it; an analyst's limit is another on top, over her own charges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from typing import Literal

from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.events import Events
from privql.kernel.filters import DEFAULT, Filter, Shares, Way, order_for
from privql.kernel.losses import Loss, loss_of
from privql.kernel.parallel import InParts, Lost
from privql.ledger.errors import Reason

_UNCOUNTED = 10**9


@frozen
class BudgetRow:
    """CREATE BUDGET name FOR UNIT unit EPSILON epsilon [DELTA delta] …"""

    name: str
    unit: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    default_epsilon: Fraction | None = None
    default_delta: Fraction | None = None
    max_epsilon: Fraction | None = None
    shares: Shares = DEFAULT  # of δ, among the filters
    every: int | None = None  # so many hours after which it renews

    @property
    def cap(self) -> Cost:
        return Cost(self.epsilon, self.delta)

    @property
    def order(self) -> Fraction:
        """Which order its Rényi filter chooses when it is first declared."""
        return order_for(self.epsilon, self.delta, self.shares, self.default_epsilon)

    def promise(self, cap: Cost, order: Fraction) -> Filter:
        """Of so much, split as the budget is."""
        return Filter(cap.epsilon, cap.delta, self.shares, order)


@frozen
class GrantRow:
    """GRANT budget TO analyst [LIMIT EPSILON epsilon [DELTA delta] EACH]. None: as much as the budget has."""

    budget: str
    analyst: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None


@frozen
class Window:
    """A stretch of time for which a budget is one promise; `until` None: it does not renew."""

    number: int = 0
    began: datetime | None = None
    until: datetime | None = None
    written: bool = True  # whether the ledger holds it already: the first charge that it pays for writes it


WHOLE = Window()


@frozen
class InAll:
    """What a budget that renews lost in all of its windows together."""

    cost: Cost
    since: datetime


@frozen
class BudgetState:
    """A budget as one analyst finds it, or (analyst None) as its owner does."""

    budget: BudgetRow
    analyst: str | None
    grant: GrantRow | None
    promise: Filter  # its order was chosen when the budget was first declared
    by_all: Lost  # in this budget and window
    by_analyst: Lost  # in this budget and window
    of_unit: Lost  # by everyone, in all budgets of the unit, ever; of no order
    window: Window = WHOLE
    in_all: InAll | None = None  # of a budget that renews, for reports
    where: InParts | None = None  # the parts for whose units it is told; None: for any
    divided: tuple[InParts, ...] = ()  # each part that something was charged to, for reports

    def at(self, where: InParts | None) -> BudgetState:
        """As it stands for the units of these parts."""
        return self if where == self.where else replace(self, where=where)

    @property
    def lost(self) -> Loss:
        return self.by_all.of(self.where)

    @property
    def own_lost(self) -> Loss:
        return self.by_analyst.of(self.where)

    @property
    def spent(self) -> Cost:
        """By everyone, added up as charged."""
        return self.lost.cost

    @property
    def own(self) -> Cost:
        return self.own_lost.cost

    @property
    def limit(self) -> Cost:
        """What this analyst may spend in all: the grant's limits, and the budget's where the grant has none."""
        grant, cap = self.grant, self.budget.cap
        epsilon = cap.epsilon if grant is None or grant.epsilon is None else grant.epsilon
        return Cost(epsilon, cap.delta if grant is None or grant.delta is None else grant.delta)

    @property
    def limited(self) -> bool:
        """Whether the analyst's limit can refuse what the budget does not: what one has lost, all have lost."""
        grant = self.grant
        if grant is None or grant.epsilon is grant.delta is None:
            return False
        return not self.budget.cap <= self.limit

    @property
    def order(self) -> Fraction:
        """Of its Rényi filter."""
        return self.promise.order

    @property
    def own_promise(self) -> Filter:
        return self.budget.promise(self.limit, self.order)

    @property
    def left(self) -> Cost:
        """What this analyst may still spend on one charge: pure ε, and δ to find groups with.

        The rest of the budget, or of the limit where that is less. Nothing, once a budget that was lowered later is
        overdrawn: the promise (ε, δ) is one.
        """
        epsilon = self.promise.left(self.lost)
        if self.limited:
            epsilon = min(epsilon, self.own_promise.left(self.own_lost))
        if not epsilon:
            return Cost()
        keys = self.budget.shares.keys
        delta = min(keys * self.budget.delta - self.lost.keys, keys * self.limit.delta - self.own_lost.keys)
        return Cost(epsilon, delta)

    @property
    def bound_by(self) -> Literal["budget", "grant"]:
        """Which of the two leaves less: what everybody may spend, or what this analyst may. Of the same ε, less δ."""
        shares = self.budget.shares.keys
        left = self.promise.left(self.lost), shares * self.budget.delta - self.lost.keys
        own = self.own_promise.left(self.own_lost), shares * self.limit.delta - self.own_lost.keys
        return "grant" if self.limited and own < left else "budget"

    @property
    def noise_delta(self) -> Fraction:
        """What is left of δ for noise that takes some, by plain addition."""
        plain = self.budget.shares.plain
        left = min(plain * self.budget.delta - self.lost.delta, plain * self.limit.delta - self.own_lost.delta)
        return max(left, Fraction(0))

    def refusal(self, asked: Loss, queries: Sequence[Fraction] = (), way: Way | None = None) -> Reason | None:
        """Why this cannot pay for what is asked, queries of these ε together; or None. `way`: by this way alone."""
        most = self.budget.max_epsilon
        if most is not None and any(epsilon > most for epsilon in queries):
            return "max per query"
        if not asked:
            return None
        if not _bears(self.promise, self.lost + asked, way):
            return "budget"
        if self.limited and not _bears(self.own_promise, self.own_lost + asked, way):
            return "grant"
        return None

    def more_like(self, met: Events) -> int:
        """How many charges of these mechanisms are admitted yet; no more than a billion are counted."""
        one = loss_of(met, self.order)
        if not one:
            return _UNCOUNTED
        low, high = 0, 1
        while high < _UNCOUNTED and self.refusal(one.times(high)) is None:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.refusal(one.times(middle)) is None else (low, middle)
        return low

    def after(self, more: Loss) -> BudgetState:
        """As it is when this was charged."""
        lost = self.by_all.plus(self.where, more), self.by_analyst.plus(self.where, more)
        of_unit = self.of_unit.plus(self.where, more.unordered)
        return BudgetState(
            self.budget, self.analyst, self.grant, self.promise, *lost, of_unit, self.window, self.in_all, self.where
        )


def _bears(promise: Filter, loss: Loss, way: Way | None) -> bool:
    return promise.admits(loss) if way is None else promise.says(way, loss)
