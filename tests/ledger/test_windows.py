"""A budget that renews is one promise for each window, and no window is ever open twice."""

from __future__ import annotations

import random
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privql.kernel.cost import Cost
from privql.ledger import BudgetRow, GrantRow, Ledger, OverBudget, Permit
from tests.ledger.asking import ask, behind, budget, ledger, plan
from tests.ledger.told_time import START, Clock

DAY = timedelta(days=1)


def renewing(epsilon: object = 1, days: int = 30, **more: object) -> BudgetRow:
    return BudgetRow("research", "patient", Fraction(str(epsilon)), every=24 * days, **more)


def spends(made: Ledger, query: object, epsilon: object, **more: Any) -> bool:
    try:
        made.reserve(ask(query, epsilon, **more))
    except OverBudget:
        return False
    return True


def test_each_window_is_a_promise_of_its_own_and_the_unit_loses_all_of_it(clock: Clock) -> None:
    made = ledger(renewing())
    for month in range(3):
        clock.at = START + month * 30 * DAY
        assert spends(made, f"{month} a", 1) and not spends(made, f"{month} b", "1e-9")
        clock.at += 30 * DAY - timedelta(seconds=1)
        assert not spends(made, f"{month} c", "1e-9")
    (state,) = made.budget_report("alice")
    assert (state.spent.epsilon, state.of_unit.of(None).epsilon) == (
        Fraction(1),
        Fraction(3),
    ) and state.window.number == 2
    assert state.in_all is not None and (state.in_all.cost, state.in_all.since) == (Cost(Fraction(3)), START)
    assert state.window.until == START + 90 * DAY
    assert made.spent("patient").epsilon == made.spent("patient", "research", "alice").epsilon == 3
    assert made.verify() == ()


@pytest.mark.parametrize("first", ["a query", "a plan"])
def test_queries_and_plans_take_turns_and_each_is_held_against_its_own_window(clock: Clock, first: str) -> None:
    made = ledger(renewing())
    for month in range(4):
        clock.at = START + month * 30 * DAY
        if (month % 2 == 0) == (first == "a query"):
            assert spends(made, month, 1)
        else:
            made.prepay([plan(month, epsilon=1)])
        assert made.verify() == ()
    assert made.spent("patient").epsilon == 4


def test_a_clock_that_is_put_back_reopens_nothing(clock: Clock) -> None:
    made = ledger(renewing())
    assert spends(made, "a", "0.5")
    clock.at += 31 * DAY
    assert spends(made, "b", 1)
    for back in (2 * DAY, 31 * DAY, 3000 * DAY):
        clock.at = START + 31 * DAY - back
        assert not spends(made, f"c {back}", "0.01")
        assert made.budgets_for("alice", "patient")[0].left == Cost()
    assert made.verify() == ()


def test_a_clock_that_is_put_forward_opens_the_next_window_early_and_its_time_is_kept(
    clock: Clock, tmp_path: Path
) -> None:
    with ledger(renewing(), path=tmp_path / "l") as made:
        assert spends(made, "a", 1)
        clock.at += 45 * DAY
        assert spends(made, "b", 1)
        clock.at = START + DAY
        assert not spends(made, "c", "0.01")
        clock.at = START + 60 * DAY
        assert spends(made, "d", 1)
        assert made.verify() == ()
    with behind(tmp_path / "l") as db:
        rows = db.execute("SELECT number, began, opened_at FROM budget_window ORDER BY number").fetchall()
    told = [(number, began[:10], opened[:10]) for number, began, opened in rows]
    assert told == [
        (0, "2026-01-01", "2026-01-01"),
        (1, "2026-01-31", "2026-02-15"),
        (2, "2026-03-02", "2026-03-02"),
    ]


def test_looking_opens_no_window(clock: Clock) -> None:
    made = ledger(renewing())
    assert spends(made, "a", 1)
    clock.at += 31 * DAY
    assert made.budgets_for("alice", "patient")[0].left.epsilon == 1
    clock.at = START
    assert made.budgets_for("alice", "patient")[0].left.epsilon == 0


def test_windows_without_a_query_count_too(clock: Clock) -> None:
    made = ledger(renewing())
    clock.at += 95 * DAY
    assert spends(made, "a", 1)
    (state,) = made.budget_report()
    assert (state.window.number, state.window.began) == (3, START + 90 * DAY)
    assert made.verify() == ()


def test_a_limit_is_for_each_window_too(clock: Clock) -> None:
    made = ledger(renewing(3), grants=(GrantRow("research", "alice", Fraction(1)),))
    assert spends(made, "a", 1) and not spends(made, "b", "0.1")
    clock.at += 30 * DAY
    assert spends(made, "b", 1) and not spends(made, "c", "0.1")
    assert made.verify() == ()


