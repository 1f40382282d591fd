"""A plan as one event: never below the true δ, computed otherwise, and close to it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from privql.kernel import plans
from privql.kernel.cost import Cost
from privql.kernel.events import Event, Kind
from privql.kernel.gaussian import greatest_mu
from privql.kernel.losses import NO_LOSS, loss_of
from privql.kernel.plans import planned

MILLIONTH = Fraction(1, 10**6)


def event(kind: Kind, epsilon: str | Fraction, delta: str | Fraction = "0") -> Event:
    return Event(kind, Cost(Fraction(epsilon), Fraction(delta)))


def gaussian_delta(rest: float, mu: float) -> float:
    if not mu:
        return max(0.0, -math.expm1(rest))
    return float(norm.sf(rest / mu - mu / 2) - math.exp(rest + norm.logsf(rest / mu + mu / 2)))


def enumerated(epsilons: Sequence[Fraction], mu: float, epsilon: float) -> float:
    """The least δ, by all that randomised responses can come to."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        chance = math.prod(1 / (1 + math.exp(-sign * e)) for sign, e in zip(signs, epsilons, strict=True))
        total += chance * gaussian_delta(
            epsilon - sum(sign * float(e) for sign, e in zip(signs, epsilons, strict=True)), mu
        )
    return total


