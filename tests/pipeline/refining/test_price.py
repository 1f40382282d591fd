"""REFINE r TO WITHIN a: the difference is paid, and the same again costs nothing."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

import privql.ledger.refining as lineage
import privql.pipeline.run as running
import privql.release as room
from privql.kernel.cost import Cost
from privql.kernel.events import Event
from privql.kernel.gaussian import affordable, greatest_mu, least_mu
from privql.kernel.proved import Unproved
from privql.ledger import Ledger
from privql.plan import refining as planning
from privql.session import Session, connect
from privql.syntax import ast
from tests.pipeline.killed import Killed, killed_at
from tests.pipeline.refining.people import COUNTS, END, SURE, halves, mu_squared, refused, spent


@pytest.mark.parametrize("width", [30, 20, 9, 2])
def test_the_difference_is_paid_and_hardly_more(session: Session, width: int) -> None:
    first = session.run(COUNTS)
    before = spent(session)
    check = session.check(f"REFINE {first.release_id} TO WITHIN {width}")
    assert spent(session) == before
    assert check.plan is not None
    (one,) = check.measurements
    (known,) = one.before
    assert one.sensitivity.l2_squared == 1 and known == Fraction(first.certificate["measurements"][0]["scale"])
    assert isinstance(check.statement, ast.Refine)
    goal = planning._greatest(one, check.statement.privacy, {}, SURE, "merged")
    lacks = 1 / goal**2 - 1 / known**2
    epsilon, delta = check.plan.epsilon.constant, check.plan.delta
    assert delta == Fraction(1, 10**6)
    # what is charged buys what is lacking, and an ε that is one less in its fourth digit does not
    assert greatest_mu(epsilon, delta) ** 2 >= lacks
    assert not affordable(epsilon * Fraction(998, 1000), least_mu(lacks), delta)
    assert one.mu_squared == greatest_mu(epsilon, delta) ** 2
    answer = session.run(f"REFINE {first.release_id} TO WITHIN {width}")
    assert spent(session) - before == epsilon == answer.cost.epsilon
    # both together are one measurement of that deviation
    both = mu_squared(first) + mu_squared(answer)
    assert both == pytest.approx(float(1 / one.scale**2), rel=1e-6)
    assert one.scale <= goal and float(one.scale) == pytest.approx(float(goal), rel=2e-3)
    assert halves(answer, "n") == [width, width]
    (kept,) = [entry for entry in session._ledger.history() if entry.release_id == answer.release_id]
    ((line,),) = [kept.charges]
    ((event),) = line.events
    assert event.kind == "gaussian" and event.cost.epsilon == epsilon and event.cost.delta == delta


def test_planted_forgetting_what_was_known_costs_as_much_as_asking_anew(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = session.run(COUNTS)
    text = f"REFINE {first.release_id} TO WITHIN 25"
    honest = session.check(text).plan
    monkeypatch.setattr(planning, "merged", SimpleNamespace(precision=lambda _: Fraction(0)))
    forgot = session.check(text).plan
    assert honest is not None and forgot is not None
    assert forgot.epsilon.constant > Fraction(5, 4) * honest.epsilon.constant


def test_planted_less_noise_than_is_paid_for_is_not_proved(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    first, honest = session.run(COUNTS), planning.parts
    monkeypatch.setattr(
        planning, "parts", lambda *given: [(delta, square and 2 * square) for delta, square in honest(*given)]
    )
    with pytest.raises(Unproved, match="costs more"):
        session.check(f"REFINE {first.release_id} TO WITHIN 11")


def test_planted_a_charge_of_next_to_nothing_buys_no_measurement(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, honest = session.run(COUNTS), running.request_for
    least = (Event("gaussian", Cost(Fraction(1, 10**6), Fraction(1, 10**6))),)
    monkeypatch.setattr(running, "request_for", lambda *given: replace(honest(*given), charges=(("person", least),)))
    with pytest.raises(room.Unpaid):
        session.run(f"REFINE {first.release_id} TO WITHIN 12")
    monkeypatch.setattr(running, "request_for", lambda *given: replace(honest(*given), charges=()))
    assert "charges no unit" in refused(session, f"REFINE {first.release_id} TO WITHIN 12")


def test_planted_what_is_of_older_data_is_found_by_the_audit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, fault in (("_check", None), ("check", None), ("same", True)):
        monkeypatch.setattr(lineage, name, lambda *_, fault=fault: fault)
    with connect(path, analyst="ada") as session:
        first = session.run(COUNTS)
        session._ledger.refresh("people", "new")
        session.run(f"REFINE {first.release_id} TO WITHIN 20")
        (said,) = session._ledger.verify()
    assert "merged with `r1`, which was asked of other data" in said


def test_again_and_again_all_that_was_measured_is_kept(session: Session) -> None:
    answers = [session.run(COUNTS.replace("0.2", "0.11"))]
    for width in (40, 20, 12, 5, 3):
        answers.append(session.run(f"REFINE {answers[-1].release_id} TO WITHIN {width}"))
        assert halves(answers[-1], "n") == [width, width]
        (one,) = answers[-1].certificate["measurements"]
        assert len(one["merged"]["with"]) == len(answers) - 1
        total = sum(map(mu_squared, answers), Fraction(0))
        assert float(total) == pytest.approx(float(1 / Fraction(one["merged"]["scale"]) ** 2), rel=1e-6)
    assert session._ledger.verify() == ()


def test_the_answer_is_the_mean_of_all_that_was_drawn_by_precision(session: Session) -> None:
    first = session.run(COUNTS.replace("0.2", "0.3"))
    second = session.run(f"REFINE {first.release_id} TO WITHIN 12")
    third = session.run(f"REFINE {second.release_id} TO WITHIN 7")
    drawn = [json.loads(session._ledger.noisy("ada", str(one.release_id)))[0] for one in (first, second, third)]
    sigmas = [Fraction(one.certificate["measurements"][0]["scale"]) for one in (first, second, third)]
    for at, (_, n) in enumerate(third.rows):
        exact = sum(rows[at][0] / sigma**2 for rows, sigma in zip(drawn, sigmas, strict=True))
        assert abs(exact / sum(1 / sigma**2 for sigma in sigmas) - n) <= Fraction(1, 2)


def test_numbers_that_are_near_enough_are_not_paid_for_again(session: Session) -> None:
    first = session.run(f"SELECT COUNT(* SPEND 0.15) AS n, SUM(age SPEND 0.05) AS a FROM people {END}")
    text = f"REFINE {first.release_id} TO WITHIN 60"
    assert halves(first, "n")[0] < 60 < halves(first, "a")[0]
    answer = session.run(text)
    one, other = answer.certificate["measurements"]
    assert one["epsilon"] == "0" and one["scale"] is None and Fraction(other["epsilon"]) == answer.cost.epsilon
    assert answer.rows[0][0] == first.rows[0][0]
    assert halves(answer, "n") == halves(first, "n") and halves(answer, "a") == [60]
    assert "as it was" in session.explain(text)
    further = session.run(f"REFINE {answer.release_id} TO WITHIN 30")
    assert [len(one["merged"]["with"]) for one in further.certificate["measurements"]] == [1, 2]
    assert halves(further, "n") == [30] and halves(further, "a") == [30]


def test_several_units_and_blocks_each_pay_for_what_they_lack(session: Session) -> None:
    text = f"SELECT (SELECT COUNT(*) FROM people) AS n, (SELECT COUNT(*) FROM guests) AS g {END}"
    first = session.run(text)
    before = {one.budget.name: one.spent for one in session.budget().budgets}
    answer = session.run(f"REFINE {first.release_id} TO WITHIN 15")
    assert halves(answer, "n") == [15] and halves(answer, "g") == [15]
    now = {one.budget.name: one.spent - before[one.budget.name] for one in session.budget().budgets}
    assert (
        all(cost.epsilon > 0 for cost in now.values()) and sum(c.epsilon for c in now.values()) == answer.cost.epsilon
    )


def test_a_unit_whose_numbers_are_near_enough_is_not_charged(session: Session) -> None:
    near = "(SELECT COUNT(*) FROM people SPEND EPSILON 1 DELTA 1e-6 USING GAUSSIAN) AS n"
    far = "(SELECT COUNT(*) FROM guests SPEND EPSILON 0.1 DELTA 1e-6 USING GAUSSIAN) AS g"
    first = session.run(f"SELECT {near}, {far}")
    before = {one.budget.name: one.spent.epsilon for one in session.budget().budgets}
    answer = session.run(f"REFINE {first.release_id} TO WITHIN 20")
    now = {one.budget.name: one.spent.epsilon for one in session.budget().budgets}
    assert now["b"] == before["b"] and now["g"] - before["g"] == answer.cost.epsilon > 0
    assert answer.rows[0][0] == first.rows[0][0] and halves(answer, "g") == [20]


# ---------------------------------------------------------------- the same again, and what breaks off


def test_the_same_again_costs_nothing_and_is_the_same(session: Session) -> None:
    first = session.run(f"CREATE RELEASE again AS {COUNTS.replace('0.2', '0.23')}")
    answer, before = session.run("REFINE again TO WITHIN 20 AS again_20"), spent(session)
    for text in (
        "refine AGAIN to within 20",
        "REFINE again TO WITHIN 20 AT 95%",
        f"REFINE {first.release_id} TO WITHIN 20 AS again_20",
    ):
        assert session.check(text).replay
        found = session.run(text)
        assert found.rows == answer.rows and not found.cost and spent(session) == before
    assert session.run("SELECT n FROM again").rows == tuple((n,) for _, n in first.rows)
    assert session.run("SELECT n FROM again_20").rows == tuple((n,) for _, n in answer.rows)
    assert "another release named" in refused(session, "REFINE again TO WITHIN 11 AS again_20")
    assert spent(session) == before


def test_a_process_that_dies_before_it_draws_or_after_is_taken_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(path, analyst="ada") as session:
        first, before = session.run(COUNTS), spent(session)
    text = f"REFINE {first.release_id} TO WITHIN 20"
    assert killed_at(text, "_noisy", path, monkeypatch) == []
    with monkeypatch.context() as patch:

        def dies(*_: object) -> object:
            raise Killed

        patch.setattr(Ledger, "release", dies)
        with connect(path, analyst="ada") as session, pytest.raises(Killed):
            session.run(text)
    with connect(path, analyst="ada") as session:
        price = spent(session) - before
        drawn = json.loads(sqlite3.connect(path).execute("SELECT noisy FROM draw WHERE charge = 2").fetchone()[0])
        with monkeypatch.context() as patch:
            patch.setattr(room, "_noisy", dies)  # nothing is drawn again
            answer = session.run(text)
        assert spent(session) - before == price == answer.cost.epsilon and len(session._ledger.history()) == 2
        assert json.loads(session._ledger.noisy("ada", str(answer.release_id))) == drawn
        assert session._ledger.verify() == ()


def test_in_a_file_and_in_a_cart_it_is_a_part_of_the_plan(session: Session) -> None:
    text = f"""CREATE RELEASE filed AS {COUNTS.replace("0.2", "0.24")};
        REFINE filed TO WITHIN 20 AS filed_20; SELECT SUM(n) AS n FROM filed_20;
        REFINE filed_20 TO WITHIN 10 AS filed_10"""
    checked, before = session.check_text(text), spent(session)
    answers = list(session.run_text(text))
    paid = spent(session) - before
    assert 0 < paid <= checked.cost.epsilon and halves(answers[3], "n") == [10, 10]
    assert [one.rows for one in session.run_text(text)] == [one.rows for one in answers]
    assert spent(session) - before == paid and session._ledger.verify() == ()
    session.run("BEGIN")
    session.run(f"CREATE RELEASE carted AS {COUNTS.replace('0.2', '0.25')}")
    session.run("REFINE carted TO WITHIN 20 AS carted_20")
    assert halves(session.run("COMMIT").answers[1], "n") == [20, 20]


def test_explain_says_what_it_costs_beside_asking_anew(session: Session) -> None:
    first = session.run(COUNTS)
    told = session.explain(f"EXPLAIN REFINE {first.release_id} TO WITHIN 33")
    anew = session.check(f"{COUNTS.split(' SPEND')[0]} WITHIN 33 SPEND DELTA 1e-6 USING GAUSSIAN").plan
    assert anew is not None and f"asked anew: ε = {float(anew.epsilon.constant)}" in told
    assert told == session.explain(f"REFINE {first.release_id} TO WITHIN 33")
