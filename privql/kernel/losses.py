"""What a unit has lost, in every way of adding up at once: numbers that add, and are never less than the truth.

Rényi divergences are of one order, which whoever promises something chose beforehand; without a choice, none is kept.

Of each event (`events`), with p = e^ε/(1+e^ε):

| | ε, δ | Rényi divergence of order α | μ² of Gaussian privacy |
|---|---|---|---|
| pure | ε, 0 | R(ε) = ln(p^α·(1-p)^(1-α) + (1-p)^α·p^(1-α)) / (α-1) | (2Φ⁻¹(p))² |
| keys | ε, δ of everything | R(ε) | (2Φ⁻¹(p))² |
| ranged | ε, 0 | the less of R(ε) and α·ε²/8 | (2Φ⁻¹(p))² |
| gaussian | ε, δ | α·μ²/2 | μ² |
| concentrated | ε, δ | α·ρ | (2Φ⁻¹(p))², but for its δ |

Randomised response with the odds e^ε is the most that a pure ε may lose, in each of them (docs/proofs/filters.md).
Divergences and μ² are whole numbers of 1/`UNIT`, rounded up.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import lru_cache, partial
from typing import assert_never

from privql.frozen import frozen
from privql.kernel import guesses
from privql.kernel.cost import Cost
from privql.kernel.enclosure import Bounds, at_most, exp_minus
from privql.kernel.events import Event, Events, Kind, amount
from privql.kernel.gaussian import greatest_mu
from privql.kernel.logarithm import log_near_one
from privql.kernel.normal import tail
from privql.kernel.search import least_decimal
from privql.kernel.zcdp import greatest_rho

UNIT = 2**64
Numbers = tuple[int, int]  # of a fraction

_LARGE = 64  # from such an ε on, 8ε is near enough to its μ²
_BITS = 112


@frozen
class Loss:
    epsilon: Fraction
    delta: Fraction  # what plain addition bears beside ε
    keys: Fraction  # what every way of adding up bears
    gauss: int
    gauss_delta: Fraction  # but for which μ² holds: of what has no μ otherwise
    order: Fraction | None = None
    renyi: int = 0  # the divergence of that order

    def __post_init__(self) -> None:
        for part in (self.epsilon, self.delta, self.keys, self.gauss_delta):
            if type(part) is not Fraction or part.numerator < 0:
                raise ValueError("a loss is made of exact fractions that are not negative")
        if type(self.gauss) is not int or type(self.renyi) is not int or self.gauss < 0 or self.renyi < 0:
            raise ValueError("a loss is made of whole numbers that are not negative")
        if self.order is None and self.renyi:
            raise ValueError("a divergence has an order")

    def __add__(self, other: Loss) -> Loss:
        if self.order is not other.order and self.order != other.order:
            if not self or not other:
                return self or other
            raise ValueError("divergences of two orders have no sum")
        return Loss(
            self.epsilon + other.epsilon,
            self.delta + other.delta if other.delta else self.delta,  # mostly there is none
            self.keys + other.keys if other.keys else self.keys,
            self.gauss + other.gauss,
            self.gauss_delta + other.gauss_delta if other.gauss_delta else self.gauss_delta,
            other.order,  # the very same as that of whatever like it is added next
            self.renyi + other.renyi,
        )

    @property
    def unordered(self) -> Loss:
        """Without its divergence: what is added up of budgets that chose different orders."""
        return Loss(self.epsilon, self.delta, self.keys, self.gauss, self.gauss_delta)

    def times(self, number: int) -> Loss:
        """What so many of it come to."""
        return Loss(
            self.epsilon * number,
            self.delta * number,
            self.keys * number,
            self.gauss * number,
            self.gauss_delta * number,
            self.order,
            self.renyi * number,
        )

    def __le__(self, other: Loss) -> bool:
        """In every way; not a total order."""
        if self and self.order != other.order:
            return False
        return (
            self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and self.keys <= other.keys
            and self.renyi <= other.renyi
            and self.gauss <= other.gauss
            and self.gauss_delta <= other.gauss_delta
        )

    def __bool__(self) -> bool:
        return bool(self.epsilon or self.delta or self.keys or self.renyi or self.gauss or self.gauss_delta)

    @property
    def cost(self) -> Cost:
        """By plain addition."""
        return Cost(self.epsilon, self.delta + self.keys)


NO_LOSS = Loss(Fraction(0), Fraction(0), Fraction(0), 0, Fraction(0))


def loss_of(events: Events, order: Fraction | None = None) -> Loss:
    """Of all of them together: mostly they have no δ, so that nothing is to be added up there."""
    if not events:
        return NO_LOSS
    found, none = [_one(event, order) for event in events], Fraction(0)
    if len(found) == 1:
        return found[0]
    return Loss(
        sum((one.epsilon for one in found), none),
        sum((one.delta for one in found if one.delta), none),
        sum((one.keys for one in found if one.keys), none),
        sum(one.gauss for one in found),
        sum((one.gauss_delta for one in found if one.gauss_delta), none),
        order,
        sum(one.renyi for one in found),
    )


def _one(event: Event, order: Fraction | None) -> Loss:
    epsilon, delta = event.cost.epsilon.as_integer_ratio(), event.cost.delta.as_integer_ratio()
    return _loss_of(event.kind, epsilon, delta, None if order is None else order.as_integer_ratio())


@lru_cache(maxsize=1024)  # by whole numbers, which are found faster than fractions
def _loss_of(kind: Kind, ratio: Numbers, chance: Numbers, chosen: Numbers | None) -> Loss:
    epsilon, delta, none = Fraction(*ratio), Fraction(*chance), Fraction(0)
    event, order = Event(kind, Cost(epsilon, delta)), None if chosen is None else Fraction(*chosen)
    renyi = 0 if order is None else _divergence(event, order)
    match event.kind:
        case "pure" | "ranged":
            return Loss(epsilon, none, none, mu_squared_of_pure(epsilon), none, order, renyi)
        case "keys":
            return Loss(epsilon, none, delta, mu_squared_of_pure(epsilon), none, order, renyi)
        case "gaussian":
            square = math.ceil(greatest_mu(epsilon, delta) ** 2 * UNIT)
            return Loss(epsilon, delta, none, square, none, order, renyi)
        case "concentrated":
            return Loss(epsilon, delta, none, mu_squared_of_pure(epsilon), delta, order, renyi)
        case _:
            assert_never(event.kind)


def _divergence(event: Event, order: Fraction) -> int:
    epsilon, delta = event.cost.epsilon, event.cost.delta
    match event.kind:
        case "pure" | "keys":
            return renyi_of_pure(epsilon, order)
        case "ranged":
            return min(renyi_of_pure(epsilon, order), _concentrated(epsilon**2 / 8, order))
        case "gaussian":
            return _concentrated(greatest_mu(epsilon, delta) ** 2 / 2, order)
        case "concentrated":
            return _concentrated(greatest_rho(epsilon, delta), order)
        case _:
            assert_never(event.kind)


def _concentrated(rho: Fraction, order: Fraction) -> int:
    return math.ceil(order * rho * UNIT)


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

    def over(x: Fraction, bits: int) -> Bounds:
        """Bounds of P[Z > x]·(1+e^-ε) - e^-ε."""
        (low, high), left, one = exp_minus(epsilon, bits), tail(x, bits), 1 << bits
        return (left[0] * (one + low) >> bits) - high, (left[1] * (one + high) >> bits) + 1 - low

    near = guesses.half_of_mu(float(epsilon))
    half = least_decimal(lambda x: at_most(partial(over, x), Fraction(0)), 7, near)
    return math.ceil((2 * half) ** 2 * UNIT)


def written(loss: Loss) -> str:
    """The one text of it, exact."""
    order = "null" if loss.order is None else f'"{loss.order}"'
    return f'["{loss.epsilon}","{loss.delta}","{loss.keys}","{loss.gauss_delta}",{loss.gauss},{order},{loss.renyi}]'


def read(text: str) -> Loss:
    """What `written` wrote; a ValueError for anything else."""
    match json.loads(text):
        case [str(epsilon), str(delta), str(keys), str(gauss_delta), int(gauss), str() | None as order, int(renyi)]:
            at = None if order is None else amount(order)
            of = Loss(amount(epsilon), amount(delta), amount(keys), gauss, amount(gauss_delta), at, renyi)
        case _:
            raise ValueError("a loss is written as its numbers")
    if written(of) != text:
        raise ValueError("this loss is not written as it should be")
    return of
