"""Queries as people bring them from GoogleSQL: each is carried out, or refused with what to write instead.

What GoogleSQL itself says of them is asked by `benchmarks/googlesql.py`.
"""

from __future__ import annotations

import pytest

from privql.session import Session
from tests.check.googlesql import TEXTS, Text, accepted
from tests.check.test_refusals import applied


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.query)
def test_each_is_carried_out_or_refused_with_a_repair(text: Text, session: Session) -> None:
    found = [d for d in session.check_text(text.query).diagnostics if d.severity == "error" and d.code != "PQL0501"]
    assert accepted(session, text.query) == text.ours
    for diagnostic in found:
        assert diagnostic.help, diagnostic.message
        if diagnostic.fixes:
            still = session.check_text(applied(text.query, diagnostic)).diagnostics
            assert (diagnostic.message, diagnostic.span) not in {(d.message, d.span) for d in still}


def test_the_arguments_of_dates_mean_what_they_mean_there(session: Session) -> None:
    told = {
        "DATE_DIFF(DATE '2024-03-01', DATE '2024-01-31', DAY)": 30,
        "DATE_DIFF(DATE '2024-03-01', DATE '2024-01-31', MONTH)": 2,
        "CAST(DATE_TRUNC(DATE '2024-02-29', MONTH) AS TEXT)": "2024-02-01",
        "CAST(DATE_TRUNC(DATE '2024-02-29', ISOWEEK) AS TEXT)": "2024-02-26",
        "DATE_DIFF('day', d, month)": 2,  # a column of such a name is a column
    }
    days = "(SELECT DATE '2024-01-01' AS d, DATE '2024-01-03' AS month) AS t"
    assert session.run(f"SELECT {', '.join(told)} FROM {days}").rows == (tuple(told.values()),)
