"""What a text would take from each budget, and whether that is there: text, policy and ledger decide, no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

from privql.diagnostics import Diagnostic
from privql.frozen import frozen
from privql.kernel.cost import Cost, amount_text
from privql.kernel.events import Events, cost_of
from privql.ledger import BudgetState, Ledger, Reason, affordable
from privql.names import fold
from privql.pipeline.price import BudgetCost, left_text, price
from privql.pipeline.report import StatementCheck
from privql.plan.amounts import ZERO, Amount
from privql.plan.planning import no_budget


@frozen
class Purse:
    """The budgets of one analyst, as they are when it is asked; only `chosen` pays, where SET budget chose it."""

    ledger: Ledger
    analyst: str
    chosen: str | None = None
    found: dict[str, list[BudgetState]] = field(default_factory=dict, compare=False, repr=False)  # by unit

    def usable(self, unit: str) -> list[BudgetState]:
        if unit not in self.found:
            states = self.ledger.budgets_for(self.analyst, unit)
            mine = [s for s in states if self.chosen is not None and fold(s.budget.name) == fold(self.chosen)]
            self.found[unit] = mine or states
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

    def price(self, checks: Sequence[StatementCheck]) -> tuple[tuple[BudgetCost, ...], tuple[Diagnostic, ...]]:
        """What each budget pays in all, and for each unit the first statement that cannot be paid for.

        Several statements are charged as one plan.
        """
        totals: dict[str, Amount] = {}
        deltas: dict[str, Fraction] = {}
        asked: dict[str, list[StatementCheck]] = {}
        for check in checks:
            for unit, epsilon in check.by_unit.items():
                totals[unit] = totals.get(unit, ZERO) + epsilon
                deltas[unit] = deltas.get(unit, Fraction(0)) + check.delta_by_unit[unit]
                if totals[unit].known and check.ok:
                    asked.setdefault(unit, []).append(check)
        over, costs = {}, []
        for unit, total in totals.items():
            states, queries = self.usable(unit), asked.get(unit, [])
            met = [_events(check, unit) for check in queries]
            paying, reason = _paying(states, met)
            if queries and reason is not None:
                over[unit] = self._unpayable(unit, states, queries, met)
            name = None if paying is None else paying.budget.name
            after = None if paying is None else _after(paying, total, met)
            costs.append(BudgetCost(name, unit, price(total, deltas[unit]), unit not in over, after))
        return tuple(costs), tuple(over.values())

    def _unpayable(
        self, unit: str, states: Sequence[BudgetState], queries: Sequence[StatementCheck], met: Sequence[Events]
    ) -> Diagnostic:
        """Why the first of them that cannot be paid for cannot."""
        low, high = 0, len(met)  # so many can be paid for, so many cannot
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _paying(states, met[:middle])[1] is None else (low, middle)
        check, asked = queries[low], sum(map(cost_of, met[: low + 1]), Cost())
        state, reason = _paying(states, met[: low + 1])
        if state is None:
            return no_budget(unit, self.analyst, check.span).diagnostics[0].in_source(check.source)
        return _refused(state, reason, cost_of(met[low]), asked, check).in_source(check.source)


def _events(check: StatementCheck, unit: str) -> Events:
    assert check.plan is not None
    return check.plan.events_by_unit[unit]


def _paying(states: Sequence[BudgetState], met: Sequence[Events]) -> tuple[BudgetState | None, Reason | None]:
    """The budget that pays for all of them together; or the fullest, and why it cannot."""
    if not states:
        return None, "no grant"
    reasons = [affordable(state, met) for state in states]
    at = next((at for at, reason in enumerate(reasons) if reason is None), 0)
    return states[at], reasons[at]


def _after(state: BudgetState, total: Amount, met: Sequence[Events]) -> Fraction | Amount:
    """What is left of ε then; while parameters have no value, by plain addition."""
    if not total.known:
        return Amount(state.left.epsilon) - total
    return state.after(met).left.epsilon


def _refused(state: BudgetState, reason: Reason | None, one: Cost, total: Cost, check: StatementCheck) -> Diagnostic:
    budget, left = state.budget, state.left
    if reason == "max per query":
        assert budget.max_epsilon is not None
        return Diagnostic(
            "PQL0504",
            f"one query may spend at most ε = {amount_text(budget.max_epsilon)} of `{budget.name}`",
            check.span,
            why=f"this one costs ε = {amount_text(one.epsilon)}",
            help=f"write SPEND EPSILON {amount_text(budget.max_epsilon)}, or split the query",
        )
    if total.epsilon <= left.epsilon:
        return Diagnostic(
            "PQL0502",
            f"`{budget.name}` cannot pay for this",
            check.span,
            why=f"with what comes before it this costs δ = {amount_text(total.delta)}; left of δ is "
            f"{left_text(left.delta)} for finding groups, and {left_text(state.noise_delta)} for noise",
            help="spend a smaller δ, `DELTA 1e-9` after EPSILON, or none: groups stated with KEYS, USING LAPLACE",
        )
    before = "" if total.epsilon == one.epsilon else f", with what comes before it ε = {amount_text(total.epsilon)}"
    return Diagnostic(
        "PQL0502",
        f"`{budget.name}` cannot pay for this",
        check.span,
        why=f"it costs ε = {amount_text(one.epsilon)}{before}, and ε = {left_text(left.epsilon)} is left",
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


def _delta_told(one: BudgetState) -> str:
    found, noise = left_text(one.left.delta), left_text(one.noise_delta)
    return f"; of δ = {amount_text(one.limit.delta)}, {found} left to find groups, {noise} for noise and plans"


def _told(one: BudgetState) -> str:
    """What is left is left to this analyst: of a limit of their own, where a grant has one below the budget."""
    own = one.limit.epsilon < one.budget.epsilon
    limit = f", of your limit {amount_text(one.limit.epsilon)} you spent {left_text(one.own.epsilon)}" if own else ""
    mine = "" if own else f", {left_text(one.own.epsilon)} by you"
    return (
        f"{one.budget.name} ({one.budget.unit}): ε = {left_text(one.left.epsilon)} left to you{limit}; "
        f"of {amount_text(one.budget.epsilon)} in all, {left_text(one.spent.epsilon)} spent{mine}"
        + (_delta_told(one) if one.budget.delta else "")
    )
