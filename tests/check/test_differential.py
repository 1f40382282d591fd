"""Queries over public tables, end to end, against the same SQL in DuckDB: wherever the two languages mean the same."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from privql.session import Session
from tests.check.clinic import REGIONS, STATIONS

# `/` of integers truncates and NULLs sort as PostgreSQL has them, by DuckDB's own settings; ties are always broken.
QUERIES = """
SELECT * FROM regions
SELECT code, population / 7, population % 7, population * 2 - 1 FROM regions
SELECT DISTINCT population FROM regions
SELECT DISTINCT code, staff FROM stations WHERE height > 0
SELECT name FROM regions WHERE open AND population > 90 OR area IS NULL
SELECT name FROM regions WHERE NOT (open AND population > 90)
SELECT name FROM regions WHERE population BETWEEN 70 AND 100
SELECT name FROM regions WHERE population NOT BETWEEN 70 AND 100
SELECT name FROM regions WHERE population IN (70, NULL, 100)
SELECT name FROM regions WHERE population NOT IN (70, 100)
SELECT name FROM regions WHERE name LIKE '%st'
SELECT name FROM regions WHERE open IS NOT TRUE
SELECT name FROM regions WHERE population IS NOT DISTINCT FROM NULL
SELECT code, CASE WHEN population > 200 THEN 'big' WHEN population > 80 THEN 'small' END FROM regions
SELECT code, CASE population WHEN 250 THEN 1 WHEN 100 THEN 2 ELSE 0 END FROM regions
SELECT code, COALESCE(name, code), NULLIF(population, 250) FROM regions
SELECT code, CAST(population AS FLOAT), CAST(area AS INT), CAST(founded AS TEXT) FROM regions
SELECT code, EXTRACT(YEAR FROM founded), EXTRACT(MONTH FROM founded) FROM regions
SELECT id, EXTRACT(HOUR FROM checked), CAST(DATE_TRUNC('month', checked) AS DATE) FROM stations
SELECT code, founded - DATE '2000-01-01' FROM regions
SELECT 1, 'a', NULL, TRUE, 1.50, DATE '2024-02-29'
SELECT 7 / 2, -7 / 2, -7 % 3, 7 // 2
SELECT COUNT(*), COUNT(name), SUM(population), AVG(population), MIN(founded), MAX(name) FROM regions
SELECT SUM(area), AVG(area), MIN(area), SUM(DISTINCT population), COUNT(DISTINCT population) FROM regions
SELECT COUNT(*) FROM regions WHERE FALSE
SELECT SUM(population) FROM regions WHERE FALSE
SELECT code, COUNT(*), SUM(staff), AVG(height) FROM stations GROUP BY code
SELECT code, COUNT(*) FILTER (WHERE staff > 4), SUM(staff) FILTER (WHERE height < 0) FROM stations GROUP BY code
SELECT id % 3 AS k, COUNT(*) FROM stations GROUP BY k
SELECT id % 3, COUNT(*) FROM stations GROUP BY 1
SELECT id % 2, staff > 4, COUNT(*) FROM stations GROUP BY ALL
SELECT 7, code, COUNT(*) FROM stations GROUP BY ALL
SELECT code FROM stations GROUP BY code HAVING COUNT(*) > 1
SELECT code, COUNT(*) AS n FROM stations GROUP BY code HAVING n > 1
SELECT COUNT(*) FROM stations HAVING COUNT(*) > 100
SELECT code, id % 2, COUNT(*) FROM stations GROUP BY GROUPING SETS ((code), (id % 2), ())
SELECT code, id % 2, COUNT(*), GROUPING(code, id % 2) FROM stations GROUP BY CUBE (code, id % 2)
SELECT code, id % 2, SUM(staff) FROM stations GROUP BY ROLLUP (code, id % 2)
SELECT code, id % 2, COUNT(*) FROM stations GROUP BY code, ROLLUP (id % 2)
SELECT CASE WHEN id > 3 THEN 'a' ELSE 'b' END AS k, COUNT(*) FROM stations GROUP BY ROLLUP (k)
SELECT staff IS NULL AS k, NOT (staff IS NULL), COUNT(*) FROM stations GROUP BY CUBE (k)
SELECT VAR_POP(height), STDDEV_SAMP(height), COVAR_POP(height, staff) FROM stations
SELECT MEDIAN(height), QUANTILE_CONT(height, 0.25) FROM stations
SELECT BOOL_AND(open), BOOL_OR(open) FROM regions
SELECT r.name, s.id FROM regions r JOIN stations s ON r.code = s.code
SELECT r.name, s.id FROM regions r LEFT JOIN stations s ON r.code = s.code AND s.staff > 4
SELECT r.name, s.id FROM regions r RIGHT JOIN stations s ON r.code = s.code
SELECT r.name, s.id FROM regions r FULL JOIN stations s ON r.code = s.code
SELECT r.name, s.id FROM regions r CROSS JOIN stations s
SELECT r.name, s.id FROM regions r, stations s WHERE r.code = s.code
SELECT r.one, s.id FROM (SELECT code, 1 AS one FROM regions) r RIGHT JOIN stations s ON r.code = s.code
SELECT r.name, s.two FROM regions r LEFT JOIN (SELECT code, 2 AS two FROM stations) s ON r.code = s.code
SELECT r.one, s.two FROM (SELECT code, 1 AS one FROM regions) r FULL JOIN (SELECT 'N' AS code, 2 AS two) s USING (code)
SELECT code, name, id FROM regions JOIN stations USING (code)
SELECT code, name, id FROM regions LEFT JOIN stations USING (code)
SELECT code, name, id FROM regions RIGHT JOIN stations USING (code)
SELECT code, name, id FROM regions FULL JOIN stations USING (code)
SELECT * FROM regions NATURAL JOIN stations
SELECT r.name, s.id FROM regions r JOIN stations s ON r.population > 10 * s.staff
SELECT a.id, b.id FROM stations a JOIN stations b ON a.staff = b.staff AND a.id < b.id
SELECT s.id, t.n FROM stations s, LATERAL (SELECT COUNT(*) AS n FROM regions r WHERE r.code = s.code) t
SELECT s.id, t.n FROM stations s LEFT JOIN LATERAL (SELECT r.name AS n FROM regions r WHERE r.code = s.code) t ON TRUE
SELECT name FROM regions WHERE code IN (SELECT code FROM stations)
SELECT name FROM regions WHERE code NOT IN (SELECT code FROM stations)
SELECT name FROM regions WHERE code NOT IN (SELECT code FROM stations WHERE code IS NOT NULL)
SELECT name FROM regions r WHERE EXISTS (SELECT 1 FROM stations s WHERE s.code = r.code AND s.staff > 4)
SELECT name FROM regions r WHERE NOT EXISTS (SELECT 1 FROM stations s WHERE s.code = r.code)
SELECT name FROM regions WHERE population > ALL (SELECT staff * 20 FROM stations WHERE staff IS NOT NULL)
SELECT name FROM regions WHERE population = ANY (SELECT staff * 10 FROM stations)
SELECT name FROM regions WHERE population > ANY (SELECT area * 6 FROM regions)
SELECT name FROM regions WHERE area IN (SELECT staff FROM stations WHERE staff IS NOT NULL)
SELECT id FROM stations WHERE height NOT IN (SELECT staff - 1 FROM stations WHERE staff IS NOT NULL)
SELECT id FROM stations WHERE staff <= ALL (SELECT area / 3 FROM regions WHERE area IS NOT NULL)
SELECT r.name FROM regions AS r WHERE r.population IN (SELECT s.height * 100 FROM stations AS s WHERE s.code = r.code)
SELECT r.name FROM regions AS r WHERE r.area > ANY (SELECT s.staff FROM stations AS s WHERE s.id < r.population)
SELECT name, (SELECT MAX(height) FROM stations s WHERE s.code = r.code) FROM regions r
SELECT code, (SELECT MAX(height) FROM stations s WHERE s.code = r.code), COUNT(*) FROM regions r GROUP BY r.code
SELECT open, (SELECT COUNT(*) FROM regions q WHERE q.open = r.open) FROM regions r GROUP BY open
SELECT code, (WITH x AS (SELECT id FROM stations WHERE code = r.code) SELECT MAX(id) FROM x) FROM regions r GROUP BY 1
SELECT code, (SELECT MAX(id) FROM stations s WHERE s.id IN (SELECT LENGTH(r.code))) FROM regions r GROUP BY r.code
SELECT (SELECT COUNT(*) FROM stations) - COUNT(*) FROM regions
SELECT code, (SELECT 1 WHERE FALSE), (SELECT TRUE WHERE r.code = 'N') FROM regions r
SELECT x.n + 1 FROM (SELECT COUNT(*) AS n FROM stations GROUP BY code) x WHERE x.n > 1
WITH big AS (SELECT * FROM regions WHERE population > 90) SELECT b.name, id FROM big b JOIN stations s USING (code)
WITH a AS (SELECT code, staff AS n FROM stations), b AS (SELECT MAX(n) AS m FROM a) SELECT code FROM a JOIN b ON n = m
WITH a (x, y) AS (SELECT code, staff FROM stations) SELECT p.x FROM a p JOIN a q ON p.x = q.x AND p.y < q.y
SELECT code FROM regions UNION SELECT code FROM stations
SELECT code FROM regions UNION ALL SELECT code FROM stations
SELECT code FROM regions INTERSECT SELECT code FROM stations
SELECT code FROM regions EXCEPT SELECT code FROM stations
SELECT staff FROM stations EXCEPT ALL SELECT id FROM stations
SELECT staff FROM stations INTERSECT ALL SELECT id FROM stations
SELECT population FROM regions UNION SELECT area FROM regions
SELECT NULL AS a UNION SELECT id FROM stations
SELECT 1 UNION SELECT 2 UNION ALL SELECT 2
(SELECT code FROM stations ORDER BY id LIMIT 2) UNION ALL SELECT 'X'
VALUES (1, 'a'), (2, NULL)
SELECT t.x + 1, t.y FROM (VALUES (1, 'a'), (2, 'b')) AS t (x, y) WHERE t.x > 1
SELECT id, ROW_NUMBER() OVER (ORDER BY staff DESC, id), RANK() OVER (ORDER BY staff) FROM stations
SELECT id, DENSE_RANK() OVER (ORDER BY staff), PERCENT_RANK() OVER (ORDER BY staff) FROM stations
SELECT id, SUM(staff) OVER (PARTITION BY code ORDER BY id) FROM stations
SELECT id, SUM(staff) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM stations
SELECT id, COUNT(*) OVER (ORDER BY staff RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) FROM stations WHERE staff > 0
SELECT id, AVG(staff) OVER w, MAX(height) OVER w FROM stations WINDOW w AS (ORDER BY id ROWS 2 PRECEDING)
SELECT id, SUM(staff) OVER (w ROWS 1 PRECEDING) FROM stations WINDOW w AS (PARTITION BY code ORDER BY id)
SELECT id, SUM(staff) OVER (w ORDER BY id DESC) FROM stations WINDOW w AS (PARTITION BY code)
SELECT id, LAG(id) OVER (ORDER BY id), LEAD(id, 2, 0) OVER (ORDER BY id) FROM stations
SELECT id, FIRST_VALUE(id) OVER (PARTITION BY code ORDER BY id), NTILE(3) OVER (ORDER BY id) FROM stations
SELECT id, SUM(id) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM stations
SELECT code, SUM(COUNT(*)) OVER (ORDER BY code) FROM stations GROUP BY code
SELECT code, id FROM stations QUALIFY ROW_NUMBER() OVER (PARTITION BY code ORDER BY id DESC) = 1
SELECT id FROM stations QUALIFY CASE WHEN RANK() OVER (ORDER BY staff) = 1 THEN TRUE ELSE FALSE END
SELECT code, COUNT(*) AS n FROM stations GROUP BY code QUALIFY RANK() OVER (ORDER BY n DESC) = 1
SELECT * EXCLUDE (height, checked) FROM stations
SELECT * REPLACE (staff + 1 AS staff) FROM stations
SELECT s.* FROM stations s JOIN regions r ON r.code = s.code
SELECT "long name" FROM stations WHERE "Long Name" < 'F'
SELECT STRING_AGG(code, '-' ORDER BY code DESC) FROM regions
"""

ORDERED = """
SELECT name FROM regions ORDER BY name
SELECT name, population FROM regions ORDER BY population DESC, name
SELECT name, population FROM regions ORDER BY 2, 1 DESC
SELECT code AS name FROM regions ORDER BY name DESC
SELECT -population AS population FROM regions ORDER BY population
SELECT code FROM regions ORDER BY population NULLS FIRST, code LIMIT 3
SELECT code FROM regions ORDER BY code OFFSET 2
SELECT code FROM regions ORDER BY code LIMIT 2 OFFSET 1
SELECT code, COUNT(*) AS n FROM stations GROUP BY code ORDER BY n DESC, code
SELECT code FROM stations GROUP BY code ORDER BY SUM(staff), code
SELECT COUNT(*) AS n FROM stations GROUP BY code ORDER BY CASE WHEN COUNT(*) > 1 THEN 0 ELSE 1 END, n, code
SELECT DISTINCT staff FROM stations ORDER BY staff DESC
SELECT code FROM regions UNION SELECT code FROM stations ORDER BY code LIMIT 4
SELECT id FROM (SELECT * FROM stations ORDER BY id DESC LIMIT 3) t ORDER BY id
SELECT id, RANK() OVER (ORDER BY staff) AS r FROM stations ORDER BY r, id
SELECT 'x' AS a FROM stations ORDER BY id LIMIT 1
"""


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.register("regions_frame", REGIONS)
        connection.register("stations_frame", STATIONS)
        connection.sql("SET integer_division = true; SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
        connection.sql("SET threads = 1")
        connection.sql(
            "CREATE TABLE regions AS SELECT code, name, population::BIGINT AS population,"
            " area::DECIMAL(8,2) AS area, founded::DATE AS founded, open FROM regions_frame"
        )
        connection.sql(
            "CREATE TABLE stations AS SELECT id, code, height, staff::BIGINT AS staff,"
            ' checked::TIMESTAMP AS checked, "Long Name" FROM stations_frame'
        )
        yield connection


def queries(text: str) -> list[str]:
    return text.strip().splitlines()


def same(value: Any) -> Any:
    """One spelling for what both say: days and microseconds as numbers, numbers to twelve digits."""
    match value:
        case bool() | str() | None:
            return value
        case datetime.datetime():
            return (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)  # noqa: DTZ001
        case datetime.date():
            return (value - datetime.date(1970, 1, 1)).days
        case float():
            return None if value != value else float(f"{value:.12g}")
        case _:
            return float(f"{float(Fraction(value)):.12g}")


def rows(found: Any) -> list[tuple[Any, ...]]:
    return [tuple(map(same, row)) for row in found]


@pytest.mark.parametrize("query", queries(QUERIES))
def test_the_same_rows(query: str, session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    assert Counter(rows(session.run(query).rows)) == Counter(rows(plain.sql(query).fetchall()))


@pytest.mark.parametrize("query", queries(ORDERED))
def test_the_same_rows_in_the_same_order(query: str, session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    assert rows(session.run(query).rows) == rows(plain.sql(query).fetchall())


@pytest.mark.parametrize("query", queries(QUERIES) + queries(ORDERED))
def test_what_the_check_says_of_each_column_is_so(query: str, session: Session) -> None:
    check = session.check(query)
    assert str(check.cost) == "ε = 0" and check.free == "post-processing"
    for row in session.run(query).rows:
        for column, value in zip(check.columns, row, strict=True):
            assert value in column.attribute.domain, (column.name, column.domain)
            assert value is not None or column.nullable


SHADOWED = [query for query in queries(QUERIES) if "NATURAL" not in query and not query.startswith(("(", "VALUES"))]


@pytest.mark.parametrize("query", SHADOWED)
def test_a_query_means_the_same_wherever_it_stands(query: str, session: Session) -> None:
    """Metamorphic: within FROM, within WITH - whose names hide tables - and as one arm of a union with nothing."""
    expected = Counter(rows(session.run(query).rows))
    again = [
        f"SELECT * FROM ({query}) AS regions",
        f"WITH tall AS ({query}) SELECT * FROM tall",
        f"SELECT * FROM (SELECT * FROM ({query}) AS a) AS a WHERE TRUE",
        f"WITH q AS ({query}) SELECT * FROM q WHERE FALSE UNION ALL SELECT * FROM q",
    ]
    for text in again:
        assert Counter(rows(session.run(text).rows)) == expected, text
