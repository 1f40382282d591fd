"""What was charged, in the order in which it was: each query by itself, and plans with all of theirs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from fractions import Fraction

from privql.frozen import frozen
from privql.kernel.events import cost_of
from privql.kernel.losses import Loss, loss_of
from privql.ledger import plans
from privql.ledger.entries import all_entries


@frozen
class SpendingLine:
    """What a unit lost, and what paid."""

    unit: str
    budget: str
    window: int
    loss: Loss
    queries: tuple[Fraction, ...]  # the ε of each


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
            lines = [(line, loss_of(line.events)) for line in one.charges]
            paid = tuple(SpendingLine(x.unit, x.budget, x.window, loss, (loss.epsilon,)) for x, loss in lines)
            yield Spending(one.release_id, one.analyst, paid)
    yield from map(_of_plan, waiting)


def _of_plan(plan: plans.PlanEntry) -> Spending:
    lines = tuple(
        SpendingLine(unit, budget, window, loss, tuple(cost_of(events).epsilon for events in plan.of(unit)))
        for unit, (budget, window, loss) in plan.lines.items()
    )
    return Spending(f"plan {plan.number}", plan.analyst, lines)
