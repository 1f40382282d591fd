"""Whether a budget (ε, δ) bears a loss: if any of several ways of adding up says so.

Its δ is shared out once. Found groups have a part that is borne in any case; beside it, one of these is enough:

    plain       Σε <= ε, and Σδ within the plain share
    Rényi       ΣR + ln(1/(α·δ'))/(α-1) + ln(1 - 1/α) <= ε, at one order α that was chosen beforehand, δ' its share
    Gaussian    δ(ε, √Σμ²) within the Gaussian share, δ(ε, μ) as in `gaussian`; nothing that has no μ but for a δ

Which of them it is may change with every charge, and mechanisms may be chosen by what came before: all that these
sums can do is grow, and each of the ways is wrong with its own share of δ at most (docs/proofs/filters.md). Without any
δ only plain addition is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, assert_never

from privql.frozen import frozen
from privql.kernel import guesses
from privql.kernel.cost import LEAST_EPSILON
from privql.kernel.events import Events
from privql.kernel.gaussian import greatest_mu, pays_for, root_above
from privql.kernel.logarithm import log
from privql.kernel.losses import UNIT, Loss, loss_of, mu_squared_of_pure, renyi_of_pure
from privql.kernel.search import greatest_decimal

_BITS = 112
_USUAL = Fraction(1, 10**6)

Way = Literal["plain", "renyi", "gaussian"]
WAYS: tuple[Way, ...] = ("plain", "renyi", "gaussian")


@frozen
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


@frozen
class Filter:
    epsilon: Fraction
    delta: Fraction
    shares: Shares
    order: Fraction  # of Rényi's way: chosen before the first answer

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta < 1:
            raise ValueError("a budget has an ε that is not negative, and a δ below 1")
        if self.order <= 1:
            raise ValueError("an order is above 1")

    def loss(self, events: Events) -> Loss:
        """What these lose, as this filter counts."""
        return loss_of(events, self.order)

    def admits(self, loss: Loss) -> bool:
        """Whether a history that lost this much is within the budget."""
        return self.says("plain", loss) or self.says("renyi", loss) or self.says("gaussian", loss)

    def says(self, way: Way, loss: Loss) -> bool:
        """Whether one way of adding up, by itself, says so."""
        if loss.keys and loss.keys > self.shares.keys * self.delta:
            return False
        match way:
            case "plain":
                return loss.epsilon <= self.epsilon and self._plain(loss)
            case "renyi":
                return self._renyi(self._divergence(loss))
            case "gaussian":
                return self._gaussian(loss)
            case _:
                assert_never(way)

    def left(self, loss: Loss) -> Fraction:
        """The greatest ε that one more mechanism may have of which nothing else is known: what plain addition leaves,
        or four digits of what another way does, where that is more."""
        if loss.keys > self.shares.keys * self.delta:
            return Fraction(0)
        most = max(self.epsilon - loss.epsilon, Fraction(0)) if self._plain(loss) else Fraction(0)
        renyi, order = self._divergence(loss), self.order

        def by_renyi(epsilon: Fraction) -> bool:
            return self._renyi(renyi + renyi_of_pure(epsilon, order))

        def by_gauss(epsilon: Fraction) -> bool:
            return self._gaussian(replace(loss, gauss=loss.gauss + mu_squared_of_pure(epsilon)))

        for admits, near in ((by_renyi, self._near_by_renyi(renyi)), (by_gauss, self._near_by_gauss(loss))):
            most = max(most, _greatest(admits, max(most, LEAST_EPSILON), near))
        return most

    def _plain(self, loss: Loss) -> bool:
        return not loss.delta or loss.delta <= self.shares.plain * self.delta

    def _divergence(self, loss: Loss) -> int:
        if loss and loss.order != self.order:
            raise ValueError("this loss has no divergence of the order that was chosen")
        return loss.renyi

    def _renyi(self, divergence: int) -> bool:
        most = self._most_divergence()
        return most is not None and divergence <= most

    def _most_divergence(self) -> int | None:
        return _most_divergence(self.epsilon, self.shares.renyi * self.delta, self.order)

    def _gaussian(self, loss: Loss) -> bool:
        """A δ of events could be had in place of Gaussians, by whoever sees that she is losing: there is none."""
        share = self.shares.gauss * self.delta
        if not self.epsilon or loss.gauss_delta:
            return False
        return not loss.gauss or (share > 0 and pays_for(self.epsilon, share, root_above(Fraction(loss.gauss, UNIT))))

    def _near_by_renyi(self, divergence: int) -> float:
        rest = ((self._most_divergence() or 0) - divergence) / UNIT
        return guesses.epsilon_of_divergence(rest, float(self.order)) if rest > 0 else 0.0

    def _near_by_gauss(self, loss: Loss) -> float:
        share = self.shares.gauss * self.delta
        if not self.epsilon or not share or loss.gauss_delta:
            return 0.0
        rest = float(greatest_mu(self.epsilon, share) ** 2 - Fraction(loss.gauss, UNIT))
        return guesses.epsilon_of_mu(rest) if rest > 0 else 0.0


@lru_cache(maxsize=1024)
def order_for(epsilon: Fraction, delta: Fraction, shares: Shares, usual: Fraction | None = None) -> Fraction:
    """The order that admits the most charges of the usual ε, or of a hundredth of all; its distance from 1 has three
    digits. Any order is sound. Of a budget that has no δ yet, as if it had the usual one."""
    if not epsilon:
        return Fraction(2)
    each, share = usual or epsilon / 100, shares.renyi * delta or _USUAL

    def admitted(above: Fraction) -> Fraction:
        most = _most_divergence(epsilon, share, 1 + above)
        return Fraction(most or 0, renyi_of_pure(each, 1 + above))

    coarse = [Fraction(2) ** k for k in range(-12, 42)]
    near = max(coarse, key=admitted)
    unit = Fraction(10) ** (math.floor(math.log10(near / 2)) - 2)
    low, high = math.floor(near / 2 / unit), math.ceil(2 * near / unit)
    while high - low > 2:  # it has one top
        third = max((high - low) // 3, 1)
        left, right = low + third, high - third
        low, high = (left, high) if admitted(left * unit) < admitted(right * unit) else (low, right)
    best = max(range(low, high + 1), key=lambda at: admitted(at * unit))
    return 1 + best * unit


@lru_cache(maxsize=1024)
def _most_divergence(epsilon: Fraction, delta: Fraction, order: Fraction) -> int | None:
    """How much divergence of an order (ε, δ) bears, in units rounded down; None if none at all."""
    if not delta:
        return None
    taken, gained = log(order * delta, _BITS)[0], log(1 - 1 / order, _BITS)[1]
    most = math.floor(UNIT * (epsilon + (taken / (order - 1) - gained) / (1 << _BITS)))
    return most if most >= 0 else None


def _greatest(admits: Callable[[Fraction], bool], known: Fraction, near: float) -> Fraction:
    """Four digits of the greatest ε that is admitted, where that is more than is known; the greater one is, the
    harder."""
    found = greatest_decimal(lambda epsilon: epsilon <= known or admits(epsilon), 4, known if near < known else near)
    return found if found > known else Fraction(0)
