"""What is wrong with a text is known before its first statement is charged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from privql.diagnostics import PrivQLError
from privql.engines.interface import EngineError
from privql.post.run import PostProcessor
from privql.session import Session
from tests.check.clinic import clinic

ONE = "SELECT COUNT(*) FROM patients SPEND EPSILON 1"
TWO = f"{ONE}; SELECT COUNT(*) FROM patients WHERE age > $a SPEND EPSILON 1"


@pytest.fixture
def session() -> Iterator[Session]:
    with clinic() as opened:
        yield opened


def spent(session: Session) -> object:
    return {one.budget.name: one.spent.epsilon for one in session.budget().budgets}["research"]


@pytest.mark.parametrize(
    ("text", "params", "said"),
    [
        (TWO, {}, "parameter `$a` has no value"),
        (
            TWO,
            {"a": 3, "A": 4},
            "no query uses `$A`",
        ),
        (ONE, {"zz": 1}, "no query uses `$zz`"),
    ],
)
def test_parameters(text: str, params: dict[str, object], said: str, session: Session) -> None:
    with pytest.raises(PrivQLError) as refused:
        list(session.run_text(text, params=params))
    assert said in str(refused.value) and spent(session) == 0


def test_what_the_engine_cannot_compute_of_the_answer(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise EngineError("unsupported")

    monkeypatch.setattr(PostProcessor, "rehearse", refused)
    with pytest.raises(PrivQLError):
        session.run(ONE)
    assert spent(session) == 0
