"""Reading the ledger back: its entries, and an audit that recomputes every sum and every admission from them."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from privql.kernel.cost import Cost
from privql.ledger import accounts, notes
from privql.ledger.charges import FREE, charge_number, drawn, identity, overdrawn, release_id
from privql.ledger.filters import refusal
from privql.ledger.policies import history, load
from privql.ledger.records import Entry
from privql.ledger.schema import read
from privql.names import fold

_READ = (
    "SELECT id, analyst, query, parameters, policy_version, data_version, measurements, state, resumes,"
    " reserved_at, released_at FROM charge"
)


def all_entries(db: sqlite3.Connection) -> Iterator[Entry]:
    return _entries(db, db.execute(f"{_READ} ORDER BY id"))


def released_to(db: sqlite3.Connection, analyst: str) -> Iterator[Entry]:
    return _entries(db, db.execute(f"{_READ} WHERE analyst = ? AND state = 'released' ORDER BY id", (fold(analyst),)))


def entry(db: sqlite3.Connection, release: str) -> Entry | None:
    return next(_entries(db, db.execute(f"{_READ} WHERE id = ?", (charge_number(release),))), None)


def _entries(db: sqlite3.Connection, rows: Iterator[Any]) -> Iterator[Entry]:
    names: dict[int, list[str]] = defaultdict(list)
    for number, name in db.execute("SELECT charge, spelling FROM release_name ORDER BY analyst, name"):
        names[number].append(name)
    for number, analyst, query, parameters, policy, data, measurements, state, resumes, reserved, released in rows:
        paid = accounts.lines(db, number)
        asked = analyst, query, parameters, policy, data, measurements
        yield Entry(release_id(number), *asked, paid, state, resumes, reserved, released, tuple(names[number]))


def verify(db: sqlite3.Connection) -> tuple[str, ...]:
    """What is wrong with the ledger, a sentence each; nothing if every charge was affordable and every sum is right."""
    found = [f"the file is damaged: {line}" for (line,) in db.execute("PRAGMA integrity_check") if line != "ok"]
    sums: dict[tuple[str, str, str], Cost] = defaultdict(Cost)
    policies = {record.version: load(db, record.version) for record in history(db)}
    kept = {number: bytes(same) for number, same in db.execute("SELECT id, identity FROM charge")}
    for one in all_entries(db):
        policy = policies[one.policy_version]
        costs = {fold(line.unit): line.cost for line in one.charges}
        meant = notes.origin(db, one.policy_version)
        texts = one.query, one.parameters, meant, one.data_version, one.measurements
        if kept[charge_number(one.release_id) or 0] != identity(*texts, costs):
            found.append(f"{one.release_id}: its text, version or price is not what was charged")
        if overdrawn(drawn(db, one.release_id), one.charges):
            found.append(f"{one.release_id}: its steps spent more than it was charged")
        if not one.charges and one.measurements != FREE:
            found.append(f"{one.release_id}: it charges nothing")
        for line in one.charges:
            unit, name = fold(line.unit), fold(line.budget)
            budget = policy.budgets.get(name)
            scopes = ("", ""), (name, ""), (name, one.analyst)
            spending = {scope: sums[unit, *scope] for scope in scopes}
            if budget is None or refusal(accounts.state(policy, budget, one.analyst, spending), line.cost):
                found.append(f"{one.release_id}: budget `{line.budget}` could not afford it")
            for scope in scopes:
                sums[unit, *scope] += line.cost
    rows = db.execute("SELECT unit, budget, analyst, epsilon, delta FROM total")
    totals = {(unit, name, by): Cost(read(epsilon), read(delta)) for unit, name, by, epsilon, delta in rows}
    for whose in sorted(totals.keys() | sums.keys()):
        if totals.get(whose, Cost()) != sums[whose]:
            found.append(f"the total of unit, budget and analyst {whose} is not the sum of its charges")
    return tuple(found)
