"""What goes into the ledger and what comes out of it: plain immutable values, and the Permit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Literal, NoReturn

from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.events import Events, cost_of
from privql.kernel.filters import DEFAULT, Filter, Shares
from privql.kernel.losses import Loss, loss_of


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
    order: Fraction  # of the Rényi filter: chosen when the budget was first declared
    lost: Loss  # by everyone, in this budget and window
    own_lost: Loss  # by this analyst, in this budget and window
    unit_spent: Cost  # by everyone, in all budgets of the unit, ever: what the unit has lost
    window: Window = WHOLE
    in_all: InAll | None = None  # of a budget that renews, for reports

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
        return not self.budget.cap <= self.limit

    @property
    def promise(self) -> Filter:
        return self._within(self.budget.cap)

    @property
    def own_promise(self) -> Filter:
        return self._within(self.limit)

    def _within(self, cap: Cost) -> Filter:
        return Filter(cap.epsilon, cap.delta, self.budget.shares, self.order)

    @property
    def left(self) -> Cost:
        """What this analyst may still spend on one charge: pure ε, and δ to find groups with.

        The rest of the budget, or of the limit where that is less. Nothing, once a budget that was lowered later is
        overdrawn: the promise (ε, δ) is one.
        """
        epsilon = self.promise.left(self.lost)
        if self.limited:
            epsilon = min(epsilon, self.own_promise.left(self.own_lost))
        if not epsilon and self.lost.cost:
            return Cost()
        keys = self.budget.shares.keys
        delta = min(keys * self.budget.delta - self.lost.keys, keys * self.limit.delta - self.own_lost.keys)
        return Cost(epsilon, max(delta, Fraction(0)))

    @property
    def noise_delta(self) -> Fraction:
        """What is left of δ for noise that takes some, by plain addition."""
        plain = self.budget.shares.plain
        left = min(plain * self.budget.delta - self.lost.delta, plain * self.limit.delta - self.own_lost.delta)
        return max(left, Fraction(0))

    def more_like(self, met: Events) -> int:
        """How many charges of these mechanisms are admitted yet; no more than a billion are counted."""
        one = loss_of(met, self.order)
        if not one:
            return _UNCOUNTED
        low, high = 0, 1
        while high < _UNCOUNTED and self._admits(one.times(high)):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._admits(one.times(middle)) else (low, middle)
        return low

    def after(self, more: Loss) -> BudgetState:
        """As it is when this was charged."""
        return replace(self, lost=self.lost + more, own_lost=self.own_lost + more)

    def _admits(self, more: Loss) -> bool:
        if not self.promise.admits(self.lost + more):
            return False
        return not self.limited or self.own_promise.admits(self.own_lost + more)


@frozen
class PolicyRecord:
    version: int
    text: str
    applied_at: str
    reason: str = ""  # why less is protected than before, where it is
    applied_by: str = ""


@frozen
class Note:
    """What is kept beside a version. `meaning`: equal where versions differ in budgets and grants at most."""

    reason: str = ""
    applied_by: str = ""
    meaning: str = ""


NO_NOTE = Note()


@frozen
class Request:
    """A checked query and its price. All but `name` and `budget` decide whether an earlier answer is the same one."""

    analyst: str
    query: str  # canonical text
    parameters: str  # what names in the text stand for: bound values, and the ids of the releases that it reads
    policy_version: int
    charges: tuple[tuple[str, Events], ...]  # what each unit meets
    measurements: str  # what will be measured and how: the answer is read by it, so it must not vary between runs
    tables: tuple[str, ...]
    name: str | None = None  # CREATE RELEASE name AS …
    budget: str | None = None  # which budget pays, where the analyst has several for a unit


@frozen
class PlanRequest:
    """Queries whose prices are fixed before the first is answered, to be charged as one: a slot for each."""

    analyst: str
    texts: tuple[str, ...]  # what decides whether it is the same plan: text and inputs of each query
    policy_version: int
    slots: tuple[tuple[tuple[str, Events], ...], ...]
    tables: tuple[str, ...]
    budget: str | None = None  # which budget pays, where the analyst has several for a unit
    delta: Fraction | None = None  # how much δ it may take to cost less ε, if that is said
    answered: frozenset[int] = frozenset()  # slots whose queries have an answer already: nothing is paid for them


@frozen
class Prepaid:
    """A plan that was charged. Its slots are taken by `Ledger.reserve`, each by one query."""

    plan: int
    analyst: str


@frozen
class Standing:
    """A query that is asked again and again, all of its runs charged as one plan."""

    name: str
    paid: Prepaid
    hours: int  # from the beginning of a run to that of the next
    runs: int
    epsilon: Fraction  # what each of them spends
    taken: int = 0
    next: int | None = 1  # which is to be taken now: a new one, the last one again, or none since all were
    due: datetime | None = None  # when the run after the last one is
    last: str = ""  # the state of the charge of the last one


@frozen
class ChargeLine:
    """What one unit met by a charge (the unit named as the request names it), and the budget that pays."""

    unit: str
    budget: str
    events: Events
    window: int = 0  # of the budget: that in which it was paid

    @property
    def cost(self) -> Cost:
        return cost_of(self.events)


_UNCOUNTED = 10**9
SEAL = object()


@dataclass(frozen=True, slots=True, eq=False)
class Permit:
    """Leave to measure what was charged, once. Only a ledger makes one, and only the ledger that made it takes it back.

    It cannot be built, copied or sent to another process: what a crash leaves behind is resumed through `reserve`.
    """

    release_id: str
    ledger_id: str
    analyst: str
    charges: tuple[ChargeLine, ...]
    measurements: str
    data_version: str
    resumes: int  # 0: charged just now; more: an earlier charge without an answer is taken up again for nothing
    seal: InitVar[object] = field(kw_only=True)

    def __post_init__(self, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("a Permit is made by Ledger.reserve alone")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Permit cannot be copied or sent elsewhere")


@frozen
class Draw:
    """A step of a charge that was drawn: what each unit met by it, by folded name, and the noisy numbers."""

    spent: Mapping[str, Events]
    noisy: bytes


@frozen
class StoredRelease:
    release_id: str
    answer: bytes


@dataclass(frozen=True, slots=True)
class Replay:
    """The same query was answered before: here is that answer, for nothing."""

    release_id: str
    answer: bytes


@frozen
class Entry:
    """One charge, as the owner and the auditor read it."""

    release_id: str
    analyst: str
    query: str
    parameters: str
    policy_version: int
    data_version: str
    measurements: str
    charges: tuple[ChargeLine, ...]
    state: Literal["reserved", "released", "forgotten"]
    resumes: int
    reserved_at: str
    released_at: str | None
    names: tuple[str, ...]
    plan: int | None = None  # which plan paid for it
