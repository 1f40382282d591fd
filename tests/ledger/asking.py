"""Ledgers and requests for the tests of this room."""

from __future__ import annotations

import os
from fractions import Fraction

from privql.kernel.cost import Cost, parse_amount
from privql.ledger import BudgetRow, GrantRow, Ledger, Request

TENTH = Fraction(1, 10)


def budget(epsilon: object = 1, name: str = "research", unit: str = "patient", **more: object) -> BudgetRow:
    amounts = {key: parse_amount(value) for key, value in more.items()}  # type: ignore[arg-type]
    return BudgetRow(name, unit, parse_amount(epsilon), **amounts)  # type: ignore[arg-type]


def ledger(*budgets: BudgetRow, grants: tuple[GrantRow, ...] = (), path: str | os.PathLike[str] = ":memory:") -> Ledger:
    made = Ledger.create(path)
    made.apply_policy("the policy", budgets or (budget(),), grants, {"patients": None, "visits": None})
    return made


def ask(
    query: object = "SELECT 1", epsilon: object = TENTH, *, delta: object = 0, unit: str = "patient", **more: object
) -> Request:
    asked: dict[str, object] = {
        "analyst": "alice",
        "query": str(query),
        "parameters": "{}",
        "policy_version": 1,
        "charges": ((unit, Cost(parse_amount(epsilon), parse_amount(delta))),),  # type: ignore[arg-type]
        "measurements": "[]",
        "tables": ("patients",),
    }
    return Request(**(asked | more))  # type: ignore[arg-type]
