"""The budgets of an analyst: what they say of queries that say nothing, what is spent and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

from privql.check.env import Defaults
from privql.frozen import frozen
from privql.kernel.cost import amount_text
from privql.kernel.events import Events
from privql.ledger import BudgetState, Ledger
from privql.names import fold
from privql.pipeline.bills import chosen
from privql.pipeline.figures import left_text, moment, more_text


@frozen
class Purse:
    """The budgets of one analyst, as they are when it is asked; only `chosen` pays, where SET budget chose it."""

    ledger: Ledger
    analyst: str
    chosen: str | None = None
    found: dict[str, list[BudgetState]] = field(default_factory=dict, compare=False, repr=False)  # by unit

    def usable(self, unit: str) -> list[BudgetState]:
        if unit not in self.found:
            self.found[unit] = chosen(self.ledger.budgets_for(self.analyst, unit), self.chosen)
        return self.found[unit]

    def defaults(self, units: Sequence[str]) -> Defaults:
        """What a query spends that does not say it, by unit; of δ, for the groups that it has to look for, as declared
        or a hundredth of what there is."""
        epsilons: dict[str, Fraction] = {}
        deltas = dict.fromkeys(units, Fraction(0))
        granted = self.chosen is None
        for unit in units:
            if states := self.usable(unit):
                granted = granted or fold(states[0].budget.name) == fold(self.chosen or "")
                epsilon, delta = states[0].budget.default_epsilon, states[0].budget.default_delta
                if epsilon is not None:
                    epsilons[unit] = epsilon
                deltas[unit] = states[0].limit.delta / 100 if delta is None else delta
        return Defaults(epsilons, deltas, granted)


@frozen
class BudgetReport:
    """Spent and left, a line a budget. `last`: what a unit met by the analyst's last query from each."""

    budgets: tuple[BudgetState, ...]
    last: Mapping[str, Events] = field(default_factory=dict)

    def line(self) -> str:
        return "; ".join(
            f"{one.budget.name}: ε = {left_text(one.left.epsilon)} left{self.like_it(one)}" for one in self.budgets
        )

    def like_it(self, one: BudgetState) -> str:
        """What people ask of an ε: how many more of their queries that is."""
        more = self.more(one)
        return "" if more is None else f", or {more} more like your last query"

    def more(self, one: BudgetState) -> int | None:
        last = self.last.get(one.budget.name)
        return one.more_like(last) if last else None

    def __str__(self) -> str:
        if not self.budgets:
            return "no budget is open to you: ask in the name that was granted one, `--as NAME`"
        return "\n".join(_told(one, self.like_it(one)) for one in self.budgets)

    def to_json(self) -> dict[str, Any]:
        def text(amount: Fraction | None) -> str | None:
            return None if amount is None else str(amount)

        def windows(one: BudgetState) -> dict[str, Any]:
            """Of a budget that renews: the amounts are those of the window that is open."""
            if one.in_all is None:
                return {}
            until, lost = one.window.until, one.in_all.cost
            return {
                "window": {"number": one.window.number + 1, "until": None if until is None else until.isoformat()},
                "in_all": {
                    "since": one.in_all.since.isoformat(),
                    "spent": text(lost.epsilon),
                    "delta_spent": text(lost.delta),
                },
            }

        return {
            "budgets": [
                {
                    **windows(one),
                    "budget": one.budget.name,
                    "unit": one.budget.unit,
                    "epsilon": text(one.budget.epsilon),
                    "spent": text(one.spent.epsilon),
                    "spent_by_you": text(one.own.epsilon),
                    "left": text(one.left.epsilon),
                    "more_like_your_last": self.more(one),
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


def _told(one: BudgetState, like_it: str) -> str:
    """What is left is left to this analyst: of a limit of their own, where a grant has one below the budget."""
    own = one.limit.epsilon < one.budget.epsilon
    limit = f", of your limit {amount_text(one.limit.epsilon)} you spent {left_text(one.own.epsilon)}" if own else ""
    mine = "" if own else f", {left_text(one.own.epsilon)} by you"
    return (
        f"{one.budget.name} ({one.budget.unit}): ε = {left_text(one.left.epsilon)} left to you{like_it}{limit}; "
        f"of {amount_text(one.budget.epsilon)} {_until(one) or 'in all'}, {left_text(one.spent.epsilon)} spent{mine}"
        + (_delta_told(one) if one.budget.delta else "")
        + (f"; in all {all_windows(one)}" if one.in_all is not None else "")
    )


def _until(one: BudgetState) -> str:
    """Which window its amounts are of; nothing if it has but one."""
    if one.in_all is None:
        return ""
    end = one.window.until
    return "in the last window" if end is None else f"in this window (until {moment(end)})"


def all_windows(one: BudgetState) -> str:
    """What several windows come to: whoever reads what is left of one should see it."""
    assert one.in_all is not None
    lost, count = one.in_all.cost, one.window.number + 1
    delta = f", δ = {more_text(lost.delta)}" if lost.delta else ""
    windows = "window" if count == 1 else "windows"
    return f"since {one.in_all.since:%Y-%m-%d}: ε = {more_text(lost.epsilon)}{delta} in {count} {windows}"
