"""What an older ledger holds, said as the present layout says it."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from fractions import Fraction

from privql.kernel import events as mechanisms
from privql.kernel import losses
from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events, cost_of
from privql.kernel.filters import DEFAULT, Shares, order_for
from privql.kernel.losses import NO_LOSS, Loss, loss_of
from privql.ledger import notes
from privql.ledger.amounts import met_written, read, shares_written, written
from privql.ledger.asked import identity
from privql.names import fold


def on_events(db: sqlite3.Connection) -> None:
    """Charges that were sums of (ε, δ) become mechanisms of which no more than that is known."""
    analysts = dict(db.execute("SELECT id, analyst FROM charge"))
    met: dict[int, dict[str, Events]] = defaultdict(dict)
    paid: list[tuple[str, str, str, Events]] = []
    rows = db.execute("SELECT charge, unit, budget, epsilon, delta FROM charge_line_before ORDER BY charge, unit")
    for number, unit, budget, epsilon, delta in rows.fetchall():
        events = _met(read(epsilon), read(delta))
        met[number][fold(unit)] = events
        paid.append((fold(unit), fold(budget), analysts[number], events))
        db.execute("INSERT INTO charge_line VALUES (?, ?, ?, ?)", (number, unit, budget, mechanisms.written(events)))
    for name, unit, epsilon, delta in db.execute("SELECT name, unit, epsilon, delta FROM budget ORDER BY version"):
        spent = [events for of, by, _, events in paid if (of, by) == (fold(unit), fold(name))]
        keys = sum((cost_of(events).delta for events in spent), Fraction(0))
        _divided(db, fold(name), read(epsilon), read(delta), keys)
    orders = {name: read(order) for name, order in db.execute("SELECT name, renyi_order FROM budget_filter")}
    totals: dict[tuple[str, str, str], Loss] = defaultdict(lambda: NO_LOSS)
    for unit, budget, analyst, events in paid:
        loss = loss_of(events, orders[budget])
        totals[unit, "", ""] += loss.unordered
        for by in ("", analyst):
            totals[unit, budget, by] += loss
    for whose, loss in totals.items():
        db.execute("INSERT INTO total VALUES (?, ?, ?, ?)", (*whose, losses.written(loss)))
    for number, query, parameters, version, data, measurements in db.execute(
        "SELECT id, query, parameters, policy_version, data_version, measurements FROM charge"
    ).fetchall():
        same = identity(query, parameters, notes.origin(db, version), data, measurements, met[number])
        db.execute("UPDATE charge SET identity = ? WHERE id = ?", (same, number))
    for number, step, spent in db.execute("SELECT charge, step, spent FROM draw").fetchall():
        said = met_written((unit, _met(*map(read, cost))) for unit, cost in json.loads(spent).items())
        db.execute("UPDATE draw SET spent = ? WHERE charge = ? AND step = ?", (json.dumps(said), number, step))


def _met(epsilon: Fraction, delta: Fraction) -> Events:
    """Whatever costs (ε, δ) is private for ε alone but with a chance of δ: the same as for groups that were found."""
    return (Event("keys" if delta else "pure", Cost(epsilon, delta)),) if epsilon or delta else ()


def _divided(db: sqlite3.Connection, name: str, epsilon: Fraction, delta: Fraction, keys: Fraction) -> None:
    """As any budget's δ is, unless more of it was spent already than would be there."""
    shares = DEFAULT if keys <= DEFAULT.keys * delta else Shares(Fraction(1), *[Fraction(0)] * 3)
    said = shares_written(shares) if delta else None
    if db.execute("UPDATE budget_filter SET shares = ? WHERE name = ? AND ? IS NOT NULL", (said, name, said)).rowcount:
        return
    if not db.execute("SELECT 1 FROM budget_filter WHERE name = ?", (name,)).fetchone():
        row = name, said, written(order_for(epsilon, delta, shares))
        db.execute("INSERT INTO budget_filter VALUES (?, ?, ?)", row)
