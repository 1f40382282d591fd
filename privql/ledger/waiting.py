"""A charge that was started again and again and never answered: whether the data made it fail is one bit, and no
charge pays for it. So it is resumed a few times only; then its analyst waits for the owner, on the tables it reads."""

from __future__ import annotations

import json
import sqlite3

from privql.ledger.errors import TooManyResumes, WaitsForOwner

MOST_RESUMES = 3
_WAITING = (  # as the index says it that holds these alone
    "SELECT id, resumes, data_version FROM charge"
    f" WHERE state = 'reserved' AND analyst = ? AND resumes >= {MOST_RESUMES} ORDER BY id"
)


def check_resumes(release: str, resumes: int) -> None:
    if resumes >= MOST_RESUMES:
        raise TooManyResumes(
            release,
            f"this query was charged once and started {resumes + 1} times without an answer ({release}): the owner has "
            "to look at it before it may run again",
        )


def check_waiting(db: sqlite3.Connection, analyst: str, data_version: str) -> None:
    """Before anything new is charged, or begun that was paid for; `data_version` tells the tables, as a charge does."""
    for number, resumes, other in db.execute(_WAITING, (analyst,)).fetchall():
        common = sorted(json.loads(data_version).keys() & json.loads(other).keys())
        if common:
            raise WaitsForOwner(
                f"r{number}",
                f"r{number} was charged once and started {resumes + 1} times without an answer: before the owner has "
                f"looked at it, nothing new is asked of {', '.join(f'`{name}`' for name in common)} in your name",
            )
