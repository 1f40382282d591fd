"""Texts of which fuzzing made faults: each is taken or refused now, at once."""

from __future__ import annotations

import pytest

from privql.diagnostics import Source
from privql.pipeline import check as room
from tests.fuzz.test_texts import environment, promptly

FOUND = [
    # an error below all doubles, for which means and variances had nothing to try
    ("SELECT STDDEV(age WITHIN 1e-400 GIVEN COUNT >= 10000) AS usual FROM patients", []),
    ("SELECT STDDEV(age) AS spread FROM patients WITHIN 1e-400 GIVEN COUNT >= 5000", []),
    ("SELECT AVG(age WITHIN 1e-400 GIVEN COUNT >= 10000) AS usual FROM patients", []),
    # half a million candidates, sorted before they were too many
    ("SELECT sex, MODE(CLAMP(cost, 0, 5000)) AS total FROM patients GROUP BY sex SPEND EPSILON 0.2", ["PQL0404"]),
    # an aggregate of a column that only the query around has
    ("SELECT COUNT(*) FROM patients WHERE cost > (SELECT AVG(cost) FROM visits) SPEND EPSILON 0.4", ["PQL0408"]),
    ("SELECT region, (SELECT SUM(age) FROM scans) AS n FROM patients GROUP BY region SPEND EPSILON 0.1", ["PQL0408"]),
    # a released answer of groups that are still to be found, met by one row a unit
    (
        "WITH usual AS (SELECT region, MEDIAN(cost) AS mean FROM patients GROUP BY region SPEND EPSILON 0.2)"
        " SELECT COUNT(*) AS n FROM patients p JOIN usual u ON p.region = u.region WHERE cost > mean"
        " AT MOST 9 ROWS PER UNIT",
        [],
    ),
]


@pytest.mark.parametrize(("text", "codes"), FOUND)
def test_what_was_found_is_mended(text: str, codes: list[str]) -> None:
    with promptly(text):
        found = [each for one, _ in room.check_text(Source(text), environment()) for each in one.diagnostics]
    assert [each.code for each in found if each.severity == "error"] == codes
