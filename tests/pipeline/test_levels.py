"""CUBE, ROLLUP and GROUPING SETS from the text of a query to its answer: with hardly any noise plain SQL's; with much
of it, as exact as EXPLAIN says, and every total the sum of its parts."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest

import privql
from privql.kernel.cost import Cost
from privql.kernel.gaussian import greatest_mu
from privql.session import Session

POLICY = """CREATE UNIT person;
CREATE PRIVATE TABLE people (id INT UNIT person KEY, x INT BETWEEN 0 AND 120, y FLOAT BETWEEN -20 AND 100,
  z DECIMAL(8, 2) BETWEEN 0 AND 100, g TEXT IN ('a', 'b') NOT NULL, m INT BETWEEN 1 AND 12,
  k INT BETWEEN 1 AND 20 NOT NULL, job TEXT);
CREATE BUDGET b FOR UNIT person EPSILON 1000000 DELTA 0.1;"""
NOISES = ("", " DELTA 1e-6 USING GAUSSIAN")
SETS = ("CUBE (g, m)", "ROLLUP (k, g)", "GROUPING SETS ((g), (m), (m))", "g, CUBE (m)", "GROUPING SETS ((m, g), ())")


def rows() -> pd.DataFrame:
    choice = random.Random(1)
    frame = pd.DataFrame(
        [
            (
                at,
                choice.choice((None, choice.randint(0, 120))),
                choice.uniform(-20, 100),
                Fraction(choice.randint(0, 10_000), 100),
                choice.choice("ab"),
                choice.choice((None, *range(1, 12))),  # nobody is in 12
                choice.randint(1, 20),
                choice.choice(("cook", "king", None)),
            )
            for at in range(1500)
        ],
        columns=["id", "x", "y", "z", "g", "m", "k", "job"],
    )
    return frame.astype({"x": "Int64", "m": "Int64", "z": "float"}).round({"z": 2})


PEOPLE = rows()


def exactly(text: str) -> list[tuple[Any, ...]]:
    found = duckdb.from_df(PEOPLE).query("people", text)
    assert found is not None
    return found.fetchall()


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with privql.connect(policy=POLICY, frames={"people": PEOPLE}, analyst="ada") as opened:
        yield opened


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("using", NOISES)
def test_with_hardly_any_noise_it_is_plain_sql(sets: str, using: str, session: Session) -> None:
    keys = [name for name in ("g", "m", "k") if name in sets]
    asked = ", ".join(f"COALESCE({f}, 0) AS {n}" for n, f in (("n", "COUNT(*)"), ("sx", "SUM(x)"), ("sz", "SUM(z)")))
    asked += ", AVG(x) AS mean, STDDEV(x) AS spread, VAR_POP(y) AS var, CORR(x, y) AS r"
    shape = f"SELECT {', '.join(keys)}, GROUPING({', '.join(keys)}) AS level, {asked} FROM people GROUP BY {sets}"
    answer = session.run(f"{shape} SPEND EPSILON 70000{using}")
    plain = {row[: len(keys) + 1]: row[len(keys) + 1 :] for row in exactly(shape)}
    assert {row[: len(keys) + 1] for row in answer.rows} >= plain.keys()
    for row in answer.rows:
        found, wanted = row[len(keys) + 1 :], plain.get(row[: len(keys) + 1])
        if wanted is None:  # nobody is there
            assert "12" in repr(row) or found[0] == 0
            continue
        for one, other in zip(found, wanted, strict=True):
            assert (one is None) == (other is None)
            near = 0.1 if using else 0.01  # of a correlation, which is near 0
            assert one is None or math.isclose(float(one), float(other), rel_tol=0.01, abs_tol=near), row


@pytest.mark.parametrize("sets", ["CUBE (g, k)", "ROLLUP (k, m)", "GROUPING SETS ((k), (m), (k, m), ())"])
@pytest.mark.parametrize("using", NOISES)
def test_totals_are_the_sums_of_what_is_printed(sets: str, using: str, session: Session) -> None:
    keys = [name for name in ("g", "k", "m") if name in sets]
    asked = "COUNT(*) AS n, SUM(z) AS s, COUNT(x) AS nx, SUM(x) AS sx"
    text = (
        f"SELECT GROUPING({', '.join(keys)}) AS level, {', '.join(keys)}, {asked}, AVG(x) FROM people GROUP BY {sets}"
    )
    compared = 0
    answer: list[tuple[Any, ...]] = list(session.run(f"{text} SPEND EPSILON 0.5{using}").rows)
    for level in {row[0] for row in answer}:
        kept = [at for at in (1, 2) if not level >> (2 - at) & 1]
        for row in (row for row in answer if row[0] == level):
            parts = [fine for fine in answer if fine[0] == 0 and all(fine[at] == row[at] for at in kept)]
            assert row[3:7] == tuple(sum(fine[of] for fine in parts) for of in range(3, 7))
            compared += 1
    assert compared == len(answer) > 40


@pytest.mark.parametrize("using", NOISES)
def test_what_is_told_is_what_is_met(using: str, session: Session) -> None:
    """The deviation of each set, over many draws: a promise of EXPLAIN, of least squares and of rounding together."""
    text = "SELECT m, k, GROUPING(m, k) AS level, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((m), (k), ())"
    told = session.explain(f"{text} SPEND EPSILON 1{using}")
    of = {
        level: float(found)
        for level, found in zip(
            (1, 2, 3), re.findall(r"([\d.]+) (?:by|in all)", told.split("deviation")[1]), strict=False
        )
    }
    plain = {row[:3]: row[3] for row in exactly(text)}
    squares: dict[int, list[float]] = {1: [], 2: [], 3: []}
    for at in range(60):
        for row in session.run(f"{text.replace('people', f'people WHERE y > -{at + 21}')} SPEND EPSILON 1{using}").rows:
            squares[row[2]].append((row[3] - plain.get(row[:3], 0)) ** 2)
    for level, found in squares.items():
        met = math.sqrt(sum(found) / len(found))
        assert 0.75 < met / of[level] < 1.3, (level, met, of)


def test_of_groups_that_are_found_the_finest_are_measured(session: Session) -> None:
    shape = "SELECT job, g, GROUPING(job, g) AS level, COUNT(*) AS n, AVG(x) AS mean FROM people GROUP BY CUBE (job, g)"
    answer = session.run(f"{shape} SPEND EPSILON 2000 DELTA 1e-9")
    plain = {row[:3]: row[3:] for row in exactly(shape)}
    assert len(answer.rows) == len(plain)
    for row in answer.rows:
        count, mean = plain[row[:3]]
        assert row[3] == count and math.isclose(row[4], mean, rel_tol=0.001)
    assert answer.certificate["measurements"][0]["release"].startswith("groups")
    nobody = "SELECT job, COUNT(*) AS n, AVG(x) AS mean FROM people WHERE x > 119 AND x < 1 GROUP BY CUBE (job)"
    none = session.run(f"{nobody} SPEND EPSILON 200 DELTA 1e-9")
    assert none.rows == ((None, 0, None),)


def test_bounds_are_found_once_for_all_levels(session: Session) -> None:
    asked = "SELECT g, AVG(y BOUNDS AUTO) AS mean, GROUPING(g) AS level FROM people GROUP BY CUBE (g) ORDER BY level, g"
    found = [row[1] for row in session.run(f"{asked} SPEND EPSILON 20000").rows]
    plain = exactly("SELECT AVG(y) FROM people GROUP BY CUBE (g) ORDER BY GROUPING(g), g")
    for one, (other,) in zip(found, plain, strict=True):
        assert isinstance(one, float) and abs(one - other) < 1.0


def test_what_was_measured_is_certified(session: Session) -> None:
    text = "SELECT m, k, COUNT(*) AS n, AVG(x) AS mean FROM people GROUP BY GROUPING SETS ((m), (k)) SPEND EPSILON 0.3"
    made = session.run(text).certificate["measurements"]
    assert [(one["text"], one["by"]) for one in made] == [
        (text, [by]) for text in ("COUNT(*)", "AVG(x)") for by in ("m", "k")
    ]
    assert sum(Fraction(one["epsilon"]) for one in made) == Fraction(3, 10)
    assert all(Fraction(one["scale"]) == Fraction(one["l1"]) / Fraction(one["epsilon"]) for one in made)


def test_what_gaussian_levels_cost_is_certified(session: Session) -> None:
    text = "SELECT m, k, COUNT(*) AS n, AVG(x) AS mean FROM people GROUP BY GROUPING SETS ((m), (k)) SPEND EPSILON 0.3"
    answer = session.run(f"{text} DELTA 1e-6 USING GAUSSIAN")
    made = answer.certificate["measurements"]
    assert answer.cost == Cost(Fraction(3, 10), Fraction(1, 10**6))
    assert sum(Fraction(one["epsilon"]) for one in made) == Fraction(3, 10)
    assert sum(Fraction(one["delta"]) for one in made) == Fraction(1, 10**6)
    squares = [Fraction(one["l2_squared"]) / Fraction(one["scale"]) ** 2 for one in made]
    assert all(a <= Fraction(one["mu_squared"]) for a, one in zip(squares, made, strict=True))
    most = greatest_mu(answer.cost.epsilon, answer.cost.delta) ** 2
    assert most * (1 - Fraction(1, 10**6)) < sum(squares) <= most


def test_it_is_explained(session: Session) -> None:
    told = session.explain(
        "SELECT k, m, COUNT(*), AVG(x) FROM people GROUP BY GROUPING SETS ((k), (m)) SPEND EPSILON 1"
    )
    assert re.search(r"of that [\d.]+% by k and [\d.]+% by m: made one by least squares", told)
    assert (
        re.search(r"standard deviation: [\d.]+ by k, [\d.]+ by m\n", told) and "scale" not in told.split("cheaper")[0]
    )
    mean = session.explain("SELECT k, m, AVG(x) FROM people GROUP BY GROUPING SETS ((k), (m)) SPEND EPSILON 1")
    assert "by noise of deviation" in mean and "/n" not in mean, "what least squares make of it is less"
    alone = session.explain("SELECT g, COUNT(*) FROM people GROUP BY CUBE (g) SPEND EPSILON 1")
    assert "discrete Laplace noise, scale 1, ± 3 at 95%" in alone
    assert "standard deviation: 1.357 by g, 1.92 in all" in alone
    exact = session.explain("SELECT g, COUNT(*) FROM people GROUP BY CUBE (g) SPEND EPSILON 10000")
    assert "standard deviation: 0 by g, 0 in all" in exact


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("MEDIAN(x)", "`MEDIAN`"),
        ("COUNT(DISTINCT x)", "DISTINCT"),
        ("MODE(g)", "MODE"),
        ("QUANTILE(x, [0.1, 0.9])", "QUANTILE"),
    ],
)
def test_what_is_not_added_up_is_refused(asked: str, said: str, session: Session) -> None:
    check = session.check(f"SELECT m, {asked} AS q FROM people GROUP BY ROLLUP (m) SPEND EPSILON 1")
    assert not check.ok and said in check.diagnostics[0].message and "CUBE" in check.diagnostics[0].message
