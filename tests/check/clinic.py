"""A small clinic, all of it in frames: two public tables to compare with plain SQL, and private ones to be refused."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pandas as pd

import privql
from privql.session import Session

POLICY = """
CREATE UNIT patient;
CREATE UNIT member NEIGHBOURS CHANGE ONE;
CREATE PUBLIC TABLE regions (code TEXT KEY, name TEXT, population INT, area DECIMAL(8,2), founded DATE, open BOOL);
CREATE PUBLIC TABLE stations (id INT KEY, code TEXT, height FLOAT, staff INT, checked TIMESTAMP, "Long Name" TEXT);
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY,
  age INT BETWEEN 0 AND 120,
  sex TEXT IN ('F', 'M', 'X'),
  region TEXT REFERENCES regions(code),
  smoker BOOL,
  cost DECIMAL(10,2) BETWEEN 0 AND 20000,
  weight FLOAT BETWEEN 0 AND 300,
  income INT,
  town TEXT,
  admitted DATE BETWEEN DATE '2024-01-01' AND DATE '2025-12-31',
  seen TIMESTAMP BETWEEN TIMESTAMP '2024-01-01 00:00:00' AND TIMESTAMP '2024-01-02 00:00:00',
  "größe" INT BETWEEN 50 AND 250,
  note TEXT HIDDEN
);
CREATE PRIVATE TABLE visits (visit_id INT KEY, patient_id TEXT UNIT patient, ward TEXT IN ('a', 'b'),
  minutes INT BETWEEN 0 AND 600) AT MOST 20 ROWS PER UNIT;
CREATE PRIVATE TABLE calls (patient_id TEXT UNIT patient, minutes INT BETWEEN 0 AND 60);
CREATE PRIVATE TABLE members (member_id TEXT UNIT member KEY, age INT BETWEEN 0 AND 120);
CREATE VIEW adults AS SELECT * FROM patients WHERE age >= 18;
CREATE VIEW tall AS SELECT code, MAX(height) AS top FROM stations GROUP BY code;
CREATE BUDGET research FOR UNIT patient EPSILON 1000;
CREATE BUDGET club FOR UNIT member EPSILON 1000;
GRANT research TO alice;
GRANT club TO alice;
"""

REGIONS = pd.DataFrame(
    {
        "code": ["N", "S", "E", "W", "Z"],
        "name": ["North", "South", "East", "West", None],
        "population": pd.array([100, 250, 250, None, 70], dtype="Int64"),
        "area": [Decimal("10.50"), Decimal("20.25"), None, Decimal("7.00"), Decimal("0.75")],
        "founded": [datetime.date(1900, 5, 17), datetime.date(1950, 2, 28), None, datetime.date(2000, 2, 29), None],
        "open": pd.array([True, False, None, True, True], dtype="boolean"),
    }
)
STATIONS = pd.DataFrame(
    {
        "id": [1, 2, 3, 4, 5, 6, 7],
        "code": ["N", "N", "S", "E", "E", None, "Q"],
        "height": [1.5, 2.25, None, -4.0, 8.0, 0.5, 1.5],
        "staff": pd.array([3, 5, 2, None, 7, 7, 0], dtype="Int64"),
        "checked": pd.to_datetime(
            [
                "2024-01-31T23:30",
                "2024-02-29T00:00",
                "2024-03-01T08:00",
                None,
                "2023-12-31T00:00",
                "2024-02-29T00:00",
                "2024-06-15T00:00",
            ]
        ),
        "Long Name": ["Ash", "Oak", "Elm", "Yew", "Fir", "Bay", ""],
    }
)
_AT = range(40)
PATIENTS = pd.DataFrame(
    {
        "patient_id": [f"p{at}" for at in _AT],
        "age": [(at * 37) % 101 for at in _AT],
        "sex": ["FMX"[at % 3] for at in _AT],
        "region": ["NSEWZ"[at % 5] for at in _AT],
        "smoker": pd.array([None if at % 7 == 0 else at % 2 == 0 for at in _AT], dtype="boolean"),
        "cost": [Decimal(at * 100).quantize(Decimal("0.01")) for at in _AT],
        "weight": [40.0 + at for at in _AT],
        "income": [at * 1000 for at in _AT],
        "town": ["Ash"] * 40,
        "admitted": [datetime.date(2024, 1, 1) + datetime.timedelta(days=at * 17) for at in _AT],
        "seen": pd.to_datetime(["2024-01-01 12:00:00"] * 40),
        "größe": [150 + at for at in _AT],
        "note": ["private"] * 40,
    }
)
VISITS = pd.DataFrame(
    {
        "visit_id": list(range(80)),
        "patient_id": [f"p{at // 2}" for at in range(80)],
        "ward": ["ab"[at % 2] for at in range(80)],
        "minutes": list(range(80)),
    }
)
FRAMES = {
    "regions": REGIONS,
    "stations": STATIONS,
    "patients": PATIENTS,
    "visits": VISITS,
    "calls": VISITS[["patient_id", "minutes"]].head(5),
    "members": pd.DataFrame({"member_id": ["m1", "m2"], "age": [20, 30]}),
}


def clinic(policy: str = POLICY, analyst: str = "alice") -> Session:
    return privql.connect(policy=policy, frames=FRAMES, analyst=analyst)
