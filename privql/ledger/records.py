"""What goes into the ledger and what comes out of it: plain immutable values, and the Permit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Literal, NoReturn

from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.events import Events, cost_of
from privql.kernel.losses import Loss
from privql.kernel.parallel import InParts


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
class PartsAsked:
    """The parts, of what divides a unit, outside of which a query reads nothing. `tables`: on whose data it depends in
    which part a unit is. `change_one`: neighbours may have a unit in two."""

    table: str
    column: str
    values: tuple[str, ...]
    tables: tuple[str, ...]
    change_one: bool = False


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
    refines: str | None = None  # the release that it makes more accurate
    parts: tuple[tuple[str, PartsAsked], ...] = ()  # by unit, where not all of its units are met


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
    parts: tuple[tuple[tuple[str, PartsAsked], ...], ...] = ()  # of each slot, if any has some


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
    where: InParts | None = None  # the parts in which it was charged

    @property
    def cost(self) -> Cost:
        return cost_of(self.events)


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


@frozen
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
    failures: int
    reserved_at: str
    released_at: str | None
    names: tuple[str, ...]
    plan: int | None = None  # which plan paid for it

    @property
    def what(self) -> str:
        return self.release_id


@frozen
class PlanLine:
    """What a plan was charged for one unit, by folded name, and the budget that paid."""

    unit: str
    budget: str
    loss: Loss
    window: int

    @property
    def cost(self) -> Cost:
        return self.loss.cost


@frozen
class PlanEntry:
    """One plan, as the owner and the auditor read it."""

    number: int
    analyst: str
    policy_version: int
    after_charge: int  # it was charged between this one and the next
    slots: tuple[dict[str, Events], ...]
    charges: tuple[PlanLine, ...]
    reserved_at: str
    where: tuple[dict[str, InParts], ...]  # of each slot, the parts that it may read of a unit

    @property
    def what(self) -> str:
        return f"plan {self.number}"

    def of(self, unit: str) -> tuple[Events, ...]:
        return tuple(slot[unit] for slot in self.slots if unit in slot)

    def where_of(self, unit: str) -> tuple[InParts | None, ...]:
        """Beside what `of` says."""
        return tuple(where.get(unit) for where, slot in zip(self.where, self.slots, strict=True) if unit in slot)
