"""What means nothing is refused, also where it would cost nothing."""

from __future__ import annotations

import pytest

from privql.session import Session

REFUSED = [
    ("SELECT QUANTILE(staff, 2) FROM stations", "PQL0302"),
    ("SELECT QUANTILE(staff, height) FROM stations", "PQL0308"),
    ("SELECT STRING_AGG(code, code) FROM stations", "PQL0308"),
    ("SELECT STRING_AGG(DISTINCT code, ',' ORDER BY id) FROM stations", "PQL0306"),
    ("SELECT SUM(id) OVER (ORDER BY code RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM stations", "PQL0305"),
    ("SELECT SUM(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM stations", "PQL0305"),
    ("SELECT code, GROUPING(staff) FROM stations GROUP BY ROLLUP (code)", "PQL0306"),
    ("SELECT code, id, GROUPING(code, staff) FROM stations GROUP BY ROLLUP (code, id)", "PQL0306"),
    ("SELECT AGE(checked) FROM stations", "PQL0204"),
    ("SELECT CURRENT_DATE", "PQL0410"),
]


@pytest.mark.parametrize(("query", "code"), REFUSED)
def test_it_is_refused(query: str, code: str, session: Session) -> None:
    assert [d.code for d in session.check(query).diagnostics] == [code]


def test_a_quantile_of_a_descending_order_counts_from_the_top(session: Session) -> None:
    both = "SELECT PERCENTILE_CONT({}) WITHIN GROUP (ORDER BY id{}) FROM stations"
    assert session.run(both.format(0.25, " DESC")).rows == session.run(both.format(0.75, "")).rows != ((4.0,),)


def test_a_text_in_double_quotes_is_told_to_be_a_name(session: Session) -> None:
    query = 'SELECT COUNT(*) FROM patients WHERE sex = "Fxyz" SPEND EPSILON 1'
    (found,) = session.check(query).diagnostics
    assert found.code == "PQL0202" and found.fixes[0].text == "'Fxyz'" and "single quotes" in found.why


@pytest.mark.parametrize("step", ["CASE {} WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE 5 END", "CAST({} BETWEEN 1 AND 5 AS INT)"])
def test_a_short_text_does_not_mean_a_million_operations(step: str, session: Session) -> None:
    term = "age"
    for _ in range(14):
        term = step.format(term)
    found = session.check(f"SELECT SUM({term}) FROM patients SPEND EPSILON 1").diagnostics
    assert [d.code for d in found] == ["PQL0104"]
