"""What is erased on request: texts, measurements, answers and noisy numbers of charges. That they were charged stays.

A charge that was forgotten counts as before, keeps who, when and what it cost, and its entries in the chain. Its answer
is nobody's any more: the same query is another charge. With one of its queries, a plan is no longer known by its texts.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

from privql.ledger import chain
from privql.ledger.clock import now, written
from privql.ledger.errors import Forgotten, LedgerError
from privql.names import fold


def forget(
    db: sqlite3.Connection, release: int | None, analyst: str | None, before: str | None, by: str
) -> tuple[str, ...]:
    """Whatever fits all that is said; what was forgotten now, charges first."""
    if release is None and analyst is None and before is None:
        raise LedgerError("say what to forget: a release, an analyst's charges, or those before a date")
    said = (("id", "=", release), ("analyst", "=", None if analyst is None else fold(analyst)))
    asked = [*said, ("reserved_at", "<", None if before is None else moment(before))]
    where = " AND ".join(f"{column} {sign} ?" for column, sign, value in asked if value is not None)
    values = [value for _, _, value in asked if value is not None]
    rows = db.execute(
        f"SELECT id, plan FROM charge WHERE state <> 'forgotten' AND {where} ORDER BY id", values
    ).fetchall()
    charges = [number for number, _ in rows]
    plans = {plan for _, plan in rows if plan is not None}
    if release is None:
        plans |= {number for (number,) in db.execute(f"SELECT id FROM plan WHERE {where}", values).fetchall()}
    plans = {plan for plan in plans if _remembered(db, plan)}
    for number in charges:
        db.execute(
            "UPDATE charge SET state = 'forgotten', identity = ?, query = '', parameters = '', measurements = '',"
            " answer = NULL WHERE id = ?",
            (b"", number),
        )
        db.execute("UPDATE draw SET noisy = ? WHERE charge = ?", (b"", number))
    for plan in plans:
        db.execute("UPDATE plan SET identity = ? WHERE id = ?", (b"", plan))
    what = (*(f"r{number}" for number in charges), *(f"plan {plan}" for plan in sorted(plans)))
    for each in what:
        db.execute("INSERT INTO forgotten VALUES (?, ?, ?)", (each, now(), by))
        chain.append(db, "forgotten", each)
    chain.forget(db, set(charges), plans)
    return what


def _remembered(db: sqlite3.Connection, plan: int) -> bool:
    return db.execute("SELECT 1 FROM plan WHERE id = ? AND identity <> ?", (plan, b"")).fetchone() is not None


def moment(text: str) -> str:
    """A date, or a time, as the ledger writes times."""
    try:
        meant = datetime.fromisoformat(text)
    except ValueError:
        raise LedgerError(f"`{text}` is no date: write it as 2026-01-31") from None
    meant = meant.replace(tzinfo=UTC) if meant.tzinfo is None else meant.astimezone(UTC)
    return written(meant)


def still_there(db: sqlite3.Connection, release: str) -> None:
    """Forgotten, if this is what became of the release."""
    row = db.execute("SELECT forgotten_at FROM forgotten WHERE what = ?", (release,)).fetchone()
    if row is not None:
        raise Forgotten(release, *row)
