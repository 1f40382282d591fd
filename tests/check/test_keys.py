"""Group keys whose values the checker knows: every group comes out, in order, NULL last; and no other does."""

from __future__ import annotations

import pytest

from privql.check.relations import Compute, Distinct, Gathered
from privql.kernel.scalars import Value
from privql.session import Session
from tests.check.blocks import block


def members(session: Session, query: str) -> tuple[Value, ...]:
    check = session.check(f"{query} SPEND EPSILON 1")
    assert check.ok and check.plan is not None, str(check)
    (key,) = check.plan.blocks[0].block.keys
    return key.members


FEBRUARY = 19_754  # 2024-02-01 in days

KEYS: list[tuple[str, tuple[Value, ...]]] = [
    ("sex", ("F", "M", "X", None)),
    ("smoker", (False, True, None)),
    ("region", ("E", "N", "S", "W", "Z", None)),
    ("age", (*range(121), None)),
    ("age / 10", (*range(13), None)),
    ("age // 25", (0, 1, 2, 3, 4, None)),
    ("age % 3", (0, 1, 2, None)),
    ("age >= 18", (False, True, None)),
    ("age IS NULL", (False, True)),
    ("CASE WHEN age < 18 THEN 'young' WHEN age >= 65 THEN 'old' ELSE 'grown' END", ("grown", "old", "young")),
    ("CASE sex WHEN 'F' THEN 1 WHEN 'M' THEN 2 END", (1, 2, None)),
    ("EXTRACT(MONTH FROM admitted)", (*range(1, 13), None)),
    ("EXTRACT(YEAR FROM admitted)", (2024, 2025, None)),
    ("EXTRACT(QUARTER FROM admitted)", (1, 2, 3, 4, None)),
    ("EXTRACT(DOW FROM admitted)", (*range(7), None)),
    ("EXTRACT(HOUR FROM seen)", (*range(24), None)),
    ("sex || '-' || CAST(smoker AS TEXT)", ("F-false", "F-true", "M-false", "M-true", "X-false", "X-true", None)),
    ("UPPER(sex)", ("F", "M", "X", None)),
    ("LOWER(sex)", ("f", "m", "x", None)),
    ("LEFT(region, 0)", ("", None)),
    ("LENGTH(sex)", (1, None)),
    ("CAST(sex AS TEXT)", ("F", "M", "X", None)),
    ("CAST(age / 60 AS TEXT)", ("0", "1", "2", None)),
    ("CAST(smoker AS INT)", (0, 1, None)),
    ("CAST(cost / 10000 AS INT)", (0, 1, 2, None)),
    ("COALESCE(sex, '?')", ("?", "F", "M", "X")),
    ("NULLIF(sex, 'X')", ("F", "M", None)),
    ("CLAMP(income, 0, 2)", (0, 1, 2, None)),
    ("GREATEST(age, 118)", (118, 119, 120)),
    ("IF(smoker, 'yes', 'no')", ("no", "yes")),
    ("SIGN(age)", (0, 1, None)),
    ("ABS(age - 119) // 60", (0, 1, None)),
    ("town LIKE 'A%'", (False, True, None)),
    ("sex IN ('F', 'M')", (False, True, None)),
    ("NOT smoker", (False, True, None)),
    ("smoker AND age > 18", (False, True, None)),
    ("DATE '2024-01-01'", (19_723,)),
]


@pytest.mark.parametrize(("key", "expected"), KEYS)
def test_a_key_of_known_values(session: Session, key: str, expected: tuple[Value, ...]) -> None:
    assert members(session, f"SELECT {key}, COUNT(*) FROM patients GROUP BY 1") == expected
    assert members(session, f"SELECT {key} AS the_key, COUNT(*) FROM patients GROUP BY the_key") == expected
    assert members(session, f"SELECT {key}, COUNT(*) FROM patients GROUP BY ALL") == expected
    assert members(session, f"SELECT k, COUNT(*) FROM (SELECT {key} AS k FROM patients) AS t GROUP BY k") == expected


