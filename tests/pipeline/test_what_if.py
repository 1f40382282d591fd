"""A history under other budgets: each way of adding up refuses what a ledger with that way alone would have."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events
from privql.kernel.filters import WAYS, Filter
from privql.ledger import BudgetRow, GrantRow, Ledger, OverBudget, Permit, PlanRequest, Request
from privql.ledger.policies import proposed
from privql.pipeline.what_if import replayed

SMALL = Fraction(1, 10**9)


def random_events(pick: random.Random) -> Events:
    epsilon = Fraction(pick.randint(1, 40), 100)
    kind = pick.choice(["pure", "keys", "ranged", "gaussian", "concentrated"])
    delta = SMALL if kind in ("keys", "gaussian", "concentrated") else Fraction(0)
    return (Event(kind, Cost(epsilon, delta)),)


def asked(made: Ledger, analyst: str, query: object, events: Events) -> str | None:
    request = Request(analyst, str(query), "{}", 1, (("u", events),), "[]", ("t",))
    try:
        permit = made.reserve(request)
    except OverBudget:
        return None
    assert isinstance(permit, Permit)
    return permit.release_id


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
def test_what_another_budget_would_have_refused(seed: int, delta: Fraction) -> None:
    """A generous ledger's history is asked again of a narrow one: it refuses what was said, and has left what was."""
    pick = random.Random(seed)
    generous, narrow = Ledger.create(":memory:"), Ledger.create(":memory:")
    limit = GrantRow("b", "alice", Fraction(3, 2)), GrantRow("b", "bob")
    generous.apply_policy("", [BudgetRow("b", "u", Fraction(1000), Fraction(1, 10))], [], ["t"])
    row = BudgetRow("b", "u", Fraction(3), delta, max_epsilon=Fraction(38, 100))
    narrow.apply_policy("", [row], limit, ["t"])
    refused = []
    for query in range(60):
        analyst, events = pick.choice(["alice", "bob", "eve"]), random_events(pick)
        release = asked(generous, analyst, query, events)
        assert release is not None
        if asked(narrow, analyst, query, events) is None:
            refused.append(release)
    told = replayed(generous.spendings(), proposed([row], limit))
    (outcome,) = told.budgets
    assert [one.what for one in outcome.refused["any"]] == refused
    why = {one.why for one in outcome.refused["any"]}
    assert why >= {"no grant", "max per query"} and why & {"budget", "grant"}
    assert outcome.left == narrow.budget_report()[0].left.epsilon or not outcome.left
    assert outcome.charged == 60 and told.unpaid == ()


@pytest.mark.parametrize("way", WAYS)
def test_each_way_by_itself(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the ledger would be if it had this way alone."""
    pick = random.Random(7)
    generous = Ledger.create(":memory:")
    generous.apply_policy("", [BudgetRow("b", "u", Fraction(1000), Fraction(1, 10))], [], ["t"])
    row = BudgetRow("b", "u", Fraction(2), Fraction(1, 10**6))
    history = [("alice", query, random_events(pick)) for query in range(40)]
    releases = [asked(generous, *each) for each in history]
    with monkeypatch.context() as patch:
        patch.setattr(Filter, "admits", lambda self, loss: self.says(way, loss))
        alone = Ledger.create(":memory:")
        alone.apply_policy("", [row], [], ["t"])
        answers = [asked(alone, *each) for each in history]
    (outcome,) = replayed(
        generous.spendings(), proposed([BudgetRow("b", "u", Fraction(2), Fraction(1, 10**6))], [])
    ).budgets
    expected = [release for release, answer in zip(releases, answers, strict=True) if answer is None]
    assert [one.what for one in outcome.refused[way]] == expected
    assert 0 < len(expected) < 40


def test_plans_several_units_and_budgets_that_are_gone() -> None:
    made = Ledger.create(":memory:")
    rows = BudgetRow("a", "u", Fraction(5)), BudgetRow("b", "v", Fraction(5))
    made.apply_policy("", rows, [], ["t"])
    half = (Event("pure", Cost(Fraction(1, 2))),)
    both = (("u", half), ("v", half))
    (plan,) = made.prepay([PlanRequest("alice", ("p", "q"), 1, (both, both), ("t",), delta=Fraction(0))])
    made.reserve(Request("alice", "p", "{}", 1, both, "[]", ("t",)), plan, 0)
    made.reserve(Request("alice", "r", "{}", 1, both, "[]", ("t",)))
    made.reserve(Request("alice", "s", "{}", 1, (("u", half),), "[]", ("t",)))
    assert [each.what for each in made.spendings()] == ["plan 1", "r2", "r3"]
    a, b = BudgetRow("a", "u", Fraction(3, 2)), BudgetRow("b", "v", Fraction(1, 2))
    told = replayed(made.spendings(), proposed([a, b], []))
    assert [[one.what for one in each.refused["plain"]] for each in told.budgets] == [[], ["plan 1"]]
    assert [each.left for each in told.budgets] == [Fraction(1, 2), Fraction(0)]  # all of a plan is refused, or nothing
    gone = replayed(made.spendings(), proposed([a], []))
    assert gone.unpaid == ("plan 1", "r2") and gone.budgets[0].charged == 1
    renewed = [
        replace(each, lines=tuple(replace(line, window=at) for line in each.lines))
        for at, each in enumerate(made.spendings())
    ]
    ones = replayed(renewed, proposed([replace(a, epsilon=Fraction(1)), replace(b, epsilon=Fraction(1))], []))
    assert not ones.budgets[0].refused["any"]
