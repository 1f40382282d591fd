"""People with jobs that no policy lists: cooks, nurses, those without one, and a king."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd

from privql.session import Session, connect

POLICY = """CREATE UNIT person;
CREATE PRIVATE TABLE people (
  id INT UNIT person KEY, job TEXT, sex TEXT IN ('f', 'm') NOT NULL, age INT BETWEEN 0 AND 100, born DATE,
  paid DECIMAL(8,2), weight FLOAT, seen TIMESTAMP, well BOOL, note TEXT HIDDEN);
CREATE PRIVATE TABLE visits (id INT UNIT person, ward TEXT, minutes INT BETWEEN 0 AND 60) AT MOST 4 ROWS PER UNIT;
CREATE BUDGET b FOR UNIT person EPSILON 1000 DELTA 0.01;"""
COUNT = "SELECT job, COUNT(*) AS n FROM people GROUP BY job"


def people(count: int = 900) -> pd.DataFrame:
    """Three jobs of 300, one of them NULL, and a king."""
    jobs: list[str | None] = ["cook", "nurse", None]
    return pd.DataFrame(
        {
            "id": range(count + 1),
            "job": [*(jobs[at % 3] for at in range(count)), "king"],
            "sex": [*("fm"[at % 2] for at in range(count)), "m"],
            "age": [at % 100 for at in range(count + 1)],
            "born": pd.to_datetime([f"2000-01-0{at % 2 + 1}" for at in range(count + 1)]),
            "paid": [f"{at % 2}.50" for at in range(count + 1)],
            "weight": [(-0.0, 0.0, 70.5)[at % 3] for at in range(count + 1)],
            "seen": pd.to_datetime([f"2024-01-01 00:00:0{at % 2}.000001" for at in range(count + 1)]),
            "well": [at % 2 == 0 for at in range(count + 1)],
            "note": ["secret"] * (count + 1),
        }
    )


def visits() -> pd.DataFrame:
    rows = [(person, ward) for person in range(200) for ward in ("a", "b", "a", "c", "d", "e")]
    return pd.DataFrame({"id": [r[0] for r in rows], "ward": [r[1] for r in rows], "minutes": 30})


def asked() -> Session:
    return connect(policy=POLICY, frames={"people": people(), "visits": visits()}, analyst="ada")


def spent(session: Session) -> tuple[Fraction, Fraction]:
    (one,) = session.budget().budgets
    return one.spent.epsilon, one.spent.delta
