"""What was started and not answered: whether the data made it fail is one bit, and no charge pays for it. So an analyst
has a few such starts on a table, of one query or of several; then all that is new there waits for the owner."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict

from privql.ledger.errors import TooManyResumes, WaitsForOwner

MOST_STARTS = 4
_AGAIN = (  # as the index says it that holds these alone
    "SELECT id, state, resumes, failures, data_version FROM charge"
    " WHERE analyst = ? AND (failures > 0 OR resumes > 0) ORDER BY id"
)


def check_resumes(release: str, resumes: int) -> None:
    if resumes + 1 >= MOST_STARTS:
        raise TooManyResumes(
            release,
            f"this query was charged once and started {resumes + 1} times without an answer ({release}): the owner has "
            "to look at it before it may run again",
        )


def check_waiting(db: sqlite3.Connection, analyst: str, data_version: str) -> None:
    """Before anything new is charged, or begun that was paid for; `data_version` tells the tables, as a charge does.

    What failed counts though it was answered later, and what was only broken off until then.
    """
    asked = json.loads(data_version).keys()
    starts: dict[str, dict[str, int]] = defaultdict(dict)  # by table and charge
    for number, state, resumes, failures, other in db.execute(_AGAIN, (analyst,)).fetchall():
        started = resumes + 1 if state == "reserved" and resumes else 0
        for table in asked & json.loads(other).keys():
            starts[table][f"r{number}"] = max(started, failures)
    full = {table: of for table, of in sorted(starts.items()) if sum(of.values()) >= MOST_STARTS}
    if full:
        of = {release: count for counts in full.values() for release, count in counts.items() if count}
        times, tables = sum(of.values()), ", ".join(f"`{table}`" for table in full)
        started, them = (f"was charged once and started {times} times", "it")
        if len(of) > 1:
            started, them = f"were started {times} times in all", "them"
        raise WaitsForOwner(
            " ".join(of),
            f"{', '.join(of)} {started} without an answer: before the owner has looked at {them}, nothing new is "
            f"asked of {tables} in your name",
        )
