"""Exact searches begin next to where they end: each question of one takes certified bounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest

from privql.kernel import gaussian, losses, plans, search, selection, tails, two, zcdp
from privql.kernel.cost import Cost
from privql.kernel.events import Event
from privql.kernel.filters import DEFAULT, Filter, order_for
from privql.kernel.search import least, solved
from privql.kernel.selection import Count

FEW = 4  # questions: of a guess that is off by one at most
SEARCHING: tuple[ModuleType, ...] = (gaussian, search, selection, tails, two)
EPSILONS = [Fraction(2) ** -40, *(Fraction(n, 1000) for n in (1, 100, 1000, 7000, 50000)), Fraction(2**20)]
DELTAS = [Fraction(1, 3), Fraction(1, 10**6), Fraction(1, 10**30)]
SCALES = [Fraction(1, 3), Fraction(7, 2), Fraction(40), Fraction(10**9, 7)]
CONFIDENCES = [Fraction(1, 2), Fraction(95, 100), 1 - Fraction(1, 10**20)]
Asked = Callable[..., int]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """How many questions what is done asks in its longest search."""
    counts: list[int] = []

    def counted(holds: Callable[[int], bool], guess: int) -> int:
        questions: list[int] = []

        def question(at: int) -> bool:
            questions.append(at)
            return holds(at)

        found = least(question, guess)
        counts.append(len(questions))
        return found

    for module in SEARCHING:
        monkeypatch.setattr(module, "least", counted)

    def longest(done: Callable[..., object], *given: object) -> int:
        for cached in (gaussian._neighbours, zcdp.greatest_rho, selection.reach_of):
            cached.cache_clear()
        counts.clear()
        done(*given)
        return max(counts)

    return longest


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_what_a_price_buys_is_guessed(epsilon: Fraction, delta: Fraction, asked: Asked) -> None:
    assert asked(gaussian.greatest_mu, epsilon, delta) <= FEW
    assert asked(zcdp.greatest_rho, epsilon, delta) <= FEW
    mu = gaussian.greatest_mu(epsilon, delta)
    assert asked(gaussian.least_mu, mu * Fraction(4, 3)) <= FEW
    if epsilon > EPSILONS[0]:
        assert asked(gaussian.least_epsilon, mu, delta) <= FEW
    if epsilon < 64:
        assert asked(losses.mu_squared_of_pure, epsilon) <= FEW
    if (law := Count(epsilon, delta)).sensible:
        assert asked(selection.reach_of, law) <= FEW


@pytest.mark.parametrize("confidence", CONFIDENCES, ids=str)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_how_far_noise_reaches_is_guessed(scale: Fraction, confidence: Fraction, asked: Asked) -> None:
    far = int(2 * scale) + 1
    for before in (Fraction(0), Fraction(1, 2)):
        assert asked(gaussian.halfwidth, scale, confidence, before) <= FEW
        assert asked(gaussian.sigma_within, far, confidence, before) <= FEW
        assert asked(gaussian.halfwidth_of_two, scale, (7, -3), 5, confidence, before) <= FEW
    assert asked(tails.halfwidth, scale, confidence) <= FEW
    assert asked(tails.epsilon_within, 3, far, confidence) <= FEW
    assert asked(two.halfwidth_of_sum, scale, confidence) <= FEW


def test_chances_that_hardly_any_float_tells_from_none_are_guessed_too(asked: Asked) -> None:
    rare = Fraction(1, 10**300)
    assert asked(gaussian.greatest_mu, Fraction(1), rare) <= FEW
    assert asked(gaussian.halfwidth, Fraction(1000), 1 - rare) <= FEW


@pytest.mark.parametrize("epsilon", EPSILONS[1:-1], ids=str)
def test_what_a_budget_leaves_is_guessed(epsilon: Fraction, asked: Asked) -> None:
    delta = DELTAS[1]
    of = Filter(epsilon, delta, DEFAULT, order_for(epsilon, delta, DEFAULT))
    pure, smooth = Event("pure", Cost(epsilon / 50)), Event("gaussian", Cost(epsilon / 50, delta / 100))
    for events in ((), (pure,) * 20, (smooth,) * 20):
        assert asked(of.left, of.loss(events)) <= FEW
    for events in ((pure,) * 20, (smooth,) * 20, (pure, smooth) * 10):
        assert asked(plans.planned, events, delta) <= FEW


@pytest.mark.parametrize("end", range(-20, 21))
def test_a_guess_that_is_far_off_costs_a_few_questions_more(end: int) -> None:
    for guess in (*range(-25, 26), -(10**6), 10**6):
        asked: list[int] = []

        def holds(at: int, asked: list[int] = asked) -> bool:
            asked.append(at)
            return at >= end

        assert least(holds, guess) == end
        assert len(asked) <= 2 * abs(end - guess).bit_length() + 2, guess


@pytest.mark.parametrize("true", [1e-250, 1e-9, 0.3, 1.0, 1.7, 5.0, 1e6, 1e200])
def test_where_a_function_changes_is_found_to_a_float_or_so(true: float) -> None:
    found = solved(lambda x: x >= true)
    assert true <= found <= true * (1 + 1e-14)


def test_what_always_holds_holds_from_next_to_nothing_on() -> None:
    assert 0 < solved(lambda x: True) < 1e-299
