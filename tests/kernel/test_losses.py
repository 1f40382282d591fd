"""What an event is worth in every way of adding up: never less than the truth, computed otherwise, and hardly more."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from privql.kernel.cost import Cost
from privql.kernel.events import Event, Kind, cost_of
from privql.kernel.gaussian import greatest_mu
from privql.kernel.logarithm import log, log_near_one
from privql.kernel.losses import NO_LOSS, UNIT, loss_of, mu_squared_of_pure, read, renyi_of_pure, written
from privql.kernel.zcdp import greatest_rho

EPSILONS = [Fraction(text) for text in ("1e-12", "1e-4", "1/30", "0.1", "1/3", "1", "2.5", "10", "63", "65", "3000")]
DELTA = Fraction(1, 10**6)
ORDERS = tuple(1 + Fraction(part * 2**k, 16) for k in range(14) for part in (4, 5, 6, 7))  # α-1 = 1/4, 5/16, … 3584
SOME = ORDERS[20]


def event(kind: Kind, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Event:
    return Event(kind, Cost(epsilon, delta))


def by_decimals(epsilon: Fraction, order: Fraction) -> Decimal:
    """As it is written on the page."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 80, -(10**9), 10**9
        e, alpha = (Decimal(x.numerator) / Decimal(x.denominator) for x in (epsilon, order))
        return (((alpha * e).exp() + ((1 - alpha) * e).exp()) / (1 + e.exp())).ln() / (alpha - 1)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_randomised_response_has_the_divergence_of_the_formula_rounded_up(epsilon: Fraction) -> None:
    for order in ORDERS:
        assert loss_of((event("pure", epsilon),), order).renyi == renyi_of_pure(epsilon, order)
        with localcontext() as context:
            context.prec = 60
            over = renyi_of_pure(epsilon, order) - by_decimals(epsilon, order) * UNIT
        assert 0 <= over <= Decimal("1.01")


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(np.logaddexp.reduce(order * np.log(p) + (1 - order) * np.log(q)) / (order - 1))


