"""When a query can be afforded. A filter sees what was spent, what is asked and what is allowed, all exact.

The plain sum: admit while Σε ≤ ε and Σδ ≤ δ. It holds for any mechanisms, chosen adaptively by any number of
colluding analysts. An analyst's limit is a second sum on top, over her own charges.
"""

from __future__ import annotations

from privql.kernel.cost import Cost
from privql.ledger.errors import Reason
from privql.ledger.records import BudgetState


def refusal(state: BudgetState, asked: Cost) -> Reason | None:
    """Why the budget cannot pay, or None."""
    most = state.budget.max_epsilon
    if most is not None and asked.epsilon > most:
        return "max per query"
    if not asked:
        return None
    if not state.spent + asked <= state.budget.cap:
        return "budget"
    if not state.own + asked <= state.limit:
        return "grant"
    return None
