"""Reserve, resume, release: the life of a charge. Every function here runs inside one transaction.

    reserve ──▶ replay      the same query was answered: its stored answer, for nothing
            ──▶ resume      the same analyst's charge has no answer yet: that charge again, at most three times
            ──▶ slot        a plan has paid for it (`plans.py`): written as 'reserved'
            ──▶ charge      affordable: written as 'reserved', before any private row is read
    draw    ──▶ a step's noisy numbers are kept, before anything is made of them; its first draw is its only one
    release ──▶ the answer is stored and the charge becomes 'released', by whoever comes first

A charge is never deleted and never refunded: whether an answer came out may depend on the data.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

from privql.kernel.events import Events, among
from privql.ledger import chain, forgetting, parts, plans, standing
from privql.ledger.accounts import Asking, lines, pay, payers, write
from privql.ledger.amounts import met_read, met_written
from privql.ledger.asked import Asked, asked
from privql.ledger.chain import Row
from privql.ledger.clock import now
from privql.ledger.errors import LedgerError, NoMoreRuns
from privql.ledger.naming import charge_number, claim, next_number, release_id, taken_by
from privql.ledger.policies import Policy
from privql.ledger.records import SEAL, ChargeLine, Draw, Permit, Prepaid, Replay, Request, StoredRelease
from privql.ledger.waiting import check_resumes, check_waiting
from privql.names import fold

_CLEAR = "analyst", "policy_version", "data_version", "reserved_at", "plan", "slot"
_HIDDEN = "query", "parameters", "measurements"
_CHARGE = (
    f"INSERT INTO charge (id, identity, {', '.join(_CLEAR + _HIDDEN)}, state, resumes)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'reserved', 0)"
)


def reserve(
    db: sqlite3.Connection, ledger_id: str, policy: Policy, request: Request, slot: tuple[Prepaid, int] | None = None
) -> Permit | Replay:
    query = asked(db, policy, request)
    granted = _repeat(db, ledger_id, policy, query)
    if granted is None and slot is not None:
        granted = _run_again(db, ledger_id, query, *slot)
    if granted is None and slot is not None:
        paid = plans.slot_lines(db, *slot, query)
        if paid is not None:
            granted = _charged(db, ledger_id, query, paid, slot)
    if granted is None:
        granted = _charge(db, ledger_id, policy, query)
    if request.name is not None:
        claim(db, query.analyst, request.name, granted.release_id)
    return granted


def _repeat(db: sqlite3.Connection, ledger_id: str, policy: Policy, query: Asked) -> Permit | Replay | None:
    """The answer, or the unfinished charge, of the same query if there is one."""
    rows = db.execute(
        "SELECT id, analyst, state, resumes FROM charge WHERE identity = ? ORDER BY id", (query.identity,)
    )
    unfinished = None
    for number, owner, state, resumes in rows.fetchall():
        if state == "released" and may_see(db, policy, number, owner, query.analyst):
            (answer,) = db.execute("SELECT answer FROM charge WHERE id = ?", (number,)).fetchone()
            return Replay(release_id(number), answer)
        if state == "reserved" and owner == query.analyst and parts.paid_for(query.where, parts.of_charge(db, number)):
            unfinished = number, resumes  # in parts that are still the same
    if unfinished is None:
        return None
    return _resumed(db, ledger_id, query, *unfinished)


def _run_again(
    db: sqlite3.Connection, ledger_id: str, query: Asked, plan: Prepaid, slot: int
) -> Permit | Replay | None:
    """A run of a standing release is the same one in whatever version the data is when it is asked for once more."""
    found = standing.taken(db, plan, slot, query.analyst)
    if found is None or found.query != query.request.query:
        return None
    if found.answer is not None:
        return Replay(release_id(found.charge), found.answer)
    if found.parameters != query.request.parameters and drawn(db, release_id(found.charge)):
        raise NoMoreRuns(
            f"this run was begun ({release_id(found.charge)}) over other groups than there are now: what was measured "
            "of it then cannot be gone on with"
        )
    return _resumed(db, ledger_id, query, found.charge, found.resumes)


def _resumed(db: sqlite3.Connection, ledger_id: str, query: Asked, number: int, resumes: int) -> Permit:
    check_resumes(release_id(number), resumes)
    check_waiting(db, query.analyst, query.data_version, besides=number)
    db.execute("UPDATE charge SET resumes = resumes + 1 WHERE id = ?", (number,))
    chain.append(db, "resumes", number)
    return _permit(number, ledger_id, query, lines(db, number), resumes + 1)


def find(db: sqlite3.Connection, policy: Policy, request: Request) -> str | None:
    """The release that `reserve` would replay, without asking for it. NameTaken if it has to have another name."""
    query = asked(db, policy, request)
    if request.name is not None:
        taken = db.execute(
            "SELECT charge, identity FROM release_name JOIN charge ON charge.id = charge"
            " WHERE release_name.analyst = ? AND name = ?",
            (fold(query.analyst), fold(request.name)),
        ).fetchone()
        if taken is not None and taken[1] != query.identity:
            raise taken_by(db, request.name, release_id(taken[0]))
    rows = db.execute(
        "SELECT id, analyst FROM charge WHERE identity = ? AND state = 'released' ORDER BY id", (query.identity,)
    )
    for number, owner in rows.fetchall():
        if may_see(db, policy, number, owner, query.analyst):
            return release_id(number)
    return None


def _charge(db: sqlite3.Connection, ledger_id: str, policy: Policy, query: Asked) -> Permit:
    asking = {unit: Asking.one(events, query.where.get(unit)) for unit, events in query.events.items()}
    paid = []
    for paying, loss in payers(db, policy, query.analyst, asking, query.request.budget):
        pay(db, policy, query.analyst, paying, loss)
        paid.append((fold(paying.budget.unit), (paying.budget.name, paying.window.number)))
    return _charged(db, ledger_id, query, dict(paid), None)


def _charged(
    db: sqlite3.Connection,
    ledger_id: str,
    query: Asked,
    budgets: Mapping[str, tuple[str, int]],
    slot: tuple[Prepaid, int] | None,
) -> Permit:
    """Written down, once it is paid for: by which budget in which of its windows, for each unit."""
    check_waiting(db, query.analyst, query.data_version)
    request, version, number, at = query.request, query.data_version, next_number(db), now()
    plan, place = (None, None) if slot is None else (slot[0].plan, slot[1])
    clear = query.analyst, request.policy_version, version, at, plan, place
    hidden = request.query, request.parameters, request.measurements
    db.execute(_CHARGE, (number, query.identity, *clear, *hidden))
    spelled = {fold(unit): unit for unit, _ in request.charges}  # the plan knows its units by these names
    paid = tuple(
        ChargeLine(spelled[unit], name, events, window, query.where.get(unit))
        for unit, events in query.events.items()
        for name, window in [budgets[unit]]
    )
    clear_rows = write(db, number, paid)
    told = dict(zip(_CLEAR, clear, strict=True)) | clear_rows
    chain.tell(db, "charge", Row((number,), {"id": number, **told}, dict(zip(_HIDDEN, hidden, strict=True))))
    return _permit(number, ledger_id, query, paid, 0)


def _permit(number: int, ledger_id: str, query: Asked, paid: tuple[ChargeLine, ...], resumes: int) -> Permit:
    measured = query.request.measurements
    return Permit(release_id(number), ledger_id, query.analyst, paid, measured, query.data_version, resumes, seal=SEAL)


def drawn(db: sqlite3.Connection, release: str) -> tuple[Draw, ...]:
    """The steps that were drawn under a charge, in order."""
    rows = db.execute("SELECT spent, noisy FROM draw WHERE charge = ? ORDER BY step", (charge_number(release),))
    return tuple(Draw(met_read(json.loads(spent)), noisy) for spent, noisy in rows.fetchall())


def failed(db: sqlite3.Connection, permit: Permit) -> None:
    """Once for each permit that comes to this; an answer that is given later takes nothing of it back."""
    number = charge_number(permit.release_id)
    db.execute("UPDATE charge SET failures = failures + 1 WHERE id = ?", (number,))
    chain.append(db, "failures", number)


def draw(db: sqlite3.Connection, permit: Permit, step: int, spent: Mapping[str, Events], noisy: bytes) -> bytes:
    """Keep the noisy numbers of a step, or give back those that were kept first.

    What is made of them may fail or take long according to what they are, and so tell about them: were they drawn
    again when the charge is resumed, each attempt would be another release, paid for by none. Together the steps of
    a charge may spend what was charged, and no more.
    """
    before = drawn(db, permit.release_id)
    if step < len(before):
        return before[step].noisy
    if step > len(before):
        raise LedgerError("a step is drawn when those before it are kept")
    folded = {fold(unit): events for unit, events in spent.items()}
    if overdrawn((*before, Draw(folded, noisy)), permit.charges):
        raise LedgerError(f"the steps of {permit.release_id} spend more than was charged")
    said = json.dumps(met_written(folded.items()))
    number = charge_number(permit.release_id)
    db.execute("INSERT INTO draw VALUES (?, ?, ?, ?)", (number, step, said, noisy))
    clear = {"charge": number, "step": step, "spent": said}
    chain.tell(db, "draw", Row((number, step), clear, {"noisy": noisy}))
    return noisy


def overdrawn(steps: Iterable[Draw], charges: Iterable[ChargeLine]) -> bool:
    """Whether the steps together are more than any unit was charged for."""
    paid = {fold(line.unit): line.events for line in charges}
    met: dict[str, Events] = {}
    for step in steps:
        for unit, events in step.spent.items():
            met[unit] = met.get(unit, ()) + events
    return not among(met, paid)


def release(db: sqlite3.Connection, permit: Permit, answer: bytes) -> StoredRelease:
    """Store the answer, or give back the one that another draw under the same charge stored before."""
    number, at = charge_number(permit.release_id), now()
    done = db.execute(
        "UPDATE charge SET state = 'released', answer = ?, released_at = ? WHERE id = ? AND state = 'reserved'",
        (answer, at, number),
    )
    if done.rowcount == 0:
        (answer,) = db.execute("SELECT answer FROM charge WHERE id = ?", (number,)).fetchone()
    else:
        chain.tell(db, "release", Row((number,), {"id": number, "released_at": at}, {"answer": answer}))
    return StoredRelease(permit.release_id, answer)


def allow_resume(db: sqlite3.Connection, release: str) -> None:
    """The owner has looked at a charge that was started too often: it may be resumed again, and counts no more."""
    number = charge_number(release)
    waits = "SELECT resumes, failures FROM charge WHERE id = ? AND (state = 'reserved' OR failures > 0)"
    found = db.execute(waits, (number,)).fetchone()
    if found is None:
        raise LedgerError(f"`{release}` is not a charge that waits for its answer, or that failed")
    db.execute("UPDATE charge SET resumes = 0, failures = 0 WHERE id = ?", (number,))
    for kind, count in zip(("resumes", "failures"), found, strict=True):
        if count:
            chain.append(db, kind, number)


def may_see(db: sqlite3.Connection, policy: Policy, number: int, owner: str, analyst: str) -> bool:
    """Whoever asked for a release may see it, and whoever may spend the very budgets that paid for it."""
    paid = lines(db, number)
    return owner == analyst or (bool(paid) and all(policy.may_use(line.budget, analyst) for line in paid))


def seen(db: sqlite3.Connection, policy: Policy, analyst: str, release: str) -> StoredRelease | None:
    number = charge_number(release)
    query = "SELECT analyst, answer FROM charge WHERE id = ? AND state <> 'reserved'"
    row = db.execute(query, (number,)).fetchone()
    if number is None or row is None or not may_see(db, policy, number, row[0], fold(analyst)):
        return None
    forgetting.still_there(db, release_id(number))
    return StoredRelease(release_id(number), row[1])
