"""Whole queries, one a part, on neighbouring databases: a unit moves the exact sums of one of them, wherever its rows
are. Where the engine does not keep its rows in one part, the claim is seen to break."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest

import privql
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.engines.sql import rows as lowering
from privql.kernel.measure import Measured

REGIONS = ("east", "north", "south")
POLICY = """
CREATE UNIT patient;
CREATE PRIVATE TABLE patients (patient_id TEXT UNIT patient KEY, old BOOL);
CREATE PRIVATE TABLE visits (
  patient_id TEXT UNIT patient, region TEXT IN ('east', 'north', 'south'), cost INT BETWEEN 0 AND 9
) PARTS BY region AT MOST 9 ROWS PER UNIT;
CREATE BUDGET research FOR UNIT patient EPSILON 9;
"""
SHAPES = (
    "SELECT COUNT(*) AS n FROM visits WHERE region = '{}'",
    "SELECT COUNT(DISTINCT patient_id) AS n FROM visits WHERE region = '{}' AND cost > 3",
    "SELECT SUM(v.cost) AS n FROM visits v JOIN patients p USING (patient_id) WHERE v.region = '{}'",
    "SELECT COUNT(*) AS n FROM patients p WHERE EXISTS"
    " (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.region = '{}')",
    "SELECT SUM(m) AS n FROM (SELECT patient_id, MAX(cost) AS m FROM visits WHERE region = '{}' GROUP BY patient_id)",
)  # fmt: skip
Rows = list[tuple[str, str | None, int]]


def measured(change_one: bool) -> dict[str, list[list[Measured]]]:
    """By shape, what is measured of each part, and that it is charged to this one."""
    text = POLICY.replace("UNIT patient;", "UNIT patient NEIGHBOURS CHANGE ONE;", 1) if change_one else POLICY
    out: dict[str, list[list[Measured]]] = {}
    with privql.connect(policy=text, analyst="alice") as session:
        for shape in SHAPES:
            for region in REGIONS:
                plan = session.check(shape.format(region) + " SPEND EPSILON 1").plan
                found = plan.parts_by_unit.get("patient")
                if found is not None:
                    assert found.values == {region}
                    of = [one for block in plan.blocks for one in block.measurable if isinstance(one, Measured)]
                    out.setdefault(shape, []).append(of)
    return out


def some_rows(choice: random.Random, unit: str) -> Rows:
    return [(unit, choice.choice((*REGIONS, None)), choice.randint(0, 9)) for _ in range(choice.randint(0, 5))]


def sums(rows: Rows, queries: Sequence[Sequence[Measured]]) -> list[list[object]]:
    units = sorted({unit for unit, _, _ in rows})
    frames = {
        "visits": pd.DataFrame(rows, columns=["patient_id", "region", "cost"]).astype({"cost": "Int64"}),
        "patients": pd.DataFrame({"patient_id": units, "old": [True] * len(units)}),
    }
    engine = DuckDBEngine({name: Source(frame=frame) for name, frame in frames.items()})
    try:
        return [[engine.run(one.term, b"salt").tolist() for one in query] for query in queries]
    finally:
        engine.close()


def most_moved(change_one: bool) -> int:
    choice, most, shapes = random.Random(3), 0, measured(change_one)
    assert len(shapes) >= 4 and all(len(queries) == len(REGIONS) for queries in shapes.values())
    queries = [query for of in shapes.values() for query in of]
    for _ in range(6):
        base = [row for unit in ("a", "b") for row in some_rows(choice, unit)]
        before, after = (some_rows(choice, "u") if change_one or more else [] for more in (False, True))
        one, other = (sums(base + rows or [("z", None, 0)], queries) for rows in (before, after))
        differ = [mine != theirs for mine, theirs in zip(one, other, strict=True)]
        most = max(most, *(sum(differ[at : at + len(REGIONS)]) for at in range(0, len(differ), len(REGIONS))))
    return most


@pytest.mark.parametrize(("change_one", "parts"), [(False, 1), (True, 2)])
def test_a_unit_is_met_in_its_own_part(change_one: bool, parts: int) -> None:
    assert most_moved(change_one) == parts


def test_rows_of_a_unit_in_several_parts_break_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "unit_part", lambda below, term, draft: replace(below))
    assert most_moved(False) > 1