def test_the_start_of_a_month(session: Session) -> None:
    found = members(session, "SELECT DATE_TRUNC('month', admitted), COUNT(*) FROM patients GROUP BY 1")
    assert len(found) == 25 and found[-1] is None
    assert len(members(session, "SELECT DATE_TRUNC('quarter', admitted), COUNT(*) FROM patients GROUP BY 1")) == 9
    assert len(members(session, "SELECT admitted, COUNT(*) FROM patients GROUP BY 1")) == 732


NARROWED: list[tuple[str, str, tuple[Value, ...]]] = [
    ("sex", "sex <> 'X'", ("F", "M")),
    ("sex", "sex IN ('M', 'Q')", ("M",)),
    ("sex", "sex IS NOT NULL", ("F", "M", "X")),
    ("sex", "sex IS NULL", (None,)),
    ("sex", "sex = 'F' OR sex IS NULL", ("F", None)),
    ("age", "age BETWEEN 3 AND 5", (3, 4, 5)),
    ("age / 10", "age >= 100", (10, 11, 12)),
    ("smoker", "smoker", (True,)),
    ("smoker", "NOT smoker", (False,)),
    ("smoker", "smoker IS NOT TRUE", (False, None)),
    ("admitted", "admitted = '2024-02-01'", (FEBRUARY,)),
    ("EXTRACT(MONTH FROM admitted)", "admitted >= DATE '2025-11-15'", (11, 12)),
]


@pytest.mark.parametrize(("key", "where", "expected"), NARROWED)
def test_a_filter_leaves_fewer_groups(session: Session, key: str, where: str, expected: tuple[Value, ...]) -> None:
    assert members(session, f"SELECT {key}, COUNT(*) FROM patients WHERE {where} GROUP BY 1") == expected


KNOWN_AROUND: list[tuple[str, str, tuple[Value, ...]]] = [
    # a row, what a query inside it says of it, and what that may be
    ("patients p", "p.age >= 1", (False, True, None)),
    ("(SELECT * FROM patients WHERE age < 3) p", "p.age", (0, 1, 2, None)),
    ("patients p JOIN visits v ON v.patient_id = p.patient_id AND p.age < 3", "p.age", (0, 1, 2, None)),
    ("patients p JOIN visits v ON v.patient_id = p.patient_id AND p.age < 3", "p.age + 1", (1, 2, 3, None)),
    ("patients p JOIN visits v ON v.patient_id = p.patient_id", "v.visit_id IS NULL", (False, None)),
    ("patients p LEFT JOIN visits v ON v.patient_id = p.patient_id", "v.visit_id IS NULL", (False, True, None)),
]


@pytest.mark.parametrize(("rows", "value", "expected"), KNOWN_AROUND)
def test_a_query_inside_knows_of_the_row_around_what_that_row_does(
    session: Session, rows: str, value: str, expected: tuple[Value, ...]
) -> None:
    for inside in (f"(SELECT {value})", f"(SELECT {value} FROM regions WHERE code = 'N')"):
        query = f"SELECT x, COUNT(*) FROM (SELECT p.patient_id, {inside} AS x FROM {rows}) AS t GROUP BY x"
        assert members(session, query) == expected


LISTED: list[tuple[str, tuple[Value, ...] | None]] = [
    # what WHERE says of UPPER(town), and the groups by it that are known then
    ("UPPER(town) IN ('B', 'A')", ("A", "B")),
    ("UPPER(town) IN ('B', NULL)", ("B",)),
    ("UPPER(town) = 'A' AND age > 3", ("A",)),
    ("UPPER(town) IN ('A', sex)", None),
    ("UPPER(town) IN (sex, 'A')", None),
    ("UPPER(town) = sex", None),
    ("UPPER(town) = 'A' OR age > 3", None),
    ("UPPER(town) <> 'A'", None),
]