def test_a_window_has_its_own_delta_and_filters(clock: Clock) -> None:
    made = ledger(BudgetRow("research", "patient", Fraction(3), Fraction(1, 10**6), every=24))
    counts = []
    for day in range(2):
        clock.at = START + day * DAY
        counts.append(sum(spends(made, f"{day} {query}", "0.1") for query in range(60)))
    assert counts[0] == counts[1] > 30
    assert made.verify() == ()


def test_a_plan_is_paid_in_one_window_and_run_in_any(clock: Clock) -> None:
    made = ledger(renewing())
    (paid,) = made.prepay([plan(*"abcde", epsilon="0.2")])
    clock.at += 31 * DAY
    granted = made.reserve(ask("a", "0.2"), paid, 0)
    assert isinstance(granted, Permit) and granted.charges[0].window == 0
    assert made.budgets_for("alice", "patient")[0].left.epsilon == 1
    assert spends(made, "f", 1)
    assert made.verify() == ()


def test_a_query_that_is_taken_up_again_is_not_paid_in_another_window(clock: Clock) -> None:
    made = ledger(renewing())
    assert spends(made, "a", 1)
    clock.at += 31 * DAY
    again = made.reserve(ask("a", 1))
    assert isinstance(again, Permit) and (again.resumes, again.charges[0].window) == (1, 0)
    assert made.spent("patient").epsilon == 1


def test_one_length_after_another_goes_on_counting(clock: Clock) -> None:
    made = ledger(renewing(days=30))
    assert spends(made, "a", 1)
    clock.at += 10 * DAY
    made.apply_policy("weeks", [renewing(days=7)], [], ["patients"])
    assert spends(made, "b", 1, policy_version=2)  # the first has lasted for a week
    assert made.budget_report()[0].window.until == START + 14 * DAY
    made.apply_policy("for good", [budget(1, shares=renewing().shares)], [], ["patients"])
    clock.at += 3000 * DAY
    assert not spends(made, "c", "0.01", policy_version=3)
    (state,) = made.budget_report()
    assert (state.window.number, state.window.until) == (1, None)
    assert state.in_all is not None and state.in_all.cost.epsilon == 2
    assert made.verify() == ()


def test_any_clock_and_any_queries_never_overspend_a_window(clock: Clock) -> None:
    """Against windows that are counted by hand: the number is the greatest that any clock told so far."""
    choice = random.Random(7)
    for _ in range(20):
        clock.at = START
        made, number = ledger(renewing(1, days=1)), 0
        lost: dict[int, Fraction] = {}
        for query in range(60):
            clock.at = START + choice.randrange(0, 6 * 24) * timedelta(hours=1)
            epsilon = Fraction(choice.randrange(1, 7), 10)
            could = max(number, (clock.at - START) // DAY)
            fits = lost.get(could, Fraction(0)) + epsilon <= 1
            assert spends(made, query, epsilon) == fits
            if fits:
                number = could
                lost[number] = lost.get(number, Fraction(0)) + epsilon
        assert made.spent("patient").epsilon == sum(lost.values())
        assert made.verify() == ()


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        ("UPDATE charge_line SET window_number = 0 WHERE charge = 2", "r2: budget `research` could not afford"),
        ("UPDATE charge_line SET window_number = 7 WHERE charge = 2", "r2: window 7 of budget `research` was never"),
        ("UPDATE charge_line SET window_number = 1 - window_number", "r2: it was charged to a window of budget"),
        ("UPDATE total SET window_number = 2 WHERE window_number = 1", "total of unit"),
        (
            "UPDATE budget_window SET began = '2026-01-02T08:00:00+00:00' WHERE number = 1",
            "window 1 of budget `research` was not opened",
        ),
        (
            "UPDATE budget_window SET opened_at = '2026-01-02T08:00:00+00:00' WHERE number = 1",
            "window 1 of budget `research` was not opened",
        ),
        ("DELETE FROM budget_window WHERE number = 0", "has no first window"),
    ],
)
def test_windows_that_were_tampered_with_are_found(clock: Clock, tmp_path: Path, tamper: str, said: str) -> None:
    with ledger(renewing(), path=tmp_path / "l") as made:
        assert spends(made, "a", 1)
        clock.at += 31 * DAY
        assert spends(made, "b", 1)
        assert made.verify() == ()
    with behind(tmp_path / "l") as db:
        db.execute(tamper)
    with Ledger.open(tmp_path / "l") as made:
        assert any(said in line for line in made.verify())
