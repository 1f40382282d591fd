"""When a charge can be afforded: what was lost, what is asked and what is allowed decide, all exact.

`privql/kernel/filters.py` says when a history is within a promise of (ε, δ). A budget is one such promise, over what
everybody spent of it; an analyst's limit is another on top, over her own charges.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from privql.kernel.losses import Loss
from privql.ledger.errors import Reason
from privql.ledger.records import BudgetState


def refusal(state: BudgetState, asked: Loss, queries: Sequence[Fraction]) -> Reason | None:
    """Why the budget cannot pay for what is asked, queries of these ε together; or None."""
    most = state.budget.max_epsilon
    if most is not None and any(epsilon > most for epsilon in queries):
        return "max per query"
    if not asked:
        return None
    if not state.promise.admits(state.lost + asked):
        return "budget"
    if state.limited and not state.own_promise.admits(state.own_lost + asked):
        return "grant"
    return None
