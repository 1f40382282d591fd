"""What a unit has lost, in every way of adding up at once: numbers that add, and are never less than the truth.

Of each event (`events`), with p = e^ε/(1+e^ε):

| | ε, δ | Rényi divergence of order α | μ² of Gaussian privacy |
|---|---|---|---|
| pure | ε, 0 | R(ε) = ln(p^α·(1-p)^(1-α) + (1-p)^α·p^(1-α)) / (α-1) | (2Φ⁻¹(p))² |
| keys | ε, δ of everything | R(ε) | (2Φ⁻¹(p))² |
| ranged | ε, 0 | the less of R(ε) and α·ε²/8 | (2Φ⁻¹(p))² |
| gaussian | ε, δ | α·μ²/2 | μ² |
| concentrated | ε, δ | α·ρ | (2Φ⁻¹(p))², and its δ |

Randomised response with the odds e^ε is the most that a pure ε may lose, in each of them (docs/proofs/filters.md).
Divergences and μ² are whole numbers of 1/`UNIT`, rounded up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from privql.kernel.cost import Cost
from privql.kernel.enclosure import Bounds, exp_minus
from privql.kernel.events import Event, Events, amount
from privql.kernel.gaussian import greatest_mu
from privql.kernel.logarithm import log_near_one
from privql.kernel.normal import tail
from privql.kernel.search import least
from privql.kernel.zcdp import greatest_rho

ORDERS = tuple(1 + Fraction(part * 2**k, 16) for k in range(14) for part in (4, 5, 6, 7))  # α-1 = 1/4, 5/16, … 3584
UNIT = 2**64

_LARGE = 64  # from such an ε on, 8ε is near enough to its μ²
_BITS = 112


@dataclass(frozen=True, slots=True)
class Loss:
    epsilon: Fraction
    delta: Fraction  # what plain addition bears beside ε
    keys: Fraction  # what every way of adding up bears
    renyi: tuple[int, ...]  # at each of the ORDERS
    gauss: int
    gauss_delta: Fraction  # what Gaussian privacy bears beside μ²

    def __post_init__(self) -> None:
        amounts = (self.epsilon, self.delta, self.keys, self.gauss_delta)
        wholes = (*self.renyi, self.gauss)
        if {*map(type, amounts)} != {Fraction} or {*map(type, wholes)} != {int} or min(wholes) < 0 or min(amounts) < 0:
            raise ValueError("a loss is made of exact numbers that are not negative")
        if len(self.renyi) != len(ORDERS):
            raise ValueError("a loss has a divergence of every order")

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.epsilon + other.epsilon,
            self.delta + other.delta,
            self.keys + other.keys,
            tuple(map(int.__add__, self.renyi, other.renyi)),
            self.gauss + other.gauss,
            self.gauss_delta + other.gauss_delta,
        )

    def times(self, number: int) -> Loss:
        """What so many of it come to."""
        return Loss(
            self.epsilon * number,
            self.delta * number,
            self.keys * number,
            tuple(each * number for each in self.renyi),
            self.gauss * number,
            self.gauss_delta * number,
        )

    def __le__(self, other: Loss) -> bool:
        """In every way; not a total order."""
        return (
            self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and self.keys <= other.keys
            and all(map(int.__le__, self.renyi, other.renyi))
            and self.gauss <= other.gauss
            and self.gauss_delta <= other.gauss_delta
        )

    def __bool__(self) -> bool:
        return self != NO_LOSS

    @property
    def cost(self) -> Cost:
        """By plain addition."""
        return Cost(self.epsilon, self.delta + self.keys)


NO_LOSS = Loss(Fraction(0), Fraction(0), Fraction(0), (0,) * len(ORDERS), 0, Fraction(0))


def loss_of(events: Events) -> Loss:
    each = [NO_LOSS, *map(_loss_of, events)]
    return Loss(
        sum((one.epsilon for one in each), Fraction(0)),
        sum((one.delta for one in each), Fraction(0)),
        sum((one.keys for one in each), Fraction(0)),
        tuple(map(sum, zip(*(one.renyi for one in each), strict=True))),
        sum(one.gauss for one in each),
        sum((one.gauss_delta for one in each), Fraction(0)),
    )


@lru_cache(maxsize=1024)
def _loss_of(event: Event) -> Loss:
    epsilon, delta, none = event.cost.epsilon, event.cost.delta, Fraction(0)
    match event.kind:
        case "pure":
            return Loss(epsilon, none, none, _of_pure(epsilon), mu_squared_of_pure(epsilon), none)
        case "keys":
            return Loss(epsilon, none, delta, _of_pure(epsilon), mu_squared_of_pure(epsilon), none)
        case "ranged":
            pairs = zip(_of_pure(epsilon), _concentrated(epsilon**2 / 8), strict=True)
            return Loss(epsilon, none, none, tuple(map(min, pairs)), mu_squared_of_pure(epsilon), none)
        case "gaussian":
            square = greatest_mu(epsilon, delta) ** 2
            return Loss(epsilon, delta, none, _concentrated(square / 2), math.ceil(square * UNIT), none)
        case "concentrated":
            rho = greatest_rho(epsilon, delta)
            return Loss(epsilon, delta, none, _concentrated(rho), mu_squared_of_pure(epsilon), delta)
        case _:
            assert_never(event.kind)


def _concentrated(rho: Fraction) -> tuple[int, ...]:
    return tuple(math.ceil(order * rho * UNIT) for order in ORDERS)


def _of_pure(epsilon: Fraction) -> tuple[int, ...]:
    return tuple(renyi_of_pure(epsilon, order) for order in ORDERS)


def renyi_of_pure(epsilon: Fraction, order: Fraction) -> int:
    """R(ε) = ε - (ln(1 + e^-ε) - ln(1 + e^-(2α-1)ε)) / (α-1), in units, rounded up."""
    least_near, _ = _log_of_one_more(epsilon)
    _, most_far = _log_of_one_more((2 * order - 1) * epsilon)
    return math.ceil(UNIT * (epsilon - Fraction(least_near - most_far, 1 << _BITS) / (order - 1)))


@lru_cache(maxsize=64)
def _log_of_one_more(x: Fraction) -> Bounds:
    """Bounds of ln(1 + e^-x), for x > 0."""
    low, high = exp_minus(x, _BITS)
    return log_near_one(((1 << _BITS) + low, (1 << _BITS) + high), _BITS)


def mu_squared_of_pure(epsilon: Fraction) -> int:
    """A μ² of Gaussian privacy that a pure ε has, in units: about the least, seven digits of μ, rounded up.

    μ = 2x for an x with P[Z > x] <= 1/(1+e^ε). As P[Z > x] <= e^(-x²/2)/2, x² = 2ε always will do.
    """
    if epsilon > _LARGE:
        return math.ceil(8 * epsilon * UNIT)
    bits = 96 + 2 * math.ceil(epsilon) + 2 * max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    q, one = exp_minus(epsilon, bits)[0], 1 << bits
    guess = _half_of_mu(float(epsilon))
    step = Fraction(10) ** (math.floor(math.log10(guess)) - 6)
    number = least(lambda n: n > 0 and tail(n * step, bits)[1] * (one + q) <= q * one, int(guess / step))
    return math.ceil((2 * number * step) ** 2 * UNIT)


def _half_of_mu(epsilon: float) -> float:
    """About the x with P[Z > x] = 1/(1+e^ε)."""
    root, near, far = math.sqrt(2), math.tanh(epsilon / 2), 2 / (1 + math.exp(epsilon))

    def enough(x: float) -> bool:
        return math.erf(x / root) >= near if epsilon < 1 else math.erfc(x / root) <= far

    return solved(enough, 0.0, min(epsilon, math.sqrt(2 * epsilon)))


def solved(enough: Callable[[float], bool], low: float, high: float) -> float:
    """About where it begins to hold, between two floats: a guess that decides nothing."""
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def written(loss: Loss) -> str:
    """The one text of it, exact."""
    amounts = map(str, (loss.epsilon, loss.delta, loss.keys, loss.gauss_delta))
    return json.dumps([*amounts, loss.gauss, list(loss.renyi)], separators=(",", ":"))


def read(text: str) -> Loss:
    """What `written` wrote; a ValueError for anything else."""
    match json.loads(text):
        case [str(epsilon), str(delta), str(keys), str(gauss_delta), int(gauss), [*renyi]]:
            of = Loss(amount(epsilon), amount(delta), amount(keys), tuple(renyi), gauss, amount(gauss_delta))
        case _:
            raise ValueError("a loss is written as its numbers")
    if written(of) != text:
        raise ValueError("this loss is not written as it should be")
    return of
