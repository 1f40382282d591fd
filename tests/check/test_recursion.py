"""WITH RECURSIVE and functions in FROM: the same rows as plain SQL, in one order, and an end to both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

from privql.check.table_functions import MOST_ROWS as MOST_LISTED
from privql.diagnostics import PrivQLError
from privql.post.recursion import MOST_ROWS
from privql.session import Session
from tests.check.clinic import STATIONS

RECURSIVE = """
WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 9) SELECT i, i * i FROM t WHERE i > 3
WITH RECURSIVE t AS (SELECT 1 AS i UNION SELECT i % 7 + 3 FROM t) SELECT * FROM t
WITH RECURSIVE t AS (SELECT 1 AS i UNION SELECT 2 UNION SELECT (i * 5) % 11 FROM t) SELECT * FROM t
WITH RECURSIVE t AS (SELECT id, id AS root, 0 AS d FROM stations WHERE id <= 2 UNION ALL
 SELECT s.id, root, d + 1 FROM stations s JOIN t ON s.id = t.id + 2) SELECT * FROM t
WITH RECURSIVE t AS (SELECT id, staff FROM stations UNION ALL SELECT t.id + 1, s.staff FROM t LEFT JOIN
 (SELECT id, MAX(staff) AS staff FROM stations GROUP BY id) s ON s.id = t.id + 1 WHERE t.staff > 1) SELECT * FROM t
WITH RECURSIVE t AS (SELECT code AS a FROM stations UNION ALL SELECT a || 'x' FROM t WHERE LENGTH(a) < 3)
 SELECT * FROM t
WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < (SELECT MAX(id) FROM stations)),
 u AS (SELECT i AS j FROM t UNION ALL SELECT j - 3 FROM u WHERE j > 3) SELECT j, COUNT(*) FROM u GROUP BY j
WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 4)
 SELECT a.i, b.i FROM t a JOIN t b ON a.i < b.i
WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM (SELECT i FROM t WHERE i < 6) s CROSS JOIN (SELECT 1) o)
 SELECT i, SUM(i) OVER (ORDER BY i) FROM t
WITH RECURSIVE t AS (SELECT 1 AS i), u AS (SELECT i + 1 AS i FROM t) SELECT * FROM u
SELECT id FROM stations WHERE id IN
 (WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i * 2 FROM t WHERE i < 9) SELECT i FROM t)
