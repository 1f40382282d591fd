"""An answer is drawn once and given out as often as it is asked for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privql.ledger import GrantRow, Ledger, LedgerError, Permit, Replay, Request, StalePolicy, TooManyResumes
from tests.ledger.asking import ask, budget, ledger, met, permit


def answered(made: Ledger, request: Request, answer: bytes) -> str:
    return made.release(permit(made, request), answer).release_id


def test_the_same_query_again_is_free() -> None:
    made = ledger(budget(1))
    release = answered(made, ask("a", 1), b"noisy")
    again = made.reserve(ask("a", 1))
    assert again == Replay(release, b"noisy")
    assert made.spent("patient").epsilon == 1
    assert made.reserve(ask("a", 1, analyst="bob")) == again


@pytest.mark.parametrize(
    "other",
    [
        {"query": "b"},
        {"parameters": '{"x": 1}'},
        {"measurements": "[1]"},
        {"epsilon": "0.2"},
        {"delta": "1e-9"},
        {"tables": ("patients", "visits")},
        {"charges": (("patient", met("1/10")), ("household", ()))},
    ],
)
def test_whatever_differs_is_another_query(other: dict[str, Any]) -> None:
    made = ledger(budget(9, delta="0.1"), budget(9, "homes", "household"))
    first = permit(made, ask("a"))
    assert permit(made, ask(**({"query": "a"} | other))).release_id != first.release_id
    made.release(first, b"")
    assert isinstance(made.reserve(ask(**({"query": "a"} | other))), Permit)


def test_parts_of_a_query_do_not_run_into_each_other() -> None:
    made = ledger(budget(9))
    answered(made, ask("a", parameters="bc"), b"")
    assert isinstance(made.reserve(ask("ab", parameters="c")), Permit)


def test_new_data_and_a_new_policy_are_paid_for_again() -> None:
    made = ledger(budget(1))
    assert answered(made, ask("a"), b"1") == "r1"
    made.refresh("Visits", "2025-12")
    assert made.reserve(ask("a")) == Replay("r1", b"1")
    made.refresh("PATIENTS", "2025-12")
    assert made.data_version(("visits", "patients")) == '{"patients": 1, "visits": 1}'
    assert answered(made, ask("a"), b"2") == "r2"
    made.refresh("patients", "2025-12")  # stated again: nothing new
    assert made.reserve(ask("a")) == Replay("r2", b"2")
    made.refresh("patients", "2025-11")
    made.refresh("patients", "2025-12")  # an old label does not bring an old answer back
    assert made.data_version(["patients"]) == '{"patients": 3}'
    assert answered(made, ask("a"), b"3") == "r3"
    assert made.apply_policy("next", [budget(1)], [], ["patients"]) == 2
    with pytest.raises(StalePolicy):
        made.reserve(ask("a"))
    assert answered(made, ask("a", policy_version=2), b"4") == "r4"
    assert made.spent("patient").epsilon == Fraction(4, 10)
    with pytest.raises(LedgerError, match="no table `visits`"):
        made.refresh("visits", "x")
    with pytest.raises(LedgerError, match="no table `x`"):
        made.reserve(ask("b", policy_version=2, tables=("x",)))


def test_only_those_who_may_spend_the_same_budget_see_the_answer() -> None:
    grants = GrantRow("research", "alice"), GrantRow("research", "bob"), GrantRow("second", "carol")
    made = ledger(budget(1), budget(1, "second"), grants=grants)
    release = answered(made, ask("a"), b"noisy")
    assert isinstance(made.reserve(ask("a", analyst="BOB")), Replay)
    assert permit(made, ask("a", analyst="carol")).charges[0].budget == "second"
    for analyst, sees in (("alice", True), ("bob", True), ("carol", False), ("eve", False)):
        assert (made.get_release(analyst, release) is not None) == sees


def test_an_interrupted_query_is_resumed_without_a_second_charge() -> None:
    made = ledger(budget("0.1"))
    first = permit(made, ask("a"))
    resumed = [permit(made, ask("a")) for _ in range(3)]
    assert [one.resumes for one in (first, *resumed)] == [0, 1, 2, 3]
    assert {one.release_id for one in resumed} == {first.release_id}
    assert {one.charges for one in resumed} == {first.charges}
    with pytest.raises(TooManyResumes, match=r"\(r1\)"):
        made.reserve(ask("a"))
    assert made.spent("patient").epsilon == Fraction(1, 10)
    assert len(made.history()) == 1
    made.allow_resume("r1")
    assert made.release(permit(made, ask("a")), b"late").answer == b"late"
    for wrong in ("r1", "r2", "x", ""):
        with pytest.raises(LedgerError, match="not a charge that waits"):
            made.allow_resume(wrong)


def test_nobody_resumes_the_charge_of_another() -> None:
    made = ledger(budget(1))
    permit(made, ask("a"))
    other = permit(made, ask("a", analyst="bob"))
    assert (other.release_id, other.resumes) == ("r2", 0)
    made.release(other, b"bob's")
    assert made.reserve(ask("a")) == Replay("r2", b"bob's")


def test_of_two_draws_the_first_is_the_answer(tmp_path: Path) -> None:
    made = ledger(budget(1), path=tmp_path / "l")
    slow, fast = permit(made, ask("a")), permit(made, ask("a"))
    assert made.release(fast, b"fast").answer == b"fast"
    assert made.release(slow, b"slow").answer == b"fast"
    assert made.release(fast, b"again").answer == b"fast"
    seen, barrier = [], threading.Barrier(4)

    def race(at: int, granted: Permit) -> None:
        barrier.wait()
        seen.append(made.release(granted, bytes([at])).answer)

    for query in range(10):
        permits = [permit(made, ask(query, "0.01")) for _ in range(4)]
        threads = [threading.Thread(target=race, args=pair) for pair in enumerate(permits)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(seen[-4:])) == 1
    assert made.verify() == ()


@pytest.mark.wrong_types
def test_a_permit_comes_from_its_ledger_alone() -> None:
    made, other = ledger(budget(1)), ledger(budget(1))
    granted, foreign = permit(made, ask("a")), permit(other, ask("a"))
    copies: list[Any] = [copy.copy, copy.deepcopy, pickle.dumps, lambda one: dataclasses.replace(one, release_id="r2")]
    for make in copies:
        with pytest.raises((TypeError, ValueError)):
            make(granted)
    values = [getattr(granted, field.name) for field in dataclasses.fields(granted)]
    with pytest.raises(TypeError, match="alone"):
        Permit(*values, seal=object())
    with pytest.raises(dataclasses.FrozenInstanceError):
        granted.release_id = "r2"
    fakes: list[Any] = [foreign, "r1", None, object.__new__(type("Fake", (Permit,), {}))]
    for fake in fakes:
        with pytest.raises(LedgerError, match="permit"):
            made.release(fake, b"")
    for answer in ("text", None, bytearray(b"x")):
        with pytest.raises(LedgerError, match="bytes"):
            made.release(granted, answer)
    assert [entry.state for entry in made.history()] == ["reserved"]


def test_an_empty_answer_is_an_answer() -> None:
    made = ledger(budget(1))
    assert answered(made, ask("a"), b"") == "r1"
    assert made.reserve(ask("a")) == Replay("r1", b"")


def test_names() -> None:
    made = ledger(budget("0.5"))
    first = permit(made, ask("a", name="By_Month"))
    assert made.release_named("alice", "by_month") is None  # not answered yet
    made.release(first, b"1")
    stored = made.release_named("ALICE", "by_month")
    assert stored is not None and (stored.release_id, stored.answer) == ("r1", b"1")
    assert made.release_named("bob", "by_month") is None
    assert made.reserve(ask("a", name="BY_MONTH")) == Replay("r1", b"1")
    with pytest.raises(LedgerError, match=r"another release named `by_month` \(r1\)"):
        made.reserve(ask("b", name="by_month"))
    assert made.spent("patient").epsilon == Fraction(1, 10)  # refused before it was charged
    made.reserve(ask("b", name="by_month", analyst="bob"))  # each analyst has names of her own
    made.reserve(ask("a", name="same"))
    answered(made, ask("c"), b"2")
    with pytest.raises(LedgerError, match="another release named"):
        made.reserve(ask("c", name="same"))
    entry = made.entry("r1")
    assert entry is not None and entry.names == ("By_Month", "same")
    assert made.release_names("ALICE") == ("By_Month", "same")
    assert made.release_names("bob") == ()  # not answered
    assert [entry.release_id for entry in made.releases("ALICE")] == ["r1", "r3"]
    assert made.verify() == ()


def test_a_permit_names_its_units_as_the_plan_does() -> None:
    made = ledger(budget(1, "Research", "patient"))
    for granted in (permit(made, ask("a", unit="PATIENT")), permit(made, ask("a", unit="Patient"))):
        assert [(line.unit, line.budget) for line in granted.charges] == [("PATIENT", "Research")]
    assert made.spent("patient", "research", "alice").epsilon == Fraction(1, 10)
    assert made.verify() == ()


def test_looking_for_an_answer_changes_nothing() -> None:
    grants = GrantRow("research", "alice"), GrantRow("second", "bob")
    made = ledger(budget(1), budget(1, "second"), grants=grants)
    assert made.find(ask("a")) is None
    granted = permit(made, ask("a"))
    assert made.find(ask("a")) is None
    made.release(granted, b"1")
    assert made.find(ask("a")) == "r1"
    assert made.find(ask("a", "0.2")) is None
    assert made.find(ask("a", analyst="bob")) is None  # he cannot spend the budget that paid
    assert made.history()[0].resumes == 0
    assert made.spent("patient").epsilon == Fraction(1, 10)


def test_a_free_answer_is_kept_for_its_analyst_alone() -> None:
    made = ledger(budget(1))
    kept = made.keep("alice", "Wards", "SELECT code FROM wards", b"free")
    assert made.keep("ALICE", "wards", "SELECT code FROM wards", b"other") == kept
    with pytest.raises(LedgerError, match="another release named"):
        made.keep("alice", "WARDS", "SELECT name FROM wards", b"other")
    assert made.keep("bob", "wards", "SELECT code FROM wards", b"bob's") != kept
    assert made.release_names("alice") == ("Wards",)
    assert made.get_release("bob", kept.release_id) is None
    assert made.get_release("alice", kept.release_id) == kept
    answered(made, ask("a", name="paid"), b"1")
    with pytest.raises(LedgerError, match="another release named"):
        made.keep("alice", "paid", "a", b"other")
    assert made.spent("patient").epsilon == Fraction(1, 10)
    assert made.verify() == ()


def test_a_name_is_taken_by_an_unfinished_release_that_can_be_finished() -> None:
    made = ledger(budget(1))
    permit(made, ask("a", name="n"))
    with pytest.raises(LedgerError, match="another release"):
        made.reserve(ask("b", name="n"))
    made.release(permit(made, ask("a", name="n")), b"1")
    assert made.release_named("alice", "n") is not None


@pytest.mark.parametrize(
    "wrong",
    [
        *("r0", "r2", "r-1", "1.5", "r1 ", "r1\n", "", "1", "r01", "rr1", "R1", "r٣", "r" + "9" * 19, "r" + "9" * 40),
        "r1'; DROP TABLE charge; --",
    ],
)
def test_a_release_that_is_not_there(wrong: str) -> None:
    made = ledger(budget(1))
    answered(made, ask("a"), b"1")
    assert made.get_release("alice", wrong) is None
    assert made.entry(wrong) is None


def test_hostile_text_is_only_text() -> None:
    made = ledger(budget(1))
    for text in ("'; DROP TABLE charge; --", "\x00", "é\u202e", "x" * 100_000):
        answered(made, ask(text, "0.01", parameters=text, measurements=text, analyst=text, name=text), text.encode())
        assert made.history()[-1].query == text
        assert made.release_named(text, text) is not None
    with pytest.raises(LedgerError):
        made.reserve(ask("\ud800"))
    assert made.spent("patient").epsilon == Fraction(4, 100)
    assert made.verify() == ()
