"""Releases that are made more accurate: what was measured before, and whether it may be merged with what is now.

A measurement is merged with an earlier one of the same rows. So what is refined was asked of the data as it is stated
to be now, under a policy that differs in budgets and grants at most, and is there to be seen by who asks.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from privql.ledger import naming, notes
from privql.ledger.asked import Asked
from privql.ledger.charges import drawn, seen
from privql.ledger.entries import entry
from privql.ledger.errors import NotRefined
from privql.ledger.naming import FREE, charge_number
from privql.ledger.policies import Policy, data_version
from privql.ledger.records import Entry
from privql.names import fold


def earlier(db: sqlite3.Connection, policy: Policy, analyst: str, name: str, id_alone: bool = False) -> Entry | None:
    """The release of this name, or else of this number, that the analyst may see; NotRefined if none can be merged
    with it any more."""
    release = None if id_alone else naming.named(db, analyst, name)
    release = fold(name) if release is None else release
    if seen(db, policy, analyst, release) is None:
        return None
    found = entry(db, release)
    assert found is not None
    if found.measurements != FREE:
        _check(db, policy, found)
    return found


def check(db: sqlite3.Connection, policy: Policy, query: Asked, release: str) -> None:
    """Once more, in the transaction that charges for it."""
    found = earlier(db, policy, query.analyst, release, id_alone=True)
    if found is None or found.measurements == FREE or found.data_version != query.data_version:
        raise NotRefined(f"`{release}` is not there to be made more accurate")


def _check(db: sqlite3.Connection, policy: Policy, found: Entry) -> None:
    if notes.origin(db, found.policy_version) != notes.origin(db, policy.record.version):
        raise NotRefined(
            f"`{found.release_id}` was asked under version {found.policy_version} of the policy, and the one in force "
            "says something else of what it reads"
        )
    if data_version(db, policy, json.loads(found.data_version)) != found.data_version:
        raise NotRefined(f"`{found.release_id}` was measured on data that was replaced since")


def same(query: Asked, db: sqlite3.Connection, release: str) -> bool:
    """Whether this is what was asked then, so that what it measures is known."""
    (kept,) = db.execute("SELECT identity FROM charge WHERE id = ?", (charge_number(release),)).fetchone()
    return bytes(kept) == query.identity


def noisy(db: sqlite3.Connection, policy: Policy, analyst: str, release: str) -> bytes:
    """The noisy numbers of its only step."""
    steps = drawn(db, release) if seen(db, policy, analyst, release) is not None else ()
    if len(steps) != 1:
        raise NotRefined(f"what `{release}` measured is not in the ledger")
    (step,) = steps
    return step.noisy


def audit(db: sqlite3.Connection, one: Entry) -> Iterator[str]:
    """What is wrong with a release that made another more accurate."""
    refines = json.loads(one.parameters).get("refines") if one.parameters.startswith("{") else None
    if refines is None:
        return
    number = charge_number(str(refines))
    before = None if number is None else entry(db, str(refines))
    if before is None or number is None or number >= (charge_number(one.release_id) or 0) or not before.charges:
        yield f"{one.release_id}: there was no release `{refines}` to make more accurate"
    elif before.data_version != one.data_version or notes.origin(db, before.policy_version) != notes.origin(
        db, one.policy_version
    ):
        yield f"{one.release_id}: it is merged with `{refines}`, which was asked of other data or under another policy"
