"""A query that is asked again and again: all of its runs are paid at once, and taken in turn, each when it is due."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privql.ledger import (
    GrantRow,
    Ledger,
    LedgerError,
    NameTaken,
    NoMoreRuns,
    Note,
    OverBudget,
    Permit,
    PlanRequest,
    Replay,
    Standing,
    standing,
)
from privql.names import fold
from tests.ledger.asking import TENTH, ask, budget, ledger, met, plan
from tests.ledger.told_time import START, Clock

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def runs(count: int = 3, text: str = "daily", **more: Any) -> PlanRequest:
    return plan(*(text for _ in range(count)), delta=Fraction(0), **more)


def taken(made: Ledger, found: Standing, run: int | None = None, **more: Any) -> Permit | Replay:
    """As a session takes a run: its number is part of what it is."""
    number = run or found.next
    assert number is not None
    request = ask("daily", parameters=f"run {number} of {found.paid.plan}", name=f"{found.name}_{number}", **more)
    return made.reserve(request, found.paid, number - 1)


def turn(made: Ledger, request: PlanRequest, name: str = "daily") -> Standing:
    found = made.turn(name, request)
    assert found is not None
    return found


def run(made: Ledger, request: PlanRequest) -> int | str:
    """What comes of asking: the number of the run that was measured, or that of an answer that was there."""
    found = turn(made, request)
    granted = taken(made, found)
    if isinstance(granted, Replay):
        return f"again {granted.answer.decode()}"
    made.release(granted, str(found.next).encode())
    assert found.next is not None
    return found.next


def test_all_runs_are_paid_at_once_and_each_is_taken_when_it_is_due(clock: Clock) -> None:
    made, request = ledger(), runs()
    assert made.turn("daily", request) is None
    begun = made.stand("daily", request, 24, TENTH)
    assert begun == made.standing("alice")[0] and (begun.taken, begun.next) == (0, 1)
    assert made.spent("patient").epsilon == Fraction(3, 10)
    told: list[int | str] = []
    for hours in (0, 1, 23, 24, 47, 48, 71):
        clock.at = START + hours * HOUR
        told.append(run(made, request))
    assert told == [1, "again 1", "again 1", 2, "again 2", 3, "again 3"]
    clock.at = START + 72 * HOUR
    with pytest.raises(NoMoreRuns, match="all of its 3 runs were taken"):
        run(made, request)
    assert made.spent("patient").epsilon == Fraction(3, 10)
    assert made.release_names("alice") == ("daily_1", "daily_2", "daily_3")
    assert made.verify() == ()


def test_a_run_that_was_missed_is_taken_later_one_at_a_time(clock: Clock) -> None:
    made, request = ledger(), runs()
    made.stand("daily", request, 24, TENTH)
    assert run(made, request) == 1
    clock.at = START + 10 * DAY
    assert [run(made, request), run(made, request)] == [2, "again 2"]
    clock.at += DAY
    assert run(made, request) == 3


def test_a_clock_that_is_put_back_waits(clock: Clock) -> None:
    made, request = ledger(), runs()
    made.stand("daily", request, 24, TENTH)
    run(made, request)
    for back in (DAY, 1000 * DAY):
        clock.at = START - back
        assert run(made, request) == "again 1"


def test_it_is_charged_once_and_a_run_that_broke_off_is_taken_up(clock: Clock, tmp_path: Path) -> None:
    request = runs()
    with ledger(path=tmp_path / "l") as made:
        made.stand("daily", request, 24, TENTH)
        first = taken(made, turn(made, request))
    clock.at += 5 * DAY  # it was off for long, and run 1 has no answer: nothing else is due
    with Ledger.open(tmp_path / "l") as made:
        assert made.stand("daily", request, 24, TENTH).next == 1
        again = taken(made, turn(made, request))
        assert isinstance(again, Permit) and isinstance(first, Permit)
        assert (again.release_id, again.resumes) == (first.release_id, 1)
        made.release(again, b"1")
        assert run(made, request) == 2
        assert made.spent("patient").epsilon == Fraction(3, 10)
        assert made.verify() == ()


def test_data_that_changes_between_the_runs_changes_nothing_about_them(clock: Clock) -> None:
    made, request = ledger(), runs()
    made.stand("daily", request, 24, TENTH)
    first = taken(made, turn(made, request))
    made.refresh("patients", "2026-02")
    again = taken(made, turn(made, request))
    assert isinstance(first, Permit) and isinstance(again, Permit)
    assert (again.release_id, again.resumes) == (first.release_id, 1)
    made.release(again, b"1")
    made.refresh("patients", "2026-03")
    assert run(made, request) == "again 1"
    clock.at += DAY
    assert run(made, request) == 2
    assert made.verify() == ()


def test_no_run_costs_more_than_its_slot(clock: Clock) -> None:
    made, request = ledger(), runs()
    made.stand("daily", request, 24, TENTH)
    with pytest.raises(LedgerError, match="costs more than its plan has paid"):
        taken(made, turn(made, request), charges=(("patient", met("0.2")),))
    with pytest.raises(LedgerError, match="no such slot"):
        taken(made, turn(made, request), 4)
    assert made.history() == ()


def test_a_run_is_its_own_and_costs_nothing_twice(clock: Clock) -> None:
    """Whoever asks for a run otherwise than as it was taken gets no second slot, and pays for none."""
    made, request = ledger(), runs()
    found = made.stand("daily", request, 24, TENTH)
    run(made, request)
    with pytest.raises(NoMoreRuns, match="this run was taken"):
        made.reserve(ask("as I like it"), found.paid, 0)
    assert made.spent("patient").epsilon == Fraction(3, 10)


def test_what_was_measured_of_a_run_is_not_mixed_with_other_groups(clock: Clock) -> None:
    made, request = ledger(), runs()
    found = made.stand("daily", request, 24, TENTH)
    first = taken(made, found)
    assert isinstance(first, Permit)
    changed = ask("daily", parameters="over other groups")
    again = made.reserve(changed, found.paid, 0)
    assert isinstance(again, Permit) and again.release_id == first.release_id  # nothing was measured yet
    made.draw(first, 0, {"patient": met()}, b"0")
    with pytest.raises(NoMoreRuns, match="over other groups than there are now"):
        made.reserve(changed, found.paid, 0)
    assert made.spent("patient").epsilon == Fraction(3, 10)


def test_names_of_runs_are_kept_for_them(clock: Clock) -> None:
    made, request = ledger(budget(9)), runs()
    made.stand("Daily", request, 24, TENTH)
    for name in ("daily", "DAILY_2"):
        with pytest.raises(NameTaken):
            made.reserve(ask("other", name=name))
        with pytest.raises(NameTaken):
            made.keep("alice", name, "SELECT 1", b"1")
    made.reserve(ask("other", name="daily_4"))
    made.reserve(ask("other", name="daily_02"))
    made.reserve(ask("bob's", name="daily", analyst="bob"))
    with pytest.raises(NameTaken):
        made.stand("daily", runs(text="another"), 24, TENTH)
    with pytest.raises(NameTaken):
        made.stand("daily", runs(4), 24, TENTH)
    with pytest.raises(NameTaken):
        made.stand("daily_1", runs(text="another"), 24, TENTH)
    made.reserve(ask("first", name="weekly_2"))
    with pytest.raises(NameTaken, match="weekly"):
        made.stand("weekly", request, 168, TENTH)
    made.reserve(ask("once", name="Yearly"))
    with pytest.raises(NameTaken, match="Yearly"):
        made.stand("yearly", request, 168, TENTH)
    made.stand("monthly_1", request, 168, TENTH)
    with pytest.raises(NameTaken):
        made.stand("monthly", request, 168, TENTH)
    assert [found.name for found in made.standing("alice")] == ["Daily", "monthly_1"]


@pytest.mark.parametrize("runs", [1, 9, 12, 100])
def test_a_name_is_that_of_one_run_or_of_none(runs: int) -> None:
    """Whatever is written behind it: leading zeros, digits of other scripts, more than there is."""
    ends = ["", "x", "²", "٣", "1٣", "+1", " 1", "1\n", "9" * 5000, "01", "012", "1_1", *map(str, range(-1, 120))]
    for base in ("daily", "Daily_1", "ß.", "1"):
        known = {fold(standing.run_name(base, run)): run for run in range(1, runs + 1)}
        for name in (start + end for start in ("", base, f"{base.upper()}_") for end in ends):
            assert standing._run(name, base, runs) == known.get(fold(name)), (base, name)


def test_what_cannot_be_paid_for_is_not_begun(clock: Clock) -> None:
    made = ledger(budget("0.25"))
    with pytest.raises(OverBudget):
        made.stand("daily", runs(), 24, TENTH)
    assert made.standing("alice") == () and made.spent("patient").epsilon == 0


def test_another_policy_ends_it_and_other_budgets_do_not(clock: Clock) -> None:
    made, request = ledger(), runs()
    made.apply_policy("2", [budget()], (), ["patients"], Note(meaning="m"))
    made.stand("daily", runs(policy_version=2), 24, TENTH)
    made.apply_policy("3", [budget(2)], (), ["patients"], Note(meaning="m"))
    request = runs(policy_version=3)
    found = turn(made, request)
    granted = taken(made, found, policy_version=3)
    assert isinstance(granted, Permit)
    made.release(granted, b"1")
    made.apply_policy("4", [budget(2)], [GrantRow("research", "bob")], ["patients"], Note(meaning="m"))
    with pytest.raises(NoMoreRuns, match="was paid from `research`, which you may not use any more"):
        made.turn("daily", runs(policy_version=4))
    made.apply_policy("5", [budget(2)], (), ["patients"], Note(meaning="n"))
    with pytest.raises(NoMoreRuns, match=r"has ended, because the policy .* of its 3 runs 1 were taken"):
        made.turn("daily", runs(policy_version=5))
    assert made.spent("patient").epsilon == Fraction(3, 10)
    assert made.verify() == ()


def test_what_was_forgotten_is_not_made_again(clock: Clock) -> None:
    made, request = ledger(), runs()
    made.stand("daily", request, 24, TENTH)
    run(made, request)
    made.forget("r1")
    with pytest.raises(NoMoreRuns, match="was forgotten"):
        made.turn("daily", request)
    assert made.verify() == ()


def test_the_audit_misses_a_plan_that_has_no_slot_for_each_run(clock: Clock, tmp_path: Path) -> None:
    with ledger(path=tmp_path / "l") as made:
        made.stand("daily", runs(), 24, TENTH)
        with made._store.transaction() as db:
            db.execute("UPDATE standing SET runs = 4")
        assert any("no plan of 4 runs" in line for line in made.verify())