""".strip()

LISTED = """
SELECT * FROM generate_series(1, 5)
SELECT * FROM generate_series(-1, 8, 4)
SELECT * FROM generate_series(5, -3, -2)
SELECT * FROM generate_series(5, 1)
SELECT * FROM range(4)
SELECT * FROM range(2, 9, 3)
SELECT * FROM range(9, 2, -3)
SELECT * FROM range(0)
SELECT i, i % 3 FROM range(1, 8) AS t(i) WHERE i <> 4
SELECT t.i, COUNT(s.id) FROM generate_series(1, 8) AS t(i) LEFT JOIN stations s ON s.staff = t.i GROUP BY t.i
SELECT * FROM unnest([3, 1, NULL, 1])
SELECT t.v FROM unnest(['b', 'a']) AS t(v)
SELECT a.x, b.x FROM range(3) AS a(x) JOIN range(1, 4) AS b(x) ON a.x < b.x
SELECT COUNT(*), SUM(i) FROM range(1000) AS t(i)
SELECT * FROM generate_series(9223372036854775805, 9223372036854775807)
""".strip()

REFUSED = [
    ("WITH RECURSIVE t AS (SELECT i FROM t) SELECT * FROM t", "PQL0408"),
    ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT SUM(i) FROM t) SELECT * FROM t", "PQL0408"),
    (
        "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT a.i FROM t a JOIN t b ON a.i = b.i) SELECT * FROM t",
        "PQL0408",
    ),
    (
        "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i FROM t WHERE i < (SELECT MAX(i) FROM t)) SELECT 1",
        "PQL0408",
    ),
    ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT 1 WHERE EXISTS (SELECT * FROM t)) SELECT 1", "PQL0408"),
    ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT s.id FROM stations s LEFT JOIN t ON TRUE) SELECT 1", "PQL0408"),
    ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL (SELECT i FROM t ORDER BY i LIMIT 1)) SELECT 1", "PQL0408"),
    ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL (WITH u AS (SELECT i FROM t) SELECT i FROM u)) SELECT 1", "PQL0408"),
    ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i FROM t LIMIT 3) SELECT 1", "PQL0408"),
    ("WITH RECURSIVE t(i) AS (SELECT 1 EXCEPT SELECT i FROM t) SELECT 1", "PQL0408"),
    ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i * 1.5 FROM t) SELECT 1", "PQL0307"),
    ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i, i FROM t) SELECT 1", "PQL0307"),
    ("WITH RECURSIVE t(i) AS (SELECT i FROM t UNION ALL SELECT 1) SELECT 1", "PQL0201"),
    ("WITH t(i) AS (SELECT 1 UNION ALL SELECT i FROM t) SELECT 1", "PQL0201"),
    (
        "WITH RECURSIVE t AS (SELECT age FROM patients UNION ALL SELECT age + 1 FROM t) SELECT COUNT(*) FROM t",
        "PQL0408",
    ),
    (
        "WITH RECURSIVE t(n) AS (SELECT COUNT(*) FROM patients UNION ALL SELECT n - 1 FROM t WHERE n > 0)"
        " SELECT * FROM t SPEND EPSILON 1",
        "PQL0408",
    ),
    (
        "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 9)"
        " SELECT COUNT(*) FROM patients WHERE age IN (SELECT i FROM t) SPEND EPSILON 1",
        "PQL0408",
    ),
    (
        "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 9)"
        " SELECT COUNT(*) FROM patients p JOIN t ON p.age = t.i SPEND EPSILON 1",
        "PQL0408",
    ),
    (
        "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT p.age FROM t JOIN patients p ON p.age = t.i)"
        " SELECT COUNT(*) FROM t SPEND EPSILON 1",
        "PQL0408",
    ),
    (
        "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT n FROM t JOIN"
        " (SELECT COUNT(*) AS n FROM patients WHERE age IN (SELECT i FROM t)) AS c ON TRUE)"
        " SELECT i FROM t SPEND EPSILON 1",
        "PQL0408",
    ),
    ("SELECT * FROM generate_serie(1, 2)", "PQL0204"),
    ("SELECT * FROM generate_series(1)", "PQL0303"),
    ("SELECT * FROM generate_series(1, 5, 0)", "PQL0302"),
    ("SELECT * FROM generate_series(1, 1.5)", "PQL0301"),
    ("SELECT * FROM generate_series(1, CAST(NULL AS INT))", "PQL0302"),
    ("SELECT * FROM generate_series(1, $n)", "PQL0304"),
    (f"SELECT * FROM generate_series(0, {MOST_LISTED})", "PQL0308"),
    ("SELECT * FROM generate_series(-9223372036854775807, 9223372036854775807)", "PQL0308"),
    ("SELECT * FROM stations s WHERE EXISTS (SELECT * FROM range(s.id))", "PQL0308"),
    ("SELECT * FROM unnest(3)", "PQL0308"),
]


def split(text: str) -> list[str]:
    return re.sub(r"\n ", " ", text).splitlines()


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.register("stations_frame", STATIONS)
        connection.sql("CREATE TABLE stations AS SELECT id, code, staff::BIGINT AS staff FROM stations_frame")
        yield connection


@pytest.mark.parametrize("query", split(RECURSIVE) + split(LISTED))
def test_the_rows_are_those_of_plain_sql(query: str, session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    check = session.check(query)
    found = session.run(query).rows
    assert Counter(found) == Counter(plain.sql(query).fetchall())
    for row in found:
        for column, value in zip(check.columns, row, strict=True):
            assert value in column.attribute.domain, (column.name, column.domain)


@pytest.mark.parametrize("query", split(RECURSIVE)[:6] + split(LISTED))
def test_rows_come_in_the_order_in_which_they_are_made(query: str, session: Session) -> None:
    once = session.run(query).rows
    assert once == session.run(f"SELECT * FROM ({query}) AS q").rows == session.run(query).rows
    if "UNION ALL SELECT i + 1" in query or "generate_series(1, 5)" in query:
        assert list(once) == sorted(once)


def test_a_step_comes_after_the_one_before_and_keeps_its_order(session: Session) -> None:
    step = "SELECT i - 2 FROM t WHERE i > 3"
    text = f"WITH RECURSIVE t(i) AS (SELECT * FROM unnest([8, 9]) UNION ALL {step}) SELECT * FROM t"
    assert [i for (i,) in session.run(text).rows] == [8, 9, 6, 7, 4, 5, 2, 3]


@pytest.mark.parametrize(("query", "code"), REFUSED)
def test_it_is_refused(query: str, code: str, session: Session) -> None:
    found = session.check(query).diagnostics
    assert [d.code for d in found] == [code]
    assert found[0].help


def test_dates_are_counted_in_days(session: Session) -> None:
    text = "SELECT CAST(d AS TEXT) FROM generate_series(DATE '2024-02-25', '2024-03-10', 7) AS t(d)"
    assert session.run(text).rows == (("2024-02-25",), ("2024-03-03",), ("2024-03-10",))
    assert session.run("SELECT * FROM range(DATE '2024-01-01', DATE '2024-01-01')").rows == ()


@pytest.mark.parametrize(
    "step", ["UNION ALL SELECT i + 1 FROM t", "UNION SELECT i + 1 FROM t", "UNION ALL SELECT i FROM t"]
)
def test_one_without_an_end_is_stopped(step: str, session: Session) -> None:
    with pytest.raises(PrivQLError) as stopped:
        session.run(f"WITH RECURSIVE t(i) AS (SELECT 1 {step}) SELECT COUNT(*) FROM t")
    (one,) = stopped.value.diagnostics
    assert (one.code, one.message) == ("PQL0601", f"a recursion has more than {MOST_ROWS} rows")
    assert session.run("SELECT 1").rows == ((1,),)


def test_it_may_have_as_many_rows_as_it_is_said(session: Session) -> None:
    step = "SELECT i + 1000 FROM t WHERE i + 1000 < {}"
    text = f"WITH RECURSIVE t(i) AS (SELECT * FROM range(1000) UNION ALL {step}) SELECT COUNT(*) FROM t"
    assert session.run(text.format(MOST_ROWS)).rows == ((MOST_ROWS,),)
    with pytest.raises(PrivQLError):
        session.run(text.format(MOST_ROWS + 1))


def test_it_goes_over_released_rows(session: Session) -> None:
    session.run("CREATE RELEASE wards AS SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward SPEND EPSILON 1")
    text = (
        "WITH RECURSIVE t AS (SELECT ward, n, 0 AS d FROM wards UNION ALL"
        " SELECT w.ward, t.n + w.n, d + 1 FROM t JOIN wards w ON w.ward <> t.ward WHERE d < 3)"
        " SELECT d, COUNT(*), MAX(n) FROM t GROUP BY d ORDER BY d"
    )
    check = session.check(text)
    assert str(check.cost) == "ε = 0"
    assert [row[:2] for row in session.run(text).rows] == [(0, 3), (1, 2), (2, 2), (3, 2)]  # a ward may be NULL
