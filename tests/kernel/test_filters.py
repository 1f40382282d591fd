"""Filters let by no more than they may: against formulas, against the best adversary, and where a fault is planted."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from scipy.stats import norm

from privql.kernel import filters, losses
from privql.kernel.cost import Cost
from privql.kernel.events import Event, Events, Kind
from privql.kernel.filters import DEFAULT, Filter, Shares, order_for
from privql.kernel.gaussian import affordable, greatest_mu, least_epsilon, pays_for
from privql.kernel.losses import NO_LOSS, UNIT, Loss, loss_of
from privql.kernel.plans import planned
from tests.kernel.adversary import Law, cells, gain, response

NONE = Fraction(0)
ONE = Fraction(1)
MILLIONTH = Fraction(1, 10**6)


def event(kind: Kind, epsilon: str | Fraction, delta: str | Fraction = "0") -> Event:
    return Event(kind, Cost(Fraction(epsilon), Fraction(delta)))


def made(epsilon: str, delta: str, shares: Shares = DEFAULT, usual: Fraction | None = None) -> Filter:
    promise = Fraction(epsilon), Fraction(delta), shares
    return Filter(*promise, order_for(*promise, usual))


def repeated(filter: Filter, one: Event, times: int) -> Loss:
    return filter.loss((one,)).times(times)


def fitting(filter: Filter, one: Event) -> int:
    return next(n for n in range(10**4) if not filter.admits(repeated(filter, one, n + 1)))


TENTH = event("pure", "1/10")


def test_in_numbers() -> None:
    assert fitting(made("3", "0"), TENTH) == 30
    assert fitting(made("3", "1/1000000"), TENTH) == 38
    assert fitting(made("3", "1/1000000", Shares(NONE, NONE, Fraction(1), NONE)), TENTH) == 41
    half = Shares(*[Fraction(1, 6)] * 2, Fraction(1, 2), Fraction(1, 6))
    assert fitting(made("3", "1/1000000", half, Fraction(1, 10)), TENTH) == 40
    assert fitting(made("3", "1/1000000"), event("ranged", "1/10")) > 120
    as_large = event("gaussian", least_epsilon(Fraction(1000, 14142), Fraction(1, 10**9)), "1e-9")
    assert fitting(made("3", "1/1000000"), as_large) == 75


def test_without_a_delta_plain_addition_is_all_there_is() -> None:
    one = made("1", "0")
    third = event("pure", "1/3")
    assert one.admits(repeated(one, third, 3))
    assert not one.admits(repeated(one, third, 3) + repeated(one, event("pure", "1e-100"), 1))
    assert one.left(repeated(one, third, 2)) == Fraction(1, 3) and one.left(repeated(one, third, 4)) == 0
    for kind in ("keys", "gaussian", "concentrated"):
        assert not one.admits(one.loss((event(kind, "1/10", "1e-12"),)))


def test_found_groups_have_their_share_of_delta_and_no_more() -> None:
    one, quarter = made("3", "1/1000000"), MILLIONTH / 4
    assert one.admits(one.loss((event("keys", "1/10", quarter),)))
    over = one.loss((event("keys", "1/10", quarter + Fraction(1, 10**20)),))
    assert not one.admits(over) and one.left(over) == 0
    assert not made("3", "1/1000000", Shares(NONE, Fraction(1), NONE, NONE)).admits(over)


def test_each_way_has_its_share_of_delta_and_no_more() -> None:
    quarter = Fraction(1, 4)
    plain, gauss = (made("3", "1/1000", Shares(NONE, *each)) for each in ((quarter, NONE, NONE), (NONE, NONE, quarter)))
    for kind in ("gaussian", "concentrated"):
        assert plain.admits(plain.loss((event(kind, "1/100", "1/4000"),)))
        assert not plain.admits(plain.loss((event(kind, "1/100", "26/100000"),)))
    # of a Gaussian, the Gaussian way bears no δ; what has no μ but for a δ is not for it, however small that is
    gaussians = gauss.loss((event("gaussian", "1/100", "2/10000"),) * 2)
    chosen = gauss.loss((event("concentrated", "1/100", "1e-100"),))
    assert gauss.admits(gaussians) and not gauss.admits(chosen) and not gauss.admits(gaussians + chosen)
    assert gauss.left(gaussians) and not gauss.left(chosen)


def by_formula(one: Filter, loss: Loss) -> list[float]:
    """How far below its bound each filter is: plain, Rényi, Gaussian."""
    order, delta = float(one.order), float(one.delta)
    epsilon = float(one.epsilon)
    plain = float(min(1 - loss.epsilon / one.epsilon, 1 - loss.delta / (one.shares.plain * one.delta)))
    divergence = loss.renyi / UNIT
    bound = divergence - math.log(order * float(one.shares.renyi) * delta) / (order - 1) + math.log(1 - 1 / order)
    m = math.sqrt(loss.gauss / UNIT)
    failing = norm.sf(epsilon / m - m / 2) - math.exp(epsilon) * norm.sf(epsilon / m + m / 2)
    gauss = -1 if loss.gauss_delta else 1 - failing / float(one.shares.gauss * one.delta)
    return [plain, epsilon - bound, gauss]


KINDS: Sequence[Callable[[random.Random, Fraction], Event]] = (
    lambda rng, of: event("pure", of * Fraction(rng.randint(1, 300), 3000)),
    lambda rng, of: event("ranged", of * Fraction(rng.randint(1, 300), 3000)),
    lambda rng, of: event("keys", of * Fraction(rng.randint(1, 300), 3000), "1e-12"),
    lambda rng, of: event("gaussian", of * Fraction(rng.randint(1, 30), 200), "1e-12"),
    lambda rng, of: event("concentrated", of * Fraction(rng.randint(1, 30), 200), "1e-12"),
)


@pytest.mark.parametrize("seed", range(12))
def test_filters_are_their_formulas_and_what_is_left_is_the_most_that_fits(seed: int) -> None:
    rng = random.Random(seed)
    one = made(rng.choice(("1/10", "1", "3", "10")), rng.choice(("1/1000000", "1/1000000000", "1/100")))
    kinds, spent, by = rng.sample(KINDS, rng.randint(1, 5)), NO_LOSS, set()
    for _ in range(60):
        spent += one.loss((rng.choice(kinds)(rng, one.epsilon),))
        margins = by_formula(one, spent)
        if all(abs(margin) > 1e-5 for margin in margins):
            assert one.admits(spent) is any(margin > 0 for margin in margins)
            by |= {at for at, margin in enumerate(margins) if margin > 0}
        left = one.left(spent)
        plain = one.epsilon - spent.epsilon if spent.delta <= one.shares.plain * one.delta else NONE
        assert left >= plain and (left == plain or 10**30 % left.denominator == 0)
        if left >= Fraction(1, 10**6):
            assert one.admits(spent + one.loss((event("pure", left),)))
            assert not one.admits(spent + one.loss((event("pure", left * Fraction(1002, 1000)),)))
        elif not one.admits(spent):
            assert not left
    assert by


def test_no_filter_lets_by_more_than_another_loss_that_is_less() -> None:
    rng, one = random.Random(3), made("3", "1/1000000")
    for _ in range(100):
        events = tuple(rng.choice(KINDS)(rng, one.epsilon) for _ in range(rng.randint(1, 40)))
        if one.admits(one.loss(events)):
            assert one.admits(one.loss(events[: len(events) // 2]))
        more = one.loss(events)
        for name in ("epsilon", "delta", "keys", "gauss_delta"):
            greater: dict[str, Any] = {name: getattr(more, name) * 2 + MILLIONTH}
            if one.admits(replace(more, **greater)):
                assert one.admits(more)


def test_the_order_is_a_good_one_for_many_small_charges() -> None:
    for epsilon, delta in (("1/10", "1e-6"), ("1", "1e-9"), ("3", "1e-6"), ("10", "1e-6")):
        chosen = made(epsilon, delta)
        small = event("pure", Fraction(epsilon) / 500)
        fits = []
        for order in (1 + Fraction(part * 2**k, 32) for k in range(16) for part in range(8, 16)):
            most = filters._most_divergence(chosen.epsilon, chosen.delta / 4, order) or 0
            fits.append(most / loss_of((small,), order).renyi)
        most = filters._most_divergence(chosen.epsilon, chosen.delta / 4, chosen.order) or 0
        assert most / loss_of((small,), chosen.order).renyi >= 0.99 * max(fits)
    assert order_for(Fraction(1), NONE, DEFAULT) == order_for(Fraction(1), 4 * MILLIONTH, DEFAULT)  # until it has one
    assert order_for(NONE, MILLIONTH, DEFAULT) == 2


@pytest.mark.parametrize(
    "shares",
    [(Fraction(-1), Fraction(1), NONE, NONE), (Fraction(1), Fraction(1), NONE, NONE), (0.25, NONE, NONE, NONE)],
)
def test_shares_are_parts_of_one_whole(shares: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError):
        Shares(*shares)


def test_what_is_no_filter() -> None:
    for epsilon, delta, order in ((-1, 0, 2), (1, 1, 2), (1, -1, 2), (1, 0, 1), (1, 0, -1)):
        with pytest.raises(ValueError):
            Filter(Fraction(epsilon), Fraction(delta), DEFAULT, Fraction(order))
    one = made("1", "1e-6")
    for order in (None, one.order + 1):
        with pytest.raises(ValueError, match="order"):
            one.left(loss_of((event("pure", "2"),), order))


# ---------------------------------------------------------------- the best adversary


Game = tuple[tuple[Event, ...], tuple[Law, ...]]


def won(game: Game, filter: Filter, most: int) -> float:
    events, laws = game

    @cache
    def lets(counts: tuple[int, ...]) -> bool:
        if sum(counts) > most:
            return False
        return filter.admits(sum((repeated(filter, e, n) for e, n in zip(events, counts, strict=True)), NO_LOSS))

    return gain(laws, lets, float(filter.epsilon))


def responses(*epsilons: str, leak: float = 0.0) -> Game:
    kind: Kind = "keys" if leak else "pure"
    events = tuple(event(kind, each, Fraction(str(leak))) for each in epsilons)
    return events, tuple(response(float(Fraction(each)), leak) for each in epsilons)


def normal(epsilon: str, delta: str, at: Sequence[float]) -> Game:
    mu = greatest_mu(Fraction(epsilon), Fraction(delta))
    return (event("gaussian", epsilon, delta),), (cells(float(mu), at),)


def both(*games: Game) -> Game:
    return tuple(e for events, _ in games for e in events), tuple(law for _, laws in games for law in laws)


def choices(epsilon: str, delta: str) -> Game:
    """Of concentrated mechanisms the Gaussian way knows no more than (ε, δ)."""
    events, laws = responses(epsilon, leak=float(Fraction(delta)))
    return tuple(event("concentrated", each.cost.epsilon, delta) for each in events), laws


THIRDS = Shares(NONE, *[Fraction(1, 3)] * 3)
GAUSSIAN = Shares(NONE, NONE, NONE, Fraction(1))
HALVES = both(normal("429/500", "1/10000", [k / 25 - 0.5 for k in range(36)]), choices("1/1000", "9/10000"))
GAMES: list[tuple[Game, str, str, Shares, int]] = [
    (responses("3/10"), "1", "1/10", DEFAULT, 40),
    (responses("3/10", "1/10"), "1", "1/10", DEFAULT, 14),
    (responses("3/10", "3/20", "3/5"), "1", "1/20", THIRDS, 9),
    (both(responses("3/10"), normal("1/2", "1/100", (-0.3, 0.3, 0.9))), "1", "1/10", DEFAULT, 8),
    (both(responses("2/10"), responses("3/10", leak=0.01)), "1", "1/10", DEFAULT, 8),
    (both(normal("1", "1/40", (1.0,)), responses("1/5"), responses("1/10", leak=0.02)), "1", "1/10", DEFAULT, 6),
    (HALVES, "1", "1/1000", GAUSSIAN, 3),
]


@pytest.mark.parametrize("at", range(len(GAMES)))
def test_no_adversary_wins(at: int) -> None:
    game, epsilon, delta, shares, most = GAMES[at]
    filter = made(epsilon, delta, shares)
    assert won(game, filter, most) <= float(filter.delta)
    assert any(filter.admits(repeated(filter, e, 1)) for e in game[0])


def test_planted_a_delta_that_may_be_had_in_place_of_gaussians(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sees after one Gaussian that she is losing takes the rest of δ outright; else she takes another Gaussian."""
    one, true = made("1", "1/1000", GAUSSIAN), Filter._gaussian

    def traded(self: Filter, loss: Loss) -> bool:
        rest = replace(self, delta=max(self.delta - loss.gauss_delta, NONE))
        return loss.gauss_delta <= self.delta and true(rest, replace(loss, gauss_delta=NONE))

    monkeypatch.setattr(Filter, "_gaussian", traded)
    assert won(HALVES, one, 3) > 1.5 * float(one.delta)


