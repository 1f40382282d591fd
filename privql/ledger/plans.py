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
from dataclasses import replace
from fractions import Fraction

from privql.kernel.cost import Cost
from privql.kernel.events import Events, among, cost_of, written
from privql.kernel.losses import Loss, loss_of
from privql.kernel.losses import written as loss_written
from privql.kernel.parallel import InParts, greatest
from privql.kernel.plans import planned
from privql.ledger import chain, parts
from privql.ledger.accounts import Asking, first_able, lines, pay, payers
from privql.ledger.amounts import met_read, met_written
from privql.ledger.asked import Asked
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
    where = _where(db, policy, request)
    found = payers(db, policy, analyst, _asking(request, where), request.budget)
    (before,) = db.execute("SELECT COALESCE(MAX(id), 0) FROM charge").fetchone()
    paid = [() if at in request.answered else slot for at, slot in enumerate(request.slots)]
    slots = json.dumps(list(map(met_written, paid)))
    (number,) = db.execute(
        "INSERT INTO plan (identity, analyst, policy_version, slots, after_charge, reserved_at)"
        " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        (same, analyst, request.policy_version, slots, before, now()),
    ).fetchone()
    parts.write_slots(db, number, [{} if at in request.answered else slot for at, slot in enumerate(where)])
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
    if row is None:
        return None
    (number,) = row
    return Prepaid(number, analyst)


def paid_slots(request: PlanRequest) -> list[tuple[tuple[str, Events], ...]]:
    return [slot for at, slot in enumerate(request.slots) if at not in request.answered]


def identity(db: sqlite3.Connection, policy: Policy, request: PlanRequest) -> bytes:
    """Which queries, at which prices. What was answered when it was charged is no part of it: that grows."""
    slots = [sorted((fold(unit), written(events)) for unit, events in slot) for slot in request.slots]
    where = [
        sorted((unit, one.partition, one.parts) for unit, one in slot.items()) for slot in _where(db, policy, request)
    ]
    meant = [request.texts, policy.origin, data_version(db, policy, request.tables), slots]
    return hashlib.sha256(json.dumps([*meant, where] if any(where) else meant).encode()).digest()


def _where(db: sqlite3.Connection, policy: Policy, request: PlanRequest) -> list[dict[str, InParts]]:
    """For each slot, the parts that it is charged to."""
    given = request.parts or ((),) * len(request.slots)
    return [parts.by_unit(db, policy, request.policy_version, slot) for slot in given]


def slot_lines(db: sqlite3.Connection, plan: Prepaid, slot: int, query: Asked) -> dict[str, tuple[str, int]] | None:
    """By unit, which budget has paid for this query, and in which of its windows; None where another took the slot."""
    row = db.execute("SELECT slots FROM plan WHERE id = ? AND analyst = ?", (plan.plan, query.analyst)).fetchone()
    if row is None:
        raise LedgerError("there is no such plan of yours")
    (text,) = row
    slots = json.loads(text)
    if not 0 <= slot < len(slots):
        raise LedgerError("the plan has no such slot")
    if not slots[slot]:
        return None  # it was answered then, and that answer is not to be had any more
    within = parts.paid_for(query.where, parts.of_slot(db, plan.plan, slot))
    if not within or not among(query.events, met_read(slots[slot])):
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
    within = parts.paid_for(parts.of_charge(db, charge), parts.of_slot(db, plan, slot))
    fits = within and among(met, met_read(slots[slot]))
    return [] if fits else [f"r{charge}: it costs more than plan {plan} paid for it"]


def priced(queries: Sequence[Events], where: Sequence[InParts | None], loss: Loss) -> bool:
    """Whether a plan of these queries may be charged so."""
    return all(planned(events, loss.delta, loss.order) <= loss for events in met_together(queries, where))


def bill(
    states: Sequence[BudgetState],
    queries: Sequence[Events],
    delta: Fraction | None = None,
    where: Sequence[InParts | None] = (),
) -> tuple[BudgetState, Loss] | Reason:
    """Which of these budgets, the fullest first, pays for these queries as one, and what it loses; or why none can."""
    return first_able(states, asking(queries, delta, where))


def _asking(request: PlanRequest, where: Sequence[Mapping[str, InParts]]) -> dict[str, Asking]:
    met: dict[str, list[Events]] = {}
    places: dict[str, list[InParts | None]] = {}
    for at, slot in enumerate(request.slots):
        for unit, events in slot if at not in request.answered else ():
            met.setdefault(fold(unit), []).append(events)
            places.setdefault(fold(unit), []).append(where[at].get(fold(unit)))
    return {unit: asking(events, request.delta, places[unit]) for unit, events in met.items()}


def asking(queries: Sequence[Events], delta: Fraction | None = None, where: Sequence[InParts | None] = ()) -> Asking:
    """One query by itself, several as a plan."""
    where = where or (None,) * len(queries)
    if len(queries) == 1:
        return Asking.one(queries[0], where[0])
    together = met_together(queries, where)

    def losses(paying: BudgetState) -> Iterable[Loss]:
        """With as much δ as is usual; if that is not enough, with all that is left for it; or with none."""
        given = [paying.budget.shares.plain * paying.limit.delta * USUAL, paying.noise_delta]
        for each in [delta] if delta is not None else given:
            yield greatest(planned(events, each, paying.order) for events in together)
        if delta is None:
            yield greatest(loss_of(events, paying.order) for events in together)

    cost = sum((cost_of(query) for query in queries), Cost())
    return Asking(cost, tuple(cost_of(query).epsilon for query in queries), losses, place_of(where))


def place_of(where: Sequence[InParts | None]) -> InParts | None:
    """Where a plan of queries that read these parts is charged: in all of them, if they are parts of one partition."""
    named = [one for one in where if one is not None]
    if not named or len(named) < len(where) or len({(one.partition, one.twice) for one in named}) > 1:
        return None
    parts = tuple(sorted({part for one in named for part in one.parts}))
    return None if named[0].twice and len(parts) > 1 else replace(named[0], parts=parts)


def met_together(queries: Sequence[Events], where: Sequence[InParts | None]) -> list[Events]:
    """What units meet of a plan, those of each part by themselves: its queries but for those that read other parts of
    one partition. Where a unit may be in two parts, it meets them all."""
    whole = place_of(where) is None
    named = [one.partition for one in where if one is not None and not (one.twice and whole)]
    partition = named[0] if named else None
    mine = [None if one is None or one.partition != partition else frozenset(one.parts) for one in where]
    named_parts = sorted({part for one in mine if one is not None for part in one})
    out = []
    for part in (*named_parts, None):
        met = [events for events, one in zip(queries, mine, strict=True) if one is None or part in one]
        out.append(tuple(event for events in met for event in events))
    return list(dict.fromkeys(out))
