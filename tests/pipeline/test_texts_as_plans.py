"""A text that is submitted whole: what a check says is what running it charges, and no crash is paid for twice."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import privql
import privql.release as room
from privql.diagnostics import PrivQLError
from privql.kernel.cost import Cost
from privql.ledger import Ledger
from privql.session import Session
from tests.check.clinic import FRAMES, POLICY, clinic
from tests.pipeline.killed import Killed

BUDGETS = """
CREATE BUDGET research FOR UNIT patient EPSILON 20 DELTA 1e-6 DEFAULT EPSILON 0.1 MAX EPSILON 5 PER QUERY;
CREATE BUDGET thesis FOR UNIT patient EPSILON 12 DEFAULT EPSILON 0.2;
CREATE BUDGET club FOR UNIT member EPSILON 9 DELTA 1e-7;
"""
TWO = POLICY[: POLICY.index("CREATE BUDGET")] + BUDGETS
MANY = ";\n".join(f"SELECT COUNT(*) FROM patients WHERE age > {at} SPEND EPSILON 0.1" for at in range(30))


@pytest.fixture
def session() -> Iterator[Session]:
    with clinic(TWO) as opened:
        yield opened


def spent(session: Session) -> dict[str, Cost]:
    return {one.budget.name: one.spent for one in session.budget().budgets}


def left(session: Session) -> dict[str, Fraction]:
    return {one.budget.name: one.left.epsilon for one in session.budget().budgets}


def charged(text: str, session: Session) -> dict[str, Cost]:
    """What a check says that running it will charge."""
    said = [cost.to_json() for cost in session.check_text(text).costs]
    return {one["budget"]: Cost(*(Fraction(one["charged"][part]) for part in ("epsilon", "delta"))) for one in said}


def codes(problem: PrivQLError) -> list[str]:
    return [d.code for d in problem.diagnostics]


def sound(session: Session) -> bool:
    return session._till._ledger.verify() == ()


# ---------------------------------------------------------------- charged as one, and as was said


def test_a_text_is_charged_whole_before_its_first_answer_and_less_than_its_queries(session: Session) -> None:
    checked = session.check_text(MANY)
    (cost,) = checked.costs
    assert checked.total.epsilon == 3 and cost.charged is not None and cost.charged.epsilon < Fraction("2.8")
    assert str(checked).splitlines()[-1] == (
        "total: ε = 3 of research (patient), charged as one plan: ε = 2.7842, δ = 0.0000000024912, 17.2158 left"
    )
    answers = session.run_text(MANY)
    assert spent(session)["research"] == Cost(), "nothing is asked yet"
    next(answers)
    assert spent(session)["research"] == cost.charged
    assert len(list(answers)) == 29 and spent(session)["research"] == cost.charged
    assert left(session)["research"] == cost.left_after and sound(session)


def test_one_by_one_it_is_the_sum(session: Session) -> None:
    assert len(list(session.run_text(MANY, partial=True))) == 30
    assert spent(session)["research"] == Cost(Fraction(3)) and sound(session)


def written(draw: random.Random) -> str:
    """A text of what may stand in one."""
    names: list[str] = []

    def query(epsilon: str) -> str:
        where = f"WHERE age > {draw.randrange(4)}"
        clause = draw.choice(["", f" SPEND EPSILON {epsilon}", " WITHIN 30", f" SPEND EPSILON {epsilon} USING AUTO"])
        readers = [f"SELECT SUM(n) AS n FROM {draw.choice(names)}"] if names else []
        read = (
            f"SELECT COUNT(*) AS k FROM patients JOIN {draw.choice(names or ['r'])} r USING (sex) {where} AND r.n > 4"
        )
        joined = [f"{read}{clause}"] if names else []
        return draw.choice(
            [
                f"SELECT COUNT(*) AS n FROM patients {where}{clause}",
                f"SELECT COUNT(*) AS n FROM patients {where}{clause}",
                f"SELECT COUNT(*) FROM members SPEND EPSILON {epsilon}",
                f"SELECT region, MEDIAN(age) FROM patients GROUP BY region SPEND EPSILON {epsilon}",
                *readers,
                *joined,
            ]
        )

    lines: list[str] = []
    inside = False
    for _ in range(draw.randrange(2, 12)):
        epsilon = draw.choice(["0.1", "0.1", "1/7", "0.3"])
        match draw.randrange(9):
            case 0 if not inside:
                lines.append(draw.choice(["BEGIN", "BEGIN DELTA 1e-9"]))
                inside, known = True, list(names)
            case 1 if inside:
                lines.append(draw.choice(["COMMIT", "ROLLBACK"]))
                inside = False
                names = names if lines[-1] == "COMMIT" else known
            case 2:
                lines.append(draw.choice(["SET budget = thesis", "SET budget = research", "SET epsilon = 0.15"]))
            case 3:
                name = f"r{len(lines)}"
                lines.append(
                    f"CREATE RELEASE {name} AS SELECT sex, COUNT(*) AS n FROM patients WHERE age > {draw.randrange(3)}"
                    f" GROUP BY sex SPEND EPSILON {epsilon}"
                )
                names.append(name)
            case 4:
                lines.append(draw.choice(["SHOW BUDGET", "DESCRIBE patients", f"EXPLAIN {query(epsilon)}"]))
            case _:
                lines.append(query(epsilon))
    given = "SET epsilon = 0.1", "SET budget = research"  # SET holds for the session, and the text is run twice
    return ";\n".join([*given, *lines, *(["COMMIT"] if inside else [])])


@pytest.mark.parametrize("seed", range(7))
def test_what_a_check_says_is_what_is_charged(seed: int) -> None:
    draw = random.Random(seed)
    with clinic(TWO) as session:
        for _ in range(4):
            text = written(draw)
            checked, before, said = session.check_text(text), spent(session), charged(text, session)
            if not checked.ok:
                with pytest.raises(PrivQLError):
                    session.run_text(text)
                assert spent(session) == before
                continue
            list(session.run_text(text))
            after = spent(session)
            for name, cost in after.items():
                assert cost == before[name] + said.get(name, Cost()), text
            for one in checked.costs:
                assert left(session)[str(one.budget)] == one.left_after, text
            again = session.check_text(text)
            assert not again.costs and again.total.epsilon == 0, text
            list(session.run_text(text))
            assert spent(session) == after, text
        assert sound(session)


def test_what_is_asked_twice_and_what_is_rolled_back_costs_nothing(session: Session) -> None:
    one = "SELECT COUNT(*) FROM patients WHERE age > 7 SPEND EPSILON 0.3"
    text = f"{one}; {one.lower()}; BEGIN; {one.replace('7', '8')}; ROLLBACK"
    checked = session.check_text(text)
    assert [check.free for check in checked.statements] == [None, "same as before", None, "rolled back", None]
    assert checked.total.epsilon == Fraction(3, 10)
    first, second = session.run_text(text)
    assert first.rows == second.rows and second.cost.epsilon == 0
    assert spent(session)["research"] == Cost(Fraction(3, 10)) and sound(session)


def test_each_budget_that_is_set_pays_for_a_plan_of_its_own_or_none_pays(session: Session) -> None:
    text = "SET budget = thesis; {0}; {1}; SET budget = research; {2}; SELECT COUNT(*) FROM patients"
    parts = [f"SELECT COUNT(*) FROM patients WHERE age > {at} SPEND EPSILON {spend}" for at, spend in enumerate("311")]
    said = charged(text.format(*parts), session)
    assert said == {"thesis": Cost(Fraction(4)), "research": Cost(Fraction(11, 10))}, "the default is research's"
    too_much = text.format(*(part.replace("EPSILON 1", "EPSILON 5") for part in parts)).replace("research;", "thesis;")
    with pytest.raises(PrivQLError, match="PQL0502"):
        session.run_text(too_much)
    assert set(spent(session).values()) == {Cost()}
    list(session.run_text(text.format(*parts)))
    assert {name: spent(session)[name] for name in said} == said


def test_a_text_that_the_budget_cannot_carry_is_told_where_and_costs_nothing(session: Session) -> None:
    text = ";\n".join(f"SELECT COUNT(*) FROM patients WHERE age > {at} SPEND EPSILON 4" for at in range(7))
    checked = session.check_text(text)
    assert [d.code for d in checked.over] == ["PQL0502"] and checked.over[0].to_json()["line"] == 6
    assert "`ALTER BUDGET research ADD EPSILON … REASON '…'`" in checked.over[0].help
    with pytest.raises(PrivQLError):
        session.run_text(text)
    assert set(spent(session).values()) == {Cost()}


def test_what_is_answered_before_has_no_place_in_the_plan(session: Session) -> None:
    lines = MANY.split(";\n")
    for line in lines[:12]:
        session.run(line)
    said = charged(MANY, session)["research"]
    assert said == charged(";\n".join(lines[12:]), session)["research"] != Cost(Fraction(18, 10))
    list(session.run_text(MANY))
    assert spent(session)["research"] == Cost(Fraction(12, 10)) + said and sound(session)


# ---------------------------------------------------------------- broken off


READING = """
CREATE RELEASE by_sex AS SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex SPEND EPSILON 0.3;
CREATE RELEASE part AS SELECT sex, n / SUM(n) OVER () AS p FROM by_sex;
SELECT COUNT(*) AS k FROM patients JOIN by_sex b USING (sex) WHERE b.n > 3 WITHIN 25;
SELECT COUNT(*) FROM patients WHERE age > 30 SPEND EPSILON 0.2;
SELECT p FROM part;
BEGIN;
SELECT COUNT(*) FROM patients WHERE age > 40 SPEND EPSILON 0.2;
SELECT COUNT(*) FROM patients WHERE age > 50 SPEND EPSILON 0.2;
COMMIT;
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    policy = tmp_path / "policy.pql"
    policy.write_text(TWO, encoding="utf-8")
    privql.apply(policy, tmp_path / "ledger.db", FRAMES)
    return tmp_path / "ledger.db"