@pytest.mark.parametrize(("where", "expected"), LISTED)
def test_values_of_an_expression_are_known_where_all_are_listed(
    session: Session, where: str, expected: tuple[Value, ...] | None
) -> None:
    query = f"SELECT UPPER(town), COUNT(*) FROM patients WHERE {where} GROUP BY 1"
    if expected is not None:
        assert members(session, query) == expected
    else:
        check = session.check(f"{query} SPEND EPSILON 1")
        assert [found.code for found in check.diagnostics] == ["PQL0403"]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("town KEYS ('b', 'a')", ("a", "b")),
        ("town KEYS ('a', NULL)", ("a", None)),
        ("income KEYS (10, 2)", (2, 10)),
        ("admitted KEYS ('2024-02-01')", (FEBRUARY,)),
        ("UPPER(town) KEYS ('A')", ("A",)),
        ("sex KEYS ('F')", ("F",)),
        ("region KEYS (SELECT code FROM regions)", ("E", "N", "S", "W", "Z")),
        ("cost KEYS (5, NULL)", (5, None)),
        ("town KEYS (LEFT('abc', 1))", ("a",)),
        ("age KEYS (SELECT id FROM stations WHERE id < 3)", (1, 2)),
    ],
)
def test_stated_keys(session: Session, keys: str, expected: tuple[Value, ...]) -> None:
    assert members(session, f"SELECT COUNT(*) FROM patients GROUP BY {keys}") == expected


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ("region KEYS (SELECT code, name FROM regions)", "PQL0308"),
        ("region KEYS (SELECT region FROM patients)", "PQL0308"),
        ("age KEYS (SELECT COUNT(*) FROM patients)", "PQL0308"),
        ("age KEYS (SELECT code FROM regions)", "PQL0301"),
        ("age KEYS (SELECT nothing FROM regions)", "PQL0202"),
        ("age KEYS (age, 2)", "PQL0308"),
        ("region KEYS ('N', 5)", "PQL0301"),
        ("age KEYS (1.5)", "PQL0301"),
        ("smoker KEYS (1)", "PQL0301"),
        ("age, age KEYS (2)", "PQL0308"),
        ("age KEYS (1), age KEYS (2)", "PQL0308"),
    ],
)
def test_groups_are_stated_by_constants_or_one_public_column(session: Session, keys: str, code: str) -> None:
    check = session.check(f"SELECT COUNT(*) FROM patients GROUP BY {keys} SPEND EPSILON 1")
    assert [found.code for found in check.diagnostics] == [code]


def test_stated_keys_are_those_of_a_release_that_is_read_again(session: Session) -> None:
    """Not those of the column that they were stated for."""
    cities = "WITH w AS (SELECT sex AS g, COUNT(*) AS n FROM patients GROUP BY 1 KEYS ('F', 'Y')) "
    check = session.check(f"{cities} SELECT w.g, COUNT(*) FROM patients CROSS JOIN w GROUP BY 1 SPEND EPSILON 1")
    assert check.plan is not None, str(check)
    assert [key.members for key in check.plan.blocks[1].block.keys] == [("F", "Y")]


@pytest.mark.parametrize("keys", ["a, b", "A, B", "1, 2", "smoker, b", "a, sex", "1, sex"])
def test_keys_are_named_by_alias_place_or_column(session: Session, keys: str) -> None:
    text = f"SELECT smoker AS a, sex AS b, COUNT(*) FROM patients GROUP BY {keys} SPEND EPSILON 1"
    check = session.check(text)
    assert check.ok and check.plan is not None, str(check)
    found = [key.members for key in check.plan.blocks[0].block.keys]
    assert found == [(False, True, None), ("F", "M", "X", None)]


def test_a_bare_null_is_one_group(session: Session) -> None:
    assert members(session, "SELECT NULL AS n, COUNT(*) FROM patients GROUP BY n") == (None,)
    assert session.run("SELECT NULL AS n, COUNT(*) FROM patients GROUP BY n SPEND EPSILON 1").rows[0][0] is None
    for rows in ("SELECT patient_id, NULL AS n FROM patients", "SELECT DISTINCT patient_id, NULL AS n FROM patients"):
        found = session.run(f"SELECT n, COUNT(*) FROM ({rows}) AS r GROUP BY n SPEND EPSILON 1")
        assert [row[0] for row in found.rows] == [None]


