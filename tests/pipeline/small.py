"""A clinic of two analysts with little to spend, and what they ask it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privql.diagnostics import PrivQLError
from privql.session import Session
from tests.check.clinic import POLICY

SMALL = POLICY.replace("EPSILON 1000", "EPSILON 2 DEFAULT EPSILON 0.1 MAX EPSILON 1 PER QUERY").replace(
    "GRANT research TO alice;", "GRANT research TO alice, bob LIMIT EPSILON 1.5 EACH;"
)


def left(session: Session) -> Fraction:
    return next(one.left.epsilon for one in session.budget().budgets if one.budget.name == "research")


def codes(problem: PrivQLError) -> list[str]:
    return [d.code for d in problem.diagnostics]


def refused(session: Session, text: str, **params: object) -> list[str]:
    with pytest.raises(PrivQLError) as caught:
        session.run(text, params)
    return codes(caught.value)
