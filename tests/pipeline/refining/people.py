"""What is refined in these tests: counts and means of people, their visits, and guests."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from privql.diagnostics import PrivQLError
from privql.finish.result import Release
from privql.session import Session, apply

POLICY = """CREATE UNIT person; CREATE UNIT guest;
CREATE PRIVATE TABLE people (id INT UNIT person KEY, sex TEXT IN ('f', 'm') NOT NULL,
  age INT BETWEEN 0 AND 100 NOT NULL, job TEXT, low INT BETWEEN -50 AND 50 NOT NULL);
CREATE PRIVATE TABLE visits (id INT UNIT person, ward INT BETWEEN 1 AND 30 NOT NULL) AT MOST 40 ROWS PER UNIT;
CREATE PRIVATE TABLE guests (id INT UNIT guest KEY, age INT BETWEEN 0 AND 100 NOT NULL);
CREATE BUDGET b FOR UNIT person EPSILON 100000 DELTA 0.5;
CREATE BUDGET g FOR UNIT guest EPSILON 100000 DELTA 0.5;
GRANT b TO ada, bob; GRANT g TO ada, bob, eve;"""
FRAMES = {
    "people": pd.DataFrame(
        {"id": range(400), "sex": ["f", "m"] * 200, "age": [30] * 400, "job": ["cook"] * 400, "low": [-3] * 400}
    ),
    "visits": pd.DataFrame([(person, 1 + person % 30) for person in range(400)], columns=["id", "ward"]),
    "guests": pd.DataFrame({"id": range(50), "age": [40] * 50}),
}
END = "SPEND EPSILON 0.2 DELTA 1e-6 USING GAUSSIAN"
COUNTS = f"SELECT sex, COUNT(*) AS n FROM people GROUP BY sex {END}"
SURE = Fraction(95, 100)


def stored(folder: Path) -> Path:
    """The same in files, with a ledger."""
    policy = POLICY
    for name, frame in FRAMES.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    for name, columns in (("people", "low INT BETWEEN -50 AND 50 NOT NULL)"), ("guests", "100 NOT NULL)")):
        at = policy.index(columns, policy.index(f"TABLE {name}")) + len(columns)
        policy = policy[:at] + f" FROM '{name}.csv'" + policy[at:]
    policy = policy.replace("AT MOST 40 ROWS PER UNIT;", "AT MOST 40 ROWS PER UNIT FROM 'visits.csv';")
    (folder / "policy.pql").write_text(policy)
    apply(folder / "policy.pql", folder / "ledger.db")
    return folder / "ledger.db"


def refused(session: Session, text: str) -> str:
    with pytest.raises(PrivQLError) as caught:
        session.run(text)
    return str(caught.value)


def spent(session: Session) -> Fraction:
    return sum((one.spent.epsilon for one in session.budget().budgets), Fraction(0))


def mu_squared(answer: Release) -> Fraction:
    return sum((Fraction(one["mu_squared"]) for one in answer.certificate["measurements"]), Fraction(0))


def halves(answer: Release, column: str) -> list[float]:
    at = [one.name for one in answer.columns].index(column)
    return [row[at] for row in answer.to_json()["halfwidth95"]]
