"""What an analyst is told of a budget that renews: what is left of the window, and what all windows come to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pandas as pd
import pytest

import privql
from privql.diagnostics import PrivQLError
from tests.ledger.told_time import START, Clock

POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120);
CREATE BUDGET research FOR UNIT patient EPSILON 3 EVERY 30 DAYS;
"""


@pytest.fixture
def session(clock: Clock) -> privql.Session:
    rows: Any = pd.DataFrame({"patient_id": ["a", "b"], "age": [30, 40]})
    return privql.connect(policy=POLICY, analyst="alice", frames={"patients": rows})


def test_a_window_and_all_of_them(clock: Clock, session: privql.Session) -> None:
    for month in range(3):
        clock.at = START + timedelta(days=30 * month)
        session.run(f"SELECT COUNT(*) FROM patients WHERE age > {month} SPEND EPSILON 3")
    clock.at += timedelta(days=1)
    assert str(session.budget()).splitlines() == [
        "research (patient)",
        "  left to you: ε = 0",
        "  more like your last query: 0",
        "  spent by you: ε = 3",
        "  the budget: ε = 3 in this window (until 2026-04-01 08:00 UTC)",
        "  spent by everyone: ε = 3",
        "  in all: since 2026-01-01: ε = 9 in 3 windows",
    ]
    (told,) = session.budget().to_json()["budgets"]
    assert told["window"] == {"number": 3, "until": "2026-04-01T08:00:00+00:00"}
    assert told["in_all"] == {"since": "2026-01-01T08:00:00+00:00", "spent": "9", "delta_spent": "0"}
    assert session.run("SHOW BUDGET").rows[-1][-2:] == ("in all", "since 2026-01-01: ε = 9 in 3 windows")


def test_who_has_spent_all_is_told_when_there_is_more(clock: Clock, session: privql.Session) -> None:
    session.run("SELECT COUNT(*) FROM patients SPEND EPSILON 3")
    with pytest.raises(PrivQLError, match="wait until 2026-01-31 08:00 UTC, when `research` renews"):
        session.run("SELECT AVG(age) FROM patients SPEND EPSILON 0.1")
    clock.at += timedelta(days=30)
    session.run("SELECT AVG(age) FROM patients SPEND EPSILON 0.1")


def test_a_budget_that_does_not_renew_says_nothing_of_windows() -> None:
    session = privql.connect(policy=POLICY.replace(" EVERY 30 DAYS", ""), analyst="alice")
    assert "window" not in str(session.budget()) and "window" not in session.budget().to_json()["budgets"][0]
    assert "since" not in str(session.run("SHOW BUDGET"))
