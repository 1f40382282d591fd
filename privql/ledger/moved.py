"""What an older ledger holds, said as the present layout says it."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from fractions import Fraction

from privql.kernel import events as mechanisms
from privql.kernel import losses
from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events
from privql.kernel.filters import DEFAULT, Shares, order_for
from privql.kernel.losses import NO_LOSS, Loss, loss_of
from privql.ledger.amounts import read, shares_written
from privql.names import fold


def on_events(db: sqlite3.Connection) -> None:
    """Charges that were sums of (ε, δ) become mechanisms of which no more than that is known."""
    from privql.ledger import notes
    from privql.ledger.charges import identity

    analysts = dict(db.execute("SELECT id, analyst FROM charge"))
    totals: dict[tuple[str, str, str], Loss] = defaultdict(lambda: NO_LOSS)
    met: dict[int, dict[str, Events]] = defaultdict(dict)
    rows = db.execute("SELECT charge, unit, budget, epsilon, delta FROM charge_line_before ORDER BY charge, unit")
    for number, unit, budget, epsilon, delta in rows.fetchall():
        events = _met(read(epsilon), read(delta))
        met[number][fold(unit)] = events
        db.execute("INSERT INTO charge_line VALUES (?, ?, ?, ?)", (number, unit, budget, mechanisms.written(events)))
        for scope in (("", ""), (fold(budget), ""), (fold(budget), analysts[number])):
            totals[fold(unit), *scope] += loss_of(events)
    for whose, loss in totals.items():
        db.execute("INSERT INTO total VALUES (?, ?, ?, ?)", (*whose, losses.written(loss)))
    for number, query, parameters, version, data, measurements in db.execute(
        "SELECT id, query, parameters, policy_version, data_version, measurements FROM charge"
    ).fetchall():
        same = identity(query, parameters, notes.origin(db, version), data, measurements, met[number])
        db.execute("UPDATE charge SET identity = ? WHERE id = ?", (same, number))
    for number, step, spent in db.execute("SELECT charge, step, spent FROM draw").fetchall():
        said = {unit: mechanisms.written(_met(*map(read, cost))) for unit, cost in json.loads(spent).items()}
        db.execute("UPDATE draw SET spent = ? WHERE charge = ? AND step = ?", (json.dumps(said), number, step))
    for name, unit, epsilon, delta in db.execute("SELECT name, unit, epsilon, delta FROM budget ORDER BY version"):
        _divided(db, fold(name), read(epsilon), read(delta), totals[fold(unit), fold(name), ""])


def _met(epsilon: Fraction, delta: Fraction) -> Events:
    """Whatever costs (ε, δ) is private for ε alone but with a chance of δ: the same as for groups that were found."""
    return (Event("keys" if delta else "pure", Cost(epsilon, delta)),) if epsilon or delta else ()


def _divided(db: sqlite3.Connection, name: str, epsilon: Fraction, delta: Fraction, lost: Loss) -> None:
    """As any budget's δ is, unless more of it was spent already than would be there."""
    shares = DEFAULT if lost.keys <= DEFAULT.keys * delta else Shares(Fraction(1), *[Fraction(0)] * 3)
    row = name, shares_written(shares), order_for(epsilon, delta, shares) if delta else None
    if delta or not db.execute("SELECT 1 FROM budget_filter WHERE name = ?", (name,)).fetchone():
        db.execute("INSERT OR REPLACE INTO budget_filter VALUES (?, ?, ?)", row)
