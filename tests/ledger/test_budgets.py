"""What can be afforded is admitted, exactly; nothing else is."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import count

import pytest

from privql.kernel.cost import Cost
from privql.kernel.events import Event
from privql.kernel.filters import DEFAULT, Shares
from privql.kernel.losses import loss_of
from privql.ledger import BudgetRow, GrantRow, Ledger, LedgerError, OverBudget, Permit
from tests.ledger.asking import ALL_KEYS, ask, budget, ledger, met


def refused(made: Ledger, request: object) -> OverBudget:
    with pytest.raises(OverBudget) as found:
        made.reserve(request)
    return found.value


def test_three_thirds_make_one_and_then_nothing_is_left() -> None:
    made = ledger(budget(1))
    for query in range(3):
        assert isinstance(made.reserve(ask(query, "1/3")), Permit)
    assert made.spent("patient") == Cost(Fraction(1))
    over = refused(made, ask("more", "1e-17"))
    assert (over.reason, over.left, over.asked) == ("budget", Cost(), Cost(Fraction(1, 10**17)))
    assert made.spent("patient").epsilon == 1
    assert made.verify() == ()


def test_the_last_drop_can_be_spent() -> None:
    made = ledger(budget("1.00000000000000001"))
    made.reserve(ask("a", 1))
    assert refused(made, ask("b", "2e-17")).left == Cost(Fraction(1, 10**17))
    made.reserve(ask("c", "1e-17"))
    assert made.spent("patient").epsilon == Fraction(10**17 + 1, 10**17)


def test_delta_is_a_budget_too() -> None:
    made = ledger(budget(1, delta="1e-6"))
    made.reserve(ask("a", "0.1", delta="6e-7"))
    assert refused(made, ask("b", "0.1", delta="6e-7")).reason == "budget"
    made.reserve(ask("c", "0.9", delta="4e-7"))
    assert made.spent("patient") == Cost(Fraction(1), Fraction(1, 10**6))
    assert refused(ledger(budget(1)), ask("a", "0.1", delta="1e-12")).reason == "budget"


def test_what_one_spends_another_lacks() -> None:
    made = ledger(budget(1))
    made.reserve(ask("a", "0.7", analyst="alice"))
    assert refused(made, ask("b", "0.4", analyst="bob")).left == Cost(Fraction(3, 10))
    assert made.spent("patient", "research", "alice").epsilon == Fraction(7, 10)
    assert made.spent("patient", analyst="bob") == Cost()


def test_a_limit_holds_for_each() -> None:
    grants = tuple(GrantRow("research", name, Fraction(1, 2)) for name in ("alice", "bob", "carol"))
    made = ledger(budget("1.2"), grants=grants)
    made.reserve(ask("a", "0.5", analyst="alice"))
    assert refused(made, ask("b", "0.1", analyst="alice")).reason == "grant"
    made.reserve(ask("c", "0.5", analyst="bob"))
    over = refused(made, ask("d", "0.3", analyst="carol"))
    assert (over.reason, over.left) == ("budget", Cost(Fraction(1, 5)))


def test_a_limit_on_delta_alone() -> None:
    grant = GrantRow("research", "alice", None, Fraction(1, 10**7))
    made = ledger(budget(1, delta="1e-6"), grants=(grant,))
    assert refused(made, ask("a", "0.1", delta="2e-7")).reason == "grant"
    made.reserve(ask("a", "0.1", delta="1e-7"))


def test_what_leaves_less_is_told() -> None:
    grants = GrantRow("research", "alice", Fraction(1, 2)), GrantRow("research", "bob", None, Fraction(1, 10**7))
    more = GrantRow("research", "carol", Fraction(2), Fraction(1, 2)), GrantRow("research", "dave")
    made = ledger(budget(1, delta="1e-6"), grants=(*grants, *more))

    def binding() -> list[str]:
        return [made.budgets_for(who, "patient")[0].bound_by for who in ("alice", "bob", "carol", "dave")]

    assert binding() == ["grant", "grant", "budget", "budget"]
    made.reserve(ask("a", "0.4", delta="1e-7", analyst="bob"))
    assert binding() == ["grant", "grant", "budget", "budget"]
    made.reserve(ask("b", "0.2", analyst="carol"))
    assert binding() == ["budget"] * 4


HALVES = Shares(Fraction(1, 2), Fraction(1, 2), Fraction(0), Fraction(0))


@pytest.mark.parametrize(("delta", "less"), [("3e-7", "grant"), ("4e-7", "budget"), ("5e-7", "budget")])
def test_of_the_same_epsilon_less_delta_is_told(delta: str, less: str) -> None:
    """Both leave ε = 1/2; of δ the budget leaves 1e-7 for finding groups."""
    grants = GrantRow("research", "alice", Fraction(6, 10), Fraction(delta)), GrantRow("research", "bob")
    made = ledger(budget(1, delta="1e-6", shares=HALVES), grants=grants)
    made.reserve(ask("a", "0.4", delta="3e-7", analyst="bob"))
    made.reserve(ask("b", "0.1", delta="1e-7"))
    assert made.budgets_for("alice", "patient")[0].bound_by == less


@pytest.mark.parametrize(("delta", "left"), [("5e-7", "1.5e-7"), ("7e-7", "2e-7"), ("2e-7", "0"), (None, "2e-7")])
def test_what_is_left_of_delta_for_noise_is_the_least_that_anything_leaves(delta: str | None, left: str) -> None:
    grants = GrantRow("research", "alice", None, delta and Fraction(delta)), GrantRow("research", "bob")
    made = ledger(budget(9, delta="1e-6", shares=HALVES), grants=grants)
    for analyst, lost in (("bob", "2e-7"), ("alice", "1e-7")):
        noise = (Event("gaussian", Cost(Fraction(1, 10), Fraction(lost))),)
        made.reserve(replace(ask(analyst, analyst=analyst), charges=(("patient", noise),)))
    assert made.budgets_for("alice", "patient")[0].noise_delta == Fraction(left)
    made.apply_policy("less", (budget(9, delta="1e-7", shares=HALVES),), grants[1:], ("patients", "visits"))
    assert made.budgets_for("bob", "patient")[0].noise_delta == 0


def test_most_per_query() -> None:
    made = ledger(budget(3, max_epsilon="0.5"))
    made.reserve(ask("a", "0.5"))
    assert refused(made, ask("b", "0.50000000000000001")).reason == "max per query"


def test_who_may_use_a_budget() -> None:
    everyone = ledger(budget(1), budget(1, "second"))
    assert len(everyone.budgets_for("anyone", "patient")) == 2
    grants = (GrantRow("research", "Alice"),)
    closed = ledger(budget(1), budget(1, "second"), grants=grants)
    assert [state.budget.name for state in closed.budgets_for("ALICE", "patient")] == ["research"]
    assert refused(closed, ask("a", analyst="bob")).reason == "no grant"
    assert refused(closed, ask("a", budget="second")).reason == "no grant"
    assert refused(closed, ask("a", unit="household")).reason == "no budget"
    with pytest.raises(LedgerError, match="no budget `third`"):
        closed.reserve(ask("a", budget="third"))
    assert closed.history() == ()


def test_names_that_differ_in_case_are_one() -> None:
    made = ledger(budget(1, unit="Patient"), grants=(GrantRow("Research", "Alice", Fraction(1, 2)),))
    made.reserve(ask("a", "0.3", analyst="aLICE", unit="PATIENT"))
    assert refused(made, ask("b", "0.3", analyst="alice")).reason == "grant"
    for name in ("ALICE", "alice"):
        assert made.budgets_for(name, "patient")[0].left.epsilon == Fraction(2, 10)
    made.apply_policy("2", [budget(1, "RESEARCH", "pAtient")], [], ["patients"])
    assert made.budgets_for("x", "patient")[0].spent.epsilon == Fraction(3, 10)
    assert made.spent("pATIENT", "rESEARCH", "ALICE").epsilon == Fraction(3, 10)


def test_the_fullest_budget_that_can_pay_pays() -> None:
    made = ledger(budget(1, "b"), budget(1, "a"), budget("0.9", "c", delta="1e-6"))
    paid = [made.reserve(ask(query, "0.3")).charges[0].budget for query in range(3)]
    assert paid == ["a", "b", "c"]
    permit = made.reserve(ask("with delta", "0.5", delta="1e-6"))
    assert isinstance(permit, Permit) and permit.charges[0].budget == "c"
    chosen = made.reserve(ask("chosen", "0.1", budget="C"))
    assert isinstance(chosen, Permit) and chosen.charges[0].budget == "c"
    assert refused(made, ask("chosen too", "0.1", budget="c")).left == Cost()
    made.reserve(ask("all of it", "0.7"))
    assert made.spent("patient").epsilon == Fraction(22, 10)
    assert {state.of_unit.of(None).epsilon for state in made.budget_report()} == {Fraction(22, 10)}


def test_the_fullest_for_this_analyst_counts_her_limit() -> None:
    grants = GrantRow("big", "alice", Fraction(1, 10)), GrantRow("small", "alice")
    made = ledger(budget(9, "big"), budget(1, "small"), grants=grants)
    assert [state.budget.name for state in made.budgets_for("alice", "patient")] == ["small", "big"]


def test_a_query_on_two_units_is_charged_to_both_or_to_neither() -> None:
    made = ledger(budget(1), budget("0.5", "homes", "household"))
    half, tenth = met("1/2"), met("1/10")
    made.reserve(ask("a", charges=(("patient", tenth), ("household", half), ("PATIENT", tenth))))
    assert (made.spent("patient").epsilon, made.spent("household").epsilon) == (Fraction(1, 5), Fraction(1, 2))
    over = refused(made, ask("b", charges=(("patient", tenth), ("household", tenth))))
    assert (over.unit, over.budget) == ("household", "homes")
    assert made.spent("patient").epsilon == Fraction(1, 5)
    with pytest.raises(LedgerError, match="does not charge"):
        made.reserve(ask("c", budget="homes"))


def test_a_policy_keeps_what_was_spent() -> None:
    made = ledger(budget(1))
    made.reserve(ask("a", "0.8"))
    assert made.apply_policy("lower", [budget("0.5")], [], ["patients"]) == 2
    over = refused(made, ask("b", "1e-17", policy_version=2))
    assert over.left == Cost()
    assert made.budgets_for("alice", "patient")[0].left == Cost()
    assert made.apply_policy("gone", [budget(1, "other")], [], ["patients"]) == 3
    assert made.budget_report()[0].of_unit.of(None).epsilon == Fraction(8, 10)
    assert made.apply_policy("back", [budget(1)], [], ["patients"]) == 4
    assert refused(made, ask("b", "0.3", policy_version=4)).left == Cost(Fraction(1, 5))
    made.reserve(ask("b", "0.2", policy_version=4))
    assert made.verify() == ()


def test_an_overdrawn_delta_leaves_nothing() -> None:
    made = ledger(budget(1, delta="1e-6"))
    made.reserve(ask("a", "0.1", delta="1e-6"))
    made.apply_policy("lower", [budget(1, delta="1e-9")], [], ["patients"])
    assert refused(made, ask("b", "0.1", policy_version=2)).left == Cost()


def test_without_epsilon_no_delta_is_left_to_spend() -> None:
    made = ledger(budget(1, delta="1e-6"))
    made.reserve(ask("a", "0.8"))
    assert made.budgets_for("alice", "patient")[0].left == Cost(Fraction(1, 5), Fraction(1, 10**6))
    made.apply_policy("lower", [budget("0.5", delta="1e-6")], [], ["patients"])
    assert made.budgets_for("alice", "patient")[0].left == Cost()


@pytest.mark.parametrize(
    ("epsilon", "delta", "has", "left"),
    [
        ("0.5", 0, "1e-6", "ε = 0.2, δ = 0.0000004"),
        ("0.1", "5e-7", "1e-6", "ε = 0.2, δ = 0.0000004"),
        ("0.1", "5e-7", "6e-7", "ε = 0.2, δ = 0"),
        ("0.5", 0, "6e-7", "ε = 0.2"),
    ],
)
def test_what_is_left_is_told_once_and_delta_where_it_is_asked_for(
    epsilon: str, delta: object, has: str, left: str
) -> None:
    made = ledger(budget(1, delta=has))
    made.reserve(ask("a", "0.8", delta="6e-7"))
    assert str(refused(made, ask("b", epsilon, delta=delta))).endswith(f", and budget `research` has {left} left")


@pytest.mark.parametrize("shares", [ALL_KEYS, DEFAULT], ids=["all", "usual"])
@pytest.mark.parametrize("limit", [None, "1e-7", "9e-7", "1e-6"])
def test_the_delta_that_is_left_can_be_spent_and_no_more(shares: Shares, limit: str | None) -> None:
    grants = GrantRow("research", "alice", None, limit and Fraction(limit)), GrantRow("research", "bob", Fraction(2))
    made = ledger(budget(2, delta="1e-6", shares=shares), grants=grants)
    for number, (who, spent) in enumerate((("alice", "1e-8"), ("bob", "2e-8"), ("alice", "5e-9"), ("bob", "1e-7"))):
        made.reserve(ask(number, "0.1", delta=spent, analyst=who))
        for analyst in ("alice", "bob"):
            (state,) = made.budgets_for(analyst, "patient")
            found = state.left.delta
            assert found and state.refusal(loss_of(met("0.01", found), state.order)) is None
            assert state.refusal(loss_of(met("0.01", found + Fraction(1, 10**12)), state.order)) is not None


def test_what_costs_nothing_is_admitted_to_those_with_a_budget() -> None:
    made = ledger(budget(0), grants=(GrantRow("research", "alice"),))
    assert isinstance(made.reserve(ask("a", 0)), Permit)
    assert refused(made, ask("a", 0, analyst="bob")).reason == "no grant"
    with pytest.raises(LedgerError, match="charges no unit"):
        made.reserve(ask("b", charges=()))


@pytest.mark.parametrize("epsilon", [Fraction(1, 1009), Fraction(1, 10**120), Fraction(2**20 + 1)])
def test_what_cannot_be_summed_for_ever_is_not_charged(epsilon: Fraction) -> None:
    made = ledger(budget(1))
    with pytest.raises(LedgerError, match="exactly"):
        made.reserve(ask("a", charges=(("patient", (*met("0.1"), Unchecked("pure", Cost(epsilon)))),)))
    with pytest.raises(LedgerError, match="budget `b`"):
        made.apply_policy("x", [BudgetRow("b", "patient", epsilon)], [], [])
    assert made.spent("patient") == Cost()


@pytest.mark.parametrize(
    ("budgets", "grants", "said"),
    [
        ((budget(1), budget(2, "RESEARCH")), (), "declared twice"),
        ((budget(1),), (GrantRow("other", "alice"),), "not declared"),
        ((budget(1),), (GrantRow("research", "a"), GrantRow("research", "A")), "twice"),
        ((budget(1),), (GrantRow("research", ""),), "nobody"),
        ((budget(1, ""),), (), "needs a name"),
        ((budget(1, unit=""),), (), "needs a name"),
        ((budget(1, delta=1),), (), "below 1"),
        ((budget(1),), (GrantRow("research", "a", Fraction(1, 1009)),), "denominator"),
    ],
)
def test_a_policy_the_ledger_cannot_keep_is_refused(
    budgets: tuple[BudgetRow, ...], grants: tuple[GrantRow, ...], said: str
) -> None:
    made = ledger(budget(7))
    with pytest.raises(LedgerError, match=said):
        made.apply_policy("x", budgets, grants, [])
    assert made.policy().version == 1


class Unchecked(Event):
    """An event that says more than one can."""

    def __post_init__(self) -> None:
        pass


AMOUNTS = [Fraction(n, d) for d in (1, 3, 7, 10, 997, 10**17) for n in (0, 1, 2, d)]


@pytest.mark.parametrize("seed", range(12))
def test_against_a_plain_model(seed: int) -> None:
    """Random policies and queries: admitted exactly when a dictionary of fractions says so, and never otherwise."""
    random_ = random.Random(seed)
    pick = random_.choice
    made, queries, version = Ledger.create(":memory:"), count(), 0
    spent: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
    for _ in range(8):
        rows = [
            BudgetRow(
                name,
                pick(("u", "v")),
                random_.randint(0, 4) + pick(AMOUNTS[:-4]),
                max_epsilon=pick((None, Fraction(1, 2))),
            )
            for name in "abc"
        ]
        pairs = [(row.name, who) for row in rows for who in ("x", "y") if random_.random() < 0.6]
        grants = [GrantRow(*pair, pick((None, Fraction(pick((1, 2)), 3)))) for pair in pairs if seed % 3]
        version = made.apply_policy(f"{version} {seed}", rows, grants, ["t"])
        for _ in range(25):
            who, unit, asked = pick("xyz"), pick(("u", "v")), pick(AMOUNTS)
            able = []
            for row in rows:
                mine = [grant for grant in grants if (grant.budget, grant.analyst) == (row.name, who)]
                if row.unit != unit or (grants and not mine):
                    continue
                cap = mine[0].epsilon if mine and mine[0].epsilon is not None else row.epsilon
                rest = min(row.epsilon - spent[unit, row.name], cap - spent[unit, row.name, who])
                most = row.max_epsilon if row.max_epsilon is not None else asked
                if asked <= most and (asked <= rest or not asked):
                    able.append((max(rest, Fraction(0)), row.name))
            request = ask(next(queries), asked, analyst=who, unit=unit, policy_version=version, tables=("t",))
            if not able:
                refused(made, request)
                continue
            permit = made.reserve(request)
            assert isinstance(permit, Permit)
            ((line),) = permit.charges
            assert line.budget == min(able, key=lambda one: (-one[0], one[1]))[1]
            for scope in ((unit,), (unit, line.budget), (unit, line.budget, who)):
                spent[scope] += asked
    for scope, sum_ in spent.items():
        assert made.spent(*scope).epsilon == sum_
    assert made.verify() == ()
