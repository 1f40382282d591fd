"""With next to no noise, what is asked beside and about a unit's rows is what plain SQL says of the clinic."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from privql.session import Session
from tests.check.clinic import FRAMES, POLICY, clinic

LONG = "FROM visits AS v WHERE v.patient_id = p.patient_id AND v.minutes > 70"
MANY_MEET_ONE = "(SELECT patient_id, visit_id AS w FROM visits) AS v JOIN stations AS s ON v.w = s.staff"


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    plain = duckdb.connect()
    for name, frame in FRAMES.items():
        plain.register(name, frame)
    with clinic(POLICY.replace("EPSILON 1000", "EPSILON 1048576")) as session:
        yield session, plain
    plain.close()


@pytest.mark.parametrize(
    "where",
    [
        # a correlated aggregate is one row, whether any row matches or none
        f"0 IN (SELECT COUNT(*) {LONG})",
        f"0.0 IN (SELECT COUNT(*) {LONG})",
        f"1e0 > ANY (SELECT COUNT(*) {LONG})",
        f"0 <> ALL (SELECT COUNT(*) {LONG})",
        f"0 NOT IN (SELECT COUNT(*) {LONG})",
        f"2 >= ALL (SELECT COUNT(*) {LONG})",
        f"5 NOT IN (SELECT SUM(v.minutes) {LONG})",
        f"5 < ALL (SELECT SUM(v.minutes) {LONG})",
        f"0 IN (SELECT COUNT(*) {LONG} HAVING COUNT(*) > 0)",
        f"0 IN (SELECT COUNT(*) {LONG} GROUP BY v.patient_id)",
        "0 IN (SELECT COUNT(*) FROM stations AS s WHERE s.code = p.region)",
        "0 IN (SELECT COUNT(*) FROM visits AS v WHERE v.patient_id = p.patient_id AND v.minutes > p.age)",
        "p.cost > ANY (SELECT v.minutes FROM visits AS v WHERE v.patient_id = p.patient_id)",
        "p.weight IN (SELECT v.minutes FROM visits AS v WHERE v.patient_id = p.patient_id)",
    ],
)
def test_a_patient_beside_a_query(where: str, sides: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    same(f"SELECT COUNT(*) FROM patients AS p WHERE {where}", sides)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM {MANY_MEET_ONE} GROUP BY v.patient_id) AS t"
        " WHERE n > 5 OR n = 2",
        "SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM visits AS v JOIN stations AS s ON v.visit_id = s.staff"
        " GROUP BY v.patient_id) AS t WHERE n > 5 OR n = 2",
        "SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM stations AS s JOIN visits AS v ON v.visit_id = s.staff"
        " GROUP BY v.patient_id) AS t WHERE n > 5 OR n = 2",
        "SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM patients AS p JOIN (SELECT * FROM regions) AS r"
        " ON p.region = r.code GROUP BY p.patient_id) AS t WHERE n = 1",
    ],
)
def test_how_many_rows_a_unit_has(query: str, sides: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    """A key names one row of its own side, however many there are on the other."""
    same(query, sides)


def same(query: str, sides: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    session, plain = sides
    assert session.run(f"{query} SPEND EPSILON 9000").rows == tuple(plain.execute(query).fetchall())
