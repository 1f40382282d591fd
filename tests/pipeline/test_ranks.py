"""MEDIAN, QUANTILE, MIN and MAX from text to answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privql.session import Session, connect

POLICY = """CREATE UNIT person;
CREATE PRIVATE TABLE people (
  id INT UNIT person KEY, sex TEXT IN ('f', 'm') NOT NULL, job TEXT, age INT BETWEEN 0 AND 120,
  born DATE BETWEEN DATE '1920-01-01' AND DATE '2020-12-31', debt DECIMAL(12,2) BETWEEN -100 AND 1000,
  weight FLOAT BETWEEN 0 AND 300);
CREATE PRIVATE TABLE visits (id INT UNIT person, minutes INT BETWEEN 0 AND 600, ward TEXT IN ('a', 'b') NOT NULL)
  AT MOST 4 ROWS PER UNIT;
CREATE BUDGET b FOR UNIT person EPSILON 10000 DELTA 0.01;"""
COUNT = 4000


def frames() -> dict[str, object]:
    random = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "id": range(COUNT),
            "sex": ["fm"[at % 2] for at in range(COUNT)],
            "job": [("cook", "nurse")[at % 2] for at in range(COUNT)],
            "age": [at % 100 for at in range(COUNT)],
            "born": [date(1960, 1, 1) + timedelta(days=at) for at in range(COUNT)],
            "debt": [f"{value:.2f}" for value in random.normal(300, 100, COUNT)],
            "weight": [60 + 20 * (at % 2) + value for at, value in enumerate(random.normal(0, 5, COUNT))],
        }
    )
    visits = pd.DataFrame(
        {"id": [at // 4 for at in range(COUNT)], "minutes": [at % 601 for at in range(COUNT)], "ward": ["a"] * COUNT}
    )
    return {"people": people, "visits": visits}


DATA = frames()


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with connect(policy=POLICY, frames=DATA, analyst="ada") as opened:
        yield opened


@pytest.mark.parametrize(
    ("wanted", "low", "high"),
    [
        ("MEDIAN(age)", 46, 53),
        ("QUANTILE(age, 0.9)", 86, 93),
        ("QUANTILE(age, 0)", 0, 3),
        ("QUANTILE(age, 1)", 96, 100),
        ("PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age)", 86, 93),
        ("PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY age DESC)", 86, 93),
        ("MEDIAN(age) FILTER (WHERE age < 50)", 22, 27),
        ("MEDIAN(DISTINCT age % 10)", 0, 9),
        ("MEDIAN(weight)", 63, 77),
        ("QUANTILE(weight, 0.25)", 59, 61),
        ("MEDIAN(debt)", 290, 310),
        ("MIN(age)", 0, 3),
        ("MAX(age)", 96, 100),
        ("MAX(debt)", 500, 720),
        ("MEDIAN(age) - MEDIAN(age)", 0, 0),
    ],
)
def test_the_answer_is_near(wanted: str, low: float, high: float, session: Session) -> None:
    """Of five the one in the middle: one draw of a hundred may well lie beyond."""
    asked = (f"SELECT {wanted} AS x FROM people WHERE {at} = {at} SPEND EPSILON 2" for at in range(5))
    found = sorted(session.run(text).rows[0][0] for text in asked)
    assert low <= found[2] <= high


def test_by_groups_beside_other_aggregates(session: Session) -> None:
    answer = session.run(
        "SELECT sex, MEDIAN(weight) AS half, COUNT(*) AS n, MAX(age) AS most FROM people GROUP BY sex SPEND EPSILON 3"
    )
    (f, low, n, most), (m, high, _, _) = answer.rows
    assert (f, m) == ("f", "m") and 59 < low < 61 and 79 < high < 81 and abs(n - 2000) < 40 and 90 < most <= 100
    frame = answer.interval(0.95)
    assert "n_low" in frame and "half_low" not in frame
    assert session.run(answer.certificate and "SELECT 1 AS x").rows == ((1,),)
    assert "±" in str(answer).splitlines()[2] and str(answer).count("±") == 3  # of the counts alone, and the note


def test_groups_that_were_found_and_groups_without_rows(session: Session) -> None:
    answer = session.run("SELECT job, MEDIAN(weight) AS half FROM people GROUP BY job SPEND EPSILON 6 DELTA 1e-5")
    assert [row[0] for row in answer.rows] == ["cook", "nurse"]
    assert all(abs(row[1] - want) < 1 for row, want in zip(answer.rows, (60, 80), strict=True))
    (_, a), (_, b) = session.run("SELECT ward, MEDIAN(minutes) FROM visits GROUP BY ward SPEND EPSILON 1").rows
    assert 250 < a < 350 and 0 <= b <= 600


def test_values_lie_on_the_grid_and_have_their_type(session: Session) -> None:
    for _ in range(5):
        ((median, most, debt, weight),) = session.run(
            "SELECT MEDIAN(age), MAX(age), MIN(debt), MAX(weight) FROM people"
            " WHERE age BETWEEN 40 AND 64 AND weight < 65.5 SPEND EPSILON 0.01"
        ).rows
        assert type(median) is float and median == int(median) and 40 <= median <= 64
        assert type(most) is int and 40 <= most <= 64
        assert isinstance(debt, Fraction) and (debt * 100).denominator == 1 and -100 <= debt <= 1000
        assert type(weight) is float and 0 <= weight <= 65.5
        frame = session.run("SELECT MIN(debt) AS d FROM people SPEND EPSILON 0.001").to_pandas()
        assert isinstance(frame["d"][0], Decimal)


def test_the_price_is_exact_and_the_certificate_says_how(session: Session) -> None:
    before = session.budget().budgets[0].spent.epsilon
    answer = session.run("SELECT MEDIAN(minutes) AS x, MIN(minutes) AS y FROM visits SPEND EPSILON 0.3")
    assert session.budget().budgets[0].spent.epsilon - before == Fraction(3, 10) == answer.cost.epsilon
    (both,) = answer.certificate["measurements"]  # of the same rows
    assert {"mechanism": "exponential", "rows_per_unit": "4", "epsilon": "3/10", "also": ["MIN(minutes)"]}.items() <= (
        both.items()
    )
    least, median = both["draws"]
    assert (median["share"], median["offset"], median["l1"], median["scale"]) == ("1/2", "0", "2", str(Fraction(80, 3)))
    assert least["share"] == "0" and int(least["offset"]) > 0 and least["l1"] == "4"
    answer = session.run(
        "SELECT MEDIAN(minutes SPEND 0.1) AS x, MEDIAN(minutes + 1) AS y FROM visits SPEND EPSILON 0.3"
    )
    assert [Fraction(one["epsilon"]) for one in answer.certificate["measurements"]] == [Fraction(1, 10), Fraction(1, 5)]


def test_explained(session: Session) -> None:
    told = session.explain("SELECT MEDIAN(age), MAX(age + 0) FROM people SPEND EPSILON 1")
    assert "MEDIAN(age): drawn by its rank, Δ = 0.5 ranks" in told
    assert "exponential mechanism among 121 steps of 1, at most 15.59 ranks off at 95%" in told
    assert "MAX(age + 0): drawn by its rank, 32 values from the end, Δ = 1 ranks" in told
    told = session.explain("SELECT MEDIAN(age), MAX(age) FROM people SPEND EPSILON 1")
    assert "MEDIAN(age), MAX(age): 2 drawn by their ranks, least and greatest" in told
    told = session.explain("SELECT MEDIAN(age) FROM people SPEND EPSILON $e")
    assert "MEDIAN(age): drawn by its rank" in told and "depends on the parameters" in told


def test_of_a_million_values_only_the_places_count(session: Session) -> None:
    """The same numbers a thousand times farther apart: as many places off."""
    for scale in (1, 1000):
        ((value,),) = session.run(f"SELECT MEDIAN(age * {scale}) FROM people SPEND EPSILON 4").rows
        assert 47 * scale <= value <= 52 * scale


def test_days_are_drawn_as_days(session: Session) -> None:
    answer = session.run(
        "SELECT MIN(born) AS a, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY born) AS b, MAX(born) AS c,"
        " MIN(born) FILTER (WHERE born >= DATE '1965-01-01') - DATE '1965-01-01' AS d FROM people SPEND EPSILON 64"
    )
    ((first, middle, last, after),) = answer.to_pandas().itertuples(index=False)
    assert abs(first - pd.Timestamp(1960, 1, 1)).days < 60 and abs(last - pd.Timestamp(1970, 12, 13)).days < 60
    assert abs(middle - pd.Timestamp(1965, 6, 23)).days < 60 and -30 < after < 60


def test_the_same_question_is_answered_again(session: Session) -> None:
    asked = "SELECT QUANTILE(weight, 0.123) AS x FROM people SPEND EPSILON 0.05"
    first, again = session.run(asked), session.run(asked)
    assert first.rows == again.rows and not again.cost
