"""Which δ looks for which groups: the innermost that is stated, and only where groups are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from privql.session import Session
from tests.check.clinic import clinic

TOWNS = "SELECT COUNT(*) FROM (SELECT town, COUNT(*) AS n FROM patients GROUP BY town) AS t"
OTHERS = TOWNS.replace("town", "LOWER(town)")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "deltas"),
    [
        (f"{TOWNS} SPEND EPSILON 1 DELTA 1e-7", ["1e-7"]),
        (f"SELECT ({TOWNS} SPEND EPSILON 1 DELTA 1e-8), ({TOWNS}) SPEND EPSILON 2 DELTA 1e-7", ["1e-8", "1e-7"]),
        (f"SELECT ({TOWNS} SPEND DELTA 1e-8), ({TOWNS} SPEND DELTA 1e-9) SPEND EPSILON 2", ["1e-8", "1e-9"]),
        (f"SELECT ({TOWNS}), ({OTHERS}) SPEND EPSILON 2 DELTA 1e-7", ["5e-8", "5e-8"]),
        (f"SELECT ({TOWNS}), (SELECT COUNT(*) FROM patients) SPEND EPSILON 2 DELTA 1e-7", ["1e-7"]),
    ],
)
def test_the_innermost_delta_looks_for_groups(session: Session, text: str, deltas: list[str]) -> None:
    check = session.check(text)
    assert check.plan is not None, str(check)
    assert [one.delta for one in check.plan.selections] == [Fraction(delta) for delta in deltas]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM patients SPEND EPSILON 1 DELTA 1e-7",
        "SELECT sex, COUNT(*) FROM patients GROUP BY sex SPEND EPSILON 1 DELTA 1e-7",
        f"SELECT ({TOWNS} SPEND EPSILON 1 DELTA 1e-8), (SELECT COUNT(*) FROM patients) SPEND EPSILON 2 DELTA 1e-7",
    ],
)
def test_a_delta_that_looks_for_nothing_is_not_spent(session: Session, text: str) -> None:
    check = session.check(text)
    assert check.plan is not None, str(check)
    assert check.plan.delta == sum(Fraction(one.delta) for one in check.plan.selections)
    wrong = text.replace("1e-7", "1")
    assert [found.code for found in session.check(wrong).diagnostics] == ["PQL0503"]
