"""Reading the ledger back: its entries, and an audit that recomputes every sum and every admission from them."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privql.kernel import losses
from privql.kernel.events import cost_of
from privql.kernel.losses import NO_LOSS, Loss, loss_of
from privql.ledger import accounts, chain, notes, plans, standing, windows
from privql.ledger.chain import Anchor
from privql.ledger.charges import FREE, charge_number, drawn, identity, overdrawn, release_id
from privql.ledger.policies import Policy, history, load
from privql.ledger.records import Entry
from privql.names import fold

_READ = (
    "SELECT id, analyst, query, parameters, policy_version, data_version, measurements, state, resumes,"
    " reserved_at, released_at, plan FROM charge"
)


def all_entries(db: sqlite3.Connection) -> Iterator[Entry]:
    return _entries(db, db.execute(f"{_READ} ORDER BY id"))


def released_to(db: sqlite3.Connection, analyst: str) -> Iterator[Entry]:
    return _entries(db, db.execute(f"{_READ} WHERE analyst = ? AND state = 'released' ORDER BY id", (fold(analyst),)))


def entry(db: sqlite3.Connection, release: str) -> Entry | None:
    return next(_entries(db, db.execute(f"{_READ} WHERE id = ?", (charge_number(release),))), None)


def _entries(db: sqlite3.Connection, rows: Iterator[Any]) -> Iterator[Entry]:
    for (
        number,
        analyst,
        query,
        parameters,
        policy,
        data,
        measurements,
        state,
        resumes,
        reserved,
        released,
        plan,
    ) in rows:
        names = db.execute("SELECT spelling FROM release_name WHERE charge = ? ORDER BY analyst, name", (number,))
        paid, named = accounts.lines(db, number), tuple(name for (name,) in names.fetchall())
        asked = analyst, query, parameters, policy, data, measurements
        yield Entry(release_id(number), *asked, paid, state, resumes, reserved, released, named, plan)


def verify(
    db: sqlite3.Connection, ledger_id: str, anchors: tuple[Anchor, ...] = (), damage: Sequence[str] = ()
) -> tuple[str, ...]:
    """What is wrong with the ledger, a sentence each; nothing if the chain holds, every charge was affordable and every
    sum is right."""
    found = [f"the file is damaged: {line}" for line in damage]
    try:
        found.extend(chain.verify(db, ledger_id, anchors))
        _recompute(db, found)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        found.append(f"what stands in the ledger cannot be read: {problem!r}")
    return tuple(found)


def _recompute(db: sqlite3.Connection, found: list[str]) -> None:
    opened = set(db.execute("SELECT budget, number FROM budget_window").fetchall())
    audit = _Audit({record.version: load(db, record.version) for record in history(db)}, opened, found)
    kept = {number: bytes(same) for number, same in db.execute("SELECT id, identity FROM charge")}
    erased = {what for (what,) in db.execute("SELECT what FROM forgotten")}
    waiting = plans.all_plans(db)
    for one in all_entries(db):
        number = charge_number(one.release_id) or 0
        while waiting and waiting[0].after_charge < number:
            audit.plan(waiting.pop(0))
        events = {fold(line.unit): line.events for line in one.charges}
        meant = notes.origin(db, one.policy_version)
        texts = one.query, one.parameters, meant, one.data_version, one.measurements
        forgotten = one.state == "forgotten"
        if kept[number] != (b"" if forgotten else identity(*texts, events)):
            found.append(f"{one.release_id}: its text, version or price is not what was charged")
        if overdrawn(drawn(db, one.release_id), one.charges):
            found.append(f"{one.release_id}: its steps spent more than it was charged")
        if forgotten != (one.release_id in erased) or (one.state == "released") != (
            one.released_at is not None and not forgotten
        ):
            found.append(f"{one.release_id}: it is not {one.state}")
        if not one.charges and one.measurements != FREE:
            found.append(f"{one.release_id}: it charges nothing")
        if one.plan is not None:
            found += plans.covered(db, number)
            continue
        for line in one.charges:
            loss = loss_of(line.events, audit.order(one.policy_version, line.budget))
            paid = line.unit, line.budget, line.window, loss, (loss.epsilon,)
            audit.charge(one.release_id, one.policy_version, one.analyst, *paid)
    for plan in waiting:
        audit.plan(plan)
    found += [*windows.audit(db, audit.every), *standing.audit(db)]
    rows = db.execute("SELECT unit, budget, analyst, window_number, loss FROM total")
    totals = {(unit, name, by, window): losses.read(loss) for unit, name, by, window, loss in rows}
    for whose in sorted(totals.keys() | audit.lost.keys()):
        if totals.get(whose, NO_LOSS) != audit.lost[whose]:
            found.append(f"the total of unit, budget, analyst and window {whose} is not the sum of its charges")


class _Audit:
    """What was lost so far, and whether each charge could be afforded at its turn."""

    def __init__(self, policies: Mapping[int, Policy], opened: set[tuple[str, int]], found: list[str]) -> None:
        self._policies, self._opened, self._found = policies, opened, found
        self.lost: dict[tuple[str, str, str, int], Loss] = defaultdict(lambda: NO_LOSS)
        self._windows: dict[str, int] = {}  # by budget: the last in which it paid
        budgets = ((version, budget) for version, policy in policies.items() for budget in policy.budgets.values())
        self.every = {(fold(budget.name), version): budget.every for version, budget in budgets}

    def order(self, version: int, budget: str) -> Fraction | None:
        return self._policies[version].orders.get(fold(budget))

    def plan(self, plan: plans.PlanEntry) -> None:
        name = f"plan {plan.number}"
        for unit, (budget, window, loss) in plan.lines.items():
            met = plan.of(unit)
            if not plans.priced(met, loss):
                self._found.append(f"{name}: it was charged less than its queries cost")
            paid = unit, budget, window, loss, [cost_of(events).epsilon for events in met]
            self.charge(name, plan.policy_version, plan.analyst, *paid)

    def charge(
        self,
        what: str,
        version: int,
        analyst: str,
        unit: str,
        budget: str,
        window: int,
        loss: Loss,
        queries: Sequence[Fraction],
    ) -> None:
        policy, unit = self._policies[version], fold(unit)
        if window < self._windows.get(fold(budget), 0):
            self._found.append(f"{what}: it was charged to a window of budget `{budget}` that had ended")
        if (fold(budget), window) not in self._opened:
            self._found.append(f"{what}: window {window} of budget `{budget}` was never opened")
        self._windows[fold(budget)] = window
        at = {scope: (*scope, window if scope[0] else 0) for scope in accounts.scopes(budget, analyst)}
        spending = {scope: self.lost[unit, *whole] for scope, whole in at.items()}
        row = policy.budgets.get(fold(budget))
        if row is None or accounts.state(policy, row, analyst, spending).refusal(loss, queries):
            self._found.append(f"{what}: budget `{budget}` could not afford it")
        for whole in at.values():
            self.lost[unit, *whole] += loss if whole[0] else loss.unordered
