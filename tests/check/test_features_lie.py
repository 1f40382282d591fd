"""Where the features of a unit lie: no further than its declared rows, and the values that there are, let them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import pytest

from privql.domains import Domain, finite, interval
from privql.functions.aggregate.within import domain_within
from privql.session import Session

WINDOW = "SELECT {} OVER (PARTITION BY patient_id ORDER BY visit_id {}) AS x FROM visits"


@pytest.mark.parametrize(
    ("inner", "low", "high"),
    [
        ("SELECT COUNT(DISTINCT ward) AS x FROM visits GROUP BY patient_id", 0, 2),
        ("SELECT COUNT(DISTINCT minutes) AS x FROM visits GROUP BY patient_id", 0, 20),
        ("SELECT COUNT(DISTINCT minutes) AS x FROM calls GROUP BY patient_id", 0, 61),
        ("SELECT SUM(DISTINCT minutes / 300) AS x FROM visits GROUP BY patient_id", 0, 6),
        (WINDOW.format("SUM(minutes)", "ROWS UNBOUNDED PRECEDING"), 0, 12_000),
        (WINDOW.format("SUM(minutes)", ""), 0, 12_000),
        (WINDOW.format("SUM(minutes)", "ROWS 1 PRECEDING"), 0, 1200),
        (WINDOW.format("SUM(minutes)", "ROWS BETWEEN 30 PRECEDING AND CURRENT ROW"), 0, 12_000),
        (WINDOW.format("COUNT(*)", "GROUPS 1 PRECEDING"), 0, 20),
        (WINDOW.format("RANK()", ""), 1, 20),
    ],
)
def test_features_lie_no_further_than_a_units_rows_let_them(session: Session, inner: str, low: int, high: int) -> None:
    check = session.check(f"SELECT AVG(x) FROM ({inner}) AS t AT MOST 1 ROW PER UNIT SPEND EPSILON 1")
    assert check.plan is not None, str(check)
    domain = check.plan.measurements[0].aggregate.domain
    assert (domain.low, domain.high) == (low, high)


@pytest.mark.parametrize("domain", [interval(-1, 2, True, Fraction(1)), finite((-1, 5), True, Fraction(1))])
def test_different_values_lie_where_they_may(domain: Domain) -> None:
    """All rows that a unit can have, of all values."""
    values = domain.members(9)
    assert values is not None
    for most in (0, 1, 3, 5):
        for rows in (rows for n in range(most + 1) for rows in combinations_with_replacement(values, n)):
            different = {value for value in rows if isinstance(value, int)}
            assert len(different) in domain_within("count", (domain,), most, True)
            assert (sum(different) if rows else None) in domain_within("sum", (domain,), most, True)
