"""Variances and what is made of them, from the text of a query to its answer: with hardly any noise, plain SQL's."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pandas as pd
import pytest

import privql
from privql.session import Session

POLICY = """CREATE UNIT person;
CREATE UNIT member NEIGHBOURS CHANGE ONE;
CREATE PRIVATE TABLE people (id INT UNIT person, x INT BETWEEN 0 AND 120, y FLOAT BETWEEN -20 AND 100,
  g TEXT IN ('a', 'b') NOT NULL) AT MOST 2 ROWS PER UNIT;
CREATE PRIVATE TABLE members (id INT UNIT member KEY, x INT BETWEEN 0 AND 120, y FLOAT BETWEEN -20 AND 100,
  g TEXT IN ('a', 'b') NOT NULL);
CREATE BUDGET b FOR UNIT person EPSILON 1000000;
CREATE BUDGET c FOR UNIT member EPSILON 1000000;"""
FUNCTIONS = (
    *(f"{name}(x)" for name in ("VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV_POP", "STDDEV_SAMP", "STDDEV")),
    *(f"{name}(y, x)" for name in ("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT")),
)


def people() -> pd.DataFrame:
    choice = random.Random(4)
    rows = []
    for at in range(400):
        x = choice.choice((None, choice.randint(0, 120), choice.randint(30, 60)))
        y = choice.choice((None, choice.uniform(-20, 100), 0.5 * (x or 0) + choice.gauss(0, 5)))
        rows.append((at, x, y, choice.choice("ab")))
    frame = pd.DataFrame(rows, columns=["id", "x", "y", "g"])
    return frame.astype({"x": "Int64", "y": "Float64"})


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    frame = people()
    several = frame.assign(id=frame["id"] // 2)
    with privql.connect(policy=POLICY, frames={"people": several, "members": frame}, analyst="ada") as opened:
        yield opened


@pytest.mark.parametrize("table", ["people", "members"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_with_hardly_any_noise_it_is_plain_sql(function: str, table: str, session: Session) -> None:
    members = people()
    made = f"{function} AS all_of_them, {function} FILTER (WHERE y > 10) AS some"
    plain = duckdb.sql(f"SELECT g, {made} FROM members GROUP BY g ORDER BY g").fetchall()
    assert len(members) == 400 and len(plain) == 2
    answer = session.run(f"SELECT g, {made} FROM {table} GROUP BY g ORDER BY g SPEND EPSILON 80000")
    for row, exact in zip(answer.rows, plain, strict=True):
        assert row[0] == exact[0]
        for found, wanted in zip(row[1:], exact[1:], strict=True):
            assert math.isclose(found, wanted, rel_tol=2e-3, abs_tol=2e-3), (row, exact)


def test_a_deviation_is_the_root_of_a_variance_that_is_measured_once(session: Session) -> None:
    check = session.check("SELECT VARIANCE(x), STDDEV(x), STDDEV_SAMP(x), VAR_SAMP(x) FROM members SPEND EPSILON 1")
    assert check.plan is not None and len(check.plan.measurements) == 1
    (row,) = session.run("SELECT VARIANCE(x), STDDEV(x) FROM members SPEND EPSILON 1").rows
    assert row[1] == math.sqrt(row[0])


@pytest.mark.parametrize(
    ("query", "l1"),
    [
        ("SELECT VAR_POP(x) FROM people", 2 * 120**2),
        ("SELECT g, VAR_POP(x) FROM people GROUP BY g", 2 * 120**2),
        ("SELECT VAR_POP(x) FROM people AT MOST 1 ROW PER UNIT", 120**2),
        ("SELECT VAR_POP(x) FROM members", 2 * 120**2),
        ("SELECT COVAR_POP(x, x * 2) FROM members", 2 * 120 * 240),
        ("SELECT REGR_SLOPE(x * 2, x) FROM people AT MOST 1 ROW PER UNIT", 240 * 120**2),
        ("SELECT CORR(x * 2, x) FROM people", 2 * 240**2 * 120**2),
    ],
)
def test_what_a_unit_moves(query: str, l1: int, session: Session) -> None:
    check = session.check(f"{query} SPEND EPSILON 1/2")
    assert check.plan is not None, str(check)
    (one,) = check.plan.measurements
    grown = Fraction(one.sensitivity.l1) * one.grid / l1
    assert 1 <= grown < 1 + Fraction(1, 2**10)  # coarser steps may lead a little beyond the range
    assert one.epsilon.constant == Fraction(1, 2)