def on_a_fine_lattice(epsilons: Sequence[Fraction], mu: float, epsilon: float, step: float) -> float:
    """A δ that is too small, each ε being rounded down."""
    law = np.ones(1)
    for each in epsilons:
        steps = int(float(each) / step * (1 + 1e-12))
        right = 1 / (1 + math.exp(-steps * step))
        grown = np.zeros(len(law) + 2 * steps)
        grown[: len(law)] += (1 - right) * law
        grown[2 * steps :] += right * law
        law = grown
    losses = (np.arange(len(law)) - len(law) // 2) * step
    kept = law > 1e-16
    return math.fsum(
        p * gaussian_delta(epsilon - loss, mu) for p, loss in zip(law[kept], losses[kept], strict=True)
    )  # fmt: skip


def mu_of(events: Sequence[Event]) -> float:
    return math.sqrt(sum(greatest_mu(e.cost.epsilon, e.cost.delta) ** 2 for e in events if e.kind == "gaussian"))


def epsilons_of(events: Sequence[Event]) -> list[Fraction]:
    return [e.cost.epsilon for e in events if e.kind != "gaussian"]


@pytest.mark.parametrize("seed", range(30))
def test_all_that_a_small_plan_can_come_to(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [
        Fraction(rng.randint(1, 99), rng.choice((100, 37, 997))) * rng.choice((1, 1, Fraction(1, 50)))
        for _ in range(rng.randint(1, 9))
    ]
    gaussians = (event("gaussian", Fraction(rng.randint(1, 9), 10), "1e-3"),) * rng.choice((0, 0, 1, 3))
    events = (*(event(rng.choice(("pure", "ranged", "keys")), size) for size in sizes), *gaussians)
    delta = Fraction(1, rng.choice((5, 20, 1000)))
    found, plain = planned(events, delta), loss_of(events)
    assert found.delta <= delta or found == plain
    assert 10**20 % found.delta.denominator == 0
    true = enumerated(epsilons_of(events), mu_of(events), float(found.epsilon))
    assert true <= float(found.delta) * (1 + 1e-9) + 1e-13
    if found != plain:
        nearer = enumerated(epsilons_of(events), mu_of(events), float(found.epsilon) * 0.99)
        assert nearer > float(found.delta) * (1 - 1e-3)
    assert replace(found, epsilon=plain.epsilon, delta=plain.delta) == plain


@pytest.mark.parametrize("smooth", [0, 12])
def test_large_plans(smooth: int) -> None:
    rng = random.Random(smooth)
    # multiples of 1/400 whose sum is beyond the lattice that is exact, once 1/997 is among them
    events = tuple(event("pure", Fraction(rng.randint(1, 60), 400)) for _ in range(120))
    events += (event("pure", "1/997"),) + (event("gaussian", "1/10", "1e-9"),) * smooth
    found, mu = planned(events, MILLIONTH), mu_of(events)
    for part, enough in ((1.0, True), (0.995, False)):
        true = on_a_fine_lattice(epsilons_of(events), mu, float(found.epsilon) * part, 1 / 400)
        assert (true <= float(found.delta)) is enough
    assert found.delta <= MILLIONTH


def test_planted_lattices_that_round_down_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    true = plans._on_lattice
    events = (event("pure", "1/2"), event("pure", "1/3"), event("pure", "100/299")) * 4
    monkeypatch.setattr(plans, "_MOST_POINTS", 30)
    for by, sound in ((0, True), (1, False)):
        monkeypatch.setattr(
            plans,
            "_on_lattice",
            lambda e, step, bits, by=by: true(e if not by else int(e / step) * step, step, bits),
        )
        found = planned(events, Fraction(1, 1000))
        assert (enumerated(epsilons_of(events), 0.0, float(found.epsilon)) <= float(found.delta)) is sound


@pytest.mark.parametrize("bits", [16, 100])
def test_between_two_places_of_a_lattice_it_is_either_by_chance(bits: int) -> None:
    """Each as it were alone, so often that no less is told right, and hardly more."""
    step, one = Fraction(1, 4), 1 << bits
    for epsilon in (Fraction(n, 97) for n in range(1, 400, 7)):
        law, below = plans._on_lattice(epsilon, step, bits), int(epsilon / step)
        chances = {law.low + at: chance for at, chance in enumerate(law.chances) if chance}
        with localcontext() as context:
            context.prec = 60
            near, wanted, far = (
                1 / (1 + (-Decimal(e.numerator) / e.denominator).exp())
                for e in (below * step, epsilon, (below + 1) * step)
            )
            often = (wanted - near) / (far - near)
            exact = dict.fromkeys((-below - 1, -below, below, below + 1), Decimal(0))
            for place, right, share in ((below, near, 1 - often), (below + 1, far, often)):
                exact[place] += right * share
                exact[-place] += (1 - right) * share
            assert chances.keys() == exact.keys()
            for place, chance in chances.items():
                assert abs(chance - exact[place] * one) <= 10 / (far - near)
            assert chances[below + 1] + chances[below] * (below > 0) >= (wanted if below else far * often) * one
        assert one <= sum(chances.values()) <= one + 10
    for place in range(1, 9):
        law, (least, most) = plans._on_lattice(place * step, step, bits), plans._right(place * step, bits)
        assert law == plans._Losses(-place, [one - least, *[0] * (2 * place - 1), most])


def test_where_bits_cannot_tell_two_places_apart_it_is_the_next_no_less_often() -> None:
    step = 0.25
    for bits in range(1, 9):
        for epsilon in (Fraction(n, 97) for n in range(1, 800, 7)):
            chances = plans._on_lattice(epsilon, Fraction(step), bits).chances
            near, wanted, far = (
                1 / (1 + math.exp(-e)) for e in (epsilon // step * step, epsilon, epsilon // step * step + step)
            )
            assert chances[-1] >= (wanted - near) / (far - near) * far * (1 << bits) - 1e-9
            assert sum(chances) >= 1 << bits and min(chances) >= 0


@pytest.mark.parametrize("mu", [Fraction(0), Fraction(1, 3)])
def test_no_part_of_a_chance_is_left_out(mu: Fraction) -> None:
    """Of so few bits that whatever is rounded down, once, is seen."""
    bits, rng = 12, random.Random(3)
    for size in (1, 2, 5, 9):
        losses = plans._Losses(-3, [rng.randint(0, 4000) for _ in range(size)], rng.randint(0, 3))
        law = plans._Law(Fraction(1, 5), losses, mu, bits)
        for epsilon in (Fraction(n, 7) for n in range(6)):
            true = losses.beyond + sum(
                chance * gaussian_delta(float(epsilon) - (at - 3) / 5, float(mu))
                for at, chance in enumerate(losses.chances)
            )
            for most in (0, 1 << bits, 100 << bits, 900 << bits):  # what is small beside it is bounded crudely
                assert true <= law.delta(epsilon, most) + 1e-9
            assert law.delta(epsilon, 0) <= true + 10 * size + losses.beyond


def test_a_gaussian_of_hardly_any_noise_is_planned_beside_others() -> None:
    """No float has e^ε for it."""
    for epsilon in range(700, 900, 50):
        events = (event("gaussian", Fraction(epsilon), MILLIONTH), *(event("pure", "1/3"),) * 5)
        assert planned(events, 10 * MILLIONTH).epsilon < epsilon + 5


@pytest.mark.parametrize("tail", [0, 20, 95, 98])
def test_no_loss_is_made_less_likely_to_be_exceeded(tail: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chances are rounded up, and tails cut on the dear side: seen to the last of 100 bits, and where much is cut."""
    monkeypatch.setattr(plans, "_TAIL", 1 << tail)
    steps, bits = (9, 9, 9, 9, 5, 5, 5, 5, 1, 3), 100
    step, law = plans._added([Fraction(each, 10) for each in steps], 10**6, bits)
    assert step == Fraction(1, 10)
    with localcontext() as context:
        context.prec = 60
        right = {each: 1 / (1 + (-Decimal(each) / 10).exp()) for each in steps}
        for each in steps:
            wrong, *_, told = plans._on_lattice(Fraction(each, 10), step, bits).chances
            assert 0 <= told - right[each] * (1 << bits) < 3 and 0 <= wrong - (1 - right[each]) * (1 << bits) < 3
        true: dict[int, Decimal] = {}
        for signs in itertools.product((1, -1), repeat=len(steps)):
            chance = Decimal(1)
            for sign, each in zip(signs, steps, strict=True):
                chance *= right[each] if sign > 0 else 1 - right[each]
            loss = sum(sign * each for sign, each in zip(signs, steps, strict=True))
            true[loss] = true.get(loss, Decimal(0)) + chance
        for least in range(-sum(steps), sum(steps) + 2):
            above = sum((chance for loss, chance in true.items() if loss >= least), Decimal(0))
            ours = law.beyond + sum(chance for at, chance in enumerate(law.chances, law.low) if at >= least)
            assert above * (1 << bits) <= ours <= above * (1 << bits) + (1 << tail) * 100 + 1000


@pytest.mark.parametrize("seed", range(6))
def test_what_is_bounded_crudely_is_bounded(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(plans, "_SMALL", 2)
    events = tuple(event("pure", Fraction(rng.randint(1, 99), 100)) for _ in range(8))
    events += (event("gaussian", "1/2", "1e-3"),) * (seed % 3)
    found = planned(events, Fraction(1, 1000))
    assert enumerated(epsilons_of(events), mu_of(events), float(found.epsilon)) <= float(found.delta)
    monkeypatch.setattr(plans, "_TAIL", 1 << 97)
    law = plans._Law(*plans._added(epsilons_of(events), 10**4, 100), Fraction(mu_of(events)), 100)
    for epsilon in (Fraction(k, 4) for k in range(1, 16)):
        true = enumerated(epsilons_of(events), mu_of(events), float(epsilon))
        assert true <= law.delta(epsilon, (1 << 100) // 10) / 2**100 * (1 + 1e-9) + 1e-15


def test_in_numbers() -> None:
    tenth = event("pure", "1/10")
    assert planned((tenth,) * 46, MILLIONTH).epsilon < 3 < planned((tenth,) * 47, MILLIONTH).epsilon
    many = planned((tenth,) * 10**3, MILLIONTH)
    assert many.epsilon < Fraction(41, 2)


def test_gaussians_alone_are_one_gaussian() -> None:
    one = event("gaussian", "1/10", "1e-9")
    found = planned((one,) * 25, Fraction(1, 10**9))
    assert math.isclose(float(found.epsilon), 0.5, rel_tol=0.1) and found.epsilon < Fraction(25, 10)
    mu = mu_of((one,) * 25)
    assert gaussian_delta(float(found.epsilon), mu) <= float(found.delta) <= 1e-9
    assert gaussian_delta(float(found.epsilon) * 0.9999, mu) > 1e-9


def test_found_groups_keep_their_delta_and_what_is_concentrated_adds_its_own() -> None:
    pure, keys = ((event(kind, "1/10", d),) * 40 for kind, d in (("pure", "0"), ("keys", "1e-9")))
    found = planned(keys, MILLIONTH)
    assert replace(found, keys=Fraction(0)) == planned(pure, MILLIONTH) and found.keys == Fraction(40, 10**9)
    concentrated = planned((event("concentrated", "1/10", "1e-9"),) * 40, MILLIONTH)
    rest = planned(pure, MILLIONTH - Fraction(40, 10**9))
    assert concentrated.epsilon == rest.epsilon and concentrated.delta == rest.delta + Fraction(40, 10**9)


def test_it_is_never_worse_than_the_sum() -> None:
    assert planned((), MILLIONTH) == NO_LOSS
    for events in (
        (event("pure", "1"),),
        (event("pure", "1/3"), event("pure", "1/7")) * 3,
        (event("keys", "1/10", "1e-9"), event("concentrated", "1/10", "1e-9")),
    ):
        assert planned(events, MILLIONTH) == loss_of(events) == planned(events, Fraction(0))
    one = (event("gaussian", "1/10", "1e-9"),)
    assert planned(one, Fraction(1, 10**10)).epsilon > Fraction(1, 10) > planned(one, Fraction(1, 10**8)).epsilon
    assert planned(one, Fraction(0)) == loss_of(one)
    # of what alone is no longer affordable, a plan may still be
    costly = (event("gaussian", "1/10", "1/1000"),)
    assert planned(costly, MILLIONTH).delta <= MILLIONTH < loss_of(costly).delta
