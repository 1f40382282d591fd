"""Who tries what she can, on two tables of her own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

import privql
from privql.session import Session

POLICY = """
CREATE UNIT Patient;
CREATE UNIT house;
CREATE PRIVATE TABLE p (id INT UNIT Patient KEY, age INT BETWEEN 0 AND 120, t TEXT, x FLOAT BETWEEN 0 AND 1,
  big DECIMAL(38,0) BETWEEN -90000000000000000000000000000000000000 AND 90000000000000000000000000000000000000);
CREATE PRIVATE TABLE homes (id INT UNIT house KEY, rooms INT BETWEEN 0 AND 9);
CREATE BUDGET patients FOR UNIT Patient EPSILON 100;
CREATE BUDGET houses FOR UNIT house EPSILON 100;
"""
COUNT = "SELECT COUNT(*) FROM p"


def people(ids: list[int], texts: list[str] | None = None) -> pa.Table:
    many = len(ids)
    return pa.table(
        {
            "id": ids,
            "age": [50] * many,
            "t": pa.array(texts or ["a"] * many, pa.string()),
            "x": [0.5] * many,
            "big": pa.array([Decimal(1)] * many, pa.decimal128(38, 0)),
        }
    )


@contextmanager
def mallory() -> Iterator[Session]:
    frames = {"p": people(list(range(30))), "homes": pa.table({"id": [1, 2], "rooms": [3, 4]})}
    with privql.connect(policy=POLICY, frames=frames, analyst="mallory") as opened:
        yield opened


def spent(session: Session, budget: str = "patients") -> Fraction:
    return next(one.spent.epsilon for one in session.budget().budgets if one.budget.name == budget)
