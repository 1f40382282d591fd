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

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping

from privql.frozen import frozen
from privql.kernel.cost import check_chargeable
from privql.kernel.events import Events, among, cost_of, read, written
from privql.ledger import chain, forgetting, notes, plans, standing
from privql.ledger.accounts import Asking, lines, pay, payers, write
from privql.ledger.clock import now
from privql.ledger.errors import LedgerError, NameTaken, NoMoreRuns
from privql.ledger.policies import Policy, data_version
from privql.ledger.records import SEAL, ChargeLine, Draw, Permit, Prepaid, Replay, Request, StoredRelease
from privql.ledger.waiting import check_resumes, check_waiting
from privql.names import fold

FREE = ""  # the measurements of an answer that measured nothing


@frozen
class Asked:
    """A request as the ledger weighs it."""

    request: Request
    analyst: str  # folded
    events: dict[str, Events]  # by folded unit
    data_version: str
    identity: bytes


def asked(db: sqlite3.Connection, policy: Policy, request: Request) -> Asked:
    events = by_unit(request.charges)
    if not request.analyst:
        raise LedgerError("a charge needs an analyst's name")
    version = data_version(db, policy, request.tables)
    meant = notes.origin(db, request.policy_version)
    query = request.query, request.parameters, meant, version, request.measurements
    return Asked(request, fold(request.analyst), events, version, identity(*query, events))


def by_unit(charges: Iterable[tuple[str, Events]]) -> dict[str, Events]:
    """What each unit meets, by folded name; refused where it cannot be summed exactly."""
    events: dict[str, Events] = {}
    for unit, met in charges:
        events[fold(unit)] = events.get(fold(unit), ()) + met
    try:
        for met in events.values():
            cost = cost_of(met)
            check_chargeable(cost.epsilon)
            check_chargeable(cost.delta)
    except ValueError as problem:
        raise LedgerError(f"the cost of the query cannot be charged exactly: {problem}") from None
    if not events:
        raise LedgerError("a query that charges no unit needs no permit")
    return events


def identity(
    query: str, parameters: str, policy_version: int, data_version: str, measurements: str, events: Mapping[str, Events]
) -> bytes:
    """Two queries are the same one when all of this agrees. Who asks and who pays is not part of it."""
    prices = sorted((unit, written(met)) for unit, met in events.items())
    parts = query, parameters, policy_version, data_version, measurements, prices
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def reserve(
    db: sqlite3.Connection, ledger_id: str, policy: Policy, request: Request, slot: tuple[Prepaid, int] | None = None
) -> Permit | Replay:
    query = asked(db, policy, request)
    granted = _repeat(db, ledger_id, policy, query)
    if granted is None and slot is not None:
        granted = _run_again(db, ledger_id, query, *slot)
    if granted is None and slot is not None:
        paid = plans.slot_lines(db, *slot, query.analyst, query.events)
        if paid is not None:
            granted = _charged(db, ledger_id, query, paid, slot)
    if granted is None:
        granted = _charge(db, ledger_id, policy, query)
    if request.name is not None:
        claim_name(db, query.analyst, request.name, granted.release_id)
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
        if state == "reserved" and owner == query.analyst:
            unfinished = number, resumes
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
            raise _taken(db, request.name, release_id(taken[0]))
    rows = db.execute(
        "SELECT id, analyst FROM charge WHERE identity = ? AND state = 'released' ORDER BY id", (query.identity,)
    )
    for number, owner in rows.fetchall():
        if may_see(db, policy, number, owner, query.analyst):
            return release_id(number)
    return None


def keep(db: sqlite3.Connection, policy: Policy, analyst: str, name: str, query: str, answer: bytes) -> StoredRelease:
    """Give a name to an answer that cost nothing, since it was computed from what is released or public already.

    It is an entry without charges, and its analyst's alone. The same query under the same name is the same release.
    """
    found = kept(db, analyst, name, query)
    if found is not None:
        return found
    version = policy.record.version
    same = identity(query, "", notes.origin(db, version), "", FREE, {})
    (number,) = db.execute(
        "INSERT INTO charge (identity, analyst, query, parameters, policy_version, data_version, measurements, state,"
        " resumes, reserved_at, released_at, answer)"
        " VALUES (?, ?, ?, '', ?, '', ?, 'released', 0, ?, ?, ?) RETURNING id",
        (same, fold(analyst), query, version, FREE, now(), now(), answer),
    ).fetchone()
    chain.append(db, "charge", number)
    chain.append(db, "release", number)
    claim_name(db, analyst, name, release_id(number))
    return StoredRelease(release_id(number), answer)


def kept(db: sqlite3.Connection, analyst: str, name: str, query: str) -> StoredRelease | None:
    """The answer that cost nothing and has this name already. NameTaken if another release has it."""
    release = named(db, analyst, name)
    if release is None:
        return None
    same = "SELECT answer FROM charge WHERE id = ? AND query = ? AND state = 'released' AND measurements = ?"
    row = db.execute(same, (charge_number(release), query, FREE)).fetchone()
    if row is None:
        raise _taken(db, name, release)
    return StoredRelease(release, row[0])


