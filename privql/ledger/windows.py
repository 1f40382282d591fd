"""Budgets that renew: one promise for each window of time, and never two for the same one.

A window begins when the one before it ends. Its number is kept, and only grows: a clock that is put back finds the
window that is open, one that is put forward opens the next one early - and the time that it told then is kept beside
it. Nothing else that the ledger decides about budgets looks at a clock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from privql.kernel.losses import NO_LOSS
from privql.kernel.losses import read as loss_read
from privql.ledger import chain, clock, remembered
from privql.ledger.budgets import BudgetRow, BudgetState, InAll, Window
from privql.ledger.clock import written
from privql.names import fold


def begin(db: sqlite3.Connection, budget: BudgetRow, version: int) -> None:
    """The first window of a budget begins when the budget is first applied, whether it renews or not."""
    at, key = written(clock.tells()), (fold(budget.name), 0)
    if db.execute("INSERT OR IGNORE INTO budget_window VALUES (?, ?, ?, ?, ?)", (*key, at, at, version)).rowcount:
        chain.append(db, "window", *key)
        remembered.of(db).forget()


def current(db: sqlite3.Connection, budget: BudgetRow) -> Window:
    """Which window a charge falls into now. It is open once it is written down, which `pay` does."""
    name = fold(budget.name)

    def read() -> tuple[int, str]:
        query = "SELECT number, began FROM budget_window WHERE budget = ? ORDER BY number DESC LIMIT 1"
        number, began = db.execute(query, (name,)).fetchone()
        return number, began

    number, began = remembered.of(db).known(("window", name), read)
    start = datetime.fromisoformat(began)
    if budget.every is None:
        return Window(number, start)
    length = timedelta(hours=budget.every)
    gone = max((clock.tells() - start) // length, 0)
    start += gone * length
    return Window(number + gone, start, start + length, not gone)


def opened(db: sqlite3.Connection, state: BudgetState, version: int) -> None:
    """The window in which a budget pays, written down before anything is charged to it."""
    window, name = state.window, fold(state.budget.name)
    if window.written:
        return
    assert window.began is not None
    at = max(clock.tells(), window.began)  # a clock may be put back at any moment
    row = name, window.number, written(window.began), written(at), version
    db.execute("INSERT INTO budget_window VALUES (?, ?, ?, ?, ?)", row)
    chain.append(db, "window", name, window.number)
    remembered.of(db).forget()


def in_all(db: sqlite3.Connection, budget: BudgetRow) -> InAll:
    """What a budget lost in all of its windows."""
    name = fold(budget.name)
    (first,) = db.execute("SELECT began FROM budget_window WHERE budget = ? AND number = 0", (name,)).fetchone()
    query = "SELECT loss FROM total WHERE unit = ? AND budget = ? AND analyst = ''"
    lost = NO_LOSS
    for (loss,) in db.execute(query, (fold(budget.unit), name)):
        lost += loss_read(loss)
    return InAll(lost.cost, datetime.fromisoformat(first))


def audit(db: sqlite3.Connection, every: Mapping[tuple[str, int], int | None]) -> Iterator[str]:
    """What is wrong with the windows, a sentence each. `every`: a budget's length in a version of the policy."""
    last: dict[str, tuple[int, datetime]] = {}
    rows = db.execute("SELECT budget, number, began, opened_at, version FROM budget_window ORDER BY budget, number")
    for budget, number, began, opened_at, version in rows.fetchall():
        start, hours = datetime.fromisoformat(began), every.get((budget, version))
        if budget in last:
            before, then = last[budget]
            due = hours is not None and start == then + (number - before) * timedelta(hours=hours)
            if not due or start > datetime.fromisoformat(opened_at):
                yield f"window {number} of budget `{budget}` was not opened when the one before it had ended"
        elif number:
            yield f"budget `{budget}` has no first window"
        last[budget] = number, start
