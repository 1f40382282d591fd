"""CREATE RELEASE … EVERY DAY FOR 90 RUNS: what a run may spend, when it is taken, and what is read of all of them."""

from __future__ import annotations

import random
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError
from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events
from privql.kernel.plans import planned
from privql.ledger import Ledger, PlanEntry
from privql.pipeline.runs import greatest
from tests.ledger.told_time import START, Clock

POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120, sex TEXT IN ('F', 'M') NOT NULL, ward TEXT
);
CREATE BUDGET research FOR UNIT patient EPSILON 3 DELTA 1e-6;
"""
DAILY = "CREATE RELEASE daily AS SELECT COUNT(*) AS n FROM patients EVERY DAY FOR 3 RUNS SPEND EPSILON 1"
DAY = timedelta(days=1)


def rows(count: int = 200) -> Any:
    sexes, wards = ["F", "M"] * (count // 2), ["a"] * count
    ids = [str(number) for number in range(count)]
    return pd.DataFrame({"patient_id": ids, "age": [40] * count, "sex": sexes, "ward": wards})


@pytest.fixture
def session(clock: Clock) -> privql.Session:
    return privql.connect(policy=POLICY, analyst="alice", frames={"patients": rows()})


def at(path: Path) -> privql.Session:
    return privql.connect(path, analyst="alice", frames={"patients": rows()})


def left(session: privql.Session) -> Fraction:
    return session.budget().budgets[0].left.epsilon


# ---------------------------------------------------------------- what a run may spend


def pure(epsilon: Fraction) -> Events:
    return (Event("pure", Cost(epsilon)),)


@pytest.mark.parametrize("total", ["1", "0.37", "2/3", "20"])
@pytest.mark.parametrize("count", [1, 2, 7, 90, 400])
@pytest.mark.parametrize("delta", ["0", "1e-9", "1e-5"])
def test_a_run_spends_the_most_that_four_digits_allow(total: str, count: int, delta: str) -> None:
    whole, chance = Fraction(total), Fraction(delta)

    def together(each: Fraction) -> Fraction:
        return planned(pure(each) * count, chance).epsilon

    each = greatest(together, whole, count)
    step = Fraction(1, 10**9)
    while each / (step * 10) >= 1000:
        step *= 10
    assert (each / step).denominator == 1 and together(each) <= whole < together(each + step)
    assert each >= whole / count * Fraction(999, 1000)


def test_whatever_runs_cost_together_they_stay_within_it() -> None:
    """Of any costs that grow, smooth or not."""
    choice = random.Random(3)
    for _ in range(300):
        power, factor, jump = choice.uniform(0.4, 2.5), choice.uniform(0.5, 50), choice.choice((1, 1, 1.5))

        def together(each: Fraction) -> Fraction:
            cost = factor * float(each) ** power  # noqa: B023
            return Fraction(cost * (jump if cost > 0.7 else 1))  # noqa: B023

        each = greatest(together, Fraction(1), choice.randrange(1, 1000))
        assert together(each) <= 1 < together(each * Fraction(1002, 1000))


QUERIES = [
    "COUNT(*) AS n FROM patients",
    "COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM patients",
    "sex, MEDIAN(age) AS m, COUNT(*) AS n FROM patients GROUP BY sex",
    "ward, COUNT(*) AS n, AVG(age) AS a FROM patients GROUP BY ward",
    "MODE(sex) AS m FROM patients",
    "(SELECT COUNT(*) FROM patients WHERE age > 50) AS old, COUNT(*) AS n FROM patients",
]
TAKING = ["COUNT(*) AS n, SUM(age) AS s FROM patients", "TOP(age, 2 USING GUMBEL) AS age FROM patients"]


@pytest.mark.parametrize("runs", [1, 30])
@pytest.mark.parametrize("query", [*QUERIES, *(f"{query} USING" for query in TAKING)])
def test_all_runs_together_are_charged_no_more_than_is_said(query: str, runs: int, clock: Clock) -> None:
    gaussian = " USING GAUSSIAN" if query.endswith("USING") and "TOP" not in query else ""
    for epsilon, delta in (("1", "2e-7"), ("1/3", "1e-7"), *([("0.7", None)] if "USING" not in query else [])):
        if delta is None and "ward" in query:
            continue
        spend = f"SPEND EPSILON {epsilon}" + (f" DELTA {delta}" if delta else "") + gaussian
        made = privql.connect(policy=POLICY.replace("1e-6", "1e-5"), analyst="alice", frames={"patients": rows(20)})
        text = f"CREATE RELEASE r AS SELECT {query.removesuffix(' USING')} EVERY 2 HOURS FOR {runs} RUNS {spend}"
        checked = made.check(text)
        assert checked.ok, checked
        for hour in range(0, 2 * min(runs, 2), 2):
            clock.at = START + timedelta(hours=hour)
            made.run(text)
        (plan,) = (one for one in made._till._ledger.charged() if isinstance(one, PlanEntry))
        (loss,) = (line.loss for line in plan.charges)
        # the δ of Gaussian noise is one of its own (`gauss`) where it is not of the plan
        assert loss.epsilon <= Fraction(epsilon) and loss.cost.delta <= Fraction(delta or 0)
        assert Cost(checked.epsilon.constant, checked.delta) == loss.cost
        assert len(plan.slots) == runs and loss.epsilon >= Fraction(epsilon) * Fraction(99, 100)
        assert made._till._ledger.verify() == ()


def test_with_a_delta_each_may_spend_more(session: privql.Session) -> None:
    text = DAILY.replace("3 RUNS", "90 RUNS")
    without, with_delta = session.check(text), session.check(f"{text} DELTA 1e-7")
    assert without.again is not None and with_delta.again is not None
    assert without.again.each == Fraction("0.01111") and with_delta.again.each > 2 * without.again.each
    assert str(without).startswith("line 1: create release, ε = 0.9999 (90 runs, one every day, of ε = 0.01111 each)")
    assert without.to_json()["again"] == {"runs": 90, "hours": 24, "epsilon_of_a_run": "1111/100000"}
    assert "90 runs, one every day, of ε = 0.01111 each: charged as one plan" in session.explain(text)
    assert left(session) == 3


# ---------------------------------------------------------------- its runs


def test_runs_are_taken_when_they_are_due_and_charged_at_once(clock: Clock, session: privql.Session) -> None:
    told = []
    for hours in (0, 5, 23, 24, 30, 90, 91, 113):
        clock.at = START + timedelta(hours=hours)
        before = session.check(DAILY)
        answer = session.run(DAILY)
        assert before.epsilon.known and bool(before.epsilon) == (hours == 0)
        assert left(session) == 3 - Fraction("0.9999")
        told.append((answer.release_id, bool(answer.cost), before.free))
    first, second, third = ("r1", "r2", "r3")
    assert told == [
        (first, True, None),
        (first, False, "replay"),
        (first, False, "replay"),
        (second, True, "paid for"),
        (second, False, "replay"),
        (third, True, "paid for"),
        (third, False, "replay"),
        (third, False, "replay"),
    ]
    clock.at = START + timedelta(hours=114)
    with pytest.raises(PrivQLError, match="`daily` has ended: all of its 3 runs were taken"):
        session.run(DAILY)
    assert not session.check(DAILY).ok
    assert session._till._ledger.verify() == ()


def test_runs_are_read_by_their_names_and_together(clock: Clock, session: privql.Session) -> None:
    text = DAILY.replace("COUNT(*) AS n FROM patients", "sex, COUNT(*) AS n FROM patients GROUP BY sex")
    answers = []
    for day in range(3):
        clock.at = START + day * DAY
        answers += [(day + 1, *row) for row in session.run(text).rows]
        assert session.run("SELECT * FROM daily ORDER BY run, sex").rows == tuple(answers)
    assert session.run("SELECT sex, n FROM daily_2 ORDER BY sex").rows == tuple(row[1:] for row in answers[2:4])
    change = session.run("SELECT run, n - LAG(n) OVER (ORDER BY run) AS change FROM daily WHERE sex = 'F' ORDER BY run")
    assert [row[1] for row in change.rows] == [None, answers[2][2] - answers[0][2], answers[4][2] - answers[2][2]]
    assert change.to_json()["halfwidth95"][1][1] > 10
    shown = session.run("SHOW RELEASES").rows
    assert shown == (("daily_1", ""), ("daily_2", ""), ("daily_3", ""), ("daily", "all 3 runs were taken"))
    assert left(session) == 3 - Fraction("0.9999")


def test_a_crash_inside_a_run_and_between_runs(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    privql.apply(POLICY, tmp_path / "l")
    with at(tmp_path / "l") as session, monkeypatch.context() as broken:

        def fails(*_: object, **__: object) -> None:
            raise EngineError("failed")

        broken.setattr(DuckDBEngine, "run", fails)
        with pytest.raises(PrivQLError, match="PQL0601"):
            session.run(DAILY)
    clock.at = START + 9 * DAY
    for run, resumed in ((1, True), (2, False), (3, False)):
        with at(tmp_path / "l") as session:
            assert left(session) == 3 - Fraction("0.9999")
            assert session.check(DAILY).free == "paid for"
            assert session.run(DAILY).release_id == f"r{run}"
            entry = session._till._ledger.entry(f"r{run}")
            assert entry is not None and bool(entry.resumes) == resumed and entry.names == (f"daily_{run}",)
        clock.at += DAY
    with Ledger.open(tmp_path / "l") as made:
        assert made.verify() == () and made.spent("patient").epsilon == Fraction("0.9999")


def test_two_that_take_the_same_run_get_the_same_answer(clock: Clock, tmp_path: Path) -> None:
    privql.apply(POLICY, tmp_path / "l")
    with at(tmp_path / "l") as one, at(tmp_path / "l") as other:
        checked = one._till.check_one(privql.diagnostics.Source(DAILY), {})
        answer = other.run(DAILY)
        late = one._till.run(checked)
        assert (late.release_id, late.rows) == (answer.release_id, answer.rows)
        assert left(one) == 3 - Fraction("0.9999")


def test_new_data_is_measured_by_the_next_run(clock: Clock, tmp_path: Path) -> None:
    privql.apply(POLICY, tmp_path / "l")
    with at(tmp_path / "l") as session:
        first = session.run(DAILY)
    privql.apply(POLICY + "REFRESH patients AS '2026-01-02';", tmp_path / "l")
    with at(tmp_path / "l") as session:
        assert session.run(DAILY).rows == first.rows
        clock.at += DAY
        assert session.run(DAILY).release_id == "r2"


def test_another_policy_ends_it_in_plain_words(clock: Clock, tmp_path: Path) -> None:
    privql.apply(POLICY, tmp_path / "l")
    with at(tmp_path / "l") as session:
        session.run(DAILY)
    clock.at += DAY
    privql.apply(POLICY.replace("EPSILON 3", "EPSILON 2"), tmp_path / "l")
    with at(tmp_path / "l") as session:
        assert session.run(DAILY).release_id == "r2"
    privql.apply(POLICY.replace("0 AND 120", "0 AND 99"), tmp_path / "l", reason="it was lowered before")
    with at(tmp_path / "l") as session:
        clock.at += DAY
        with pytest.raises(PrivQLError, match="`daily` has ended, because the policy in force"):
            session.run(DAILY)
        assert session.run("SELECT COUNT(*) FROM daily").rows == ((2,),)


# ---------------------------------------------------------------- in a text


def test_in_a_text_it_is_a_plan_of_its_own(clock: Clock, session: privql.Session) -> None:
    text = f"""
        SELECT COUNT(*) FROM patients WHERE age > 30 SPEND EPSILON 0.5;
        {DAILY};
        SELECT COUNT(*) FROM patients WHERE age > 40 SPEND EPSILON 0.5;
        SELECT MAX(n) AS most FROM daily;
    """
    checked = session.check_text(text)
    assert checked.ok, checked
    assert [str(cost) for cost in checked.costs] == ["ε = 1.9999 of research (patient), 1.0001 left"]
    answers = list(session.run_text(text))
    assert [one.release_id for one in answers] == ["r1", "r2", "r3", None]
    assert left(session) == Fraction("1.0001")
    again = list(session.run_text(text))
    assert [one.rows for one in again] == [one.rows for one in answers] and left(session) == Fraction("1.0001")
    clock.at += DAY
    assert [one.release_id for one in session.run_text(text)] == ["r1", "r4", "r3", None]
    assert left(session) == Fraction("1.0001")


def test_a_budget_that_cannot_carry_all_runs_carries_none(session: privql.Session) -> None:
    text = DAILY.replace("EPSILON 1", "EPSILON 4")
    checked = session.check_text(text)
    assert [d.code for d in checked.diagnostics] == ["PQL0502"]
    with pytest.raises(PrivQLError, match="PQL0502"):
        session.run(text)
    assert left(session) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT COUNT(*) FROM patients EVERY DAY FOR 3 RUNS SPEND EPSILON 1", "only a release with a name"),
        (DAILY.replace(" SPEND EPSILON 1", ""), "nothing says what all runs together may spend"),
        (DAILY.replace("SPEND EPSILON 1", "WITHIN 20"), "nothing says what all runs together may spend"),
        (DAILY.replace("3 RUNS", "0 RUNS"), "a whole number from 1 to 10000"),
        (DAILY.replace("3 RUNS", "2.5 RUNS"), "a whole number from 1 to 10000"),
        (DAILY.replace("3 RUNS", "1e9 RUNS"), "a whole number from 1 to 10000"),
        (DAILY.replace("DAY", "6000 WEEKS"), "a hundred years apart"),
        (DAILY.replace("COUNT(*) AS n", "COUNT(*) AS run"), "`run` says which run it is"),
        (DAILY.replace("COUNT(*) AS n", "ward, COUNT(*) AS n").replace(" EVERY", " GROUP BY ward EVERY"), "needs a δ"),
        (f"BEGIN; {DAILY}; COMMIT", "a plan of its own"),
        (DAILY.replace("COUNT(*) AS n FROM patients", "1 AS n"), "nothing to measure again"),
        (DAILY.replace("COUNT(*)", "COUNT(* SPEND 0.4)"), "PQL05"),
        (DAILY.replace("EPSILON 1", "EPSILON $e"), "has no value"),
        (f"{DAILY}; SELECT COUNT(*) FROM patients WHERE age < (SELECT MAX(n) FROM daily) SPEND EPSILON 0.1", "grows"),
    ],
)
def test_what_is_refused(session: privql.Session, text: str, said: str) -> None:
    with pytest.raises(PrivQLError, match=said):
        list(session.run_text(text))
    assert left(session) == 3


def test_another_query_of_that_name_is_refused(session: privql.Session) -> None:
    session.run(DAILY)
    for other in (
        DAILY.replace("COUNT(*)", "SUM(age)"),
        DAILY.replace("EPSILON 1", "EPSILON 2"),
        f"{DAILY} DELTA 1e-9",
    ):
        assert [d.code for d in session.check(other).diagnostics] == ["PQL0208"]
        with pytest.raises(PrivQLError, match="PQL0208"):
            session.run(other)
    with pytest.raises(PrivQLError, match="PQL0208"):
        session.run("CREATE RELEASE daily_2 AS SELECT COUNT(*) FROM patients SPEND EPSILON 0.1")
    assert left(session) == 3 - Fraction("0.9999")


def test_the_price_of_a_run_is_the_one_that_was_paid(
    clock: Clock, session: privql.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever another version of the search would find."""
    session.run(DAILY)
    monkeypatch.setattr("privql.pipeline.runs.greatest", lambda *_: Fraction(1, 10))
    clock.at += DAY
    assert session.run(DAILY).release_id == "r2"


def test_parameters_are_what_they_were(session: privql.Session) -> None:
    text = DAILY.replace("patients", "patients WHERE age > $from").replace("EPSILON 1", "EPSILON $e")
    first = session.run(text, {"from": 30, "e": 1})
    assert session.run(text, {"from": 30, "e": 1}).rows == first.rows
    for params in ({"from": 31, "e": 1}, {"from": 30, "e": 2}):
        with pytest.raises(PrivQLError, match="PQL0208"):
            session.run(text, params)
