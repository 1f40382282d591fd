"""What was lost in single parts of what divides a unit: where a query is charged, and the totals of each part.

A partition is a table and a column in one state of the data, as the owner states it, and under one meaning of the
policy: a unit may be in another part of the next, so that what the two lost adds up. What lay in parts of an older
partition stays as it is, and weighs on every unit as much as on any.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

from privql.kernel.losses import Loss, read, written
from privql.kernel.parallel import Greatest, InParts, Lost, Part
from privql.kernel.parts import Parts
from privql.ledger.policies import Policy, data_version
from privql.ledger.records import PartsAsked
from privql.names import fold

Scope = tuple[str, str, str, int]  # unit, budget, analyst and window, as a total has them


def located(db: sqlite3.Connection, policy: Policy, version: int, asked: PartsAsked) -> InParts:
    """Where it is charged, as policy and data are now."""
    found = {
        "table": fold(asked.table),
        "column": fold(asked.column),
        "policy": _since(db, version),
        "data": json.loads(data_version(db, policy, asked.tables)),
        "twice": asked.change_one,
    }
    return placed(json.dumps(found), asked.values)


def _since(db: sqlite3.Connection, version: int) -> int:
    """The first version of those without a break that mean the same as this one. If another came between, nothing says
    that its data was the same."""
    meant = "COALESCE((SELECT meaning FROM policy_note WHERE policy_note.version = {}), '')".format
    other = f"{meant('policy.version')} = '' OR {meant('policy.version')} <> {meant('?')}"
    query = f"SELECT COALESCE(MAX(version), 0) FROM policy WHERE version < ? AND ({other})"
    (before,) = db.execute(query, (version, version)).fetchone()
    return int(before) + 1


def by_unit(
    db: sqlite3.Connection, policy: Policy, version: int, asked: Iterable[tuple[str, PartsAsked]]
) -> dict[str, InParts]:
    return {fold(unit): located(db, policy, version, one) for unit, one in asked}


def placed(partition: str, parts: Iterable[str]) -> InParts:
    return InParts(partition, tuple(sorted(parts)), json.loads(partition)["twice"])


def column_of(partition: str) -> tuple[str, str]:
    told = json.loads(partition)
    return told["table"], told["column"]


def inside(read: Parts | None, paid: InParts) -> bool:
    """Whether what is read lies in the parts that were paid for."""
    if read is None:
        return False
    column = fold(read.partition.input.table), fold(read.partition.column)
    return column == column_of(paid.partition) and set(map(str, read.values)) <= set(paid.parts)


def lost(db: sqlite3.Connection, scope: Scope, most: Loss, where: Iterable[InParts]) -> Lost:
    """With what was lost in these parts, and in the others of their partitions."""
    greatest: dict[str, Greatest] = {}
    parts: dict[Part, Loss] = {}
    for one in where:
        row = db.execute(f"SELECT first, second FROM part_greatest WHERE {_SCOPE}", (*scope, one.partition)).fetchone()
        if row is not None:
            greatest[one.partition] = Greatest(*map(read, row))
        for part in one.parts:
            query = f"SELECT loss FROM part_total WHERE {_SCOPE} AND part = ?"
            row = db.execute(query, (*scope, one.partition, part)).fetchone()
            if row is not None:
                parts[one.partition, part] = read(*row)
    return Lost(most, greatest, parts)


def keep(db: sqlite3.Connection, scope: Scope, now: Lost, where: InParts) -> None:
    """The totals of the parts in which something was charged just now."""
    found = now.greatest[where.partition]
    db.execute(
        "INSERT INTO part_greatest VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT"
        " (unit, budget, analyst, window_number, division) DO UPDATE SET first = excluded.first,"
        " second = excluded.second",
        (*scope, where.partition, written(found.first), written(found.second)),
    )
    for part in where.parts:
        db.execute(
            "INSERT INTO part_total VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT"
            " (unit, budget, analyst, window_number, division, part) DO UPDATE SET loss = excluded.loss",
            (*scope, where.partition, part, written(now.parts[where.partition, part])),
        )


def all_kept(db: sqlite3.Connection) -> dict[Scope, Lost]:
    """For the audit: every total there is, with what of it is in parts."""
    totals = {tuple(row[:4]): read(row[4]) for row in db.execute(f"SELECT {_NAMES}, loss FROM total")}
    greatest: dict[Scope, dict[str, Greatest]] = {}
    parts: dict[Scope, dict[Part, Loss]] = {}
    for *scope, division, first, second in db.execute(f"SELECT {_NAMES}, division, first, second FROM part_greatest"):
        greatest.setdefault(tuple(scope), {})[division] = Greatest(read(first), read(second))
    for *scope, division, part, loss in db.execute(f"SELECT {_NAMES}, division, part, loss FROM part_total"):
        parts.setdefault(tuple(scope), {})[division, part] = read(loss)
    none = Lost()
    return {
        scope: Lost(totals.get(scope, none.most), greatest.get(scope, {}), parts.get(scope, {}))
        for scope in totals.keys() | greatest.keys() | parts.keys()
    }


def current(db: sqlite3.Connection, policy: Policy, unit: str, budget: str, window: int) -> tuple[InParts, ...]:
    """Each part of which something was charged to a budget's window, as policy and data are now."""
    since, found = _since(db, policy.record.version), []
    query = "SELECT division FROM part_greatest WHERE unit = ? AND budget = ? AND analyst = '' AND window_number = ?"
    for (division,) in db.execute(f"{query} ORDER BY division", (fold(unit), fold(budget), window)).fetchall():
        told = json.loads(division)
        names = told["data"].keys()
        known = told["policy"] == since and names <= policy.tables
        if known and json.loads(data_version(db, policy, names)) == told["data"]:
            scope = fold(unit), fold(budget), "", window, division
            rows = db.execute(f"SELECT part FROM part_total WHERE {_SCOPE}", scope).fetchall()
            found += [placed(division, [part]) for (part,) in rows]
    return tuple(found)