@pytest.mark.parametrize("tail", ["ORDER BY age", "LIMIT 1", "OFFSET 1", "ORDER BY age LIMIT 1"])
def test_private_rows_are_in_no_order(session: Session, tail: str) -> None:
    check = session.check(f"SELECT COUNT(*) FROM (SELECT age FROM patients {tail}) AS t SPEND EPSILON 1")
    assert [found.code for found in check.diagnostics] == ["PQL0407"]


ROWS = ["SELECT minutes FROM visits", "SELECT minutes FROM visits UNION ALL SELECT minutes FROM visits"]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("tail", ["LIMIT 2 PER UNIT OFFSET 1", "LIMIT 0 PER UNIT"])
def test_of_each_unit_only_the_first_rows_can_be_asked(session: Session, rows: str, tail: str) -> None:
    asked = f"SELECT COUNT(*) FROM ({rows} LIMIT 2 PER UNIT) AS t SPEND EPSILON 1"
    assert session.check(asked).ok
    check = session.check(asked.replace("LIMIT 2 PER UNIT", tail))
    assert [found.code for found in check.diagnostics] == ["PQL0408"]


def test_every_group_is_answered_and_no_other(session: Session) -> None:
    """Nobody is X or lives in Q; everybody of region N is there, to within what the noise allows."""
    text = "SELECT sex, region, COUNT(*) AS n FROM patients GROUP BY sex, region ORDER BY sex, region SPEND EPSILON 100"
    check, answer = session.check(text), session.run(text)
    assert check.groups == len(answer.rows) == 24
    assert [row[:2] for row in answer.rows[:6]] == [("F", code) for code in ("E", "N", "S", "W", "Z", None)]
    assert answer.rows[-1][:2] == (None, None)
    exact = {("F", "N"): 3, ("M", "N"): 2, (None, None): 0}
    for row in answer.rows:
        assert abs(row[2] - exact.get(row[:2], row[2])) <= 3


@pytest.mark.parametrize("key", ["town", "income", "cost", "weight", "town || sex", "age * 1.5 + weight"])
def test_groups_that_are_not_known_are_refused(session: Session, key: str) -> None:
    check = session.check(f"SELECT {key}, COUNT(*) FROM patients GROUP BY 1 SPEND EPSILON 1")
    assert [d.code for d in check.diagnostics] == ["PQL0403"]


LISTED = [  # of columns of one unit's rows, how many values each may have: if all do, and are not too many together
    ("a, b, c", "", [12, 7, 42]),
    ("a, b, c, k", "", []),  # 12 x 7 x 42 x 3 = 10,584
    ("s, k, d", "", [3, 3, 6]),
    ("z", "", []),
    ("a, z", "", []),
    ("a, b", "WHERE b IS NOT NULL", [12, 6]),
    ("a, b", "WHERE a IS NULL", [1, 7]),
    ("a, b", "WHERE a > 100", []),
]


@pytest.mark.parametrize(("columns", "where", "counts"), LISTED)
def test_the_rows_that_one_unit_may_have_are_listed(columns: str, where: str, counts: list[int]) -> None:
    different = block(f"SELECT COUNT(*) FROM (SELECT DISTINCT id, {columns} FROM events {where}) AS x SPEND EPSILON 1")
    counted = f"SELECT id, {columns}, COUNT(*) AS n FROM events {where} GROUP BY ALL"
    grouped = block(f"SELECT COUNT(n) FROM ({counted}) AS x SPEND EPSILON 1")
    assert isinstance(different.rel, Distinct) and isinstance(grouped.rel, Compute)
    assert isinstance(grouped.rel.input, Gathered)
    for listed in (different.rel.listed, grouped.rel.input.listed):
        assert [len(values) for _, values in listed] == counts
        assert all(len(set(values)) == len(values) for _, values in listed)
