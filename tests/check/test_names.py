"""Which name means what: aliases, input columns, positions, quotes; and what a column without a name is called."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest

from privql.pipeline.report import StatementCheck
from privql.session import Session
from tests.check.clinic import POLICY, clinic

SAME = [
    # GROUP BY: an input column, then an alias, then a position
    ("SELECT id % 2 AS staff, COUNT(*) FROM stations GROUP BY staff, id",
     "SELECT id % 2, COUNT(*) FROM stations s GROUP BY s.staff, s.id"),
    ("SELECT id % 2 AS k, COUNT(*) FROM stations GROUP BY k", "SELECT id % 2, COUNT(*) FROM stations GROUP BY id % 2"),
    ("SELECT id % 2 AS k, COUNT(*) FROM stations GROUP BY 1", "SELECT id % 2, COUNT(*) FROM stations GROUP BY id % 2"),
    ("SELECT code AS id, COUNT(*) FROM stations GROUP BY CODE", "SELECT code, COUNT(*) FROM stations GROUP BY code"),
    ("SELECT code, ROW_NUMBER() OVER (ORDER BY code), COUNT(*) FROM stations GROUP BY ALL",
     "SELECT code, ROW_NUMBER() OVER (ORDER BY code), COUNT(*) FROM stations GROUP BY code"),
    # ORDER BY: an alias, then an input column
    ("SELECT -id AS id FROM stations ORDER BY id LIMIT 2", "SELECT -id FROM stations ORDER BY -stations.id LIMIT 2"),
    ("SELECT -id AS id FROM stations ORDER BY stations.id LIMIT 2", "SELECT -id FROM stations LIMIT 2"),
    ("SELECT code AS c FROM stations ORDER BY ID DESC LIMIT 1", "SELECT 'Q'"),
    # HAVING: an input column, then an alias
    ("SELECT code, COUNT(*) AS staff FROM stations GROUP BY code HAVING SUM(staff) > 6",
     "SELECT code, COUNT(*) FROM stations GROUP BY code HAVING SUM(stations.staff) > 6"),
    ("SELECT id % 2 AS code, COUNT(*) AS n FROM stations GROUP BY stations.code, id % 2 HAVING code = 'N'",
     "SELECT id % 2, COUNT(*) FROM stations WHERE code = 'N' GROUP BY id % 2"),
    ("SELECT code, COUNT(*) AS n FROM stations GROUP BY code HAVING N > 1",
     "SELECT code, COUNT(*) FROM stations GROUP BY code HAVING COUNT(*) > 1"),
    ("SELECT code, COUNT(*) AS Many FROM stations GROUP BY code HAVING many > 1 ORDER BY MANY, code",
     "SELECT code, COUNT(*) FROM stations GROUP BY code HAVING COUNT(*) > 1 ORDER BY code"),
    # case does not matter, quotes do not either
    ('SELECT "LONG NAME" FROM STATIONS', 'SELECT "Long Name" FROM "stations"'),
    ('SELECT S."Code" FROM stations AS s', "SELECT code FROM stations"),
    ("WITH Big AS (SELECT 1 AS x) SELECT X FROM bIG", "SELECT 1"),
    # what is nearer hides what is farther
    ("WITH regions AS (SELECT 1 AS code) SELECT code FROM regions", "SELECT 1"),
    ("SELECT (SELECT code) FROM stations", "SELECT code FROM stations"),
    ("SELECT (SELECT MAX(code) FROM regions) FROM stations", "SELECT 'Z' FROM stations"),
    ("SELECT (SELECT COUNT(*) FROM regions WHERE code = stations.code) FROM stations WHERE id = 7", "SELECT 0"),
    ("WITH a AS (SELECT 1 AS x), b AS (WITH a AS (SELECT 2 AS x) SELECT x FROM a) SELECT a.x, b.x FROM a, b",
     "SELECT 1, 2"),
    ("SELECT top FROM tall WHERE code = 'E'", "SELECT 8.0::FLOAT"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "meaning"), SAME)
def test_a_name_means(query: str, meaning: str, session: Session) -> None:
    assert session.run(query).rows == session.run(meaning).rows


CALLED = [
    ("SELECT 1, 2 AS a, 3 AS a, 4 AS A, 5 AS a_2", ["column", "a", "a_2", "A_3", "a_2_2"]),
    ("SELECT COUNT(*), COUNT(*), SUM(staff), sum(id) FROM stations", ["count", "count_2", "sum", "sum_2"]),
    ('SELECT CODE, stations.ID, "long name" FROM stations', ["code", "id", "Long Name"]),
    ("SELECT Code AS CODE FROM stations", ["CODE"]),
    ("SELECT CAST(staff AS FLOAT), UPPER(code), CASE WHEN TRUE THEN 1 END, staff + 1 FROM stations",
     ["staff", "upper", "case", "column"]),
    ("SELECT EXTRACT(YEAR FROM founded), EXISTS (SELECT 1) FROM regions", ["extract", "exists"]),
    ("SELECT * FROM regions NATURAL JOIN (SELECT code, 1 AS one FROM stations) AS t",
     ["code", "name", "population", "area", "founded", "open", "one"]),
    ("SELECT STAFF FROM stations GROUP BY Staff", ["staff"]),
    ("SELECT STAFF FROM stations GROUP BY ALL", ["staff"]),
    ("SELECT x.* FROM (SELECT 1, 1) AS x (p, q)", ["p", "q"]),
    ("VALUES (1, 2)", ["column1", "column2"]),
    ("SELECT Größe FROM (SELECT 1 AS größe) AS t", ["größe"]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "names"), CALLED)
def test_what_columns_are_called(query: str, names: list[str], session: Session) -> None:
    if "Größe" in query:  # ö and Ö are two letters, here and in every engine; the rest is ASCII
        query = query.replace("Größe", "GRößE")
    assert [column.name for column in session.check(query).columns] == names


WRONG = [
    ("SELECT id AS k FROM stations WHERE k > 1", "PQL0202"),
    ("SELECT *, COUNT(*) FROM patients GROUP BY ALL SPEND EPSILON 1", "PQL0405"),
    ("SELECT * EXCLUDE (patient_id), COUNT(*) FROM patients GROUP BY ALL SPEND EPSILON 1", "PQL0404"),
    ("SELECT code FROM regions r, stations s", "PQL0203"),
    ("SELECT code FROM (SELECT 1 AS code, 2 AS code) AS t WHERE code_2 = 2 AND Code = 3 AND cod = 1", "PQL0202"),
    ("SELECT regions.code FROM regions r", "PQL0201"),
    ("SELECT GRÖßE FROM (SELECT 1 AS größe) AS t", "PQL0202"),
    ("SELECT 1 FROM regions JOIN stations USING (nothing)", "PQL0202"),
    ("SELECT open, (WITH x AS (SELECT r.code AS c) SELECT c FROM x) FROM regions r GROUP BY open", "PQL0306"),
    ("SELECT a.x FROM (SELECT 1 AS x) AS a, (SELECT a.x + 1 AS y) AS b", "PQL0201"),
    ("SELECT IF(open, 1) FROM regions", "PQL0301"),
    ("SELECT IF(open, 1, 2, 3) FROM regions", "PQL0301"),
]


@pytest.mark.parametrize(("query", "code"), WRONG)
def test_what_no_name_means(query: str, code: str, session: Session) -> None:
    assert [d.code for d in session.check(query).diagnostics] == [code]


LITERALS = [
    # a string takes its partner's type
    ("SELECT code FROM regions WHERE population = '100'", [("N",)]),
    ("SELECT code FROM regions WHERE '1950-02-28' = founded", [("S",)]),
    (
        "SELECT code FROM regions WHERE CLAMP(founded, TIMESTAMP '1955-01-01 00:00:01', DATE '2025-12-31')"
        " = TIMESTAMP '1955-01-01 00:00:01'",
        [("N",), ("S",)],
    ),
    ("SELECT code FROM regions WHERE founded BETWEEN '1940-01-01' AND '1960-01-01'", [("S",)]),
    ("SELECT code FROM regions WHERE founded IN ('1950-02-28', '1960-01-01')", [("S",)]),
    ("SELECT code FROM regions WHERE open = 'f'", [("S",)]),
    ("SELECT id FROM stations WHERE checked > '2024-03-01'", [(3,), (7,)]),
    ("SELECT COALESCE(staff, '9') FROM stations WHERE id = 4", [(9,)]),
    ("SELECT CASE WHEN id = 1 THEN founded ELSE '2024-01-01' END FROM stations CROSS JOIN regions WHERE id = 2 LIMIT 1",
     [(19_723,)]),
    ("SELECT '2' + 3, '2.5' * 2.0, GREATEST(1, '7')", [(5, 5, 7)]),
    ("SELECT CAST(s.checked AS DATE) = '2024-01-31' FROM stations s WHERE id = 1", [(True,)]),
    # implicit casts: INT, DECIMAL, FLOAT; DATE, TIMESTAMP
    ("SELECT 1 = 1.0, 1.5 = 1.5e0, DATE '2024-01-01' = TIMESTAMP '2024-01-01 00:00:00'", [(True, True, True)]),
    ("SELECT 7 / 2, 7 / 2.0, 7 / 2e0", [(3, 3.5, 3.5)]),
    ("SELECT '7' / 2, 7 / '2', '7' / 2.0, 7e0 / '2'", [(3, 3, 3.5, 3.5)]),
    ("SELECT id FROM stations WHERE code IN (SELECT code FROM regions) AND id < 2.5 ORDER BY 1", [(1,), (2,)]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "rows"), LITERALS)
def test_a_literal_takes_its_partners_type(query: str, rows: list[tuple[object, ...]], session: Session) -> None:
    assert list(session.run(query).rows) == rows


def test_what_a_division_does_not_take_is_said_of_it(session: Session) -> None:
    (found,) = session.check("SELECT '7' / '2'").diagnostics
    assert found.message == "`/` does not take (TEXT, TEXT)"


@pytest.mark.parametrize(
    ("count", "ids"),
    [(2, [1, 2]), ("2", [1, 2]), (Decimal(0), []), (True, None), ("two", None), (-1, None), (1.0, None), (None, None)],
)
def test_how_many_rows_is_a_whole_number(count: object, ids: list[int] | None, session: Session) -> None:
    query = "SELECT id FROM stations ORDER BY id LIMIT $n"
    if ids is None:
        assert {found.code for found in session.check(query, n=count).diagnostics} <= {"PQL0302", "PQL0308"}
        assert not session.check(query, n=count).ok
    else:
        assert [id for (id,) in session.run(query, n=count).rows] == ids


@pytest.mark.parametrize(
    ("query", "help"),
    [
        ("SELECT staff * 2 AS twice FROM stations WHERE twice > 3", "repeat what it is, `(staff * 2)`"),
        ("SELECT ABS(height) AS height_m FROM stations WHERE Height_M > 3", "repeat what it is, `ABS(height)`"),
        ("SELECT code, COUNT(*) AS n FROM stations WHERE n > 3 GROUP BY code", "ask that in HAVING"),
        ("SELECT RANK() OVER (ORDER BY id) AS r FROM stations WHERE r = 1", "ask that in QUALIFY"),
    ],
)
def test_where_does_not_see_what_is_selected(query: str, help: str, session: Session) -> None:
    (found,) = session.check(query).diagnostics
    assert found.code == "PQL0202" and found.help == help and "one of the output" in found.why
    for fix in found.fixes:
        assert session.check(query[: fix.span.start] + fix.text + query[fix.span.end :]).ok
    assert bool(found.fixes) == help.startswith("repeat")


@pytest.mark.parametrize(
    "around", ["SELECT ({}) FROM stations", "SELECT COUNT(*) FROM patients WHERE age > ({}) SPEND EPSILON 1"]
)
def test_a_query_that_is_named_several_times_is_looked_at_once_and_may_not_be_written_out_too_often(
    around: str, session: Session
) -> None:
    """Each names the one inside it three times: of eleven, the innermost would stand there 177147 times."""

    def nested(levels: int) -> StatementCheck:
        query = "SELECT MAX(staff) FROM stations"
        for _ in range(levels):
            query = f"SELECT MAX(id) + ({query}) AS x FROM stations HAVING x > 1 AND x < 99"
        return session.check(around.format(query))

    assert nested(4).ok
    start = time.process_time()
    for levels in (6, 11):
        (refused,) = nested(levels).diagnostics
        assert refused.code == "PQL0104" and "WITH" in str(refused)
    assert time.process_time() - start < 1


def test_many_queries_that_stand_there_once_each_are_not_too_many(session: Session) -> None:
    flat = ", ".join(f"(SELECT MAX(staff) + {n} FROM stations)" for n in range(600))
    assert session.check(f"SELECT {flat} FROM stations").ok


def test_named_queries_that_read_each_other_twice_are_looked_at_once(session: Session) -> None:
    """Written out, the first of sixteen would stand there 3^15 times."""
    levels = ["a0 AS (SELECT id, staff FROM stations WHERE staff > p.age)"]
    for at in range(1, 16):
        below = f"a{at - 1}"
        both = f"SELECT x.id, x.staff FROM {below} x, {below} y WHERE x.staff > (SELECT MAX(staff) FROM {below})"
        levels.append(f"a{at} AS ({both})")
    start = time.process_time()
    report = session.check(
        f"SELECT COUNT(*) FROM patients p WHERE EXISTS (WITH {', '.join(levels)} SELECT 1 FROM a15) SPEND EPSILON 1"
    )
    assert [found.code for found in report.diagnostics] == ["PQL0408"]
    assert time.process_time() - start < 2


BROKEN = [
    # a view is the owner's: that it does not fit its table is told with what is wrong, to whoever names it
    ("SELECT nam FROM regions", "no column named `nam`"),
    ("SELECT code, COUNT(*) FROM regions", "`code` is neither a group key nor inside an aggregate"),
]


@pytest.mark.parametrize(("view", "why"), BROKEN)
def test_a_view_that_does_not_fit_its_table_says_why(view: str, why: str) -> None:
    with clinic(f"{POLICY}\nCREATE VIEW broken AS {view};") as session:
        for _ in range(2):
            (found,) = session.check("SELECT * FROM broken").diagnostics
            assert (found.code, found.why) == ("PQL0207", why)
        assert session.check("SELECT * FROM tall").ok
