"""WITHIN with Gaussian noise: the promise is kept, and hardly anything less would keep it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pandas as pd
import pytest

from privql.kernel.gaussian import greatest_mu, root_above
from privql.kernel.noises import halfwidth
from privql.plan.program import Plan
from privql.session import Session, connect

POLICY = """CREATE UNIT person; CREATE UNIT stranger;
CREATE PRIVATE TABLE people (id INT UNIT person KEY, sex TEXT IN ('f', 'm') NOT NULL,
  age INT BETWEEN 0 AND 100 NOT NULL, job TEXT, low INT BETWEEN 0 AND 50 NOT NULL);
CREATE PRIVATE TABLE visits (id INT UNIT person, ward INT BETWEEN 1 AND 30 NOT NULL) AT MOST 40 ROWS PER UNIT;
CREATE PRIVATE TABLE calls (id INT UNIT stranger KEY, age INT BETWEEN 0 AND 100);
CREATE BUDGET b FOR UNIT person EPSILON 100000 DELTA 0.5;
CREATE BUDGET s FOR UNIT stranger EPSILON 1000;"""
WARDS = "SELECT ward, COUNT(DISTINCT id) AS n FROM visits GROUP BY ward AT MOST 16 GROUPS PER UNIT"
SURE = Fraction(95, 100)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    people = {"id": range(200), "sex": "f", "age": 30, "job": "cook", "low": 0}
    frames = {
        "people": pd.DataFrame(people),
        "visits": pd.DataFrame({"id": range(200), "ward": 1}),
        "calls": pd.DataFrame({"id": range(9), "age": 1}),
    }
    with connect(policy=POLICY, frames=frames, analyst="ada") as opened:
        yield opened


def planned(session: Session, text: str) -> Plan:
    check = session.check(text)
    assert check.ok and check.plan is not None, str(check)
    return check.plan


@pytest.mark.parametrize(
    ("text", "widths"),
    [
        ("SELECT COUNT(*) FROM people WITHIN 7", [7]),
        ("SELECT COUNT(*) FROM people WITHIN 1/2 AT 99.9%", [Fraction(1, 2)]),
        ("SELECT sex, COUNT(*), SUM(age), SUM(low) FROM people GROUP BY sex WITHIN 500", [500, 500, 500]),
        ("SELECT SUM(age), SUM(age + 1), SUM(age * 2) FROM people WITHIN 300 AT 80%", [300, 300, 300]),
        ("SELECT COUNT(* WITHIN 10), SUM(age WITHIN 900 AT 99%) FROM people", [10, 900]),
        ("SELECT SUM(age WITHIN 1000), COUNT(*) FROM people WITHIN 20", [1000, 20]),
        ("SELECT COUNT(*), SUM(age) FROM people WITHIN 1000000", [10**6, 10**6]),
        (f"{WARDS} WITHIN 20", [20]),
    ],
)
def test_each_is_within_what_was_asked_and_less_would_not_do(
    session: Session, text: str, widths: list[Fraction]
) -> None:
    plan = planned(session, f"{text} SPEND DELTA 1e-6 USING GAUSSIAN")
    assert plan.delta == Fraction(1, 10**6)
    (block,) = plan.blocks
    sure = {"99.9%": Fraction(999, 1000), "80%": Fraction(4, 5)}.get(text.split()[-1], SURE)
    sures = [Fraction(99, 100) if "99%" in one.text else sure for one in block.block.aggregates]
    for at, (width, each) in enumerate(zip(widths, sures, strict=True)):
        found = block.halfwidth(at, each)
        assert found is not None and found <= width
    # of the deviations that a thousandth less of ε would buy, one is too great
    epsilon = plan.epsilon.constant
    less = greatest_mu(epsilon * Fraction(998, 1000), plan.delta) / greatest_mu(epsilon, plan.delta)
    assert any(
        halfwidth("gaussian", one.scale / less, each) * one.grid > width
        for one, width, each in zip(plan.measurements, widths, sures, strict=False)
        if one.scale is not None
    )


def test_two_that_are_read_off_one_measurement_are_both_within(session: Session) -> None:
    plan = planned(
        session, "SELECT AVG(age), SUM(age), COUNT(*) FROM people WITHIN 60 GIVEN COUNT >= 100 USING GAUSSIAN"
    )
    for at in (1, 2):
        found = plan.blocks[0].halfwidth(at, SURE)
        assert found is not None and found <= 60


def test_squares_are_added_up_not_prices(session: Session) -> None:
    """Four alike take twice the μ of one, not four times its ε."""

    def mu(count: int) -> float:
        sums = ", ".join(f"SUM(age * {100 + at} // 100)" for at in range(count))
        plan = planned(session, f"SELECT {sums} FROM people WITHIN 900 SPEND DELTA 1e-6 USING GAUSSIAN")
        return float(greatest_mu(plan.epsilon.constant, plan.delta))

    assert mu(4) == pytest.approx(2 * mu(1), rel=0.05)
    assert mu(16) == pytest.approx(4 * mu(1), rel=0.2)


def test_auto_takes_the_lesser_epsilon(session: Session) -> None:
    for text in (WARDS, "SELECT COUNT(*) FROM people", "SELECT SUM(age), SUM(low) FROM people"):
        for end in ("WITHIN 40", "WITHIN 300 AT 99.9%"):
            prices = {
                using: planned(session, f"{text} {end} SPEND DELTA 1e-6 USING {using}")
                for using in ("AUTO", "LAPLACE", "GAUSSIAN")
            }
            costs = {using: plan.epsilon.constant for using, plan in prices.items()}
            assert costs["AUTO"] == min(costs.values())
            assert bool(prices["AUTO"].delta) == (costs["GAUSSIAN"] < costs["LAPLACE"])
    both = planned(
        session,
        "SELECT (SELECT COUNT(*) FROM people), COUNT(DISTINCT id), ward FROM visits GROUP BY ward"
        " AT MOST 16 GROUPS PER UNIT WITHIN 20 SPEND DELTA 1e-6 USING AUTO",
    )
    assert {one.noise for one in both.measurements} == {"gaussian", "laplace"} and both.delta == Fraction(1, 10**6)
    calls = planned(session, "SELECT COUNT(*) FROM calls WITHIN 20 USING AUTO")
    assert calls.delta == 0 and calls.measurements[0].noise == "laplace"


REFUSED = [
    ("SELECT COUNT(*) FROM calls WITHIN 10 USING GAUSSIAN", "PQL0408", "needs a δ"),
    ("SELECT COUNT(* WITHIN 10), SUM(age) FROM people SPEND EPSILON 1 USING GAUSSIAN", "PQL0411", "all numbers"),
    ("SELECT COUNT(* SPEND EPSILON 1), SUM(age) FROM people WITHIN 10 USING GAUSSIAN", "PQL0411", "all numbers"),
    ("SELECT AVG(age) FROM people WITHIN 10 USING GAUSSIAN", "PQL0411", "GIVEN COUNT"),
    ("SELECT CORR(age, low) FROM people WITHIN 10 GIVEN COUNT >= 100 USING GAUSSIAN", "PQL0411", "spread"),
    ("SELECT COUNT(*) FROM people WITHIN 10 % USING GAUSSIAN", "PQL0411", "percentage"),
    ("SELECT COUNT(*) FROM people WITHIN 1 MAX EPSILON 0.1 USING GAUSSIAN", "PQL0506", "MAX EPSILON"),
    ("SELECT COUNT(* WITHIN 1 MAX EPSILON 0.1) FROM people SPEND EPSILON 90 USING GAUSSIAN", "PQL0506", "MAX EPSILON"),
]


@pytest.mark.parametrize(("text", "code", "word"), REFUSED)
def test_what_is_refused(session: Session, text: str, code: str, word: str) -> None:
    (found,) = session.check(text).diagnostics
    assert found.code == code and word in str(found)


def test_a_promise_of_some_is_kept_by_laplace(session: Session) -> None:
    plan = planned(session, "SELECT COUNT(* WITHIN 10), SUM(age) FROM people SPEND EPSILON 1 DELTA 1e-6 USING AUTO")
    assert {one.noise for one in plan.measurements} == {"laplace"} and not plan.delta


def test_ten_thousand_answers_are_as_near_as_promised(session: Session) -> None:
    """Of counts of nobody. More than 6% too far, or fewer than 3%, happen less than once in 10^5 times."""
    keys = ", ".join(map(str, range(1000, 3500)))
    text = f"SELECT age + 100 * LENGTH(sex) AS k, COUNT(*) AS n FROM people GROUP BY k KEYS ({keys})"
    far = [
        isinstance(n, int) and abs(n) > 40
        for run in range(4)
        for _, n in session.run(f"{text} WITHIN 40 SPEND DELTA 1e-{run + 5} USING GAUSSIAN").rows
    ]
    assert len(far) == 10_000 and 0.03 < sum(far) / len(far) < 0.06


@pytest.mark.parametrize(
    ("aggregate", "true", "error"), [("AVG(low)", 0.0, 1.0), ("VAR_POP(low)", 0.0, 60.0), ("STDDEV(low)", 0.0, 8.0)]
)
def test_means_and_variances_are_as_near_as_promised(
    session: Session, aggregate: str, true: float, error: float
) -> None:
    runs, far = 60, 0
    for run in range(runs):
        asked = f"SELECT {aggregate} AS x FROM people WHERE low < {run + 51} WITHIN {error} AT 80% GIVEN COUNT >= 200"
        (answer,) = session.run(f"{asked} SPEND DELTA 1e-6 USING GAUSSIAN").rows[0]
        far += not isinstance(answer, float) or abs(answer - true) > error
    assert far <= 0.2 * runs + 4 * (0.16 * runs) ** 0.5


def test_groups_are_found_with_as_much_again(session: Session) -> None:
    plan = planned(session, "SELECT job, SUM(age) FROM people GROUP BY job WITHIN 300 SPEND DELTA 1e-6 USING GAUSSIAN")
    assert plan.delta == Fraction(1, 10**6) and plan.selections[0].delta == plan.delta / 2
    (one,) = plan.measurements
    assert one.epsilon == plan.selections[0].epsilon and one.halfwidth(SURE) == 300
    assert one.scale == root_above(one.sensitivity.l2_squared / greatest_mu(one.epsilon.constant, one.delta) ** 2)