def test_no_pure_mechanism_diverges_more_and_some_do_as_much() -> None:
    rng = np.random.default_rng(1)
    for epsilon in (0.1, 1.0, 3.0):
        bounds = {order: renyi_of_pure(Fraction(str(epsilon)), order) for order in ORDERS[:40:4]}
        laws = [np.array([0.0, epsilon])]
        laws += [rng.uniform(-epsilon, epsilon, 5) for _ in range(50)]
        for ratios in laws:
            # densities of which no two differ by more than ε, on either side
            for weights in (rng.dirichlet(np.ones(len(ratios))), np.ones(len(ratios)) / len(ratios)):
                q = weights / weights.sum()
                p = q * np.exp(ratios)
                p /= p.sum()
                if np.abs(np.log(p / q)).max() <= epsilon:
                    for order, bound in bounds.items():
                        assert divergence(p, q, float(order)) <= bound / UNIT + 1e-12
        right = math.exp(epsilon) / (1 + math.exp(epsilon))
        for order, bound in bounds.items():
            most = divergence(np.array([right, 1 - right]), np.array([1 - right, right]), float(order))
            assert math.isclose(most, bound / UNIT, rel_tol=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_what_has_a_bounded_range_diverges_no_more(epsilon: float) -> None:
    """Two outcomes at the ends of an interval of losses, wherever it is: nothing of this range is worse."""
    ranged, nearest = (event("ranged", Fraction(str(epsilon))),), 0.0
    bounds = {order: loss_of(ranged, order).renyi for order in ORDERS[:40]}
    for start in np.linspace(0.001, 0.999, 200) * -epsilon:
        q = (1 - math.exp(start)) / (math.exp(start + epsilon) - math.exp(start))  # so that p sums to 1
        p = q * math.exp(start + epsilon)
        for order, bound in bounds.items():
            found = divergence(np.array([p, 1 - p]), np.array([q, 1 - q]), float(order))
            assert found <= bound / UNIT + 1e-12
            nearest = max(nearest, found / (bound / UNIT))
    assert nearest > 0.95
    plain, loss = loss_of((event("pure", Fraction(str(epsilon))),), ORDERS[0]), loss_of(ranged, ORDERS[0])
    assert replace(loss, renyi=plain.renyi) == plain and loss.renyi < plain.renyi


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_a_pure_mechanism_is_gaussian_private(epsilon: Fraction) -> None:
    found = math.sqrt(mu_squared_of_pure(epsilon) / UNIT)
    if epsilon < 64:  # P[Z > μ/2] = 1/(1+e^ε)
        least = (
            -2 * float(norm.ppf(1 / (1 + math.exp(epsilon))))
            if epsilon > 1e-3
            else math.sqrt(math.pi / 2) * float(epsilon)
        )
        assert math.isclose(found, least, rel_tol=2e-6) or found * found <= 2 / UNIT
    assert norm.logsf(found / 2) <= -float(epsilon) - math.log1p(math.exp(-float(epsilon))) + 1e-12
    # what an adversary can tell, at any rate of false alarms, is within the Gaussian's
    right = 1 / (1 + math.exp(-float(epsilon)))
    for alarms in (1e-9, 0.01, 0.3, 1 - right, 0.6):
        told = min(1.0, alarms * math.exp(min(float(epsilon), 700)), 1 - math.exp(-float(epsilon)) * (1 - alarms))
        assert told <= norm.sf(norm.isf(alarms) - found) * (1 + 1e-6) + 1e-12


def test_an_epsilon_in_place_of_mu_would_not_do() -> None:
    assert mu_squared_of_pure(Fraction(1, 10)) > Fraction(15, 1000) * UNIT


def test_gaussians_and_what_is_concentrated() -> None:
    epsilon = Fraction(1, 3)
    square, rho = greatest_mu(epsilon, DELTA) ** 2, greatest_rho(epsilon, DELTA)
    for order in ORDERS:
        gaussian = loss_of((event("gaussian", epsilon, DELTA),), order)
        concentrated = loss_of((event("concentrated", epsilon, DELTA),), order)
        assert 0 <= gaussian.renyi - order * square / 2 * UNIT < 1
        assert 0 <= concentrated.renyi - order * rho * UNIT < 1
    assert 0 <= gaussian.gauss - square * UNIT < 1 and not gaussian.gauss_delta
    assert concentrated.gauss == mu_squared_of_pure(epsilon) and concentrated.gauss_delta == DELTA
    assert gaussian.delta == concentrated.delta == DELTA and not gaussian.keys


@pytest.mark.parametrize("epsilon", EPSILONS[2:9])
def test_what_is_concentrated_has_six_digits(epsilon: Fraction) -> None:
    for delta in (DELTA, Fraction(1, 3), Fraction(1, 10**30)):
        rho = greatest_rho(epsilon, delta)
        last = Fraction(10) ** (math.floor(math.log10(rho)) - 5)
        assert rho / last % 1 == 0


def test_found_groups_are_a_pure_mechanism_whose_delta_everything_bears() -> None:
    pure, keys = (
        loss_of((event(kind, Fraction(1, 2), d),), SOME) for kind, d in (("pure", Fraction(0)), ("keys", DELTA))
    )
    assert replace(keys, keys=Fraction(0)) == pure and keys.keys == DELTA


ALL = (
    event("pure", Fraction(1, 3)),
    event("keys", Fraction(1, 7), DELTA),
    event("ranged", Fraction(2)),
    event("gaussian", Fraction(1, 2), DELTA),
    event("concentrated", Fraction(1, 5), DELTA),
)


def test_losses_add_and_compare() -> None:
    loss, parts = loss_of(ALL, SOME), [loss_of((each,), SOME) for each in ALL]
    assert loss == sum(parts, NO_LOSS) and loss.cost == cost_of(ALL) and loss and not NO_LOSS
    assert all(part <= loss and not loss <= part for part in parts) and loss <= loss
    more = {
        "epsilon": Fraction(1),
        "delta": Fraction(1),
        "keys": Fraction(1),
        "gauss_delta": Fraction(1),
        "gauss": 1,
        "renyi": 1,
    }
    for name, value in more.items():
        one = replace(NO_LOSS, order=SOME, **{name: value})
        assert one >= NO_LOSS and not one <= NO_LOSS and one
        assert replace(loss + one, **{name: getattr(loss, name)}) == loss


def test_they_are_written_and_read() -> None:
    for loss in (NO_LOSS, loss_of(ALL), loss_of(ALL, SOME)):
        assert read(written(loss)) == loss
    text = written(loss_of(ALL))
    for other in (text + " ", text.replace('"', "'"), "[]", "{}", text.replace("1/1000000", "2/2000000"), "1"):
        with pytest.raises(ValueError):
            read(other)
    for name, value in (
        ("epsilon", 1),
        ("epsilon", Fraction(-1)),
        ("gauss", 1.0),
        ("gauss", -1),
        ("renyi", (0,)),
        ("renyi", 1),
    ):
        with pytest.raises(ValueError):
            replace(NO_LOSS, **{name: value})
    with pytest.raises(ValueError):
        replace(NO_LOSS, order=SOME, renyi=-1)


@pytest.mark.parametrize("bits", [16, 112])
def test_logarithms_are_enclosed(bits: int) -> None:
    with localcontext() as context:
        context.prec = 60
        for text in ("1", "2", "1/3", "3/2", "1999999/1000000", "1000001/1000000", "7e40", "1/123456789123456789"):
            x = Fraction(text)
            low, high = log(x, bits)
            exact = (Decimal(x.numerator) / Decimal(x.denominator)).ln() * (1 << bits)
            assert low <= exact <= high <= low + 4
            if 1 <= x <= 2:
                ends = (math.floor(x * (1 << bits)), math.ceil(x * (1 << bits)))
                low, high = log_near_one(ends, bits)
                assert low <= exact <= high <= low + 2 * bits
    with pytest.raises(ValueError):
        log(Fraction(0), 8)


def test_divergences_of_two_orders_do_not_meet() -> None:
    one, other, none = (loss_of(ALL, order) for order in (SOME, SOME + 1, None))
    for left, right in ((one, other), (one, none), (none, other)):
        assert not left <= right and not right <= left
        with pytest.raises(ValueError, match="two orders"):
            left + right
    assert one.unordered == none and one + NO_LOSS == NO_LOSS + one == one and one >= NO_LOSS
    assert one.times(3) == one + one + one and one.times(3).renyi == 3 * one.renyi > 0
