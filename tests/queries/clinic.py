"""A clinic in frames: patients, their visits and the samples taken there, beside public regions and drugs.

Much is NULL, and all is as declared: nothing is cut off, so that plain SQL over the same rows is the truth.
"""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pandas as pd

POLICY = """
CREATE UNIT patient;
CREATE PUBLIC TABLE regions (code TEXT KEY, name TEXT, population INT, coastal BOOL);
CREATE PUBLIC TABLE drugs (drug TEXT KEY, family TEXT, price DECIMAL(6,2) BETWEEN 0 AND 100);
CREATE PRIVATE TABLE patients (
  patient_id TEXT UNIT patient KEY,
  age INT BETWEEN 0 AND 120,
  sex TEXT IN ('F', 'M', 'X') NOT NULL,
  region TEXT REFERENCES regions(code),
  smoker BOOL,
  cost DECIMAL(10,2) BETWEEN 0 AND 20000,
  job TEXT,
  admitted DATE BETWEEN DATE '2024-01-01' AND DATE '2025-12-31',
  "größe" INT BETWEEN 50 AND 250,
  "Body Mass" INT BETWEEN 10 AND 60
);
CREATE PRIVATE TABLE visits (
  visit_id INT KEY,
  patient_id TEXT UNIT patient,
  ward TEXT IN ('a', 'b', 'c') NOT NULL,
  minutes INT BETWEEN 0 AND 600,
  day DATE BETWEEN DATE '2024-01-01' AND DATE '2025-12-31'
) AT MOST 15 ROWS PER UNIT;
CREATE PRIVATE TABLE samples (
  visit_id INT REFERENCES visits(visit_id),
  drug TEXT REFERENCES drugs(drug),
  level DECIMAL(6,2) BETWEEN 0 AND 50
) UNIT patient VIA visit_id AT MOST 25 ROWS PER UNIT;
CREATE BUDGET research FOR UNIT patient EPSILON 1048576 DELTA 1e-3;
GRANT research TO alice;
"""

_dice = random.Random(20260801)
_day = datetime.date(2024, 1, 1)
_PEOPLE, _VISITS = range(400), range(1500)


def _or_null(value: Any, nulls: float = 0.1) -> Any:
    return None if _dice.random() < nulls else value


def _days() -> datetime.date:
    return _day + datetime.timedelta(days=_dice.randrange(731))


def _cents(most: int) -> Decimal:
    return Decimal(_dice.randrange(most * 100)) / 100


FRAMES = {
    "regions": pd.DataFrame(
        {
            "code": ["N", "S", "E", "W", "Z"],
            "name": ["North", "South", "East", "West", "Nowhere"],
            "population": [100, 250, 300, 170, 0],
            "coastal": pd.array([True, False, None, True, False], dtype="boolean"),
        }
    ),
    "drugs": pd.DataFrame(
        {
            "drug": ["aspirin", "codeine", "insulin", "placebo"],
            "family": ["pain", "pain", "hormone", None],
            "price": [Decimal("0.50"), Decimal("12.25"), Decimal("33.00"), Decimal("0.00")],
        }
    ),
    "patients": pd.DataFrame(
        {
            "patient_id": [f"p{at}" for at in _PEOPLE],
            "age": pd.array([_or_null(_dice.randrange(100)) for _ in _PEOPLE], dtype="Int64"),
            "sex": [_dice.choice("FFFMMX") for _ in _PEOPLE],
            "region": [_or_null(_dice.choice("NNNNSSSEEW")) for _ in _PEOPLE],
            "smoker": pd.array([_or_null(_dice.random() < 0.3) for _ in _PEOPLE], dtype="boolean"),
            "cost": [_or_null(_cents(20000)) for _ in _PEOPLE],
            "job": [_or_null(_dice.choice(["nurse", "nurse", "cook", "clerk", "clerk", "clerk"])) for _ in _PEOPLE],
            "admitted": [_or_null(_days()) for _ in _PEOPLE],
            "größe": [_dice.randrange(120, 210) for _ in _PEOPLE],
            "Body Mass": pd.array([_or_null(_dice.randrange(15, 50)) for _ in _PEOPLE], dtype="Int64"),
        }
    ),
    "visits": pd.DataFrame(
        {
            "visit_id": list(_VISITS),
            "patient_id": [f"p{_dice.randrange(360)}" for _ in _VISITS],  # some never come
            "ward": [_dice.choice("aaabbc") for _ in _VISITS],
            "minutes": pd.array([_or_null(_dice.randrange(600)) for _ in _VISITS], dtype="Int64"),
            "day": [_or_null(_days()) for _ in _VISITS],
        }
    ),
    "samples": pd.DataFrame(
        {
            "visit_id": [_dice.choice(_VISITS) for _ in range(2000)],
            "drug": [_or_null(_dice.choice(["aspirin", "aspirin", "codeine", "insulin"])) for _ in range(2000)],
            "level": [_or_null(_cents(50)) for _ in range(2000)],
        }
    ),
}
