"""AT MOST n GROUPS PER UNIT, groups without an aggregate and DISTINCT in found ones: from the engine to the answer."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from privql.diagnostics import PrivQLError
from privql.session import Session, connect

POLICY = """CREATE UNIT person;
CREATE PUBLIC TABLE areas (code TEXT KEY, part TEXT);
CREATE PRIVATE TABLE people (
  id INT UNIT person KEY, job TEXT, sex TEXT IN ('f', 'm') NOT NULL, age INT BETWEEN 0 AND 100, area TEXT);
CREATE PRIVATE TABLE visits (id INT UNIT person, ward TEXT, minutes INT BETWEEN 0 AND 60) AT MOST 6 ROWS PER UNIT;
CREATE PRIVATE TABLE calls (id INT UNIT person, day INT BETWEEN 0 AND 6, line TEXT);
CREATE BUDGET b FOR UNIT person EPSILON 1000000 DELTA 0.01;"""
COUNT = 200
WARDS = ("a", "b", "a", "c", None, "e")
SURE = "SPEND EPSILON 20000 DELTA 1e-6"  # no noise is seen


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    people = pd.DataFrame(
        {
            "id": range(COUNT),
            "job": [("cook", "nurse", None)[at % 3] for at in range(COUNT)],
            "sex": ["fm"[at % 2] for at in range(COUNT)],
            "age": [at % 100 for at in range(COUNT)],
            "area": ["ab"[at % 2] for at in range(COUNT)],
        }
    )
    rows = [(person, ward) for person in range(COUNT) for ward in WARDS]
    visits = pd.DataFrame({"id": [r[0] for r in rows], "ward": [r[1] for r in rows], "minutes": 30})
    days = [(person, day) for person in range(COUNT) for day in range(7)]
    calls = pd.DataFrame({"id": [r[0] for r in days], "day": [r[1] for r in days], "line": [str(r[1]) for r in days]})
    areas = pd.DataFrame({"code": ["a", "b"], "part": ["n", "s"]})
    frames = {"people": people, "visits": visits, "calls": calls, "areas": areas}
    with connect(policy=POLICY, frames=frames, analyst="ada") as opened:
        yield opened


def answer(session: Session, query: str) -> list[tuple[Any, ...]]:
    return list(session.run(query).rows)


@pytest.mark.parametrize("keys", ["ward", "ward KEYS ('a', 'b', 'c', NULL, 'e')"])
@pytest.mark.parametrize("aggregates", ["COUNT(*)", "COUNT(*), AVG(minutes)", "COUNT(*), SUM(minutes)"])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_each_unit_counts_in_so_many_groups(session: Session, keys: str, aggregates: str, groups: int) -> None:
    """Which they are is by chance, and the same for all rows of a unit: the two visits to `a` stay together."""
    spend = SURE if keys == "ward" else SURE[: SURE.index(" DELTA")]
    query = f"SELECT ward, {aggregates} FROM visits GROUP BY {keys} AT MOST {groups} GROUPS PER UNIT {spend}"
    found = {row[0]: row[1] for row in answer(session, query)}
    assert isinstance(found["a"], int) and found["a"] % 2 == 0
    assert sum(count // 2 if ward == "a" else count for ward, count in found.items()) == COUNT * groups
    assert all(found.values())


def test_groups_elsewhere_use_up_no_share(session: Session) -> None:
    query = "SELECT ward, COUNT(*) FROM visits GROUP BY ward KEYS ('b', 'nowhere') AT MOST 1 GROUPS PER UNIT"
    assert answer(session, f"{query} SPEND EPSILON 2000") == [("b", COUNT), ("nowhere", 0)]
    mean = query.replace("COUNT(*)", "AVG(minutes), COUNT(*)")
    assert [row[2] for row in answer(session, f"{mean} SPEND EPSILON 2000")] == [COUNT, 0]


def test_both_limits_hold(session: Session) -> None:
    query = "SELECT day, COUNT(*) FROM calls GROUP BY day AT MOST 2 GROUPS{} PER UNIT SPEND EPSILON 2000"
    with pytest.raises(PrivQLError, match="AT MOST 2 GROUPS AND 10 ROWS PER UNIT"):
        session.run(query.format(""))
    assert sum(count for _, count in answer(session, query.format(" AND 5 ROWS"))) == COUNT * 2
    assert sum(count for _, count in answer(session, query.format(" AND 1 ROWS"))) == COUNT
    different = query.format("").replace("COUNT(*)", "COUNT(DISTINCT id)")
    assert session.check(different).measurements[0].rows == 2
    assert sum(count for _, count in answer(session, different)) == COUNT * 2


@pytest.mark.parametrize(
    ("rows", "key"),
    [
        ("people JOIN visits ON people.id = visits.id", "job"),
        ("visits LEFT JOIN people ON people.id = visits.id", "job"),
        ("people p JOIN visits v ON p.id = v.id JOIN areas a ON a.code = p.area", "a.part || job"),
    ],
)
def test_a_unit_that_is_in_one_group_pays_for_one(session: Session, rows: str, key: str) -> None:
    query = f"SELECT {key} AS k, COUNT(*) AS n FROM {rows} GROUP BY k {SURE}"
    (search, count) = session.check(query).to_json()["measurements"]
    assert (search["groups_per_unit"], count["l1"]) == ("1", "6")
    assert "each person is in one group" in session.explain(query)
    assert sum(n for _, n in answer(session, query)) == COUNT * len(WARDS)


def test_groups_without_an_aggregate(session: Session) -> None:
    listed = session.run("SELECT sex FROM people GROUP BY sex")
    assert listed.rows == (("f",), ("m",)) and listed.cost.epsilon == 0
    for query in ("SELECT ward FROM visits GROUP BY ward {}", "SELECT DISTINCT ward FROM visits {}"):
        found = session.run(query.format("SPEND EPSILON 200 DELTA 1e-6"))
        assert found.rows == (("a",), ("b",), ("c",), ("e",), (None,))
        assert (found.cost.epsilon, found.cost.delta) == (Fraction(200), Fraction("1e-6"))
        with pytest.raises(PrivQLError, match="PQL0411"):
            session.run(query.format("WITHIN 5"))
        with pytest.raises(PrivQLError, match="PQL0501"):
            session.run(query.format("SPEND DELTA 1e-6"))
    assert session.run(f"SELECT DISTINCT job, sex FROM people ORDER BY job, sex LIMIT 2 {SURE}").rows == (
        ("cook", "f"),
        ("cook", "m"),
    )
    assert session.run(f"SELECT COUNT(*) AS n FROM (SELECT DISTINCT ward FROM visits) AS w {SURE}").rows == ((5,),)
    rolled = session.run(f"SELECT ward FROM visits GROUP BY ROLLUP (ward) {SURE}")
    assert len(rolled.rows) == 6
    kept = session.run(f"SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > {COUNT * 3 // 2} {SURE}")
    assert kept.rows == (("a",),)
    unbounded = "SELECT line FROM calls GROUP BY line{} SPEND EPSILON 200"
    with pytest.raises(PrivQLError, match="AT MOST 3 GROUPS PER UNIT"):
        session.run(unbounded.format(""))
    assert len(session.run(unbounded.format(" AT MOST 3 GROUPS PER UNIT")).rows) == 7


def test_all_aggregates_share_the_groups_that_were_found(session: Session) -> None:
    query = f"SELECT job, COUNT(*), COUNT(DISTINCT age), SUM(DISTINCT age) FROM people GROUP BY job {SURE}"
    check = session.check(query).to_json()["measurements"]
    assert [one["mechanism"] for one in check].count("truncated_geometric") == 1
    ages = {job: {at % 100 for at in range(COUNT) if at % 3 == n} for n, job in enumerate(("cook", "nurse", None))}
    counts = {job: sum(at % 3 == n for at in range(COUNT)) for n, job in enumerate(("cook", "nurse", None))}
    assert answer(session, query) == [(job, counts[job], len(ages[job]), sum(ages[job])) for job in ages]
    only = "SELECT job, COUNT(DISTINCT age), COUNT(DISTINCT area) FROM people GROUP BY job"
    assert answer(session, f"{only} {SURE}") == [(job, len(ages[job]), 2) for job in ages]
    assert len(session.check(f"{only} {SURE}").to_json()["measurements"]) == 3
    assert answer(session, f"{only} SPEND EPSILON 0.01 DELTA 1e-9") == []
