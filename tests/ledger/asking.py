"""Ledgers and requests for the tests of this room."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from privql.kernel.cost import Cost, parse_amount
from privql.kernel.events import Event, Events
from privql.kernel.filters import Shares
from privql.ledger import BudgetRow, GrantRow, Ledger, Permit, PlanRequest, Prepaid, Request

TENTH = Fraction(1, 10)
ALL_KEYS = Shares(Fraction(1), Fraction(0), Fraction(0), Fraction(0))  # then costs are added up, in ε and in δ


def budget(
    epsilon: object = 1, name: str = "research", unit: str = "patient", shares: Shares = ALL_KEYS, **more: object
) -> BudgetRow:
    amounts = {key: parse_amount(value) for key, value in more.items()}
    return BudgetRow(name, unit, parse_amount(epsilon), **amounts, shares=shares)


def met(epsilon: object = TENTH, delta: object = 0) -> Events:
    """A mechanism of which no more than its cost is known."""
    cost = Cost(parse_amount(epsilon), parse_amount(delta))
    return (Event("keys" if cost.delta else "pure", cost),) if cost else ()


def ledger(*budgets: BudgetRow, grants: tuple[GrantRow, ...] = (), path: str | os.PathLike[str] = ":memory:") -> Ledger:
    made = Ledger.create(path)
    made.apply_policy("the policy", budgets or (budget(),), grants, ("patients", "visits"))
    return made


def ask(
    query: object = "SELECT 1", epsilon: object = TENTH, *, delta: object = 0, unit: str = "patient", **more: object
) -> Request:
    asked: dict[str, object] = {
        "analyst": "alice",
        "query": str(query),
        "parameters": "{}",
        "policy_version": 1,
        "charges": ((unit, met(epsilon, delta)),),
        "measurements": "[]",
        "tables": ("patients",),
    }
    return Request(**(asked | more))


def plan(*queries: object, epsilon: object = TENTH, unit: str = "patient", **more: object) -> PlanRequest:
    """Of queries that cost the same each."""
    asked: dict[str, object] = {
        "analyst": "alice",
        "texts": tuple(map(str, queries)),
        "policy_version": 1,
        "slots": tuple(((unit, met(epsilon)),) for _ in queries),
        "tables": ("patients",),
    }
    return PlanRequest(**(asked | more))


def permit(made: Ledger, request: Request, *slot: Prepaid | int) -> Permit:
    granted = made.reserve(request, *slot)
    assert isinstance(granted, Permit)
    return granted


@contextmanager
def behind(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """The file, by whoever does not ask the ledger."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()
