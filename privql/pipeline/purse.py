"""What a text would take from each budget, and whether that is there: text, policy and ledger decide, no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

from privql.diagnostics import Diagnostic
from privql.frozen import frozen
from privql.kernel.cost import Cost, amount_text
from privql.ledger import BudgetState, Ledger
from privql.names import fold
from privql.pipeline.price import BudgetCost, left_text, price
from privql.pipeline.report import StatementCheck
from privql.plan.amounts import ZERO, Amount
from privql.plan.planning import no_budget


@frozen
class Open:
    """A budget that may pay, and what this analyst may still spend of it."""

    state: BudgetState
    left: Cost


@frozen
class Purse:
    """The budgets of one analyst, as they are when it is asked; only `chosen` pays, where SET budget chose it."""

    ledger: Ledger
    analyst: str
    chosen: str | None = None
    found: dict[str, list[Open]] = field(default_factory=dict, compare=False, repr=False)  # by unit

    def usable(self, unit: str) -> list[BudgetState]:
        return [one.state for one in self._open(unit)]

    def _open(self, unit: str) -> list[Open]:
        if unit not in self.found:
            states = self.ledger.budgets_for(self.analyst, unit)
            mine = [s for s in states if self.chosen is not None and fold(s.budget.name) == fold(self.chosen)]
            self.found[unit] = [Open(state, state.left) for state in mine or states]
        return self.found[unit]

    def default_epsilon(self, unit: str) -> Fraction | None:
        states = self.usable(unit)
        return states[0].budget.default_epsilon if states else None

    def default_delta(self, unit: str) -> Fraction:
        """For the groups that a query has to look for: as declared, or a hundredth of what there is."""
        states = self.usable(unit)
        if not states:
            return Fraction(0)
        declared = states[0].budget.default_delta
        return declared if declared is not None else states[0].limit.delta / 100

    def paying(self, unit: str, total: Amount, delta: Fraction) -> Open | None:
        every = self._open(unit)
        able = [s for s in every if (not total.known or s.left.epsilon >= total.constant) and s.left.delta >= delta]
        return next(iter(able or every), None)

    def price(self, checks: Sequence[StatementCheck]) -> tuple[tuple[BudgetCost, ...], tuple[Diagnostic, ...]]:
        """What each budget pays in all, and for each unit the first statement that cannot be paid for."""
        totals: dict[str, Amount] = {}
        deltas: dict[str, Fraction] = {}
        over: dict[str, Diagnostic] = {}
        for check in checks:
            for unit, epsilon in check.by_unit.items():
                total = totals[unit] = totals.get(unit, ZERO) + epsilon
                delta = deltas[unit] = deltas.get(unit, Fraction(0)) + check.delta_by_unit[unit]
                if unit not in over and total.known and check.ok:
                    problem = self._unpayable(unit, epsilon.constant, Cost(total.constant, delta), check)
                    if problem is not None:
                        over[unit] = problem.in_source(check.source)
        costs = []
        for unit, total in totals.items():
            payer = self.paying(unit, total, deltas[unit])
            after = None if payer is None else Amount(payer.left.epsilon) - total
            left = after.constant if after is not None and after.known else after
            name = None if payer is None else payer.state.budget.name
            costs.append(BudgetCost(name, unit, price(total, deltas[unit]), unit not in over, left))
        return tuple(costs), tuple(over.values())

    def _unpayable(self, unit: str, epsilon: Fraction, total: Cost, check: StatementCheck) -> Diagnostic | None:
        payer = self.paying(unit, Amount(total.epsilon), total.delta)
        if payer is None:
            return no_budget(unit, self.analyst, check.span).diagnostics[0]
        budget, left = payer.state.budget, payer.left.epsilon
        if budget.max_epsilon is not None and epsilon > budget.max_epsilon:
            return Diagnostic(
                "PQL0504",
                f"one query may spend at most ε = {amount_text(budget.max_epsilon)} of `{budget.name}`",
                check.span,
                why=f"this one costs ε = {amount_text(epsilon)}",
                help=f"write SPEND EPSILON {amount_text(budget.max_epsilon)}, or split the query",
            )
        if total.epsilon <= left and total.delta <= payer.left.delta:
            return None
        if total.epsilon <= left:
            return Diagnostic(
                "PQL0502",
                f"`{budget.name}` cannot pay for this",
                check.span,
                why=f"with what comes before it this costs δ = {amount_text(total.delta)}, "
                f"and δ = {left_text(payer.left.delta)} is left",
                help="spend a smaller δ, `DELTA 1e-9` after EPSILON, or none: groups stated with KEYS, USING LAPLACE",
            )
        before = "" if total.epsilon == epsilon else f", with what comes before it ε = {amount_text(total.epsilon)}"
        return Diagnostic(
            "PQL0502",
            f"`{budget.name}` cannot pay for this",
            check.span,
            why=f"it costs ε = {amount_text(epsilon)}{before}, and ε = {left_text(left)} is left",
            help="spend less, use answers released before (`SHOW RELEASES`), or ask the owner for more budget",
        )


@frozen
class BudgetReport:
    """Spent and left, a line a budget."""

    budgets: tuple[BudgetState, ...]

    def line(self) -> str:
        return "; ".join(f"{one.budget.name}: ε = {left_text(one.left.epsilon)} left" for one in self.budgets)

    def __str__(self) -> str:
        if not self.budgets:
            return "no budget is open to you: ask in the name that was granted one, `--as NAME`"
        return "\n".join(map(_told, self.budgets))

    def to_json(self) -> dict[str, Any]:
        def text(amount: Fraction | None) -> str | None:
            return None if amount is None else str(amount)

        return {
            "budgets": [
                {
                    "budget": one.budget.name,
                    "unit": one.budget.unit,
                    "epsilon": text(one.budget.epsilon),
                    "spent": text(one.spent.epsilon),
                    "spent_by_you": text(one.own.epsilon),
                    "left": text(one.left.epsilon),
                    "max_per_query": text(one.budget.max_epsilon),
                    "default": text(one.budget.default_epsilon),
                    "delta": text(one.budget.delta),
                    "delta_spent": text(one.spent.delta),
                    "delta_spent_by_you": text(one.own.delta),
                    "delta_left": text(one.left.delta),
                    "default_delta": text(one.budget.default_delta),
                }
                for one in self.budgets
            ]
        }


def _told(one: BudgetState) -> str:
    """What is left is left to this analyst: of a limit of their own, where a grant has one below the budget."""
    own = one.limit.epsilon < one.budget.epsilon
    limit = f", of your limit {amount_text(one.limit.epsilon)} you spent {left_text(one.own.epsilon)}" if own else ""
    mine = "" if own else f", {left_text(one.own.epsilon)} by you"
    return (
        f"{one.budget.name} ({one.budget.unit}): ε = {left_text(one.left.epsilon)} left to you{limit}; "
        f"of {amount_text(one.budget.epsilon)} in all, {left_text(one.spent.epsilon)} spent{mine}"
        + (f"; δ = {left_text(one.left.delta)} left of {amount_text(one.limit.delta)}" if one.budget.delta else "")
    )
