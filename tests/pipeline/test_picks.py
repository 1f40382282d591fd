"""MODE and TOP from text to answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from math import log

import pandas as pd
import pytest

from privql.kernel.cost import Cost
from privql.kernel.zcdp import greatest_rho
from privql.session import Session, connect

POLICY = """CREATE UNIT person;
CREATE PRIVATE TABLE people (
  id INT UNIT person KEY, sex TEXT IN ('f', 'm') NOT NULL, job TEXT, age INT BETWEEN 0 AND 120,
  born DATE BETWEEN DATE '1980-01-01' AND DATE '1980-12-31', size DECIMAL(4,1) BETWEEN 1 AND 2,
  weight FLOAT BETWEEN 0 AND 300, far INT);
CREATE PRIVATE TABLE visits (id INT UNIT person, ward TEXT IN ('a', 'b', 'c', 'd'), minutes INT BETWEEN 0 AND 600)
  AT MOST 4 ROWS PER UNIT;
CREATE PUBLIC TABLE wards (ward TEXT, name TEXT);
CREATE BUDGET b FOR UNIT person EPSILON 10000 DELTA 0.01;"""
COUNT = 2000


def frames() -> dict[str, object]:
    at = range(COUNT)
    people = pd.DataFrame(
        {
            "id": at,
            "sex": ["fm"[n % 2] for n in at],
            "job": [("cook", "nurse")[n % 2] for n in at],
            "age": [(30, 30, 50, 40, 60)[n % 5] if n % 2 else (20, 20, 20, None, None)[n % 5] for n in at],
            "born": [date(1980, 1 + n % 3 // 2, 9) for n in at],
            "size": ["1.5" if n % 3 else "1.7" for n in at],
            "weight": [60.0] * COUNT,
            "far": at,
        }
    )
    visits = pd.DataFrame(
        {"id": [n // 4 for n in at], "ward": ["aabc"[n % 4] if n < 1200 else "c" for n in at], "minutes": [9] * COUNT}
    )
    return {"people": people, "visits": visits, "wards": pd.DataFrame({"ward": ["a", "b"], "name": ["x", "y"]})}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with connect(policy=POLICY, frames=frames(), analyst="ada") as opened:
        yield opened


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ("MODE(age) AS x FROM people", [(20,)]),
        ("MODE() WITHIN GROUP (ORDER BY age DESC) AS x FROM people", [(20,)]),
        ("MODE(age) FILTER (WHERE age > 20) AS x FROM people", [(30,)]),
        ("TOP(age, 2) AS x FROM people", [(20,), (30,)]),
        ("TOP(age, 2 USING PERMUTE_AND_FLIP) AS x FROM people", [(20,), (30,)]),
        ("TOP(age, 2 USING EXPONENTIAL) AS x FROM people", [(20,), (30,)]),
        ("TOP(age, 2 USING NOISY_MAX) AS x FROM people", [(20,), (30,)]),
        ("MODE(age USING HISTOGRAM) AS x FROM people", [(20,)]),
        ("TOP(age, 2 USING GUMBEL) AS x FROM people", [(20,), (30,)]),
        ("TOP(age, 2 USING AUTO) AS x FROM people", [(20,), (30,)]),
        ("sex, MODE(age) AS x FROM people GROUP BY sex", [("f", 20), ("m", 30)]),
        ("sex, TOP(age, 2) AS x FROM people WHERE age > 20 OR age < 20 GROUP BY sex HAVING sex = 'm'", None),
        ("MODE(size) AS x FROM people", [(Fraction(3, 2),)]),
        ("MODE(age > 25) AS x, MODE(age) + 1 AS y FROM people", [(True, 21)]),
        ("MODE(weight) AS x FROM people WHERE weight IN (50, 60, 70)", [(60.0,)]),
        ("MODE(far % 2 * 3) AS x FROM people WHERE far % 5 = 1 AND far % 2 = 1", [(3,)]),
        ("TOP(ward, 2) AS x FROM visits", [("c",), ("a",)]),
        ("TOP(ward, 2) AS x FROM (SELECT DISTINCT id, ward FROM visits) AS v", [("c",), None]),
        ("x, n FROM (SELECT TOP(ward, 1) AS x FROM visits) AS t CROSS JOIN (SELECT 1 AS n) AS o", [("c", 1)]),
        ("name FROM wards w JOIN (SELECT MODE(ward) AS m FROM visits WHERE ward IN ('a', 'b')) AS t ON w.ward = t.m",
         [("x",)]),
        ("MODE(m) AS x FROM (SELECT id, MODE(ward) AS m FROM visits GROUP BY id) AS v", [("a",)]),
    ],
)  # fmt: skip
def test_the_most_frequent_come_out(
    wanted: str, rows: list[tuple[object, ...] | None] | None, session: Session
) -> None:
    found = session.run(f"SELECT {wanted} SPEND EPSILON 8 DELTA 1e-5").rows
    if rows is None:
        assert len(found) == 2 and found[0] == ("m", 30)
        return
    assert len(found) == len(rows)
    assert all(want is None or got == want for got, want in zip(found, rows, strict=True))


def test_beside_other_aggregates_and_in_groups_that_were_found(session: Session) -> None:
    answer = session.run(
        "SELECT job, COUNT(*) AS n, MODE(age) AS usual FROM people GROUP BY job SPEND EPSILON 12 DELTA 1e-5"
    )
    assert [(row[0], row[2]) for row in answer.rows] == [("cook", 20), ("nurse", 30)]
    answer = session.run("SELECT sex, MODE(born) AS b, COUNT(*) AS n FROM people GROUP BY sex SPEND EPSILON 4")
    assert answer.to_pandas()["b"][0] == pd.Timestamp(1980, 1, 9)
    assert "b_low" not in answer.interval(0.95) and str(answer).count("±") == 3


def test_where_nobody_is_any_value_comes_out(session: Session) -> None:
    nobody = "SELECT MODE(ward) AS x FROM visits WHERE minutes > 600 - {at} AND ward <> 'd' SPEND EPSILON 1"
    seen = {session.run(nobody.format(at=at)).rows[0][0] for at in range(1, 25)}
    assert len(seen) > 1 and seen <= {"a", "b", "c"}


def test_the_price_is_exact_and_the_certificate_says_how(session: Session) -> None:
    before = session.budget().budgets[0].spent.epsilon
    answer = session.run("SELECT TOP(ward, 3) AS x, MODE(ward USING NOISY_MAX) AS y FROM visits SPEND EPSILON 0.3")
    assert session.budget().budgets[0].spent.epsilon - before == Fraction(3, 10) == answer.cost.epsilon
    several, one = answer.certificate["measurements"]
    assert {"mechanism": "noisy_histogram", "candidates": 4, "chosen": 3, "l1": "4"}.items() <= several.items()
    assert {"mechanism": "noisy_max", "candidates": 4, "chosen": 1, "l1": "4"}.items() <= one.items()
    for made in (several, one):
        assert Fraction(made["scale"]) == 4 / Fraction(made["epsilon"])


def test_one_after_the_other_where_a_unit_counts_once_for_each_value(session: Session) -> None:
    told = session.explain("SELECT TOP(ward, 3) FROM (SELECT DISTINCT id, ward FROM visits) AS v SPEND EPSILON 1")
    assert "3 of 4 values are chosen, most frequent first, Δ = 1 row\n" in told
    assert "ε = 1: permute and flip, 3 times, at most 13 rows behind any that is not chosen at 95%" in told
    told = session.explain("SELECT TOP(ward, 3) FROM visits SPEND EPSILON 1")
    assert "Δ = 4 rows" in told and "ε = 1: noisy histogram" in told
    told = session.explain("SELECT MODE(age) FROM people SPEND EPSILON $e")
    assert "ε = $e: permute and flip, ± depends on the parameters" in told


VISITED = "SELECT TOP(ward, 3 USING GUMBEL) AS x FROM (SELECT DISTINCT id, ward FROM visits) AS v"


def test_gumbel_noise_is_paid_for_with_a_delta(session: Session) -> None:
    before = session.budget().budgets[0].spent
    answer = session.run(f"{VISITED} SPEND EPSILON 0.3 DELTA 1e-6")
    assert answer.cost == Cost(Fraction(3, 10), Fraction("1e-6"))
    assert session.budget().budgets[0].spent == before + answer.cost
    (made,) = answer.certificate["measurements"]
    assert {"mechanism": "Gumbel_noise", "chosen": 3, "l1": "1", "delta": "1/1000000"}.items() <= made.items()
    rho = greatest_rho(Fraction(3, 10), Fraction("1e-6"))
    assert 0.99999 * rho < 3 / Fraction(made["scale"]) ** 2 / 8 <= rho
    told = session.explain(f"{VISITED} SPEND EPSILON 0.3 DELTA 1e-6")
    assert "ε = 0.3, δ = 0.000001: Gumbel noise, 3 times, at most" in told


@pytest.mark.parametrize(
    ("text", "deltas"),
    [
        ("SELECT MODE(age USING GUMBEL), COUNT(*) FROM people SPEND EPSILON 1 DELTA 1e-6", ["0", "1e-6"]),
        ("SELECT MODE(age USING GUMBEL), SUM(age) FROM people SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN", ["5e-7"] * 2),
        ("SELECT MODE(age USING GUMBEL), TOP(age, 2) FROM people SPEND EPSILON 1 DELTA 1e-6", ["1e-6", "0"]),
        ("SELECT job, MODE(age USING GUMBEL) FROM people GROUP BY job SPEND EPSILON 1 DELTA 1e-6", ["5e-7"]),
    ],
)
def test_its_delta_is_shared_with_what_else_takes_one(text: str, deltas: list[str], session: Session) -> None:
    plan = session.check(text).plan
    assert plan is not None and plan.cost == Cost(Fraction(1), Fraction("1e-6"))
    assert sorted(one.delta for one in plan.measurements) == sorted(map(Fraction, deltas))


@pytest.mark.parametrize("delta", ["DELTA 0.01 DEFAULT DELTA 1e-6", ""])
def test_without_one_of_its_own_it_is_the_budgets(delta: str) -> None:
    with connect(policy=POLICY.replace("DELTA 0.01", delta), frames=frames(), analyst="ada") as opened:
        check = opened.check(f"{VISITED} SPEND EPSILON 1")
        if delta:
            assert check.plan is not None and check.plan.cost == Cost(Fraction(1), Fraction("1e-6"))
            check = opened.check(f"{VISITED} SPEND EPSILON 1 DELTA 0")
        assert [one.code for one in check.diagnostics] == ["PQL0408"]
        assert "USING GUMBEL needs a δ" in str(check.diagnostics[0])


def test_within_so_many_rows_of_the_best(session: Session) -> None:
    answer = session.run("SELECT MODE(age) AS x FROM people WITHIN 9 AT 99%")
    least = log(60 / 0.01) / 10
    assert least <= answer.cost.epsilon <= least * 1.001
    assert "at most 9" in session.explain("SELECT MODE(age) AS x FROM people WITHIN 9")
    two = session.check("SELECT TOP(ward, 2) AS x FROM (SELECT DISTINCT id, ward FROM visits) AS v WITHIN 9").epsilon
    assert log(3 / 0.05) / 10 * 2 <= two.constant <= log(3 / 0.05) / 10 * 2.002
    with pytest.raises(Exception, match="PQL0411"):
        session.run("SELECT MODE(age) AS x FROM people WITHIN 9 %")


@pytest.mark.parametrize(
    ("wanted", "code", "said"),
    [
        ("MODE(job) FROM people", "PQL0402", "WHERE job IN (…)"),
        ("MODE(weight) FROM people", "PQL0402", "no finite list"),
        ("MODE(far) FROM people WHERE far BETWEEN 0 AND 1000000000", "PQL0404", "WIDTH_BUCKET"),
        ("age, MODE(far) FROM people WHERE far BETWEEN 0 AND 99999 GROUP BY age", "PQL0404", "12200000 counts"),
        ("job, MODE(far) FROM people WHERE far BETWEEN 0 AND 1000 GROUP BY job", "PQL0404", "1000 groups that may be"),
        ("MODE(DISTINCT age) FROM people", "PQL0305", "each occurs once"),
        ("MODE(age ORDER BY age) FROM people", "PQL0305", "order of rows"),
        ("TOP(age, 2) WITHIN GROUP (ORDER BY age) FROM people", "PQL0305", "order of rows"),
        ("MODE(age, sex) FROM people", "PQL0303", "one argument"),
        ("MODE(age) WITHIN GROUP (ORDER BY age) FROM people", "PQL0303", "one argument"),
        ("MODE(*) FROM people", "PQL0303", "one argument"),
        ("MODE(id) FROM people", "PQL0405", "person"),
        ("MODE(age BOUNDS AUTO) FROM people", "PQL0408", "needs no bounds"),
        (
            "MODE(age USING LAPLACE) FROM people",
            "PQL0408",
            "PERMUTE_AND_FLIP, NOISY_MAX, EXPONENTIAL, GUMBEL, HISTOGRAM",
        ),
        ("TOP(age, 2 USING GUMBEL WITHIN 9) FROM people", "PQL0411", "depends on δ"),
        ("COUNT(age USING NOISY_MAX) FROM people", "PQL0408", "USING inside `COUNT`"),
        ("HISTOGRAM(age, 3 USING GUMBEL) FROM people", "PQL0408", "USING inside `HISTOGRAM`"),
        ("QUANTILE(age, [0.2, 0.5] USING LAPLACE) FROM people", "PQL0408", "USING inside `QUANTILE`"),
        ("TOP(age, 2 SPEND EPSILON 1 DELTA 1e-9 USING GUMBEL) FROM people", "PQL0408", "DELTA inside `TOP`"),
        ("COUNT(age SPEND EPSILON 1 DELTA 1e-9) FROM people", "PQL0408", "DELTA inside `COUNT`"),
        ("MODE(age) FROM people WHERE age > 200", "PQL0302", "of no value"),
        ("sex, MODE(age) FROM people GROUP BY ROLLUP (sex)", "PQL0408", "ROLLUP"),
        ("TOP(age) FROM people", "PQL0303", "TOP(x, 3)"),
        ("TOP(sex, 3) FROM people", "PQL0302", "3 of 2 values"),
        ("TOP(age, 0) FROM people", "PQL0302", "1 to 1000"),
        ("TOP(age, 1.5) FROM people", "PQL0308", "whole number"),
        ("TOP(age, far) FROM people", "PQL0308", "whole number"),
        ("TOP(age, 2) + 1 FROM people", "PQL0305", "several rows"),
        ("TOP(ward, 2) FROM wards", "PQL0408", "ORDER BY COUNT(*) DESC"),
    ],
)
def test_what_is_refused_says_what_to_do(wanted: str, code: str, said: str, session: Session) -> None:
    found = session.check(f"SELECT {wanted} SPEND EPSILON 1").diagnostics
    assert [one.code for one in found if one.severity == "error"] == [code]
    assert said in str(found[0])
