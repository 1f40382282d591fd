"""What releases are called: `r7` by the ledger, and by names that analysts give them.

A name is its analyst's alone and never moves to another release. An answer that cost nothing has one, too.
"""

from __future__ import annotations

import re
import sqlite3

from privql.ledger import chain, remembered, standing
from privql.ledger.asked import identity
from privql.ledger.clock import now
from privql.ledger.errors import NameTaken
from privql.ledger.policies import Policy
from privql.ledger.records import StoredRelease
from privql.names import fold

_LAST = ("charge",)  # the number of the last one, as it is remembered
_RELEASE = re.compile("r([1-9][0-9]{0,17})")
FREE = ""  # the measurements of an answer that measured nothing


def keep(db: sqlite3.Connection, policy: Policy, analyst: str, name: str, query: str, answer: bytes) -> StoredRelease:
    """Give a name to an answer that cost nothing, since it was computed from what is released or public already.

    It is an entry without charges, and its analyst's alone. The same query under the same name is the same release.
    """
    found = kept(db, analyst, name, query)
    if found is not None:
        return found
    version = policy.record.version
    same, number = identity(query, "", policy.origin, "", FREE, {}), next_number(db)
    db.execute(
        "INSERT INTO charge (id, identity, analyst, query, parameters, policy_version, data_version, measurements,"
        " state, resumes, reserved_at, released_at, answer)"
        " VALUES (?, ?, ?, ?, '', ?, '', ?, 'released', 0, ?, ?, ?)",
        (number, same, fold(analyst), query, version, FREE, now(), now(), answer),
    )
    chain.append(db, "charge", number)
    chain.append(db, "release", number)
    claim(db, analyst, name, release_id(number))
    return StoredRelease(release_id(number), answer)


def kept(db: sqlite3.Connection, analyst: str, name: str, query: str) -> StoredRelease | None:
    """The answer that cost nothing and has this name already. NameTaken if another release has it."""
    release = named(db, analyst, name)
    if release is None:
        return None
    same = "SELECT answer FROM charge WHERE id = ? AND query = ? AND state = 'released' AND measurements = ?"
    row = db.execute(same, (charge_number(release), query, FREE)).fetchone()
    if row is None:
        raise taken_by(db, name, release)
    return StoredRelease(release, *row)


def claim(db: sqlite3.Connection, analyst: str, name: str, release: str) -> None:
    """Names are taken when the query is charged, so that nobody pays for a release and cannot call it by its name."""
    key = fold(analyst), fold(name)
    taken = db.execute("SELECT charge FROM release_name WHERE analyst = ? AND name = ?", key).fetchone()
    number = charge_number(release)
    if taken is None:
        standing.check_name(db, key[0], name, number)
        db.execute("INSERT INTO release_name VALUES (?, ?, ?, ?)", (*key, name, number))
        clear = {"analyst": key[0], "name": key[1], "spelling": name, "charge": number}
        chain.tell(db, "name", chain.Row(key, clear, {}))
    else:
        (charge,) = taken
        if charge != number:
            raise taken_by(db, name, release_id(charge))


def taken_by(db: sqlite3.Connection, name: str, release: str) -> NameTaken:
    (state,) = db.execute("SELECT state FROM charge WHERE id = ?", (charge_number(release),)).fetchone()
    return NameTaken(name, release, state == "forgotten")


def named(db: sqlite3.Connection, analyst: str, name: str) -> str | None:
    query = "SELECT charge FROM release_name WHERE analyst = ? AND name = ?"
    row = db.execute(query, (fold(analyst), fold(name))).fetchone()
    return None if row is None else release_id(*row)


def names(db: sqlite3.Connection, analyst: str) -> tuple[str, ...]:
    query = "SELECT spelling FROM release_name JOIN charge ON charge.id = charge WHERE release_name.analyst = ?"
    rows = db.execute(query + " AND state = 'released' ORDER BY charge.id", (fold(analyst),))
    return tuple(name for (name,) in rows)


def next_number(db: sqlite3.Connection) -> int:
    """Of a charge that this transaction writes."""
    numbers = remembered.of(db)

    def read() -> int:
        (last,) = db.execute("SELECT COALESCE(MAX(id), 0) FROM charge").fetchone()
        return int(last)

    number = numbers.known(_LAST, read) + 1
    numbers.now(_LAST, number)
    return number


def release_id(number: int) -> str:
    return f"r{number}"


def charge_number(release: str) -> int | None:
    written = _RELEASE.fullmatch(release)
    return int(written[1]) if written else None
