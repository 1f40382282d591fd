"""Who pays: what every budget has lost and has left, and which of an analyst's budgets a charge goes to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privql.frozen import frozen
from privql.kernel import events as mechanisms
from privql.kernel import losses
from privql.kernel.cost import Cost
from privql.kernel.events import Events, cost_of
from privql.kernel.losses import NO_LOSS, Loss, loss_of
from privql.kernel.parallel import InParts, Lost
from privql.ledger import parts, remembered, windows
from privql.ledger.budgets import WHOLE, BudgetRow, BudgetState, Window
from privql.ledger.errors import LedgerError, OverBudget, Reason
from privql.ledger.policies import Policy
from privql.ledger.records import ChargeLine
from privql.names import fold

Scope = tuple[str, str]  # budget and analyst, '' for all of them; a budget's is of one window
Totals = dict[Scope, Lost]

_TOTAL = "SELECT loss FROM total WHERE unit = ? AND budget = ? AND analyst = ? AND window_number = ?"


@frozen
class Asking:
    """What is to be charged to one unit: the loss of a query, or of a plan; that of a plan depends on who pays."""

    cost: Cost  # added up, for people
    queries: tuple[Fraction, ...]  # the ε of each
    losses: Callable[[BudgetState], Iterable[Loss]]  # the first that is admitted is taken
    where: InParts | None = None  # the parts whose units alone lose it

    @classmethod
    def one(cls, events: Events, where: InParts | None = None) -> Asking:
        cost = cost_of(events)
        return cls(cost, (cost.epsilon,), lambda paying: (loss_of(events, paying.order),), where)


def totals(
    db: sqlite3.Connection, unit: str, budget: str, window: int, analyst: str, where: Sequence[InParts]
) -> Totals:
    """What the unit lost in all, and what everyone and this analyst spent of a budget in one of its windows; and how
    much of it in some parts."""
    found: Totals = {}
    for of, by in scopes(budget, analyst):
        scope = fold(unit), of, by, window if of else 0
        most = _total(db, scope)
        found[of, by] = parts.lost(db, scope, most, where) if where else Lost(most)
    return found


def _total(db: sqlite3.Connection, scope: parts.Scope) -> Loss:
    def read() -> Loss:
        row = db.execute(_TOTAL, scope).fetchone()
        return NO_LOSS if row is None else losses.read(*row)

    return remembered.of(db).known(("total", *scope), read)


def stands(
    db: sqlite3.Connection, policy: Policy, budget: BudgetRow, analyst: str | None, where: Sequence[InParts] = ()
) -> BudgetState:
    """As it is now, in the window that is open, for units of any part; with what was lost in these parts."""
    window = windows.current(db, budget)
    spending = totals(db, budget.unit, budget.name, window.number, analyst or "", where)
    return state(policy, budget, analyst, spending, window)


def reported(db: sqlite3.Connection, policy: Policy, found: BudgetState) -> BudgetState:
    """With what all of its windows come to, if it has had any but the one; and what was lost in parts."""
    divided = parts.current(db, policy, found.budget.unit, found.budget.name, found.window.number)
    if divided:
        found = replace(stands(db, policy, found.budget, found.analyst, divided), divided=divided)
    if found.budget.every is None and not found.window.number:
        return found
    return replace(found, in_all=windows.in_all(db, found.budget))


def state(
    policy: Policy, budget: BudgetRow, analyst: str | None, spending: Totals, window: Window = WHOLE
) -> BudgetState:
    name = fold(budget.name)
    none = Lost()
    lost = spending.get((name, ""), none)
    own = lost if analyst is None else spending.get((name, fold(analyst)), none)
    grant = None if analyst is None else policy.grant(budget.name, analyst)
    unit = spending.get(("", ""), none)
    return BudgetState(budget, analyst, grant, policy.promises[name], lost, own, unit, window)


def usable(
    db: sqlite3.Connection, policy: Policy, analyst: str, unit: str, where: Sequence[InParts] = ()
) -> list[BudgetState]:
    """The budgets for the unit that the analyst may use, the fullest first."""
    rows = [budget for budget in policy.of_unit(unit) if policy.may_use(budget.name, analyst)]
    return fullest_first([stands(db, policy, budget, analyst, where) for budget in rows])


def payers(
    db: sqlite3.Connection, policy: Policy, analyst: str, asked: dict[str, Asking], chosen: str | None
) -> list[tuple[BudgetState, Loss]]:
    """For each unit the budget that pays and what it loses, or OverBudget. A chosen budget pays for its unit alone."""
    row = None
    if chosen is not None:
        row = policy.budgets.get(fold(chosen))
        if row is None:
            raise LedgerError(f"the policy has no budget `{chosen}`")
        if fold(row.unit) not in asked:
            raise LedgerError(f"budget `{row.name}` is for unit `{row.unit}`, which this query does not charge")
    return [_payer(db, policy, analyst, unit, one, row) for unit, one in asked.items()]


def _payer(
    db: sqlite3.Connection, policy: Policy, analyst: str, unit: str, asked: Asking, chosen: BudgetRow | None
) -> tuple[BudgetState, Loss]:
    """The fullest of the analyst's budgets for the unit that can pay: what can be afforded is never refused."""
    declared = policy.of_unit(unit)
    cost = asked.cost
    if not declared:
        raise OverBudget(None, unit, Cost(), cost, "no budget")
    found = usable(db, policy, analyst, unit, () if asked.where is None else (asked.where,))
    if chosen in declared:
        found = [one for one in found if one.budget == chosen]
    if not found:
        raise OverBudget(chosen.name if chosen in declared else None, declared[0].unit, Cost(), cost, "no grant")
    paying = first_able(found, asked)
    if isinstance(paying, tuple):
        return paying
    first = found[0].at(asked.where)
    raise OverBudget(first.budget.name, first.budget.unit, first.left, cost, paying)


