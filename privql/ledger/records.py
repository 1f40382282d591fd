"""What goes into the ledger and what comes out of it: plain immutable values, and the Permit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import Literal, NoReturn

from privql.frozen import frozen
from privql.kernel.cost import Cost


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
class BudgetState:
    """A budget as one analyst finds it, or (analyst None) as its owner does."""

    budget: BudgetRow
    analyst: str | None
    grant: GrantRow | None
    spent: Cost  # by everyone, in this budget
    own: Cost  # by this analyst, in this budget
    unit_spent: Cost  # by everyone, in all budgets of the unit: what the unit has lost

    @property
    def limit(self) -> Cost:
        """What this analyst may spend in all: the grant's limits, and the budget's where the grant has none."""
        grant, cap = self.grant, self.budget.cap
        epsilon = cap.epsilon if grant is None or grant.epsilon is None else grant.epsilon
        return Cost(epsilon, cap.delta if grant is None or grant.delta is None else grant.delta)

    @property
    def left(self) -> Cost:
        """What this analyst may still spend: the rest of the budget, or of the limit where that is less.

        Nothing, once either part is overdrawn by a budget that was lowered later: the promise (ε, δ) is one.
        """
        common, mine = self.budget.cap - self.spent, self.limit - self.own
        return Cost(min(common.epsilon, mine.epsilon), min(common.delta, mine.delta))


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
    charges: tuple[tuple[str, Cost], ...]  # what each unit loses
    measurements: str  # what will be measured and how: the answer is read by it, so it must not vary between runs
    tables: tuple[str, ...]
    name: str | None = None  # CREATE RELEASE name AS …
    budget: str | None = None  # which budget pays, where the analyst has several for a unit


@frozen
class ChargeLine:
    """What one unit loses by a charge (the unit named as the request names it), and the budget that pays."""

    unit: str
    budget: str
    cost: Cost


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
    """A step of a charge that was drawn: what each unit lost by it, by folded name, and the noisy numbers."""

    spent: Mapping[str, Cost]
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
    state: Literal["reserved", "released"]
    resumes: int
    reserved_at: str
    released_at: str | None
    names: tuple[str, ...]
