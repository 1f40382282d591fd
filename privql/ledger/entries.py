"""Reading the ledger back: every charge, and with them the plans."""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Iterator
from typing import Any

from privql.kernel import losses
from privql.ledger import accounts, parts
from privql.ledger.amounts import met_read
from privql.ledger.naming import charge_number, release_id
from privql.ledger.records import Entry, PlanEntry, PlanLine
from privql.names import fold

_READ = (
    "SELECT id, analyst, query, parameters, policy_version, data_version, measurements, state, resumes,"
    " failures, reserved_at, released_at, plan FROM charge"
)


def all_entries(db: sqlite3.Connection) -> Iterator[Entry]:
    return _entries(db, db.execute(f"{_READ} ORDER BY id"))


def released_to(db: sqlite3.Connection, analyst: str) -> Iterator[Entry]:
    return _entries(db, db.execute(f"{_READ} WHERE analyst = ? AND state = 'released' ORDER BY id", (fold(analyst),)))


def entry(db: sqlite3.Connection, release: str) -> Entry | None:
    return next(_entries(db, db.execute(f"{_READ} WHERE id = ?", (charge_number(release),))), None)


def _entries(db: sqlite3.Connection, rows: Iterator[Any]) -> Iterator[Entry]:
    for number, analyst, query, parameters, policy, data, measured, *life, reserved, released, plan in rows:
        state, resumes, failures = life
        names = db.execute("SELECT spelling FROM release_name WHERE charge = ? ORDER BY analyst, name", (number,))
        paid, named = accounts.lines(db, number), tuple(name for (name,) in names.fetchall())
        asked = analyst, query, parameters, policy, data, measured
        yield Entry(release_id(number), *asked, paid, state, resumes, failures, reserved, released, named, plan)


def _plans(db: sqlite3.Connection) -> Iterator[PlanEntry]:
    query = "SELECT id, analyst, policy_version, after_charge, slots, reserved_at FROM plan ORDER BY id"
    for number, analyst, version, after, text, at in db.execute(query).fetchall():
        rows = db.execute("SELECT unit, budget, loss, window_number FROM plan_line WHERE plan = ?", (number,))
        paid = tuple(PlanLine(unit, budget, losses.read(loss), window) for unit, budget, loss, window in rows)
        slots = tuple(map(met_read, json.loads(text)))
        where = tuple(parts.of_slot(db, number, slot) for slot in range(len(slots)))
        yield PlanEntry(number, analyst, version, after, slots, paid, at, where)


def charged(db: sqlite3.Connection) -> Iterator[Entry | PlanEntry]:
    """Every charge and every plan, in the order in which they were charged."""
    waiting = deque(_plans(db))
    for one in all_entries(db):
        number = charge_number(one.release_id)
        assert number is not None
        while waiting and waiting[0].after_charge < number:
            yield waiting.popleft()
        yield one
    yield from waiting
