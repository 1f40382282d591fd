"""Plans: queries whose prices are all fixed before the first of them is answered, charged as one.

    prepay ──▶ a plan, with a slot for each query: charged as one event, nothing run
    reserve ──▶ a query takes the slot that was paid for it, if it meets its units no more than the slot says

That is less than each by itself (`privql/kernel/plans.py`). What the queries ask may depend on the answers before
them, what they cost may not. A slot is taken once; the same plan again, after a crash, finds the slots that are left.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from privql.kernel.cost import Cost
from privql.kernel.events import Events, among, cost_of, written
from privql.kernel.losses import Loss, loss_of
from privql.kernel.losses import written as loss_written
from privql.kernel.plans import planned
from privql.ledger import chain
from privql.ledger.accounts import Asking, first_able, lines, pay, payers
from privql.ledger.amounts import met_read, met_written
from privql.ledger.budgets import BudgetState
from privql.ledger.clock import now
from privql.ledger.errors import LedgerError, NoMoreRuns, Reason
from privql.ledger.policies import Policy, data_version
from privql.ledger.records import PlanRequest, Prepaid
from privql.ledger.waiting import check_waiting
from privql.names import fold

USUAL = Fraction(1, 100)  # of the δ that plans may take, for one of them


def prepay(db: sqlite3.Connection, policy: Policy, request: PlanRequest) -> Prepaid:
    if not request.analyst:
        raise LedgerError("a plan needs an analyst's name")
    if len(request.texts) != len(request.slots) or not paid_slots(request):
        raise LedgerError("a plan has a slot for each of its queries, and one that is not answered")
    known = find(db, policy, request)
    if known is not None:
        return known
    analyst, same = fold(request.analyst), identity(db, policy, request)
    check_waiting(db, analyst, data_version(db, policy, request.tables))
    found = payers(db, policy, analyst, _asking(request), request.budget)
    (before,) = db.execute("SELECT COALESCE(MAX(id), 0) FROM charge").fetchone()
    paid = [() if at in request.answered else slot for at, slot in enumerate(request.slots)]
    slots = json.dumps(list(map(met_written, paid)))
    (number,) = db.execute(
        "INSERT INTO plan (identity, analyst, policy_version, slots, after_charge, reserved_at)"
        " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        (same, analyst, request.policy_version, slots, before, now()),
    ).fetchone()
    for paying, loss in found:
        pay(db, policy, analyst, paying, loss)
        line = number, fold(paying.budget.unit), paying.budget.name, loss_written(loss), paying.window.number
        db.execute("INSERT INTO plan_line VALUES (?, ?, ?, ?, ?)", line)
    chain.append(db, "plan", number)
    return Prepaid(number, analyst)


def find(db: sqlite3.Connection, policy: Policy, request: PlanRequest) -> Prepaid | None:
    """The same plan, if it was charged before: some of its slots may be left."""
    analyst, same = fold(request.analyst), identity(db, policy, request)
    row = db.execute("SELECT id FROM plan WHERE identity = ? AND analyst = ?", (same, analyst)).fetchone()
    return None if row is None else Prepaid(row[0], analyst)


def paid_slots(request: PlanRequest) -> list[tuple[tuple[str, Events], ...]]:
    return [slot for at, slot in enumerate(request.slots) if at not in request.answered]


def identity(db: sqlite3.Connection, policy: Policy, request: PlanRequest) -> bytes:
    """Which queries, at which prices. What was answered when it was charged is no part of it: that grows."""
    slots = [sorted((fold(unit), written(events)) for unit, events in slot) for slot in request.slots]
    parts = request.texts, policy.origin, data_version(db, policy, request.tables), slots
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def slot_lines(
    db: sqlite3.Connection, plan: Prepaid, slot: int, analyst: str, events: Mapping[str, Events]
) -> dict[str, tuple[str, int]] | None:
    """By unit, which budget has paid for this query, and in which of its windows; None where another took the slot."""
    row = db.execute("SELECT slots FROM plan WHERE id = ? AND analyst = ?", (plan.plan, analyst)).fetchone()
    if row is None:
        raise LedgerError("there is no such plan of yours")
    slots = json.loads(row[0])
    if not 0 <= slot < len(slots):
        raise LedgerError("the plan has no such slot")
    if not slots[slot]:
        return None  # it was answered then, and that answer is not to be had any more
    if not among(events, met_read(slots[slot])):
        raise LedgerError("the query costs more than its plan has paid for it")
    taken = db.execute("SELECT 1 FROM charge WHERE plan = ? AND slot = ?", (plan.plan, slot)).fetchone()
    if taken is not None:
        if db.execute("SELECT 1 FROM standing WHERE plan = ?", (plan.plan,)).fetchone() is not None:
            raise NoMoreRuns("this run was taken, and its answer is not to be had any more")
        return None
    paid = db.execute("SELECT unit, budget, window_number FROM plan_line WHERE plan = ?", (plan.plan,))
    return {unit: (budget, window) for unit, budget, window in paid.fetchall()}


def covered(db: sqlite3.Connection, charge: int) -> list[str]:
    """What is wrong with a charge that a plan paid for."""
    plan, slot, analyst, paid = db.execute(
        "SELECT plan, slot, charge.analyst, slots FROM charge LEFT JOIN plan ON plan.id = plan AND"
        " plan.analyst = charge.analyst WHERE charge.id = ?",
        (charge,),
    ).fetchone()
    slots = json.loads(paid) if paid is not None else []
    if slot is None or not 0 <= slot < len(slots):
        return [f"r{charge}: plan {plan} of `{analyst}` has no such slot"]
    met = {fold(line.unit): line.events for line in lines(db, charge)}
    fits = among(met, met_read(slots[slot]))
    return [] if fits else [f"r{charge}: it costs more than plan {plan} paid for it"]


def priced(queries: Sequence[Events], loss: Loss) -> bool:
    """Whether a plan of these queries may be charged so."""
    events = tuple(event for query in queries for event in query)
    return planned(events, loss.delta, loss.order) <= loss


def bill(
    states: Sequence[BudgetState], queries: Sequence[Events], delta: Fraction | None = None
) -> tuple[BudgetState, Loss] | Reason:
    """Which of these budgets, the fullest first, pays for these queries as one, and what it loses; or why none can."""
    return first_able(states, asking(queries, delta))


def _asking(request: PlanRequest) -> dict[str, Asking]:
    met: dict[str, list[Events]] = {}
    for slot in paid_slots(request):
        for unit, events in slot:
            met.setdefault(fold(unit), []).append(events)
    return {unit: asking(events, request.delta) for unit, events in met.items()}


def asking(queries: Sequence[Events], delta: Fraction | None = None) -> Asking:
    """One query by itself, several as a plan."""
    if len(queries) == 1:
        return Asking.one(queries[0])
    events = tuple(event for query in queries for event in query)

    def losses(paying: BudgetState) -> Iterable[Loss]:
        """With as much δ as is usual; if that is not enough, with all that is left for it; or with none."""
        if delta is not None:
            yield planned(events, delta, paying.order)
            return
        yield planned(events, paying.budget.shares.plain * paying.limit.delta * USUAL, paying.order)
        yield planned(events, paying.noise_delta, paying.order)
        yield loss_of(events, paying.order)

    cost = sum((cost_of(query) for query in queries), Cost())
    return Asking(cost, tuple(cost_of(query).epsilon for query in queries), losses)