# ---------------------------------------------------------------- beside a charge, and beside a plan


def rows(unit: str, where: InParts | None) -> list[list[str]]:
    return [] if where is None else [[fold(unit), where.partition, part] for part in where.parts]


def of_charge(db: sqlite3.Connection, charge: int) -> dict[str, InParts]:
    query = "SELECT unit, division, part FROM charge_part WHERE charge = ?"
    return _gathered(db.execute(query, (charge,)).fetchall())


def write_slots(db: sqlite3.Connection, plan: int, slots: Iterable[Mapping[str, InParts]]) -> None:
    for at, slot in enumerate(slots):
        for unit, where in slot.items():
            named = [(plan, at, *row) for row in rows(unit, where)]
            db.executemany("INSERT INTO plan_part VALUES (?, ?, ?, ?, ?)", named)


def of_slot(db: sqlite3.Connection, plan: int, slot: int) -> dict[str, InParts]:
    query = "SELECT unit, division, part FROM plan_part WHERE plan = ? AND slot = ?"
    return _gathered(db.execute(query, (plan, slot)).fetchall())


def _gathered(rows: Iterable[tuple[str, str, str]]) -> dict[str, InParts]:
    found: dict[tuple[str, str], list[str]] = {}
    for unit, division, part in rows:
        found.setdefault((unit, division), []).append(part)
    return {unit: placed(division, parts) for (unit, division), parts in found.items()}


def paid_for(met: Mapping[str, InParts], paid: Mapping[str, InParts]) -> bool:
    """Whether a query reads nothing outside of the parts that were paid for; of a unit without any, all were."""
    return all(unit in met and met[unit] <= where for unit, where in paid.items())


_NAMES = "unit, budget, analyst, window_number"
_SCOPE = "unit = ? AND budget = ? AND analyst = ? AND window_number = ? AND division = ?"
