"""REFINE r TO WITHIN a: what was asked is told from the ledger; what cannot be refined is refused; an auditor sees."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from privql.diagnostics import PrivQLError
from privql.ledger import Ledger
from privql.session import Session, apply, connect
from tests.pipeline.refining.people import COUNTS, FRAMES, POLICY, halves, refused, spent

# ---------------------------------------------------------------- what is asked with

ASKED: list[tuple[str, dict[str, object]]] = [
    ("SELECT COUNT(*) AS n FROM people WHERE age > $from SPEND EPSILON $e DELTA 1e-6 USING GAUSSIAN",
     {"from": 5, "e": "0.3"}),
    ("SELECT COUNT(*) AS n FROM people WHERE sex = $s SPEND EPSILON 1/3 DELTA $d USING GAUSSIAN",
     {"s": "f g", "d": 1e-7}),
    ("SELECT COUNT(*) AS n FROM people WHERE age > $x SPEND EPSILON 0.31 USING GAUSSIAN", {"x": 1.5}),
    ("CREATE RELEASE renamed (a, n) AS SELECT sex, COUNT(*) FROM people GROUP BY sex SPEND EPSILON 0.5 USING GAUSSIAN",
     {}),
    ("SELECT ward, COUNT(DISTINCT id) AS n FROM visits GROUP BY ward AT MOST 16 GROUPS PER UNIT"
     " SPEND EPSILON 0.4 USING AUTO", {}),
    ("SELECT COUNT(*) AS n, VAR_POP(age) AS v FROM people WITHIN 1000 GIVEN COUNT >= 100 USING GAUSSIAN", {}),
    ("SELECT SUM(low) AS n, COUNT(* SPEND EPSILON 0.1) FROM people SPEND EPSILON 0.33 USING GAUSSIAN", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "params"), ASKED)
def test_how_it_was_asked_is_told_from_the_ledger(session: Session, text: str, params: dict[str, object]) -> None:
    first = session.run(text, params=params)
    answer = session.run(f"REFINE {first.release_id} TO WITHIN 2 GIVEN COUNT >= 100000")
    assert max(halves(answer, "n")) <= 2 and [c.name for c in answer.columns] == [c.name for c in first.columns]


def test_what_it_is_refined_to_may_be_a_parameter(session: Session) -> None:
    first = session.run(COUNTS.replace("0.2", "0.27"))
    answer = session.run(f"REFINE {first.release_id} TO WITHIN $w AT 90%", w="25/2")
    assert session.run(f"REFINE {first.release_id} TO WITHIN 25/2 AT 90%").rows == answer.rows
    assert session.run(f"REFINE {first.release_id} TO WITHIN 12.50 AT 90.0% MAX EPSILON 9").rows == answer.rows
    assert session.run(f"REFINE {first.release_id} TO WITHIN $v AT 90%", v="12.5").release_id == answer.release_id
    assert halves(session.run(f"REFINE {answer.release_id} TO WITHIN $w", w=5), "n") == [5, 5]
    assert "PQL0304" in refused(session, f"REFINE {first.release_id} TO WITHIN $w")


def test_what_a_session_or_budget_stated_then_is_found_again(session: Session) -> None:
    session.run("SET epsilon = 0.17")
    first = session.run("SELECT COUNT(*) AS n FROM people WHERE low = 1 USING GAUSSIAN")
    session.run("SET epsilon = 0.5")
    assert halves(session.run(f"REFINE {first.release_id} TO WITHIN 9"), "n") == [9]


# ---------------------------------------------------------------- what is refused

REFUSED = [
    ("SELECT COUNT(*) AS n FROM people SPEND EPSILON 0.1", "USING GAUSSIAN"),
    ("SELECT MEDIAN(age) AS n FROM people SPEND EPSILON 0.1", "no noise to lessen"),
    ("SELECT job, COUNT(*) AS n FROM people GROUP BY job SPEND EPSILON 0.5 DELTA 1e-6 USING GAUSSIAN",
     "groups were found"),
    ("SELECT SUM(low BOUNDS AUTO) AS n FROM people SPEND EPSILON 0.5 DELTA 1e-6 USING GAUSSIAN", "bounds were found"),
    ("SELECT sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex) SPEND EPSILON 0.5 DELTA 1e-6 USING GAUSSIAN",
     "totals"),
    ("SELECT n FROM again", "public and released rows"),
    ("SELECT COUNT(*) AS n FROM people WHERE age > (SELECT COUNT(*) FROM guests) SPEND EPSILON 1 USING GAUSSIAN",
     "reads the answer of another"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "word"), REFUSED)
@pytest.mark.parametrize("answered", [True, False])
def test_what_cannot_be_refined_is_refused_before_anything_is_read(text: str, word: str, answered: bool) -> None:
    with connect(policy=POLICY, frames=FRAMES, analyst="ada") as session:
        session.run(f"CREATE RELEASE again AS {COUNTS}")
        made = f"CREATE RELEASE other AS {text}"
        if answered:
            session.run(made)
            before = spent(session)
            said = refused(session, "REFINE other TO WITHIN 5")
            assert spent(session) == before
        else:
            said = str(session.check_text(f"{made}; REFINE other TO WITHIN 5"))
            said += "".join(map(str, session.check_text(f"{made}; REFINE other TO WITHIN 5").diagnostics))
        assert "PQL0513" in said and word in said


def test_what_nobody_promises_or_knows_is_refused(session: Session) -> None:
    first = session.run(COUNTS)
    assert "nothing to pay" in refused(session, f"REFINE {first.release_id} TO WITHIN 500")
    assert "PQL0201" in refused(session, "REFINE nobody TO WITHIN 5")
    assert "PQL0201" in refused(session, "REFINE r999999 TO WITHIN 5")
    assert "percentage" in refused(session, f"REFINE {first.release_id} TO WITHIN 5 %")
    assert "rounding alone" in refused(session, f"REFINE {first.release_id} TO WITHIN 1/2")
    assert "PQL0506" in refused(session, f"REFINE {first.release_id} TO WITHIN 1 MAX EPSILON 0.1")
    daily = "CREATE RELEASE daily AS SELECT COUNT(*) AS n FROM people EVERY DAY FOR 9 RUNS SPEND EPSILON 1 DELTA 1e-6"
    daily += " USING GAUSSIAN"
    assert "again and again" in "".join(map(str, session.check_text(f"{daily}; REFINE daily TO WITHIN 5").diagnostics))
    session.run(daily)
    assert "again and again" in refused(session, "REFINE daily TO WITHIN 1")
    assert "PQL0513" in refused(session, "REFINE daily_1 TO WITHIN 1")


def test_other_analysts_refine_what_they_may_see_and_nothing_else(path: Path) -> None:
    with connect(path, analyst="ada") as ada, connect(path, analyst="bob") as bob, connect(path, analyst="eve") as eve:
        first = ada.run(f"CREATE RELEASE mine AS {COUNTS}")
        for name in (f"REFINE {first.release_id} TO WITHIN 20", "REFINE mine TO WITHIN 20"):
            assert "PQL0201" in refused(eve, name)
        assert "PQL0201" in refused(bob, "REFINE mine TO WITHIN 20")
        answer = bob.run(f"REFINE {first.release_id} TO WITHIN 20")
        assert ada.run("REFINE mine TO WITHIN 20").rows == answer.rows and ada._ledger.verify() == ()


def test_what_is_older_than_the_data_the_policy_or_was_forgotten_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (path.parent / "policy.pql").read_text()
    with connect(path, analyst="ada") as session:
        first, other = session.run(COUNTS), session.run(COUNTS.replace("0.2", "0.4"))
        session._ledger.forget(other.release_id)
        assert "was forgotten" in refused(session, f"REFINE {other.release_id} TO WITHIN 5")
        ask = f"REFINE {first.release_id} TO WITHIN 20"
        check = session.check(ask)
        session._ledger.refresh("people", "new")
        assert "replaced since" in refused(session, ask)
        # a check from before is held to it once more, where it is charged
        with pytest.raises(PrivQLError, match="replaced since"):
            session._till.run(check)
        assert len(session._ledger.history()) == 2
        newer = session.run(COUNTS)
    (path.parent / "policy.pql").write_text(text.replace("age INT BETWEEN 0 AND 100", "age INT BETWEEN 0 AND 99"))
    apply(path.parent / "policy.pql", path, reason="a typing error")
    with connect(path, analyst="ada") as session:
        assert "version 1 of the policy" in refused(session, f"REFINE {newer.release_id} TO WITHIN 20")


def test_a_policy_that_differs_in_budgets_alone_is_the_same(path: Path) -> None:
    with connect(path, analyst="ada") as session:
        first = session.run(COUNTS)
    policy = path.parent / "policy.pql"
    policy.write_text(
        policy.read_text().replace(
            "EPSILON 100000 DELTA 0.5;\nCREATE BUDGET g", "EPSILON 900 DELTA 0.5;\nCREATE BUDGET g"
        )
    )
    apply(policy, path, reason="less for all")
    with connect(path, analyst="ada") as session:
        assert halves(session.run(f"REFINE {first.release_id} TO WITHIN 20"), "n") == [20, 20]


# ---------------------------------------------------------------- the auditor


def _rewritten(path: Path, change: Callable[[sqlite3.Connection], object]) -> tuple[str, ...]:
    with sqlite3.connect(path) as db:
        change(db)
    with Ledger.open(path) as ledger:
        return ledger.verify()


def test_verify_finds_a_release_that_is_merged_with_what_it_may_not_be(path: Path) -> None:
    with connect(path, analyst="ada") as session:
        first = session.run(COUNTS)
        session.run(f"REFINE {first.release_id} TO WITHIN 20")
        assert session._ledger.verify() == ()
    said = _rewritten(path, lambda db: db.execute("UPDATE charge SET data_version = '{}' WHERE id = 1"))
    assert any("which was asked of other data" in line for line in said)
    gone = "UPDATE charge SET parameters = replace(parameters, '\"r1\"', '\"r7\"') WHERE id = 2"
    said = _rewritten(path, lambda db: db.execute(gone))
    assert any("there was no release `r7`" in line for line in said)