def opened(ledger: Path) -> Session:
    return privql.connect(ledger, analyst="alice", frames=FRAMES)


def dying(at: int, seen: list[int], when: str, honest: Any, *given: Any) -> Any:
    """Dies at a draw, before it is made or when it is kept."""
    seen.append(len(seen))
    if when == "before" and len(seen) - 1 == at:
        raise Killed
    rows = honest(*given)
    if when == "after" and len(seen) - 1 == at:
        raise Killed
    return rows


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_text_that_dies_is_taken_up_again_and_not_charged_again(
    ledger: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(ledger) as session:
        said = charged(READING, session)["research"]
    answers: dict[int, Any] = {}

    def run(session: Session) -> None:
        for number, answer in enumerate(session.run_text(READING)):
            assert answers.setdefault(number, answer.rows) == answer.rows

    for _ in range(4):  # each dies at its second draw: the first is the one at which the one before died
        with monkeypatch.context() as patch, opened(ledger) as session:
            patch.setattr("privql.pipeline.run.release", partial(dying, 1, [], when, room.release))
            with pytest.raises(Killed):
                run(session)
        with opened(ledger) as session:
            assert spent(session)["research"] == said
            checked = session.check_text(READING)
            assert not checked.costs and {one.free for one in checked.statements if one.runs} <= {"replay", "paid for"}
    with opened(ledger) as session:
        rows = [answer.rows for answer in session.run_text(READING)]
        assert len(rows) == 7 and all(rows[number] == kept for number, kept in answers.items())
        assert spent(session)["research"] == said and sound(session)
        assert [answer.rows for answer in session.run_text(READING)] == rows


def test_stopping_between_two_answers_and_going_on_elsewhere(ledger: Path) -> None:
    with opened(ledger) as session:
        said = charged(READING, session)["research"]
        answers = session.run_text(READING)
        first = next(answers)
        answers.close()
        assert spent(session)["research"] == said
    with opened(ledger) as session:
        rows = [answer.rows for answer in session.run_text(READING)]
        assert rows[0] == first.rows and spent(session)["research"] == said
    with Ledger.open(ledger) as kept:
        assert kept.verify() == () and len({entry.plan for entry in kept.history() if entry.charges}) == 2


def test_planted_a_plan_that_is_not_found_again_pays_twice(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(ledger) as session:
        next(session.run_text(READING))
        once = spent(session)["research"]
        monkeypatch.setattr("privql.ledger.plans.find", lambda *_: None)
        list(session.run_text(READING))
        assert spent(session)["research"] != once


def test_a_name_that_is_taken_is_told_before_the_text_is_charged(session: Session) -> None:
    session.run("CREATE RELEASE part AS SELECT 1 AS p")
    before = spent(session)
    with pytest.raises(PrivQLError) as caught:
        session.run_text(READING)
    assert codes(caught.value) == ["PQL0208"] and spent(session) == before


def test_json_says_what_is_charged(session: Session) -> None:
    found = json.loads(json.dumps(session.check_text(MANY).to_json()))["costs"]
    assert found == [
        {
            "budget": "research",
            "unit": "patient",
            "epsilon": "3",
            "delta": "0",
            "charged": {"epsilon": "13921/5000", "delta": found[0]["charged"]["delta"]},
            "fits": True,
            "left_after": "86079/5000",
        }
    ]
    assert 0 < Fraction(found[0]["charged"]["delta"]) <= Fraction(1, 4 * 10**8)
