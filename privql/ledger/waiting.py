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
            (release,),
            f"this query was charged once and started {resumes + 1} times without an answer ({release}): the owner has "
            "to look at it before it may run again",
        )


def check_waiting(db: sqlite3.Connection, analyst: str, data_version: str, besides: int | None = None) -> None:
    """Before anything is charged, or begun that was paid for; `data_version` tells the tables, as a charge does.

    What failed counts though it was answered later, and what was only broken off until then. A charge that is taken up
    again has starts of its own: it waits for those of others, `besides` these.
    """
    asked = json.loads(data_version).keys()
    starts: dict[str, dict[str, int]] = defaultdict(dict)  # by table and charge
    for number, state, resumes, failures, other in db.execute(_AGAIN, (analyst,)).fetchall():
        count = max(resumes + 1, failures) if state == "reserved" else failures
        if number != besides and count:
            for table in asked & json.loads(other).keys():
                starts[table][f"r{number}"] = count
    full = {table: counts for table, counts in sorted(starts.items()) if sum(counts.values()) >= MOST_STARTS}
    if full:
        told = {release: count for counts in full.values() for release, count in counts.items()}
        times, tables = sum(told.values()), ", ".join(f"`{table}`" for table in full)
        started, them = f"was charged once and started {times} times", "it"
        if len(told) > 1:
            started, them = f"were started {times} times in all", "them"
        raise WaitsForOwner(
            tuple(told),
            f"{', '.join(told)} {started} without an answer: before the owner has looked at {them}, nothing is "
            f"started on {tables} in your name",
        )
