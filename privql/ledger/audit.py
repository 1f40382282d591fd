"""The audit: every sum and every admission is computed again from what was charged, and held against the ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from privql.kernel.parallel import Lost
from privql.ledger import chain, notes, parts, plans, refining, remembered, standing, windows
from privql.ledger.anchors import Anchor
from privql.ledger.asked import identity
from privql.ledger.charges import drawn, overdrawn
from privql.ledger.entries import charged
from privql.ledger.naming import FREE, charge_number
from privql.ledger.policies import history, load
from privql.ledger.records import Entry, PlanEntry
from privql.ledger.spendings import Spending, Tally, spending
from privql.names import fold


def verify(
    db: sqlite3.Connection, ledger_id: str, anchors: tuple[Anchor, ...] = (), damage: Sequence[str] = ()
) -> tuple[str, ...]:
    """What is wrong with the ledger, a sentence each; nothing if the chain holds, every charge was affordable and every
    sum is right."""
    remembered.of(db).forget()  # what is told is what is there
    found = [f"the file is damaged: {line}" for line in damage]
    try:
        found.extend(chain.verify(db, ledger_id, anchors))
        found.extend(_recomputed(db))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        found.append(f"what stands in the ledger cannot be read: {problem!r}")
    return tuple(found)


def _recomputed(db: sqlite3.Connection) -> Iterator[str]:
    policies = {record.version: load(db, record.version) for record in history(db)}
    erased = {what for (what,) in db.execute("SELECT what FROM forgotten")}
    turns, tally = _Turns(db), Tally()
    for one in charged(db):
        yield from _charge(db, one, erased) if isinstance(one, Entry) else _plan(one)
        each = spending(one)
        yield from turns.wrong(each)
        policy = policies[one.policy_version]
        for line in each.lines:
            if tally.refusal(policy, each.analyst, line) is not None:
                yield f"{each.what}: budget `{line.budget}` could not afford it"
            tally.add(policy, each.analyst, line)
    every = {(name, version): row.every for version, policy in policies.items() for name, row in policy.budgets.items()}
    yield from windows.audit(db, every)
    yield from standing.audit(db)
    totals = parts.all_kept(db)
    for whose in sorted(totals.keys() | tally.lost.keys()):
        kept, sums = totals.get(whose, Lost()), tally.lost[whose]
        if kept.most != sums.most:
            yield f"the total of unit, budget, analyst and window {whose} is not the sum of its charges"
        if (kept.greatest, kept.parts) != (sums.greatest, sums.parts):
            yield f"what parts have of the total of unit, budget, analyst and window {whose} is not what was charged"


def _charge(db: sqlite3.Connection, one: Entry, erased: set[str]) -> Iterator[str]:
    """Whether it is what it was when it was charged."""
    number, name, forgotten = charge_number(one.release_id), one.release_id, one.state == "forgotten"
    assert number is not None
    (kept,) = db.execute("SELECT identity FROM charge WHERE id = ?", (number,)).fetchone()
    texts = one.query, one.parameters, notes.origin(db, one.policy_version), one.data_version, one.measurements
    events = {fold(line.unit): line.events for line in one.charges}
    if bytes(kept) != (b"" if forgotten else identity(*texts, events)):
        yield f"{name}: its text, version or price is not what was charged"
    if overdrawn(drawn(db, name), one.charges):
        yield f"{name}: its steps spent more than it was charged"
    answered = one.released_at is not None and not forgotten
    if forgotten != (name in erased) or (one.state == "released") != answered:
        yield f"{name}: it is not {one.state}"
    if not one.charges and one.measurements != FREE:
        yield f"{name}: it charges nothing"
    if not forgotten:
        yield from refining.audit(db, one)
    if one.plan is not None:
        yield from plans.covered(db, number)


def _plan(one: PlanEntry) -> Iterator[str]:
    if not all(plans.priced(one.of(line.unit), one.where_of(line.unit), line.loss) for line in one.charges):
        yield f"{one.what}: it was charged less than its queries cost"


class _Turns:
    """Whether each was charged to a window that was open at its turn."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._opened = set(db.execute("SELECT budget, number FROM budget_window").fetchall())
        self._last: dict[str, int] = {}  # by budget: the last in which it paid

    def wrong(self, one: Spending) -> Iterator[str]:
        for line in one.lines:
            name = fold(line.budget)
            if line.window < self._last.get(name, 0):
                yield f"{one.what}: it was charged to a window of budget `{line.budget}` that had ended"
            if (name, line.window) not in self._opened:
                yield f"{one.what}: window {line.window} of budget `{line.budget}` was never opened"
            self._last[name] = line.window
