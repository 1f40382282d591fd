"""Who pays: what every budget has lost and has left, and which of an analyst's budgets a charge goes to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from privql.frozen import frozen
from privql.kernel import events as mechanisms
from privql.kernel import losses
from privql.kernel.cost import Cost
from privql.kernel.events import Events, cost_of
from privql.kernel.losses import NO_LOSS, Loss, loss_of
from privql.ledger import windows
from privql.ledger.budgets import WHOLE, BudgetRow, BudgetState, Window
from privql.ledger.errors import LedgerError, OverBudget, Reason
from privql.ledger.policies import Policy
from privql.ledger.records import ChargeLine
from privql.names import fold

Scope = tuple[str, str]  # budget and analyst, '' for all of them; a budget's is of one window
Totals = dict[Scope, Loss]

_TOTALS = (
    "SELECT budget, analyst, loss FROM total WHERE unit = ? AND budget = '' AND analyst = '' AND window_number = 0"
    " UNION ALL SELECT budget, analyst, loss FROM total"
    " WHERE unit = ? AND budget = ? AND analyst IN ('', ?) AND window_number = ?"
)
_known: dict[str, Loss] = {}  # by their texts: what one charge has written, the next one reads


@frozen
class Asking:
    """What is to be charged to one unit: the loss of a query, or of a plan; that of a plan depends on who pays."""

    cost: Cost  # added up, for people
    queries: tuple[Fraction, ...]  # the ε of each
    losses: Callable[[BudgetState], Iterable[Loss]]  # the first that is admitted is taken

    @classmethod
    def one(cls, events: Events) -> Asking:
        cost = cost_of(events)
        return cls(cost, (cost.epsilon,), lambda paying: (loss_of(events, paying.order),))


def totals(db: sqlite3.Connection, unit: str, budget: str, window: int, analyst: str = "") -> Totals:
    """What the unit lost in all, and what everyone and this analyst spent of a budget in one of its windows."""
    whose = fold(unit), fold(unit), fold(budget), fold(analyst), window
    return {(of, by): _loss(loss) for of, by, loss in db.execute(_TOTALS, whose)}


def _loss(text: str) -> Loss:
    found = _known.get(text)
    return _kept(text, losses.read(text)) if found is None else found


def _written(loss: Loss) -> str:
    text = losses.written(loss)
    _kept(text, loss)
    return text


def _kept(text: str, loss: Loss) -> Loss:
    if len(_known) >= 256:
        _known.clear()
    _known[text] = loss
    return loss


def stands(db: sqlite3.Connection, policy: Policy, budget: BudgetRow, analyst: str | None) -> BudgetState:
    """As it is now, in the window that is open."""
    window = windows.current(db, budget)
    spending = totals(db, budget.unit, budget.name, window.number, analyst or "")
    return state(policy, budget, analyst, spending, window)


def reported(db: sqlite3.Connection, found: BudgetState) -> BudgetState:
    """With what all of its windows come to, if it has had any but the one."""
    if found.budget.every is None and not found.window.number:
        return found
    return replace(found, in_all=windows.in_all(db, found.budget))


def state(
    policy: Policy, budget: BudgetRow, analyst: str | None, spending: Totals, window: Window = WHOLE
) -> BudgetState:
    name = fold(budget.name)
    lost = spending.get((name, ""), NO_LOSS)
    own = lost if analyst is None else spending.get((name, fold(analyst)), NO_LOSS)
    grant = None if analyst is None else policy.grant(budget.name, analyst)
    unit = spending.get(("", ""), NO_LOSS)
    return BudgetState(budget, analyst, grant, policy.orders[name], lost, own, unit, window)


def usable(db: sqlite3.Connection, policy: Policy, analyst: str, unit: str) -> list[BudgetState]:
    """The budgets for the unit that the analyst may use, the fullest first."""
    rows = [budget for budget in policy.of_unit(unit) if policy.may_use(budget.name, analyst)]
    return fullest_first([stands(db, policy, budget, analyst) for budget in rows])


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

    def row(budget: str, by: str) -> tuple[str | int, ...]:
        total = after.own_lost if by else after.lost if budget else after.unit_lost
        return unit, budget, by, window if budget else 0, _written(total)

    db.executemany(
        "INSERT INTO total VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (unit, budget, analyst, window_number) DO UPDATE SET loss = excluded.loss",
        [row(*scope) for scope in scopes(paying.budget.name, analyst)],
    )


def scopes(budget: str, analyst: str) -> Iterator[Scope]:
    """What a charge is counted in: the unit's total, ever; the budget's; the analyst's own in it."""
    yield from (("", ""), (fold(budget), ""), (fold(budget), fold(analyst)))


def write(db: sqlite3.Connection, number: int, lines: Sequence[ChargeLine]) -> None:
    """Who paid for a charge, and for what."""
    rows = [(number, line.unit, line.budget, mechanisms.written(line.events), line.window) for line in lines]
    db.executemany("INSERT INTO charge_line VALUES (?, ?, ?, ?, ?)", rows)


def lines(db: sqlite3.Connection, number: int) -> tuple[ChargeLine, ...]:
    query = "SELECT unit, budget, events, window_number FROM charge_line WHERE charge = ? ORDER BY unit"
    rows = db.execute(query, (number,)).fetchall()
    return tuple(ChargeLine(unit, name, mechanisms.read(events), window) for unit, name, events, window in rows)
