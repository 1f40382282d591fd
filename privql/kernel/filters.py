"""Whether a budget (ε, δ) bears a loss: if any of several ways of adding up says so.

Its δ is shared out once. Found groups have a part that is borne in any case; beside it, one of these is enough:

    plain       Σε <= ε, and Σδ within the plain share
    Rényi       ΣR + ln(1/(α·δ'))/(α-1) + ln(1 - 1/α) <= ε, at one order α that was chosen beforehand, δ' its share
    Gaussian    δ(ε, √Σμ²) and what has no μ within the Gaussian share, δ(ε, μ) as in `gaussian`

Which of them it is may change with every charge, and mechanisms may be chosen by what came before: all that these
sums can do is grow, and each of the ways is wrong with its own share of δ at most (docs/proofs/filters.md). Without any
δ only plain addition is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, assert_never

from privql.kernel.cost import LEAST_EPSILON
from privql.kernel.gaussian import affordable, greatest_mu, root_above
from privql.kernel.logarithm import log
from privql.kernel.losses import ORDERS, UNIT, Loss, mu_squared_of_pure, renyi_of_pure, solved
from privql.kernel.search import least

_BITS = 112

Way = Literal["plain", "renyi", "gaussian"]
WAYS: tuple[Way, ...] = ("plain", "renyi", "gaussian")


@dataclass(frozen=True, slots=True)
class Shares:
    """Which part of a budget's δ is whose."""

    keys: Fraction
    plain: Fraction
    renyi: Fraction
    gauss: Fraction

    def __post_init__(self) -> None:
        parts = (self.keys, self.plain, self.renyi, self.gauss)
        if any(type(part) is not Fraction or part < 0 for part in parts) or sum(parts) > 1:
            raise ValueError("shares are exact parts of one whole")


DEFAULT = Shares(*[Fraction(1, 4)] * 4)


@dataclass(frozen=True, slots=True)
class Filter:
    epsilon: Fraction
    delta: Fraction
    shares: Shares
    order: int  # which of the ORDERS: chosen before the first answer

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta < 1:
            raise ValueError("a budget has an ε that is not negative, and a δ below 1")
        if not 0 <= self.order < len(ORDERS):
            raise ValueError("no such order")

    def admits(self, loss: Loss) -> bool:
        """Whether a history that lost this much is within the budget."""
        return any(self.says(way, loss) for way in WAYS)

    def says(self, way: Way, loss: Loss) -> bool:
        """Whether one way of adding up, by itself, says so."""
        if loss.keys > self.shares.keys * self.delta:
            return False
        match way:
            case "plain":
                return loss.epsilon <= self.epsilon and self._plain(loss)
            case "renyi":
                return self._renyi(loss.renyi[self.order])
            case "gaussian":
                return self._gaussian(loss.gauss, loss.gauss_delta)
            case _:
                assert_never(way)

    def left(self, loss: Loss) -> Fraction:
        """The greatest ε that one more mechanism may have of which nothing else is known: what plain addition leaves,
        or four digits of what another way does, where that is more."""
        if loss.keys > self.shares.keys * self.delta:
            return Fraction(0)
        most = max(self.epsilon - loss.epsilon, Fraction(0)) if self._plain(loss) else Fraction(0)
        renyi, order = loss.renyi[self.order], ORDERS[self.order]
        for admits, guess in (
            (lambda epsilon: self._renyi(renyi + renyi_of_pure(epsilon, order)), self._renyi_guess(loss)),
            (
                lambda epsilon: self._gaussian(loss.gauss + mu_squared_of_pure(epsilon), loss.gauss_delta),
                self._gaussian_guess(loss),
            ),
        ):
            if guess > max(most, LEAST_EPSILON):
                most = max(most, _greatest(admits, guess))
        return most

    def _plain(self, loss: Loss) -> bool:
        return loss.delta <= self.shares.plain * self.delta

    def _renyi(self, divergence: int) -> bool:
        most = _most_divergence(self.epsilon, self.shares.renyi * self.delta, self.order)
        return most is not None and divergence <= most

    def _gaussian(self, square: int, delta: Fraction) -> bool:
        rest = self.shares.gauss * self.delta - delta
        if not self.epsilon or rest < 0:
            return False
        return not square or (rest > 0 and affordable(self.epsilon, root_above(Fraction(square, UNIT)), rest))

    def _renyi_guess(self, loss: Loss) -> float:
        most = _most_divergence(self.epsilon, self.shares.renyi * self.delta, self.order)
        rest = ((most or 0) - loss.renyi[self.order]) / UNIT
        if rest <= 0:
            return 0.0
        order = float(ORDERS[self.order])
        if rest * order < 1e-6:
            return math.sqrt(2 * rest / order)

        def enough(epsilon: float) -> bool:
            between = math.log1p(math.exp(-epsilon)) - math.log1p(math.exp(-(2 * order - 1) * epsilon))
            return epsilon - between / (order - 1) >= rest

        return solved(enough, rest, rest + math.log(2) / (order - 1))

    def _gaussian_guess(self, loss: Loss) -> float:
        delta = self.shares.gauss * self.delta - loss.gauss_delta
        if not self.epsilon or delta <= 0:
            return 0.0
        rest = float(greatest_mu(self.epsilon, delta) ** 2 - Fraction(loss.gauss, UNIT))
        if rest <= 0:
            return 0.0
        half = math.sqrt(rest / 8)
        return 2 * math.atanh(math.erf(half)) if half < 3 else max(half * half, -math.log(math.erfc(half) / 2 + 1e-300))


def order_for(epsilon: Fraction, delta: Fraction, shares: Shares) -> int:
    """The order that admits the most of many equal charges, each a hundredth of ε. Any order is sound; without a δ,
    or an ε, none is of use."""
    if not epsilon or not shares.renyi * delta:
        return 0
    best, most = 0, Fraction(0)
    for at, order in enumerate(ORDERS):
        number = Fraction(_most_divergence(epsilon, shares.renyi * delta, at) or 0, renyi_of_pure(epsilon / 100, order))
        if number > most:
            best, most = at, number
    return best


@lru_cache(maxsize=1024)
def _most_divergence(epsilon: Fraction, delta: Fraction, at: int) -> int | None:
    """How much divergence of an order (ε, δ) bears, in units rounded down; None if none at all."""
    if not delta:
        return None
    order = ORDERS[at]
    taken, gained = log(order * delta, _BITS)[0], log(1 - 1 / order, _BITS)[1]
    most = math.floor(UNIT * (epsilon + (taken / (order - 1) - gained) / (1 << _BITS)))
    return most if most >= 0 else None


def _greatest(admits: Callable[[Fraction], bool], guess: float) -> Fraction:
    """Four digits of the greatest ε that is admitted; the greater one is, the harder."""
    step = Fraction(10) ** (math.floor(math.log10(guess)) - 3)
    return (least(lambda n: n > 0 and not admits(n * step), int(guess / step)) - 1) * step
