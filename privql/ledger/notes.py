"""What is kept beside a version of the policy: why, by whom, what it means, and where the ledger was then."""

from __future__ import annotations

import sqlite3

from privql.ledger import chain
from privql.ledger.records import Note


def write(db: sqlite3.Connection, version: int, note: Note, place: str) -> None:
    """A version's first note is its only one."""
    said = note.reason, note.applied_by, note.meaning, place
    kept = db.execute(
        "INSERT INTO policy_note VALUES (?, ?, ?, ?, ?) ON CONFLICT (version) DO NOTHING", (version, *said)
    )
    if kept.rowcount:
        chain.append(db, "note", version)


def charged_again(db: sqlite3.Connection, version: int, meaning: str) -> bool:
    """Whether something was answered that a policy of this meaning would make another question of, after this one."""
    now = db.execute("SELECT meaning FROM policy_note WHERE version = ?", (version,)).fetchone()
    if now == (meaning,):
        return False
    query = "SELECT 1 FROM charge LEFT JOIN policy_note ON version = policy_version WHERE state = 'released'"
    return db.execute(f"{query} AND COALESCE(meaning, '') <> ? LIMIT 1", (meaning,)).fetchone() is not None


def origin(db: sqlite3.Connection, version: int) -> int:
    """The first version that differs from this one in budgets and grants at most: what holds of a query under the one
    holds under the other, and an answer that was given under the one is the other's."""
    query = "SELECT MIN(version) FROM policy_note WHERE meaning <> '' AND meaning ="
    (first,) = db.execute(f"{query} (SELECT meaning FROM policy_note WHERE version = ?)", (version,)).fetchone()
    return version if first is None else int(first)
