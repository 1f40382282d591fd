"""How far a fact about a column reaches: into branches and its own filter, through names, and no further."""

from __future__ import annotations

import pytest

from privql.diagnostics import Source
from privql.pipeline.check import check_text
from privql.session import Session
from tests.check.blocks import ENV, block

ARGUMENTS = [
    ("CASE WHEN a > 2 THEN a ELSE 3 END", "[3, 7]"),
    ("CASE WHEN a > 2 THEN 2 ELSE a END", "[-3, 2] or NULL"),
    ("CASE WHEN a > 2 THEN 2 WHEN a > 0 THEN a END", "[1, 2] or NULL"),
    ("CASE WHEN a IS NULL THEN 0 ELSE a END", "[-3, 7]"),
    ("CASE a WHEN 1 THEN a WHEN 2 THEN a END", "{1, 2} or NULL"),
    ("CASE WHEN a > 2 OR a < 3 OR a IS NULL THEN 0 ELSE 9 END", "{0}"),
    ("CASE WHEN a > 2 OR a < 3 THEN 0 ELSE 9 END", "{0, 9}"),
    ("CASE WHEN a > 3 AND a < 3 THEN 0 ELSE 9 END", "{9}"),
    ("CASE WHEN a >= 3 AND a <= 3 THEN 0 ELSE 9 END", "{0, 9}"),
    ("IF(a > 2, a, 3)", "[3, 7]"),
    ("IF(a > 2 OR a < 3 OR a IS NULL, 0, 9)", "{0}"),
    ("IF(a > 3 AND a < 3, 0, 9)", "{9}"),
    ("COALESCE(a, 9)", "[-3, 9]"),
    ("NULLIF(a, 7)", "[-3, 7] or NULL"),
    ("CLAMP(z, 0, 3)", "[0, 3] or NULL"),
    ("a + 10", "[7, 17] or NULL"),
    ("a * a", "[-21, 49] or NULL"),
    ("a / 2", "[-1, 3] or NULL"),
    ("GREATEST(a, 0)", "[0, 7]"),
    ("EXTRACT(DAY FROM d)", "{1, 2, 27, 28, 29} or NULL"),
    ("LENGTH(s)", "{1} or NULL"),
]


@pytest.mark.parametrize(("argument", "domain"), ARGUMENTS)
def test_branches_know_what_led_to_them(argument: str, domain: str) -> None:
    found = block(f"SELECT SUM({argument}) FROM people SPEND EPSILON 1").aggregates[0].domain
    assert found.describe() == domain


def test_a_filter_narrows_its_own_aggregate_only() -> None:
    made = block("SELECT SUM(a) FILTER (WHERE a > 2), SUM(a) FROM people WHERE a < 6 SPEND EPSILON 1")
    assert [one.domain.describe() for one in made.aggregates] == ["[3, 5]", "[-3, 5]"]


DYING = [
    # the fact is of the inner `a`, and this `a` is another column
    "SELECT SUM(a) FROM (SELECT b AS a FROM people WHERE a > 2) AS t",
    "SELECT SUM(a) FROM (SELECT b AS a, a AS b FROM people WHERE a > 2) AS t WHERE b > 3",
    "WITH t AS (SELECT a AS b, b AS a FROM people WHERE a > 2) SELECT SUM(a) FROM t",
    "SELECT SUM(b) FROM people WHERE a > 2",
    "SELECT SUM(a) FROM (SELECT CLAMP(z, 0, 5) AS a, a AS z FROM people WHERE a > 2) AS people WHERE z > 4",
]


@pytest.mark.parametrize("query", DYING)
def test_a_fact_dies_when_its_column_is_redefined(query: str) -> None:
    assert block(f"{query} SPEND EPSILON 1").aggregates[0].domain.describe() in ("[0, 5] or NULL", "[0, 5]")


LIVING = [
    "SELECT SUM(a) FROM (SELECT * FROM people WHERE a > 2) AS t",
    "SELECT SUM(x) FROM (SELECT a AS x, b AS a FROM people WHERE a > 2) AS t",
    "WITH t AS (SELECT a FROM people WHERE a > 2) SELECT SUM(a) FROM t",
    "WITH t (x) AS (SELECT a FROM people WHERE a > 2) SELECT SUM(x) FROM t",
    "WITH t AS (SELECT * FROM people), u AS (SELECT a AS y FROM t WHERE a > 2) SELECT SUM(y) FROM u",
    "SELECT SUM(a) FROM (SELECT a FROM (SELECT a FROM people WHERE a > 0) AS p WHERE a > 2) AS q",
    "SELECT SUM(a) FROM grown WHERE a > 2",
]


@pytest.mark.parametrize("query", LIVING)
def test_a_fact_lives_on_through_names(query: str) -> None:
    assert block(f"{query} SPEND EPSILON 1").aggregates[0].domain.describe() == "[3, 7]"


def test_two_references_to_one_query_know_each_their_own() -> None:
    text = (
        "WITH t AS (SELECT a FROM people WHERE a > 0) "
        "SELECT (SELECT SUM(a) FROM t WHERE a < 3) - (SELECT SUM(a) FROM t WHERE a > 5) SPEND EPSILON 1"
    )
    one, _ = next(iter(check_text(Source(text), ENV)))
    assert one.plan is not None, str(one)
    found = [plan.block.aggregates[0].domain.describe() for plan in one.plan.blocks]
    assert found == ["[1, 2]", "[6, 7]"]


@pytest.mark.parametrize(
    ("where", "noted"),
    [
        ("sex = 'female'", True),
        ("sex = 'F' AND sex = 'M'", True),
        ("age > 120 AND smoker", True),
        ("sex = 'female' OR smoker", False),
        ("sex = 'F'", False),
        ("town = 'nowhere'", False),
        ("sex IS NULL", False),
        ("sex <> 'female'", False),
    ],
)
def test_a_condition_that_no_row_can_pass_is_noted(session: Session, where: str, noted: bool) -> None:
    check = session.check(f"SELECT COUNT(*) FROM patients WHERE {where} SPEND EPSILON 1")
    assert check.ok and check.cost.epsilon == 1
    assert [(d.code, d.severity) for d in check.diagnostics] == [("PQL0409", "note")] * noted
    assert session.check("SELECT code FROM regions WHERE code = 'nowhere'").diagnostics == ()
