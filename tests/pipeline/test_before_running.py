"""What is wrong with a text is known before its first statement is charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd
import pytest

import privql
import privql.pipeline.run as flow
from privql.diagnostics import PrivQLError
from privql.engines.interface import EngineError, Querying
from privql.pipeline.places import Places
from privql.post.run import PostProcessor
from privql.session import Session
from tests.check.clinic import FRAMES, POLICY, VISITS, clinic

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


NEVER = (
    "SELECT code, (SELECT MAX(c.n) FROM (SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex) AS c"
    " WHERE c.n < r.population GROUP BY ROLLUP (c.sex) LIMIT 1) AS m FROM regions AS r"
)
OF_PUBLIC_ROWS = (
    "SELECT code, (SELECT MAX(s.staff) FROM stations AS s WHERE s.id < r.population GROUP BY ROLLUP (s.code) LIMIT 1)"
    " AS m FROM regions AS r"
)


@pytest.mark.parametrize("bad", [f"{NEVER} SPEND EPSILON 2", OF_PUBLIC_ROWS])
@pytest.mark.parametrize("in_cart", [False, True])
def test_what_the_engine_cannot_compute_of_several(bad: str, in_cart: bool, session: Session) -> None:
    """Nothing of them is charged: they could never all be answered."""
    lines = [ONE, bad, "SELECT AVG(age) FROM patients SPEND EPSILON 3"]
    text = "; ".join(["BEGIN", *lines, "COMMIT"] if in_cart else lines)
    assert session.check_text(text).ok
    with pytest.raises(PrivQLError) as refused:
        list(session.run_text(text))
    (found,) = refused.value.diagnostics
    assert found.code == "PQL0602" and found.help.endswith("nothing was spent")
    assert text[found.span.start :].startswith(bad)
    assert spent(session) == 0


def test_what_the_engine_cannot_compute_again_and_again(session: Session) -> None:
    with pytest.raises(PrivQLError, match="nothing was spent"):
        session.run(f"CREATE RELEASE r AS {NEVER} EVERY DAY FOR 9 RUNS SPEND EPSILON 2")
    assert spent(session) == 0


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (lambda visits: visits.assign(visit_id=1), "PQL0603"),
        (lambda visits: visits.drop(columns="minutes"), "PQL0602"),
    ],
)
def test_data_that_is_not_as_declared(fault: Callable[[pd.DataFrame], pd.DataFrame], code: str) -> None:
    """Of a table that the last of several reads."""
    text = (
        "CREATE RELEASE a AS SELECT COUNT(*) AS n FROM patients SPEND EPSILON 1; SELECT 2 * n FROM a;"
        " SELECT SUM(minutes) FROM visits SPEND EPSILON 1"
    )
    with clinic() as whole:
        assert len(list(whole.run_text(text))) == 3
    with privql.connect(policy=POLICY, frames={**FRAMES, "visits": fault(VISITS)}, analyst="alice") as broken:
        with pytest.raises(PrivQLError, match="nothing was spent") as refused:
            list(broken.run_text(text))
        (found,) = refused.value.diagnostics
        assert found.code == code and text[found.span.start :].startswith("SELECT SUM")
        assert spent(broken) == 0


def test_what_shows_only_after_the_charge_is_not_said_to_cost_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, left = Places.engine, iter(range(4))

    def gone(self: Places, tables: Sequence[str]) -> Querying:
        if next(left, None) is None:
            raise EngineError("missing source", "visits")
        return honest(self, tables)

    text = f"{ONE}; SELECT AVG(age) FROM patients SPEND EPSILON 3; SELECT SUM(minutes) FROM visits SPEND EPSILON 1"
    with monkeypatch.context() as patch:
        patch.setattr(Places, "engine", gone)
        with pytest.raises(PrivQLError, match="what was charged for it stands"):
            list(session.run_text(text))
    once = spent(session)
    assert once != 0
    assert len(list(session.run_text(text))) == 3 and spent(session) == once


def test_a_file_that_goes_while_it_is_read_costs_what_was_charged(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> object:
        raise EngineError("missing source", "patients")

    with monkeypatch.context() as patch:
        patch.setattr(flow, "release", gone)
        with pytest.raises(PrivQLError, match="what was charged for it stands"):
            session.run(ONE)
    once = spent(session)
    assert once == 1 and session.run(ONE) and spent(session) == once