def first_able(found: Sequence[BudgetState], asked: Asking) -> tuple[BudgetState, Loss] | Reason:
    """The first of these budgets that can pay, and what it loses; or why the first of all cannot. Each is looked at
    where the charge would be."""
    reasons: list[Reason] = []
    for one in (each.at(asked.where) for each in found):
        for loss in asked.losses(one):
            reason = one.refusal(loss, asked.queries)
            if reason is None:
                return one, loss
            reasons.append(reason)
    return reasons[0] if reasons else "no grant"


def fullest_first(states: Sequence[BudgetState]) -> list[BudgetState]:
    """Then by name: the order is fixed."""
    if len(states) < 2:
        return list(states)
    left = [(one.left, one) for one in states]
    return [one for _, one in sorted(left, key=lambda at: (-at[0].epsilon, -at[0].delta, fold(at[1].budget.name)))]


def pay(db: sqlite3.Connection, policy: Policy, analyst: str, paying: BudgetState, loss: Loss) -> None:
    """Add what a unit loses to every total that it belongs to; `paying` is as this transaction has found it."""
    unit, window = fold(paying.budget.unit), paying.window.number
    windows.opened(db, paying, policy.record.version)
    after = paying.after(loss)
    rows = []
    for budget, by in scopes(paying.budget.name, analyst):
        now = after.by_analyst if by else after.by_all if budget else after.of_unit
        scope = unit, budget, by, window if budget else 0
        if after.where is not None:
            parts.keep(db, scope, now, after.where)
        rows.append((*scope, losses.written(now.most)))
        remembered.of(db).now(("total", *scope), now.most)
    db.executemany(
        "INSERT INTO total VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (unit, budget, analyst, window_number) DO UPDATE SET loss = excluded.loss",
        rows,
    )


def scopes(budget: str, analyst: str) -> Iterator[Scope]:
    """What a charge is counted in: the unit's total, ever; the budget's; the analyst's own in it."""
    yield from (("", ""), (fold(budget), ""), (fold(budget), fold(analyst)))


def write(db: sqlite3.Connection, number: int, lines: Sequence[ChargeLine]) -> dict[str, list[list[Any]]]:
    """Who paid for a charge, and for what; by table, what was written beside the charge's number, in order."""
    paid = sorted([line.unit, line.budget, mechanisms.written(line.events), line.window] for line in lines)
    where = sorted(part for line in lines for part in parts.rows(line.unit, line.where))
    for row in paid:
        db.execute("INSERT INTO charge_line VALUES (?, ?, ?, ?, ?)", (number, *row))
    for part in where:
        db.execute("INSERT INTO charge_part VALUES (?, ?, ?, ?)", (number, *part))
    return {"charge_line": paid, "charge_part": where}


def lines(db: sqlite3.Connection, number: int) -> tuple[ChargeLine, ...]:
    query = "SELECT unit, budget, events, window_number FROM charge_line WHERE charge = ? ORDER BY unit"
    rows, where = db.execute(query, (number,)).fetchall(), parts.of_charge(db, number)
    return tuple(
        ChargeLine(unit, name, mechanisms.read(events), window, where.get(fold(unit)))
        for unit, name, events, window in rows
    )
