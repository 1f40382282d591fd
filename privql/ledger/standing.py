"""Standing releases: one query that is asked again and again, all of its runs charged beforehand as one plan.

    stand ──▶ a plan with a slot for each run, and the name under which they are found
    turn  ──▶ which run is to be taken now: the one that has no answer yet, else the next one if it is due, else the
              last one once more, whose answer is there

Each run is a query of its own with a name of its own, `daily_1`, `daily_2`, …, and they are taken in turn, each so long
after the one before it was begun. One that nobody took when it was due is taken later. All are paid for, so that no
promise hangs on the clock.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

from privql.frozen import frozen
from privql.ledger import amounts, chain, clock, notes, plans
from privql.ledger.errors import NameTaken, NoMoreRuns
from privql.ledger.policies import Policy, data_version
from privql.ledger.records import PlanRequest, Prepaid, Standing
from privql.ledger.waiting import check_waiting
from privql.names import fold

_READ = "SELECT spelling, plan, hours, runs, epsilon FROM standing WHERE analyst = ?"


def stand(
    db: sqlite3.Connection, policy: Policy, name: str, request: PlanRequest, hours: int, epsilon: Fraction
) -> Standing:
    """Charge all runs, or find that they were."""
    known = turn(db, policy, name, request)
    if known is not None:
        return known
    analyst = fold(request.analyst)
    check_waiting(db, analyst, data_version(db, policy, request.tables))
    paid = plans.prepay(db, policy, _timeless(request))
    runs = len(request.slots)
    row = analyst, fold(name), name, paid.plan, hours, runs, amounts.written(epsilon)
    db.execute("INSERT INTO standing VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    chain.append(db, "standing", *row[:2])
    return Standing(name, paid, hours, runs, epsilon)


def turn(db: sqlite3.Connection, policy: Policy, name: str, request: PlanRequest) -> Standing | None:
    """How far it is, if it was charged; NoMoreRuns where none is left to take, or may be taken."""
    analyst = fold(request.analyst)
    row = db.execute(f"{_READ} AND name = ?", (analyst, fold(name))).fetchone()
    if row is None:
        _check_names(db, analyst, name, len(request.slots))
        return None
    found = _standing(db, analyst, row)
    number, told = found.paid.plan, f"`{found.name}`"
    query = "SELECT identity, policy_version FROM plan WHERE id = ?"
    identity, version = db.execute(query, (number,)).fetchone()
    left = f"of its {found.runs} runs {found.taken} were taken; what was paid stays so"
    if not identity:
        raise NoMoreRuns(f"the query of {told} was forgotten: {left}")
    if notes.origin(db, version) != policy.origin:
        raise NoMoreRuns(
            f"{told} has ended, because the policy in force says more anew than budgets and grants: {left}"
        )
    if bytes(identity) != plans.identity(db, policy, _timeless(request)):
        raise NameTaken(name, f"plan {number}")
    budgets = db.execute("SELECT budget FROM plan_line WHERE plan = ? ORDER BY unit", (number,)).fetchall()
    closed = next((budget for (budget,) in budgets if not policy.may_use(budget, analyst)), None)
    if closed is not None:
        raise NoMoreRuns(f"{told} was paid from `{closed}`, which you may not use any more: {left}")
    if found.next is None:
        raise NoMoreRuns(f"{told} has ended: all of its {found.runs} runs were taken")
    return found


def listed(db: sqlite3.Connection, analyst: str) -> tuple[Standing, ...]:
    rows = db.execute(f"{_READ} ORDER BY plan", (fold(analyst),)).fetchall()
    return tuple(_standing(db, fold(analyst), row) for row in rows)


def _standing(db: sqlite3.Connection, analyst: str, row: tuple[str, int, int, int, str]) -> Standing:
    name, plan, hours, runs, epsilon = row
    found = Standing(name, Prepaid(plan, analyst), hours, runs, amounts.read(epsilon))
    query = "SELECT slot, state, reserved_at FROM charge WHERE plan = ? ORDER BY slot DESC LIMIT 1"
    last = db.execute(query, (plan,)).fetchone()
    if last is None:
        return replace(found, next=1)
    slot, state, begun = last
    due = datetime.fromisoformat(begun) + timedelta(hours=hours)
    number: int | None = slot + 1
    if state != "reserved" and clock.tells() >= due:
        number = slot + 2 if slot + 1 < runs else None
    ended = state != "reserved" and slot + 1 == runs
    return replace(found, taken=slot + 1, next=number, due=None if ended else due, last=state)


@frozen
class Taken:
    """The charge of a run that was begun."""

    charge: int
    query: str
    parameters: str
    resumes: int
    answer: bytes | None


def taken(db: sqlite3.Connection, plan: Prepaid, slot: int, analyst: str) -> Taken | None:
    query = "SELECT id, query, parameters, resumes, answer FROM charge WHERE plan = ? AND slot = ? AND analyst = ?"
    row = db.execute(f"{query} AND plan IN (SELECT plan FROM standing)", (plan.plan, slot, analyst)).fetchone()
    return None if row is None else Taken(*row)


def _timeless(request: PlanRequest) -> PlanRequest:
    """All runs are one plan, whatever version the data is in when they are taken."""
    return replace(request, tables=())


# ---------------------------------------------------------------- names


def run_name(name: str, run: int) -> str:
    return f"{name}_{run}"


def check_name(db: sqlite3.Connection, analyst: str, name: str, number: int | None) -> None:
    """Nothing but a standing release's own runs may take the names of its runs, and nothing its own name."""
    taken = db.execute("SELECT plan, slot FROM charge WHERE id = ?", (number,)).fetchone()
    for base, run, plan in _owners(db, analyst, name):
        if run is None or taken != (plan, run - 1):
            raise NameTaken(name, f"`{base}` is made again and again")


def _check_names(db: sqlite3.Connection, analyst: str, name: str, runs: int) -> None:
    """Whether its name and those of all its runs are free."""
    for base, _, _ in _owners(db, analyst, name):
        raise NameTaken(name, f"`{base}` is made again and again")
    tables = "SELECT spelling FROM release_name WHERE analyst = ? UNION SELECT spelling FROM standing WHERE analyst = ?"
    for (other,) in db.execute(tables, (analyst, analyst)).fetchall():
        if fold(other) == fold(name) or _run(other, name, runs) is not None:
            raise NameTaken(other, f"the runs of `{name}` would take that name")


def _owners(db: sqlite3.Connection, analyst: str, name: str) -> Iterator[tuple[str, int | None, int]]:
    for base, plan, _, runs, _ in db.execute(_READ, (analyst,)).fetchall():
        run = _run(name, base, runs)
        if fold(base) == fold(name) or run is not None:
            yield base, run, plan


def _run(name: str, base: str, runs: int) -> int | None:
    """Which run of a standing release of so many has this name."""
    found = re.fullmatch(rf"{re.escape(fold(base))}_([1-9][0-9]{{0,5}})", fold(name))
    return int(found[1]) if found and int(found[1]) <= runs else None


def audit(db: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with them, a sentence each."""
    query = "SELECT standing.analyst, spelling, runs, plan.analyst, slots FROM standing LEFT JOIN plan"
    for analyst, name, runs, owner, slots in db.execute(f"{query} ON plan.id = standing.plan").fetchall():
        if owner != analyst or len(json.loads(slots)) != runs:
            yield f"the standing release `{name}` of `{analyst}` has no plan of {runs} runs"