def test_planted_all_of_delta_for_each() -> None:
    game = both(normal("1", "1/10", (1.0,)), responses("1/1000", leak=0.1))
    fair = made("1", "1/10")
    assert won(game, fair, 4) <= 0.1
    shares = Shares(*[NONE] * 4)
    for name in ("keys", "plain", "renyi", "gauss"):
        object.__setattr__(shares, name, Fraction(1))
    greedy = replace(fair, shares=shares)
    assert won(game, greedy, 4) > 0.15


def test_planted_half_of_a_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    game, one = responses("3/10"), made("1", "1/10", Shares(NONE, NONE, Fraction(1), NONE))
    true = losses.renyi_of_pure
    for part, sound in ((1, True), (Fraction(1, 4), False)):
        monkeypatch.setattr(losses, "renyi_of_pure", lambda e, order, part=part: math.ceil(true(e, order) * part))
        losses._loss_of.cache_clear()
        assert (won(game, one, 60) <= 0.1) is sound
    losses._loss_of.cache_clear()


def test_planted_an_epsilon_in_place_of_mu(monkeypatch: pytest.MonkeyPatch) -> None:
    game, one = responses("1/4", "1/5"), made("1/1000", "1/10", Shares(NONE, NONE, NONE, Fraction(1)))
    assert won(game, one, 20) <= 0.1
    monkeypatch.setattr(losses, "mu_squared_of_pure", lambda epsilon: math.ceil(epsilon**2 * UNIT))
    losses._loss_of.cache_clear()
    assert won(game, one, 20) > 0.12
    losses._loss_of.cache_clear()


