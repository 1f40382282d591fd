"""The hospital's files. Every row is drawn from a fixed seed: nobody in it exists."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import duckdb
import numpy
import pandas

SEED = 20250101
PATIENTS = 2000
VISITS_EACH = 4.0
CHECKS = 1500
FIRST_DAY, DAYS = numpy.datetime64("2024-01-01"), 731
WARDS = ("cardiology", "emergency", "general", "maternity", "oncology", "surgery")
REGIONS = (
    ("ASH", "Ashmoor", 48_200),
    ("BRK", "Brackwater", 91_750),
    ("CAR", "Carrowfield", 23_400),
    ("DUN", "Dunmere", 67_900),
    ("EAV", "Eastvale", 120_300),
    ("FEN", "Fenwold", 15_650),
    ("GRH", "Greyharbour", 184_100),
    ("HIM", "Highmarch", 35_000),
)


def write_example(folder: str | Path) -> None:
    """The policy, the report and every table that they speak of, into a folder that is made if need be."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name in ("policy.pql", "report.pql"):
        text = resources.files("privql.demo").joinpath(name).read_text(encoding="utf-8")
        (target / name).write_text(text, encoding="utf-8")
    regions = pandas.DataFrame(REGIONS, columns=["code", "name", "population"])
    regions.to_csv(target / "regions.csv", index=False)
    random = numpy.random.default_rng(SEED)
    patients = _patients(random)
    _write(patients, target / "patients.parquet", cost="DECIMAL(10,2)", admitted="DATE")
    _write(_visits(random, patients), target / "visits.parquet")
    _write(_ward_checks(random), target / "ward_checks.parquet", checked="DATE")


def _write(table: pandas.DataFrame, file: Path, **types: str) -> None:
    """A Parquet file; `types` for the columns whose type a frame does not have."""
    columns = ", ".join(f"{name}::{types[name]} AS {name}" if name in types else name for name in table.columns)
    with duckdb.connect() as connection:
        connection.register("made", table)
        connection.sql(f"SELECT {columns} FROM made").write_parquet(str(file))


def _patients(random: numpy.random.Generator) -> pandas.DataFrame:
    """Older patients cost more, smokers still more; some values are missing, as they would be."""
    age = numpy.clip(random.normal(52, 22, PATIENTS), 0, 104).astype(int)
    smoker = random.random(PATIENTS) < numpy.where(age < 16, 0.0, 0.24)
    cost = random.lognormal(6.4 + 0.016 * age + 0.35 * smoker, 0.7)
    weights = numpy.array([population for _, _, population in REGIONS], dtype=float)
    frame = pandas.DataFrame(
        {
            "patient_id": [f"P{number:05d}" for number in random.permutation(100_000)[:PATIENTS]],
            "age": age,
            "sex": random.choice(["F", "M", "X"], PATIENTS, p=[0.52, 0.465, 0.015]),
            "region": random.choice([code for code, _, _ in REGIONS], PATIENTS, p=weights / weights.sum()),
            "smoker": pandas.Series(smoker, dtype="boolean"),
            "cost": numpy.round(cost, 2),
            "admitted": _days(random, PATIENTS),
            "note": random.choice(["", "seen again in a month", "to be called", "discharged"], PATIENTS),
        }
    )
    frame.loc[random.random(PATIENTS) < 0.03, "smoker"] = pandas.NA
    frame.loc[random.random(PATIENTS) < 0.01, "cost"] = numpy.nan
    return frame


def _visits(random: numpy.random.Generator, patients: pandas.DataFrame) -> pandas.DataFrame:
    """Most patients come a few times; a few come more often than the policy lets count."""
    each = random.negative_binomial(1.2, 1.2 / (1.2 + VISITS_EACH), PATIENTS)
    owners = numpy.repeat(patients["patient_id"].to_numpy(), each)
    count = len(owners)
    minutes = numpy.minimum(random.gamma(2.0, 28.0, count).astype(int) + 5, 900)
    return pandas.DataFrame(
        {
            "visit_id": numpy.arange(1, count + 1),
            "patient_id": random.permutation(owners),
            "ward": random.choice(WARDS, count, p=[0.16, 0.27, 0.29, 0.09, 0.07, 0.12]),
            "minutes": minutes,
        }
    )


def _ward_checks(random: numpy.random.Generator) -> pandas.DataFrame:
    ward = random.choice(WARDS, CHECKS)
    score = random.binomial(10, numpy.where(ward == "emergency", 0.66, 0.8))
    return pandas.DataFrame({"ward": ward, "checked": _days(random, CHECKS), "score": score, "passed": score >= 6})


def _days(random: numpy.random.Generator, count: int) -> numpy.ndarray:
    return FIRST_DAY + random.integers(0, DAYS, count)
