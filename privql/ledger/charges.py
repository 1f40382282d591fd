"""Reserve, resume, release: the life of a charge. Every function here runs inside one transaction.

    reserve ──▶ replay      the same query was answered: its stored answer, for nothing
            ──▶ resume      the same analyst's charge has no answer yet: that charge again, at most three times
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
from privql.kernel.cost import Cost, check_chargeable
from privql.ledger import notes
from privql.ledger.accounts import lines, pay, payers
from privql.ledger.errors import LedgerError, NameTaken, TooManyResumes
from privql.ledger.policies import Policy, data_version
from privql.ledger.records import SEAL, ChargeLine, Draw, Permit, Replay, Request, StoredRelease
from privql.ledger.schema import read, written
from privql.ledger.store import now
from privql.names import fold

MOST_RESUMES = 3
FREE = ""  # the measurements of an answer that measured nothing


@frozen
class Asked:
    """A request as the ledger weighs it."""

    request: Request
    analyst: str  # folded
    costs: dict[str, Cost]  # by folded unit
    data_version: str
    identity: bytes


def asked(db: sqlite3.Connection, policy: Policy, request: Request) -> Asked:
    costs: dict[str, Cost] = {}
    for unit, cost in request.charges:
        costs[fold(unit)] = costs.get(fold(unit), Cost()) + cost
    try:
        for cost in costs.values():
            check_chargeable(cost.epsilon)
            check_chargeable(cost.delta)
    except ValueError as problem:
        raise LedgerError(f"the cost of the query cannot be charged exactly: {problem}") from None
    if not costs:
        raise LedgerError("a query that charges no unit needs no permit")
    if not request.analyst:
        raise LedgerError("a charge needs an analyst's name")
    version = data_version(db, policy, request.tables)
    meant = notes.origin(db, request.policy_version)
    query = request.query, request.parameters, meant, version, request.measurements
    return Asked(request, fold(request.analyst), costs, version, identity(*query, costs))


def identity(
    query: str, parameters: str, policy_version: int, data_version: str, measurements: str, costs: dict[str, Cost]
) -> bytes:
    """Two queries are the same one when all of this agrees. Who asks and who pays is not part of it."""
    prices = sorted((unit, written(cost.epsilon), written(cost.delta)) for unit, cost in costs.items())
    parts = query, parameters, policy_version, data_version, measurements, prices
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def reserve(db: sqlite3.Connection, ledger_id: str, policy: Policy, request: Request) -> Permit | Replay:
    query = asked(db, policy, request)
    granted = _repeat(db, ledger_id, policy, query) or _charge(db, ledger_id, policy, query)
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
    number, resumes = unfinished
    if resumes >= MOST_RESUMES:
        raise TooManyResumes(
            f"this query was charged once and started {resumes + 1} times without an answer ({release_id(number)}): "
            "the owner has to look at it before it may run again"
        )
    db.execute("UPDATE charge SET resumes = resumes + 1 WHERE id = ?", (number,))
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
            raise NameTaken(request.name, release_id(taken[0]))
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
    release = named(db, analyst, name)
    if release is not None:
        number = charge_number(release)
        kept = "SELECT answer FROM charge WHERE id = ? AND query = ? AND state = 'released' AND measurements = ?"
        row = db.execute(kept, (number, query, FREE)).fetchone()
        if row is not None:
            return StoredRelease(release, row[0])
    version = policy.record.version
    same = identity(query, "", notes.origin(db, version), "", FREE, {})
    number = db.execute(
        "INSERT INTO charge (identity, analyst, query, parameters, policy_version, data_version, measurements, state,"
        " resumes, reserved_at, released_at, answer) VALUES (?, ?, ?, '', ?, '', ?, 'released', 0, ?, ?, ?)",
        (same, fold(analyst), query, version, FREE, now(), now(), answer),
    ).lastrowid
    assert number is not None
    claim_name(db, analyst, name, release_id(number))
    return StoredRelease(release_id(number), answer)


def _charge(db: sqlite3.Connection, ledger_id: str, policy: Policy, query: Asked) -> Permit:
    request = query.request
    found = payers(db, policy, query.analyst, query.costs, request.budget)
    text = request.query, request.parameters, request.policy_version, query.data_version, request.measurements
    number = db.execute(
        "INSERT INTO charge (identity, analyst, query, parameters, policy_version, data_version, measurements, state,"
        " resumes, reserved_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'reserved', 0, ?)",
        (query.identity, query.analyst, *text, now()),
    ).lastrowid
    assert number is not None
    spelled = {fold(unit): unit for unit, _ in request.charges}  # the plan knows its units by these names
    paid = tuple(pay(db, number, query.analyst, spelled[fold(p.budget.unit)], p, cost) for p, cost in found)
    return _permit(number, ledger_id, query, paid, 0)


def _permit(number: int, ledger_id: str, query: Asked, paid: tuple[ChargeLine, ...], resumes: int) -> Permit:
    measured = query.request.measurements
    return Permit(release_id(number), ledger_id, query.analyst, paid, measured, query.data_version, resumes, seal=SEAL)


def drawn(db: sqlite3.Connection, release: str) -> tuple[Draw, ...]:
    """The steps that were drawn under a charge, in order."""
    rows = db.execute("SELECT spent, noisy FROM draw WHERE charge = ? ORDER BY step", (charge_number(release),))
    return tuple(Draw(_spent(spent), noisy) for spent, noisy in rows.fetchall())


def draw(db: sqlite3.Connection, permit: Permit, step: int, spent: Mapping[str, Cost], noisy: bytes) -> bytes:
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
    folded = {fold(unit): cost for unit, cost in spent.items()}
    if overdrawn((*before, Draw(folded, noisy)), permit.charges):
        raise LedgerError(f"the steps of {permit.release_id} spend more than was charged")
    said = json.dumps({unit: (written(cost.epsilon), written(cost.delta)) for unit, cost in folded.items()})
    db.execute("INSERT INTO draw VALUES (?, ?, ?, ?)", (charge_number(permit.release_id), step, said, noisy))
    return noisy


def overdrawn(steps: Iterable[Draw], charges: Iterable[ChargeLine]) -> bool:
    """Whether the steps together cost any unit more than it was charged."""
    left = {fold(line.unit): line.cost for line in charges}
    for step in steps:
        for unit, cost in step.spent.items():
            if not cost <= left.get(unit, Cost()):
                return True
            left[unit] = left[unit] - cost if unit in left else Cost()
    return False


def _spent(text: str) -> dict[str, Cost]:
    return {unit: Cost(read(epsilon), read(delta)) for unit, (epsilon, delta) in json.loads(text).items()}


def release(db: sqlite3.Connection, permit: Permit, answer: bytes) -> StoredRelease:
    """Store the answer, or give back the one that another draw under the same charge stored before."""
    number = charge_number(permit.release_id)
    done = db.execute(
        "UPDATE charge SET state = 'released', answer = ?, released_at = ? WHERE id = ? AND state = 'reserved'",
        (answer, now(), number),
    )
    if done.rowcount == 0:
        (answer,) = db.execute("SELECT answer FROM charge WHERE id = ?", (number,)).fetchone()
    return StoredRelease(permit.release_id, answer)


def allow_resume(db: sqlite3.Connection, release: str) -> None:
    """The owner has looked at a charge that was started too often: it may be resumed again."""
    query = "UPDATE charge SET resumes = 0 WHERE id = ? AND state = 'reserved'"
    if db.execute(query, (charge_number(release),)).rowcount == 0:
        raise LedgerError(f"`{release}` is not a charge that waits for its answer")


def may_see(db: sqlite3.Connection, policy: Policy, number: int, owner: str, analyst: str) -> bool:
    """Whoever asked for a release may see it, and whoever may spend the very budgets that paid for it."""
    paid = lines(db, number)
    return owner == analyst or (bool(paid) and all(policy.may_use(line.budget, analyst) for line in paid))


def seen(db: sqlite3.Connection, policy: Policy, analyst: str, release: str) -> StoredRelease | None:
    number = charge_number(release)
    query = "SELECT analyst, answer FROM charge WHERE id = ? AND state = 'released'"
    row = db.execute(query, (number,)).fetchone()
    if number is None or row is None or not may_see(db, policy, number, row[0], fold(analyst)):
        return None
    return StoredRelease(release_id(number), row[1])


def claim_name(db: sqlite3.Connection, analyst: str, name: str, release: str) -> None:
    """Names are taken when the query is charged, so that nobody pays for a release and cannot call it by its name."""
    key = fold(analyst), fold(name)
    taken = db.execute("SELECT charge FROM release_name WHERE analyst = ? AND name = ?", key).fetchone()
    number = charge_number(release)
    if taken is None:
        db.execute("INSERT INTO release_name VALUES (?, ?, ?, ?)", (*key, name, number))
    elif taken[0] != number:
        raise NameTaken(name, release_id(taken[0]))


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