def test_planted_a_plan_that_is_made_up_as_one_goes() -> None:
    """What a plan is worth, asked before every charge: each history is one that a plan might have been."""
    (events, laws), epsilon, delta = responses("3/5", "1/5"), Fraction(1), Fraction(1, 50)

    @cache
    def lets(counts: tuple[int, ...]) -> bool:
        history: Events = tuple(e for e, n in zip(events, counts, strict=True) for _ in range(n))
        loss = planned(history, delta)
        return sum(counts) <= 14 and loss.epsilon <= epsilon and loss.delta <= delta

    assert gain(laws, lets, 1.0) > 1.2 * float(delta)
    # and as what it is, one plan, whatever is asked in it and however it is stopped
    for counts in ((2, 5), (1, 9), (3, 1), (0, 12)):
        if lets(counts):
            kept = gain(laws, lambda more, most=counts: all(a <= b for a, b in zip(more, most, strict=True)), 1.0)
            assert kept <= float(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [("1/10", "1/1000000"), ("3", "1/1000000"), ("1040", "1/1000000000")])
def test_what_is_known_of_two_neighbours_is_what_is_computed(epsilon: str, delta: str) -> None:
    """Far below, far above, and between the μ of six digits that is paid for and the next."""
    promise, share = Fraction(epsilon), Fraction(delta)
    paid = greatest_mu(promise, share)
    near = [paid * (1 + Fraction(step, 10**8)) for step in range(-400, 1201, 50)]
    said = [pays_for(promise, share, mu) for mu in (paid / 9, *near, paid * 9)]
    assert said == [affordable(promise, mu, share) for mu in (paid / 9, *near, paid * 9)]
    assert said == sorted(said, reverse=True) and len(set(said)) == 2
