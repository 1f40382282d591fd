"""With next to no noise, what is asked beside and about a unit's rows is what plain SQL says of the clinic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import duckdb
import pytest

from privql.diagnostics import PrivQLError
from privql.session import Session
from tests.check.clinic import FRAMES, POLICY, clinic

MANY = "FROM visits AS v WHERE v.patient_id = p.patient_id"
LONG = f"{MANY} AND v.minutes > 70"
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
        "p.patient_id = ANY (SELECT patient_id FROM visits)",
        "p.patient_id <> ALL (SELECT v.patient_id FROM visits AS v WHERE v.minutes > 70)",
    ],
)
def test_a_patient_beside_a_query(where: str, sides: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    same(f"SELECT COUNT(*) FROM patients AS p WHERE {where}", sides)


FROM = {
    "some": LONG,
    "many": MANY,
    "more": f"{MANY} AND v.minutes > p.age",
    "public": "FROM (SELECT code, staff AS minutes FROM stations) AS v WHERE v.code = p.region",
}
SELECTED = ("COUNT(*)", "SUM(v.minutes)", "MAX(v.minutes)", "MIN(7)", "COUNT(v.minutes) + 1")
HAVING = ("", "COUNT(*) < 2", "COUNT(*) > 0", "COUNT(*) = 0", "TRUE", "SUM(v.minutes) IS NULL", "MAX(v.minutes) > 80")
ASKED = (
    "{0} = 1", "{0} IS NULL", "COALESCE({0}, 7) > 6", "1 IN {0}", "1 NOT IN {0}", "(1 = ANY {0}) IS NULL",
    "60 < ANY {0}", "60 < ALL {0}", "(p.age > ALL {0}) IS NOT FALSE", "EXISTS {0}", "NOT EXISTS {0}",
)  # fmt: skip


@pytest.mark.parametrize("rows", FROM.values(), ids=FROM)
def test_one_row_of_an_aggregate_or_none_of_its_having(
    rows: str, sides: tuple[Session, duckdb.DuckDBPyConnection]
) -> None:
    for first, having in enumerate(HAVING):
        whose = f"{rows} HAVING {having}" if having else rows
        tests = [asked.format(f"(SELECT {one} {whose})") for one, asked in itertools.product(SELECTED, ASKED)]
        for test in tests[first::12]:
            same(f"SELECT COUNT(*) FROM patients AS p WHERE {test}", sides)


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


def test_what_is_known_of_an_operand_is_known_in_its_branch_alone(
    sides: tuple[Session, duckdb.DuckDBPyConnection],
) -> None:
    """A query that is written again stands where other things are known."""
    fewer = f"p.age < ANY (SELECT COUNT(*) {MANY})"
    same(
        f"SELECT CASE WHEN p.age > 50 THEN CASE WHEN {fewer} THEN 5 ELSE 6 END WHEN {fewer} THEN 7 ELSE 8 END AS x,"
        " COUNT(*) AS n FROM patients AS p GROUP BY 1 ORDER BY 1",
        sides,
    )
    joined = "patients AS p LEFT JOIN visits AS v ON v.patient_id = p.patient_id AND v.minutes > 10"
    others = "v.visit_id NOT IN (SELECT b.visit_id FROM visits AS b)"
    for where in (others, f"CASE WHEN v.visit_id IS NOT NULL THEN {others} ELSE {others} END"):
        with pytest.raises(PrivQLError, match="PQL0412"):
            sides[0].run(f"SELECT COUNT(*) FROM {joined} WHERE {where} SPEND EPSILON 1")


def test_of_a_release_it_is_not_known_whether_having_left_none_out(
    sides: tuple[Session, duckdb.DuckDBPyConnection],
) -> None:
    counted = "SELECT COUNT(*) FROM patients AS p WHERE p.region = r.code"
    with pytest.raises(PrivQLError, match="PQL0408"):
        sides[0].run(f"SELECT r.code, ({counted} HAVING COUNT(*) < 2) FROM regions AS r SPEND EPSILON 1")


def same(query: str, sides: tuple[Session, duckdb.DuckDBPyConnection]) -> None:
    session, plain = sides
    assert session.run(f"{query} SPEND EPSILON 500").rows == tuple(plain.execute(query).fetchall())
