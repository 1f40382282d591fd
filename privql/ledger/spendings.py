"""What was charged, in the order in which it was: each query by itself, and plans with all of theirs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from privql.frozen import frozen
from privql.kernel.events import Events, cost_of
from privql.kernel.losses import Loss, loss_of
from privql.ledger import plans
from privql.ledger.entries import all_entries


@frozen
class SpendingLine:
    """What a unit met, and what paid."""

    unit: str
    budget: str
    window: int
    met: tuple[Events, ...]  # by each of the queries
    plan: Loss | None = None  # what a plan was charged

    def loss(self, order: Fraction | None) -> Loss:
        """As it would be of a promise that chose this order; a plan costs plain addition what it cost."""
        met = loss_of(tuple(event for query in self.met for event in query), order)
        return met if self.plan is None else replace(met, epsilon=self.plan.epsilon, delta=self.plan.delta)

    @property
    def queries(self) -> tuple[Fraction, ...]:
        """The ε of each."""
        return tuple(cost_of(events).epsilon for events in self.met)


@frozen
class Spending:
    what: str  # `r7` or `plan 2`
    analyst: str
    lines: tuple[SpendingLine, ...]


def spendings(db: sqlite3.Connection) -> Iterator[Spending]:
    waiting = plans.all_plans(db)
    for at, one in enumerate(all_entries(db), 1):
        while waiting and waiting[0].after_charge < at:
            yield _of_plan(waiting.pop(0))
        if one.plan is None and one.charges:
            paid = tuple(SpendingLine(line.unit, line.budget, line.window, (line.events,)) for line in one.charges)
            yield Spending(one.release_id, one.analyst, paid)
    yield from map(_of_plan, waiting)


def _of_plan(plan: plans.PlanEntry) -> Spending:
    lines = tuple(
        SpendingLine(unit, budget, window, tuple(plan.of(unit)), loss)
        for unit, (budget, window, loss) in plan.lines.items()
    )
    return Spending(f"plan {plan.number}", plan.analyst, lines)
