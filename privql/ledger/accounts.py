"""Who pays: what every budget has spent and has left, and which of an analyst's budgets a charge goes to."""

from __future__ import annotations

import sqlite3

from privql.kernel.cost import Cost
from privql.ledger.errors import LedgerError, OverBudget, Reason
from privql.ledger.filters import refusal
from privql.ledger.policies import Policy
from privql.ledger.records import BudgetRow, BudgetState, ChargeLine
from privql.ledger.schema import read, written
from privql.names import fold

Totals = dict[tuple[str, str], Cost]  # by budget and analyst, '' for all of them


def totals(db: sqlite3.Connection, unit: str, analyst: str = "") -> Totals:
    """What the unit lost, in all and by budget, and what this analyst spent of each budget."""
    query = "SELECT budget, analyst, epsilon, delta FROM total WHERE unit = ? AND analyst IN ('', ?)"
    rows = db.execute(query, (fold(unit), fold(analyst)))
    return {(budget, by): Cost(read(epsilon), read(delta)) for budget, by, epsilon, delta in rows}


def state(policy: Policy, budget: BudgetRow, analyst: str | None, spending: Totals) -> BudgetState:
    name = fold(budget.name)
    spent = spending.get((name, ""), Cost())
    own = spent if analyst is None else spending.get((name, fold(analyst)), Cost())
    grant = None if analyst is None else policy.grant(budget.name, analyst)
    return BudgetState(budget, analyst, grant, spent, own, spending.get(("", ""), Cost()))


def usable(db: sqlite3.Connection, policy: Policy, analyst: str, unit: str) -> list[BudgetState]:
    """The budgets for the unit that the analyst may use, the fullest first, then by name: the order is fixed."""
    spending = totals(db, unit, analyst)
    rows = [budget for budget in policy.of_unit(unit) if policy.may_use(budget.name, analyst)]
    states = [state(policy, budget, analyst, spending) for budget in rows]
    if len(states) > 1:
        states.sort(key=lambda found: (-found.left.epsilon, -found.left.delta, fold(found.budget.name)))
    return states


def payers(
    db: sqlite3.Connection, policy: Policy, analyst: str, costs: dict[str, Cost], chosen: str | None
) -> list[tuple[BudgetState, Cost]]:
    """For each unit the budget that pays, or OverBudget. A chosen budget pays for its unit alone."""
    row = None
    if chosen is not None:
        row = policy.budgets.get(fold(chosen))
        if row is None:
            raise LedgerError(f"the policy has no budget `{chosen}`")
        if fold(row.unit) not in costs:
            raise LedgerError(f"budget `{row.name}` is for unit `{row.unit}`, which this query does not charge")
    return [(_payer(db, policy, analyst, unit, cost, row), cost) for unit, cost in costs.items()]


def _payer(
    db: sqlite3.Connection, policy: Policy, analyst: str, unit: str, cost: Cost, chosen: BudgetRow | None
) -> BudgetState:
    """The fullest of the analyst's budgets for the unit that can pay: what can be afforded is never refused."""
    declared = policy.of_unit(unit)
    if not declared:
        raise OverBudget(None, unit, Cost(), cost, "no budget")
    found = usable(db, policy, analyst, unit)
    if chosen in declared:
        found = [one for one in found if one.budget == chosen]
    if not found:
        raise OverBudget(chosen.name if chosen in declared else None, declared[0].unit, Cost(), cost, "no grant")
    reasons: list[Reason] = []
    for one in found:
        reason = refusal(one, cost)
        if reason is None:
            return one
        reasons.append(reason)
    raise OverBudget(found[0].budget.name, found[0].budget.unit, found[0].left, cost, reasons[0])


def pay(
    db: sqlite3.Connection, number: int, analyst: str, spelling: str, paying: BudgetState, cost: Cost
) -> ChargeLine:
    """Write one unit's part of a charge and add it to every total that it belongs to."""
    unit, budget = fold(paying.budget.unit), fold(paying.budget.name)
    amounts = written(cost.epsilon), written(cost.delta)
    line = ChargeLine(spelling, paying.budget.name, cost)
    db.execute("INSERT INTO charge_line VALUES (?, ?, ?, ?, ?)", (number, line.unit, line.budget, *amounts))
    scopes = ("", "", paying.unit_spent), (budget, "", paying.spent), (budget, fold(analyst), paying.own)
    for scope, by, before in scopes:
        after = before + cost
        db.execute(
            "INSERT INTO total VALUES (?, ?, ?, ?, ?) ON CONFLICT (unit, budget, analyst)"
            " DO UPDATE SET epsilon = excluded.epsilon, delta = excluded.delta",
            (unit, scope, by, written(after.epsilon), written(after.delta)),
        )
    return line


def lines(db: sqlite3.Connection, number: int) -> tuple[ChargeLine, ...]:
    query = "SELECT unit, budget, epsilon, delta FROM charge_line WHERE charge = ? ORDER BY unit"
    rows = db.execute(query, (number,)).fetchall()
    return tuple(ChargeLine(unit, name, Cost(read(epsilon), read(delta))) for unit, name, epsilon, delta in rows)
