"""When a query can be afforded. A filter sees what was spent, what is asked and what is allowed, all exact.

The plain sum: admit while Σε ≤ ε and Σδ ≤ δ. It holds for any mechanisms, chosen adaptively by any number of
colluding analysts. An analyst's limit is a second sum on top, over her own charges.
"""

from __future__ import annotations

from privql.kernel.cost import Cost
from privql.ledger.errors import Reason
from privql.ledger.records import BudgetRow, BudgetState, GrantRow


def limit(budget: BudgetRow, grant: GrantRow | None) -> Cost:
    """What one analyst may spend: the grant's limits, and the budget's where the grant has none."""
    epsilon = budget.epsilon if grant is None or grant.epsilon is None else grant.epsilon
    delta = budget.delta if grant is None or grant.delta is None else grant.delta
    return Cost(epsilon, delta)


def rest(cap: Cost, spent: Cost) -> Cost:
    """Nothing is left once either part is overdrawn (a budget lowered later): the promise (ε, δ) is one."""
    return Cost(cap.epsilon - spent.epsilon, cap.delta - spent.delta) if spent <= cap else Cost()


def left(budget: BudgetRow, grant: GrantRow | None, spent: Cost, own: Cost) -> Cost:
    common, mine = rest(budget.cap, spent), rest(limit(budget, grant), own)
    return Cost(min(common.epsilon, mine.epsilon), min(common.delta, mine.delta))


def refusal(state: BudgetState, asked: Cost) -> Reason | None:
    """Why the budget cannot pay, or None."""
    most = state.budget.max_epsilon
    if most is not None and asked.epsilon > most:
        return "max per query"
    if not asked:
        return None
    if not state.spent + asked <= state.budget.cap:
        return "budget"
    if not state.own + asked <= limit(state.budget, state.grant):
        return "grant"
    return None
