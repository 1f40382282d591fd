"""BOUNDS AUTO: bounds are found first, in a step of their own, and what is measured then is measured within them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pytest

import privql.release as room
from privql.diagnostics import PrivQLError
from privql.finish.result import Release
from privql.kernel.events import cost_of
from privql.kernel.sums import Hats
from privql.ledger import Ledger
from privql.session import Session, apply, connect
from tests.pipeline.killed import killed_at

POLICY = """CREATE UNIT person;
CREATE UNIT member NEIGHBOURS CHANGE ONE;
CREATE PRIVATE TABLE people (
  id INT UNIT person KEY, sex TEXT IN ('f', 'm') NOT NULL, job TEXT, pay INT, age INT BETWEEN 0 AND 1000,
  debt DECIMAL(12,2), weight FLOAT);
CREATE PRIVATE TABLE visits (id INT UNIT person, minutes INT, cost FLOAT) AT MOST 4 ROWS PER UNIT;
CREATE PRIVATE TABLE members (id INT UNIT member KEY, dues INT);
CREATE BUDGET b FOR UNIT person EPSILON 10000 DELTA 0.01;
CREATE BUDGET c FOR UNIT member EPSILON 10000;"""
COUNT = 1000


def people() -> pd.DataFrame:
    """Nobody earns more than 1000, but for one."""
    return pd.DataFrame(
        {
            "id": range(COUNT),
            "sex": ["fm"[at % 2] for at in range(COUNT)],
            "job": [("cook", "nurse")[at % 2] for at in range(COUNT)],
            "pay": [10**15, *(at % 1000 + 1 for at in range(1, COUNT))],
            "age": [at % 100 for at in range(COUNT)],
            "debt": [f"{(at % 7 - 3) * 10}.50" for at in range(COUNT)],
            "weight": [(None, 0.25, 60.5, 70.5)[at % 4] for at in range(COUNT)],
        }
    )


def visits() -> pd.DataFrame:
    rows = [(person, minutes) for person in range(300) for minutes in (10, 20, 30, 5000 * (person == 7))]
    return pd.DataFrame({"id": [r[0] for r in rows], "minutes": [r[1] for r in rows], "cost": [r[1] / 8 for r in rows]})


def frames() -> dict[str, pd.DataFrame]:
    return {
        "people": people(),
        "visits": visits(),
        "members": pd.DataFrame({"id": range(500), "dues": [at % 64 for at in range(500)]}),
    }


@pytest.fixture
def session() -> Iterator[Session]:
    with connect(policy=POLICY, frames=frames(), analyst="ada") as opened:
        yield opened


def spent(session: Session, budget: int = 0) -> Fraction:
    return session.budget().budgets[budget].spent.epsilon


def found(answer: Release) -> list[list[str]]:
    return [one["found"] for one in answer.certificate["measurements"] if one["mechanism"] == "noisy_minimum"]


PAY = people()["pay"].clip(upper=1024)


@pytest.mark.parametrize(
    ("aggregate", "table", "bounds", "value", "near"),
    [
        ("SUM(pay BOUNDS AUTO)", "people", ["-1024", "1024"], int(PAY.sum()), 100),
        ("AVG(pay BOUNDS AUTO)", "people", ["-1024", "1024"], PAY.mean(), 0.1),
        ("AVG(age + 40 BOUNDS AUTO)", "people", ["40", "168"], people()["age"].mean() + 40, 0.1),
        ("AVG(LEAST(pay, 2000) BOUNDS AUTO)", "people", ["-1024", "1024"], None, 0),
        ("AVG(GREATEST(age - 20, -5) BOUNDS AUTO)", "people", ["-5", "96"], None, 0),
        ("AVG(-(age + 40) BOUNDS AUTO)", "people", ["-168", "-40"], -people()["age"].mean() - 40, 0.1),
        ("SUM(debt BOUNDS AUTO)", "people", ["-768/25", "768/25"], None, 0),
        ("SUM(weight BOUNDS AUTO) FILTER (WHERE weight < 1)", "people", ["-1/4", "1/4"], 0.25 * 250, 0.1),
        ("SUM(minutes BOUNDS AUTO)", "visits", ["-64", "64"], 299 * 60 + 64, 10),  # a person's total
        # so wide that its steps are 2: three nines are 30
        ("SUM(CLAMP(minutes, -9000000000000000000, 9) BOUNDS AUTO)", "visits", ["-32", "32"], 300 * 30, 40),
        ("AVG(minutes BOUNDS AUTO)", "visits", ["-32", "32"], None, 0),
        ("SUM(cost BOUNDS AUTO)", "visits", ["-4", "4"], None, 0),  # a FLOAT's rows
        ("SUM(dues BOUNDS AUTO)", "members", ["-64", "64"], sum(at % 64 for at in range(500)), 10),
        ("SUM(ABS(weight) BOUNDS AUTO)", "people", ["0", "96"], 131.25 * 250, 10),
        ("SUM(ABS(dues) BOUNDS AUTO)", "members", ["0", "64"], sum(at % 64 for at in range(500)), 10),
    ],
)
def test_bounds_are_found_and_kept(
    session: Session, aggregate: str, table: str, bounds: list[str], value: float | None, near: float
) -> None:
    """So much is spent that noise does not decide: a doubling is made while more than a unit or two gain by it."""
    answers = [session.run(f"SELECT {aggregate} AS x{at} FROM {table} SPEND EPSILON 100") for at in range(5)]
    assert [found(answer) for answer in answers] == [[bounds]] * 5
    if value is not None:  # one in some hundred is farther off
        assert abs(median(answer.rows[0][0] for answer in answers) - value) <= near
    assert {answer.cost.epsilon for answer in answers} == {100}
    assert spent(session, int(table == "members")) == 500
    assert all("bounds of " in str(answer) and "was brought into [" in str(answer) for answer in answers)


@pytest.mark.parametrize(
    ("aggregate", "table", "value", "near", "far"),
    [
        ("SUM(ABS(pay) BOUNDS AUTO)", "people", int(PAY[1:].sum()), 300, "1024"),
        ("SUM(-ABS(pay) BOUNDS AUTO)", "people", -int(PAY[1:].sum()), 300, "-1024"),
        ("SUM(age BOUNDS AUTO)", "people", int(people()["age"].sum()), 30, "128"),
        ("SUM(ABS(debt) BOUNDS AUTO)", "people", None, 0, "40.96"),
        ("SUM(GREATEST(minutes, 0) BOUNDS AUTO)", "visits", 299 * 60 + 5060, 1000, "8192"),  # a person's total
        ("SUM(DISTINCT age BOUNDS AUTO)", "people", 4950, 30, "128"),
    ],
)
def test_on_one_side_of_0_a_sum_is_measured_at_knots(
    session: Session, aggregate: str, table: str, value: int | None, near: int, far: str
) -> None:
    """All is spent on one measurement, and nothing is looked for before it. Of one that is far out nothing is left."""
    answer = session.run(f"SELECT {aggregate} AS x FROM {table} SPEND EPSILON 100")
    assert found(answer) == []
    (one,) = answer.certificate["measurements"]
    assert (one["release"], one["epsilon"], one["l1"], one["scale"]) == ("cells_at_knots", "100", "1", "1/100")
    if value is not None:
        assert abs(answer.rows[0][0] - value) <= near
    assert f"what is beyond {far} is told from what is nearer" in str(answer)
    (half,) = answer.to_json()["halfwidth95"][0]
    assert 0 < half < 10_000
    again = session.run(f"SELECT {aggregate} AS x FROM {table} SPEND EPSILON 100")
    assert again.rows == answer.rows and f"beyond {far} is told" in str(again)


@pytest.mark.parametrize(
    ("query", "releases"),
    [
        ("SUM(ABS(pay) BOUNDS AUTO) FROM people", ["cells_at_knots"]),
        ("SUM(pay BOUNDS AUTO) FROM people", ["bounds", "sum"]),  # on both sides
        ("SUM(GREATEST(pay, -1) BOUNDS AUTO) FROM people", ["bounds", "sum"]),
        ("SUM(LEAST(pay, 1) BOUNDS AUTO) FROM people", ["bounds", "sum"]),
        ("SUM(GREATEST(pay, 0) BOUNDS AUTO) FROM people", ["cells_at_knots"]),
        ("SUM(LEAST(pay, 0) BOUNDS AUTO) FROM people", ["cells_at_knots"]),
        ("SUM(ABS(weight) BOUNDS AUTO) FROM people", ["bounds", "sum"]),  # a FLOAT
        ("SUM(ABS(dues) BOUNDS AUTO) FROM members", ["bounds", "sum"]),  # one changed
        ("AVG(age BOUNDS AUTO) FROM people", ["bounds", "two_cell_mean"]),
        ("sex, SUM(age BOUNDS AUTO) FROM people GROUP BY sex", ["bounds", "sum"]),
        ("SUM(age BOUNDS AUTO) FROM people USING GAUSSIAN", ["bounds", "sum"]),
        ("SUM(ABS(minutes) BOUNDS AUTO) FROM visits", ["cells_at_knots"]),
        ("SUM(ABS(minutes) BOUNDS AUTO), AVG(CLAMP(minutes, 0, 9)) FROM visits", ["bounds", "sum", "two_cell_mean"]),
        ("SUM(age BOUNDS AUTO), SUM(pay BOUNDS AUTO) FROM people", ["bounds", "cells_at_knots", "sum"]),
    ],
)
def test_where_bounds_are_looked_for(session: Session, query: str, releases: list[str]) -> None:
    delta = " DELTA 1e-6" if "GAUSSIAN" in query else ""
    check = session.check(f"SELECT {query} SPEND EPSILON 1{delta}")
    assert [one["release"] for one in check.to_json()["measurements"]] == releases
    assert check.cost is not None and check.cost.epsilon == 1


@pytest.mark.parametrize("reach", [1, 2, 3, 4, 5, 8, 9, 1023, 1024, 1025])
def test_the_last_knot_is_the_power_of_two_next_above(session: Session, reach: int) -> None:
    last = next(far for far in (2 << at for at in range(20)) if far >= reach)
    for value, ends in ((f"LEAST(ABS(pay), {reach})", (0, last)), (f"GREATEST(-ABS(pay), -{reach})", (-last, 0))):
        check = session.check(f"SELECT SUM({value} BOUNDS AUTO) FROM people SPEND EPSILON 1")
        (one,) = check.measurements
        assert isinstance(one.contribution, Hats)
        assert (one.contribution.steps.low, one.contribution.steps.high) == ends


def test_one_unit_far_out_does_not_make_the_noise(session: Session) -> None:
    automatic = session.check("SELECT SUM(pay BOUNDS AUTO) AS x FROM people SPEND EPSILON 1")
    assert automatic.columns[0].halfwidth95 is None  # it is known when the bounds are
    answer = session.run("SELECT SUM(pay BOUNDS AUTO) AS x FROM people SPEND EPSILON 1")
    (half,) = answer.to_json()["halfwidth95"][0]
    assert 0 < half < 10**9  # that of the one is 10^15
    assert answer.interval().shape == (1, 2)


def test_a_stored_answer_tells_its_bounds(session: Session) -> None:
    query = "SELECT SUM(pay BOUNDS AUTO) AS x FROM people SPEND EPSILON 100"
    first, again = session.run(query), session.run(query)
    assert found(first) == found(again) and first.rows == again.rows and not again.cost
    assert "[-1024, 1024]" in str(again)


def test_groups_and_bounds_are_found_in_one_step(session: Session) -> None:
    answer = session.run(
        "SELECT job, SUM(age BOUNDS AUTO) AS x, COUNT(*) AS n FROM people GROUP BY job SPEND EPSILON 400 DELTA 1e-6"
    )
    assert [row[0] for row in answer.rows] == ["cook", "nurse"] and found(answer) == [["0", "128"]]
    assert all(abs(row[1] - 25000) < 600 for row in answer.rows)
    named = session.run("SELECT sex, SUM(age BOUNDS AUTO) AS x FROM people GROUP BY ROLLUP (sex) SPEND EPSILON 100")
    assert len(named.rows) == 3 and abs(named.rows[-1][1] - 49500) < 60


def test_no_rows_are_no_difference(session: Session) -> None:
    answer = session.run("SELECT SUM(pay BOUNDS AUTO) AS x FROM people WHERE age > 2000 SPEND EPSILON 100")
    assert found(answer) == [["-1", "1"]] and abs(answer.rows[0][0]) < 3
    never = session.run("SELECT SUM(age BOUNDS AUTO) AS x FROM people WHERE age > 2000 AND age < 5 SPEND EPSILON 100")
    assert abs(never.rows[0][0]) < 3


# ---------------------------------------------------------------- what it costs


def test_three_tenths_of_its_own_epsilon_are_for_the_bounds(session: Session) -> None:
    check = session.check(
        "SELECT SUM(pay BOUNDS AUTO SPEND 0.4) AS a, AVG(pay BOUNDS AUTO SHARE 2) AS b, COUNT(*) AS n"
        " FROM people SPEND EPSILON 1"
    )
    measured = check.to_json()["measurements"]
    assert [one["release"] for one in measured] == ["bounds", "bounds", "sum", "two_cell_mean", "sum"]
    epsilon = [Fraction(one["epsilon"]) for one in measured]
    assert epsilon[0] == Fraction(3, 25) and epsilon[0] * 7 == epsilon[2] * 3 and epsilon[1] * 7 == epsilon[3] * 3
    assert sum(epsilon) == 1 == check.cost.epsilon
    assert [one["found"] for one in measured[:2]] == [None, None]
    assert [one["scale"] for one in measured[2:4]] == [None, None]  # it will follow from the bounds
    assert (measured[0]["scale"], measured[0]["l1"]) == ("25/3", "1")


def test_a_price_with_a_parameter(session: Session) -> None:
    check = session.check("SELECT SUM(pay BOUNDS AUTO) AS x FROM people SPEND EPSILON $e")
    assert check.ok and str(check.cost.epsilon) == "$e"
    assert check.to_json()["measurements"][0]["epsilon"] == "3/10*$e"
    assert found(session.run("SELECT SUM(pay BOUNDS AUTO) AS x FROM people SPEND EPSILON $e", e=100))


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT SUM(pay BOUNDS AUTO WITHIN 10) FROM people", "PQL0411"),
        ("SELECT SUM(pay BOUNDS AUTO) FROM people WITHIN 10", "PQL0411"),
        ("SELECT COUNT(* BOUNDS AUTO) FROM people SPEND EPSILON 1", "PQL0408"),
        ("SELECT COUNT(pay BOUNDS AUTO) FROM people SPEND EPSILON 1", "PQL0408"),
        ("SELECT SUM(job BOUNDS AUTO) FROM people SPEND EPSILON 1", "PQL0301"),
        ("SELECT SUM(pay) FROM people SPEND EPSILON 1", "PQL0402"),
        ("SELECT SUM(pay BOUNDS AUTO) FROM people SPEND EPSILON 20000", "PQL0502"),
    ],
)
def test_what_is_refused_before_anything_is_spent(session: Session, query: str, code: str) -> None:
    with pytest.raises(PrivQLError, match=code):
        session.run(query)
    assert spent(session) == 0


# ---------------------------------------------------------------- two steps, one charge


QUERY = "SELECT SUM(pay BOUNDS AUTO) AS x, AVG(age BOUNDS AUTO) AS y FROM people SPEND EPSILON 100"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    text = POLICY
    for table, frame in frames().items():
        frame.to_parquet(tmp_path / f"{table}.parquet")
        start = text.index(f"TABLE {table}")
        end = text.index(";", start)
        text = f"{text[:end]} FROM '{table}.parquet'{text[end:]}"
    (tmp_path / "p.sql").write_text(text)
    apply(tmp_path / "p.sql", tmp_path / "l.db")
    return tmp_path / "l.db"


def test_a_run_that_dies_between_its_steps_goes_on_where_it_was(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert killed_at(QUERY, "_noisy", ledger, monkeypatch) == ["_chosen", "_chosen"]
    with Ledger.open(ledger) as opened:
        (entry,) = opened.history()
        assert entry.state == "reserved" and opened.spent("person").epsilon == 100
    assert killed_at(QUERY, "_noisy", ledger, monkeypatch) == []
    assert killed_at(QUERY, "", ledger, monkeypatch) == ["_noisy"]
    with connect(ledger, analyst="ada") as opened:
        assert not opened.run(QUERY).cost
        assert spent(opened) == 100
    with Ledger.open(ledger) as opened:
        assert opened.verify() == ()


def test_bounds_that_were_found_stay_found(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second attempt would find others: it does not look."""
    killed_at(QUERY, "_noisy", ledger, monkeypatch)
    monkeypatch.setattr(room, "noisy_minimum", lambda scores, scale: 0)
    with connect(ledger, analyst="ada") as opened:
        assert found(opened.run(QUERY)) == [["-1024", "1024"], ["0", "128"]]


def test_each_step_is_metered_and_both_fill_the_charge(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that measures a little more than was planned, in whichever step, is stopped."""
    from privql.pipeline import run as flow

    honest = flow.release
    steps: list[Fraction] = []

    def watched(permit: Any, step: int, wanted: Any, engine: Any, kept: Any, *given: Any) -> Any:
        rows = honest(permit, step, wanted, engine, kept, *given)
        steps.append(cost_of(kept.drawn(permit)[step].spent["person"]).epsilon)
        return rows

    def more(extra: int, permit: Any, step: int, wanted: Any, *given: Any) -> Any:
        return honest(permit, step, [*wanted, wanted[0]] if step == extra else wanted, *given)

    with connect(ledger, analyst="ada") as opened:
        with monkeypatch.context() as patch:
            patch.setattr(flow, "release", watched)
            opened.run(QUERY)
        assert steps == [30, 70]
        for extra in (0, 1):
            monkeypatch.setattr(flow, "release", partial(more, extra))
            with pytest.raises(room.Unpaid):
                opened.run(QUERY.replace("EPSILON 100", f"EPSILON {101 + extra}"))
