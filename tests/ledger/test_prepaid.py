"""Plans in the ledger: charged once, each slot taken once, by what was paid for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events, written
from privql.kernel.filters import DEFAULT
from privql.kernel.losses import loss_of
from privql.kernel.parallel import InParts
from privql.ledger import (
    Ledger,
    LedgerError,
    OverBudget,
    PartsAsked,
    Permit,
    PlanRequest,
    Request,
    TooManyResumes,
    WaitsForOwner,
)
from privql.ledger import plans as room
from tests.ledger.asking import ask, behind, budget, ledger, met, permit

SHARED = budget(9, delta="1e-6", shares=DEFAULT)


def plan(*queries: Events, **more: object) -> PlanRequest:
    asked: dict[str, object] = {
        "analyst": "alice",
        "texts": tuple(f"query {at}" for at in range(len(queries))),
        "policy_version": 1,
        "slots": tuple((("patient", events),) for events in queries),
        "tables": ("patients",),
    }
    return PlanRequest(**(asked | more))


TENTH = met("0.1")
TENTHS = plan(*[met("0.1")] * 30)


def spent(made: Ledger) -> Cost:
    return made.spent("patient")


def asks(at: int, events: Events = TENTH, **more: object) -> Request:
    return replace(ask(f"query {at}"), charges=(("patient", events),), **more)


def test_a_plan_is_charged_once_however_often_it_is_asked_for(tmp_path: Path) -> None:
    made = ledger(SHARED, path=tmp_path / "l")
    (first,) = made.prepay([TENTHS])
    once = spent(made)
    assert Fraction("2.7") < once.epsilon < Fraction("2.8") and made.find_plan(TENTHS) == first
    with Ledger.open(tmp_path / "l") as other:
        assert other.prepay([TENTHS]) == (first,) and other.prepay([replace(TENTHS, analyst="ALICE")]) == (first,)
        assert other.prepay([replace(TENTHS, answered=frozenset({0}))]) == (first,)
    assert spent(made) == once and made.find_plan(replace(TENTHS, analyst="bob")) is None
    made.refresh("patients", "new rows")
    assert made.find_plan(TENTHS) is None and made.verify() == ()


def test_a_slot_is_taken_once_and_then_charged(tmp_path: Path) -> None:
    made = ledger(SHARED)
    (prepaid,) = made.prepay([TENTHS])
    once = spent(made)
    first = permit(made, asks(0), prepaid, 0)
    assert spent(made) == once
    assert permit(made, asks(0), prepaid, 0).release_id == first.release_id, "taken up again"
    other = permit(made, asks(1), prepaid, 0)
    assert other.release_id != first.release_id and spent(made).epsilon == once.epsilon + Fraction(1, 10)
    assert made.verify() == ()


@pytest.mark.parametrize("place", ["slot = 30", "slot = -1", "slot = NULL", "plan = 7", "analyst = 'bob'"])
def test_a_slot_that_is_not_there_is_found(tmp_path: Path, place: str) -> None:
    with ledger(SHARED, path=tmp_path / "l") as made:
        (prepaid,) = made.prepay([TENTHS])
        permit(made, asks(0), prepaid, 0)
    with behind(tmp_path / "l") as db:
        db.execute(f"UPDATE charge SET {place}")
    with Ledger.open(tmp_path / "l") as made:
        assert any("has no such slot" in line for line in made.verify()), made.verify()


@pytest.mark.parametrize(
    ("tamper", "found"),
    [
        ("UPDATE charge SET resumes = 1", False),
        (f"UPDATE charge_line SET events = '{written(met('0.2'))}'", True),
        (f"UPDATE charge_line SET events = '{written(met('0.05'))}'", True),  # less, but of another law
        (f"UPDATE charge_line SET events = '{written(TENTH * 3)}'", True),
        ("UPDATE charge_part SET part = 'c'", True),
        ("DELETE FROM charge_part", True),
    ],
)
def test_a_charge_that_its_slot_has_not_paid_for_is_found(tmp_path: Path, tamper: str, found: bool) -> None:
    """One that meets its units less, in fewer of the parts, was paid for."""
    with ledger(SHARED, path=tmp_path / "l") as made:
        two, one = (((("patient", PartsAsked("visits", "p", parts, ("visits",))),)) for parts in (("a", "b"), ("b",)))
        (prepaid,) = made.prepay([plan(TENTH * 2, TENTH, parts=(two, two))])
        permit(made, asks(0, parts=one), prepaid, 0)
        assert made.verify() == ()
    with behind(tmp_path / "l") as db:
        db.execute(tamper)
    with Ledger.open(tmp_path / "l") as made:
        assert any("r1: it costs more than plan 1 paid for it" in line for line in made.verify()) == found


def test_planted_a_slot_that_is_taken_twice_breaks_the_ledger_or_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ledger(SHARED)
    (prepaid,) = made.prepay([TENTHS])
    permit(made, asks(0), prepaid, 0)
    honest = room.slot_lines

    def again(db: object, plan: object, slot: int, *given: object) -> object:
        return honest(db, plan, slot + 1, *given)

    monkeypatch.setattr(room, "slot_lines", again)
    with pytest.raises(LedgerError):
        made.reserve(asks(1), prepaid, 0)


@pytest.mark.parametrize(
    "events",
    [
        met("0.11"),
        met("0.05") * 3,
        met("0.09"),  # less, but of another law
        (Event("ranged", Cost(Fraction("0.1"))),),
        (Event("keys", Cost(Fraction("0.1"), Fraction(1, 10**9))),),
    ],
    ids=str,
)
def test_a_slot_takes_what_was_paid_for_and_nothing_else(events: Events) -> None:
    made = ledger(SHARED)
    (prepaid,) = made.prepay([TENTHS])
    with pytest.raises(LedgerError, match="more than its plan"):
        made.reserve(asks(0, events), prepaid, 0)


@pytest.mark.parametrize("other", [("household", met("0.2")), ("ward", TENTH)])
def test_a_slot_of_several_units_is_held_to_each(other: tuple[str, Events]) -> None:
    made = ledger(SHARED, *(replace(SHARED, name=unit, unit=unit) for unit in ("household", "ward")))
    both = ("patient", TENTH), ("household", TENTH)
    (prepaid,) = made.prepay([plan(TENTH, TENTH, slots=(both, both))])
    for charges in ((both[0], other), (other, both[0])):
        with pytest.raises(LedgerError, match="more than its plan"):
            made.reserve(ask(0, charges=charges), prepaid, 0)
    permit(made, ask(0, charges=both), prepaid, 0)


def test_what_is_worth_no_more_in_every_sum_may_still_be_another_law() -> None:
    """A slot that compared sums would take these."""
    paid, halved = met("0.5") + met("0.5"), met("0.5") + met("0.25") + met("0.25")
    assert loss_of(halved) <= loss_of(paid)
    made = ledger(SHARED)
    (prepaid,) = made.prepay([plan(paid, met("0.1"))])
    with pytest.raises(LedgerError, match="more than its plan"):
        made.reserve(asks(0, halved), prepaid, 0)
    permit(made, asks(0, met("0.5")), prepaid, 0)


def test_other_peoples_slots_and_slots_that_are_not_there() -> None:
    made = ledger(SHARED)
    (prepaid,) = made.prepay([TENTHS])
    for request, paid, slot in (
        (asks(0, analyst="bob"), prepaid, 0),
        (asks(0), replace(prepaid, analyst="bob"), 30),
        (asks(0), replace(prepaid, plan=7), 0),
        (asks(0), prepaid, -1),
    ):
        with pytest.raises(LedgerError, match="no such"):
            made.reserve(request, paid, slot)


def test_what_was_answered_has_no_slot() -> None:
    made = ledger(SHARED)
    (prepaid,) = made.prepay([replace(TENTHS, answered=frozenset(range(25)))])
    assert spent(made) == Cost(Fraction(1, 2))
    permit(made, asks(3), prepaid, 3)
    assert spent(made) == Cost(Fraction(6, 10)) and made.verify() == ()
    with pytest.raises(LedgerError, match="a slot for each"):
        made.prepay([replace(TENTHS, answered=frozenset(range(30)), texts=TENTHS.texts)])


def test_several_plans_are_charged_or_none() -> None:
    made = ledger(budget(1))
    with pytest.raises(OverBudget):
        made.prepay([plan(met("0.3"), met("0.3")), plan(met("0.3"), met("0.2"), texts=("a", "b"))])
    assert spent(made) == Cost()
    assert len(made.prepay([plan(met("0.3"), met("0.3")), plan(met("0.3"), met("0.1"), texts=("a", "b"))])) == 2
    assert spent(made) == Cost(Fraction(1)) and made.verify() == ()


def test_planted_a_plan_that_is_charged_too_little_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ledger(SHARED)
    with monkeypatch.context() as patch:
        patch.setattr(room, "planned", lambda events, *_: replace(loss_of(events), epsilon=Fraction(1)))
        made.prepay([TENTHS])
    assert any("it was charged less than its queries cost" in said for said in made.verify())


# ---------------------------------------------------------------- what was never answered


def exhausted(made: Ledger, request: object) -> str:
    for _ in range(4):
        permit = made.reserve(request)
        assert isinstance(permit, Permit)
    with pytest.raises(TooManyResumes):
        made.reserve(request)
    return permit.release_id


def test_who_had_a_charge_fail_again_and_again_waits_on_its_tables() -> None:
    made = ledger(SHARED)
    answered = permit(made, ask("answered"))
    made.release(answered, b"42")
    (prepaid,) = made.prepay([plan(met("0.2"), met("0.3"))])
    release = exhausted(made, ask("stuck", tables=("patients", "visits")))
    before = spent(made)
    for asking in (
        lambda: made.reserve(ask("new")),
        lambda: made.reserve(asks(0, met("0.2")), prepaid, 0),
        lambda: made.prepay([TENTHS]),
        lambda: made.reserve(ask("new", tables=("visits",))),
    ):
        with pytest.raises(WaitsForOwner, match=f"{release} was charged once"):
            asking()
    assert spent(made) == before
    made.reserve(ask("answered"))
    assert isinstance(made.reserve(ask("new", analyst="bob")), Permit)
    made.allow_resume(release)
    assert isinstance(made.reserve(ask("new")), Permit) and isinstance(made.prepay([TENTHS]), tuple)


def test_an_answer_ends_the_waiting() -> None:
    made = ledger(SHARED)
    for _ in range(4):
        permit = made.reserve(ask("slow"))
    assert isinstance(permit, Permit)
    with pytest.raises(WaitsForOwner):
        made.reserve(ask("new"))
    made.release(permit, b"7")
    assert isinstance(made.reserve(ask("new")), Permit)


def test_a_plan_of_one_part_is_charged_there_though_units_change_it() -> None:
    """Each query reads that part alone; of two parts, a unit that went from one to the other meets both."""
    one, other = InParts("ward", ("a",), True), InParts("ward", ("b",), True)
    assert room.place_of([one, one]) == one
    assert room.place_of([one, other]) is None and room.place_of([one, None]) is None
    both = [InParts("ward", parts) for parts in (("b",), ("a", "b"))]
    assert room.place_of(both) == InParts("ward", ("a", "b"))


def test_a_plan_is_charged_in_the_fewest_parts_that_hold_all_its_queries() -> None:
    places = [InParts(partition, parts) for partition in ("ward", "day") for parts in (("a",), ("b",), ("a", "b"))]
    places += [InParts(partition, (part,), True) for partition in ("ward", "day") for part in ("a", "b")]
    for size in range(4):
        for where in product([*places, None], repeat=size):
            holding = [one for one in places if where and all(each is not None and each <= one for each in where)]
            assert room.place_of(where) == min(holding, key=lambda one: len(one.parts), default=None), where
