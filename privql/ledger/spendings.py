"""What was charged, in the order in which it was, and added up anew: whether each could be afforded at its turn."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from privql.frozen import frozen
from privql.kernel.events import Events, cost_of
from privql.kernel.filters import Way
from privql.kernel.losses import Loss, loss_of
from privql.kernel.parallel import InParts, Lost, greatest
from privql.ledger.accounts import scopes, state
from privql.ledger.budgets import BudgetRow, BudgetState
from privql.ledger.entries import charged
from privql.ledger.errors import Reason
from privql.ledger.plans import met_together, place_of
from privql.ledger.policies import Policy
from privql.ledger.records import Entry, PlanEntry
from privql.names import fold


@frozen
class SpendingLine:
    """What a unit met, and what paid."""

    unit: str
    budget: str
    window: int
    met: tuple[Events, ...]  # by each of the queries
    plan: Loss | None = None  # what a plan was charged
    where: tuple[InParts | None, ...] = ()  # the parts that each of the queries read

    @property
    def place(self) -> InParts | None:
        """The parts that it was charged to."""
        return place_of(self.where)

    def loss(self, order: Fraction | None) -> Loss:
        """As it would be of a promise that chose this order; a plan costs plain addition what it cost."""
        met = greatest(loss_of(events, order) for events in met_together(self.met, self.where))
        return met if self.plan is None else replace(met, epsilon=self.plan.epsilon, delta=self.plan.delta)

    @property
    def queries(self) -> tuple[Fraction, ...]:
        """The ε of each."""
        return tuple(cost_of(events).epsilon for events in self.met)


@frozen
class Spending:
    """A query that was charged by itself, or a plan with all of its queries."""

    what: str  # `r7` or `plan 2`
    analyst: str
    policy_version: int
    lines: tuple[SpendingLine, ...]


def spendings(db: sqlite3.Connection) -> Iterator[Spending]:
    return (each for each in map(spending, charged(db)) if each.lines)


def spending(one: Entry | PlanEntry) -> Spending:
    """Without lines where nothing was charged, or a plan was."""
    lines: Iterable[SpendingLine]
    if isinstance(one, PlanEntry):
        lines = (
            SpendingLine(at.unit, at.budget, at.window, one.of(at.unit), at.loss, one.where_of(at.unit))
            for at in one.charges
        )
    else:
        paid = one.charges if one.plan is None else ()
        lines = (SpendingLine(at.unit, at.budget, at.window, (at.events,), None, (at.where,)) for at in paid)
    return Spending(one.what, one.analyst, one.policy_version, tuple(lines))


class Tally:
    """What was lost so far, as the ledger's totals count it: by unit, budget, analyst and window."""

    def __init__(self) -> None:
        self.lost: dict[tuple[str, str, str, int], Lost] = defaultdict(Lost)

    def refusal(self, policy: Policy, analyst: str, line: SpendingLine, way: Way | None = None) -> Reason | None:
        """Why it could not be paid for, were this the policy; `way`: were this the one way of adding up."""
        row = policy.budgets.get(fold(line.budget))
        if row is None:
            return "no budget"
        if not policy.may_use(row.name, analyst):
            return "no grant"
        found = self.state(policy, row, analyst, line.window).at(line.place)
        return found.refusal(line.loss(found.order), line.queries, way)

    def add(self, policy: Policy, analyst: str, line: SpendingLine) -> None:
        promise = policy.promises.get(fold(line.budget))
        loss = line.loss(None if promise is None else promise.order)
        for budget, by in scopes(line.budget, analyst):
            key = fold(line.unit), budget, by, line.window if budget else 0
            self.lost[key] = self.lost[key].plus(line.place, loss if budget else loss.unordered)

    def state(self, policy: Policy, row: BudgetRow, analyst: str | None, window: int) -> BudgetState:
        unit, whose = fold(row.unit), scopes(row.name, analyst or "")
        at = {scope: (unit, *scope, window if scope[0] else 0) for scope in whose}
        return state(policy, row, analyst, {scope: self.lost[key] for scope, key in at.items()})
