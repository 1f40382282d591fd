"""The budgets of an analyst, and what they say of queries that say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction

from privql.check.env import Defaults
from privql.frozen import frozen
from privql.ledger import BudgetState, Ledger
from privql.names import fold
from privql.pipeline.bills import chosen


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