def _charge(db: sqlite3.Connection, ledger_id: str, policy: Policy, query: Asked) -> Permit:
    asking = {unit: Asking.one(events) for unit, events in query.events.items()}
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
    request = query.request
    text = request.query, request.parameters, request.policy_version, query.data_version, request.measurements
    plan = (None, None) if slot is None else (slot[0].plan, slot[1])
    (number,) = db.execute(
        "INSERT INTO charge (identity, analyst, query, parameters, policy_version, data_version, measurements, state,"
        " resumes, reserved_at, plan, slot) VALUES (?, ?, ?, ?, ?, ?, ?, 'reserved', 0, ?, ?, ?) RETURNING id",
        (query.identity, query.analyst, *text, now(), *plan),
    ).fetchone()
    spelled = {fold(unit): unit for unit, _ in request.charges}  # the plan knows its units by these names
    paid = tuple(
        ChargeLine(spelled[unit], name, events, window)
        for unit, events in query.events.items()
        for name, window in [budgets[unit]]
    )
    write(db, number, paid)
    chain.append(db, "charge", number)
    return _permit(number, ledger_id, query, paid, 0)


def _permit(number: int, ledger_id: str, query: Asked, paid: tuple[ChargeLine, ...], resumes: int) -> Permit:
    measured = query.request.measurements
    return Permit(release_id(number), ledger_id, query.analyst, paid, measured, query.data_version, resumes, seal=SEAL)


def drawn(db: sqlite3.Connection, release: str) -> tuple[Draw, ...]:
    """The steps that were drawn under a charge, in order."""
    rows = db.execute("SELECT spent, noisy FROM draw WHERE charge = ? ORDER BY step", (charge_number(release),))
    return tuple(Draw(_spent(spent), noisy) for spent, noisy in rows.fetchall())


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
    said = json.dumps({unit: written(events) for unit, events in folded.items()})
    number = charge_number(permit.release_id)
    db.execute("INSERT INTO draw VALUES (?, ?, ?, ?)", (number, step, said, noisy))
    chain.append(db, "draw", number, step)
    return noisy


def overdrawn(steps: Iterable[Draw], charges: Iterable[ChargeLine]) -> bool:
    """Whether the steps together are more than any unit was charged for."""
    paid = {fold(line.unit): line.events for line in charges}
    met: dict[str, Events] = {}
    for step in steps:
        for unit, events in step.spent.items():
            met[unit] = met.get(unit, ()) + events
    return not among(met, paid)


def _spent(text: str) -> dict[str, Events]:
    return {unit: read(events) for unit, events in json.loads(text).items()}


def release(db: sqlite3.Connection, permit: Permit, answer: bytes) -> StoredRelease:
    """Store the answer, or give back the one that another draw under the same charge stored before."""
    number = charge_number(permit.release_id)
    done = db.execute(
        "UPDATE charge SET state = 'released', answer = ?, released_at = ? WHERE id = ? AND state = 'reserved'",
        (answer, now(), number),
    )
    if done.rowcount == 0:
        (answer,) = db.execute("SELECT answer FROM charge WHERE id = ?", (number,)).fetchone()
    else:
        chain.append(db, "release", number)
    return StoredRelease(permit.release_id, answer)


def allow_resume(db: sqlite3.Connection, release: str) -> None:
    """The owner has looked at a charge that was started too often: it may be resumed again."""
    query, number = "UPDATE charge SET resumes = 0 WHERE id = ? AND state = 'reserved'", charge_number(release)
    if db.execute(query, (number,)).rowcount == 0:
        raise LedgerError(f"`{release}` is not a charge that waits for its answer")
    chain.append(db, "resumes", number)


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


def claim_name(db: sqlite3.Connection, analyst: str, name: str, release: str) -> None:
    """Names are taken when the query is charged, so that nobody pays for a release and cannot call it by its name."""
    key = fold(analyst), fold(name)
    taken = db.execute("SELECT charge FROM release_name WHERE analyst = ? AND name = ?", key).fetchone()
    number = charge_number(release)
    if taken is None:
        standing.check_name(db, key[0], name, number)
        db.execute("INSERT INTO release_name VALUES (?, ?, ?, ?)", (*key, name, number))
        chain.append(db, "name", *key)
    elif taken[0] != number:
        raise _taken(db, name, release_id(taken[0]))


def _taken(db: sqlite3.Connection, name: str, release: str) -> NameTaken:
    (state,) = db.execute("SELECT state FROM charge WHERE id = ?", (charge_number(release),)).fetchone()
    return NameTaken(name, release, state == "forgotten")


def named(db: sqlite3.Connection, analyst: str, name: str) -> str | None:
    query = "SELECT charge FROM release_name WHERE analyst = ? AND name = ?"
    row = db.execute(query, (fold(analyst), fold(name))).fetchone()
    return None if row is None else release_id(row[0])


def names(db: sqlite3.Connection, analyst: str) -> tuple[str, ...]:
    query = "SELECT spelling FROM release_name JOIN charge ON charge.id = charge WHERE release_name.analyst = ?"
    rows = db.execute(query + " AND state = 'released' ORDER BY charge.id", (fold(analyst),))
    return tuple(name for (name,) in rows)


def release_id(number: int) -> str:
    return f"r{number}"


def charge_number(release: str) -> int | None:
    digits = release.removeprefix("r")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
