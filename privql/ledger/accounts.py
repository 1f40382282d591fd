"""Who pays: what every budget has lost and has left, and which of an analyst's budgets a charge goes to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from privql.frozen import frozen
from privql.kernel import events as mechanisms
from privql.kernel import losses
from privql.kernel.cost import Cost
from privql.kernel.events import Events
from privql.kernel.losses import NO_LOSS, Loss, loss_of
from privql.ledger.errors import LedgerError, OverBudget, Reason
from privql.ledger.filters import refusal
from privql.ledger.policies import Policy
from privql.ledger.records import BudgetRow, BudgetState, ChargeLine
from privql.names import fold

Scope = tuple[str, str]  # budget and analyst, '' for all of them
Totals = dict[Scope, Loss]

_loss = lru_cache(maxsize=64)(losses.read)  # admission and payment read the same totals, one after the other


@frozen
class Asking:
    """What is to be charged to one unit: the loss of a query, or of a plan; that of a plan depends on who pays."""

    cost: Cost  # added up, for people
    queries: tuple[Fraction, ...]  # the ε of each
    losses: Callable[[BudgetState], Iterable[Loss]]  # the first that is admitted is taken

    @classmethod
    def one(cls, events: Events) -> Asking:
        loss = loss_of(events)
        return cls(loss.cost, (loss.epsilon,), lambda _: (loss,))


def totals(db: sqlite3.Connection, unit: str, analyst: str = "") -> Totals:
    """What the unit lost, in all and by budget, and what this analyst spent of each budget."""
    query = "SELECT budget, analyst, loss FROM total WHERE unit = ? AND analyst IN ('', ?)"
    rows = db.execute(query, (fold(unit), fold(analyst)))
    return {(budget, by): _loss(loss) for budget, by, loss in rows}


def state(policy: Policy, budget: BudgetRow, analyst: str | None, spending: Totals) -> BudgetState:
    name = fold(budget.name)
    lost = spending.get((name, ""), NO_LOSS)
    own = lost if analyst is None else spending.get((name, fold(analyst)), NO_LOSS)
    grant = None if analyst is None else policy.grant(budget.name, analyst)
    unit = spending.get(("", ""), NO_LOSS).cost
    return BudgetState(budget, analyst, grant, policy.orders[name], lost, own, unit)


def usable(db: sqlite3.Connection, policy: Policy, analyst: str, unit: str) -> list[BudgetState]:
    """The budgets for the unit that the analyst may use, the fullest first."""
    spending = totals(db, unit, analyst)
    rows = [budget for budget in policy.of_unit(unit) if policy.may_use(budget.name, analyst)]
    return fullest_first([state(policy, budget, analyst, spending) for budget in rows])


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
    found = usable(db, policy, analyst, unit)
    if chosen in declared:
        found = [one for one in found if one.budget == chosen]
    if not found:
        raise OverBudget(chosen.name if chosen in declared else None, declared[0].unit, Cost(), cost, "no grant")
    paying = first_able(found, asked)
    if isinstance(paying, tuple):
        return paying
    raise OverBudget(found[0].budget.name, found[0].budget.unit, found[0].left, cost, paying)


def first_able(found: Sequence[BudgetState], asked: Asking) -> tuple[BudgetState, Loss] | Reason:
    """The first of these budgets that can pay, and what it loses; or why the first of all cannot."""
    reasons: list[Reason] = []
    for one in found:
        for loss in asked.losses(one):
            reason = refusal(one, loss, asked.queries)
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


def pay(db: sqlite3.Connection, analyst: str, paying: BudgetState, loss: Loss) -> None:
    """Add what a unit loses to every total that it belongs to."""
    unit = fold(paying.budget.unit)
    spending = totals(db, unit, analyst)
    for budget, by in scopes(paying.budget.name, analyst):
        after = spending.get((budget, by), NO_LOSS) + loss
        db.execute(
            "INSERT INTO total VALUES (?, ?, ?, ?)"
            " ON CONFLICT (unit, budget, analyst) DO UPDATE SET loss = excluded.loss",
            (unit, budget, by, losses.written(after)),
        )


def scopes(budget: str, analyst: str) -> Iterator[Scope]:
    """What a charge counts towards: the unit's total, the budget's, the analyst's own in it."""
    yield from (("", ""), (fold(budget), ""), (fold(budget), fold(analyst)))


def write(db: sqlite3.Connection, number: int, lines: Sequence[ChargeLine]) -> None:
    """Who paid for a charge, and for what."""
    rows = [(number, line.unit, line.budget, mechanisms.written(line.events)) for line in lines]
    db.executemany("INSERT INTO charge_line VALUES (?, ?, ?, ?)", rows)


def lines(db: sqlite3.Connection, number: int) -> tuple[ChargeLine, ...]:
    rows = db.execute("SELECT unit, budget, events FROM charge_line WHERE charge = ? ORDER BY unit", (number,))
    return tuple(ChargeLine(unit, name, mechanisms.read(events)) for unit, name, events in rows.fetchall())
