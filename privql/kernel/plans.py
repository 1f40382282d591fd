"""Mechanisms whose parameters are all fixed before the first of their answers, as one: they lose less than their sum.

The privacy loss of one mechanism is never worse than that of a *pair* of laws that its parameters alone decide,
whatever its query and the answers before; so that of all together is no worse than the sum of independent losses, one
of each pair (docs/proofs/plans.md). For ε that is randomised response, whose loss is ε with the chance p =
e^ε/(1+e^ε), else -ε; for all Gaussians together a normal one, of mean M²/2 and variance M² = Σμ². Of their sum L

    δ(ε) = E[max(0, 1 - e^(ε-L))]

is the least δ for ε. Losses lie on a lattice. An ε that does not is one of its neighbours there by chance, so that p
stays what it is: who forgets which of them it was sees the same. Chances are whole numbers, rounded up, multiplied as
polynomials; floats guess an ε, and certified bounds decide whether it will do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from privql.frozen import frozen
from privql.kernel import guesses
from privql.kernel.cost import LEAST_EPSILON
from privql.kernel.enclosure import Bounds, exp_minus
from privql.kernel.events import Events
from privql.kernel.gaussian import delta_bounds, greatest_mu, root_above
from privql.kernel.losses import Loss, loss_of
from privql.kernel.search import least_decimal

_POINTS = 1 << 12  # of the lattice on either side of 0
_SMOOTH_POINTS = 1 << 9
_MOST_POINTS = 1 << 20
_FINE = 8  # steps in the deviation of one event, at least
_BITS = 80  # of the smallest chance that matters
_TAIL = 1 << 20  # what is this unlikely, in units of these, need not be told apart
_SMALL = 12  # what comes to 2^-12 of a δ may be bounded crudely
_DIGITS = 5  # of an ε that is found
_PLACES = 6  # of a δ, behind those of the one it may be


def planned(events: Events, delta: Fraction, order: Fraction | None = None) -> Loss:
    """What all of them together lose, if none of their parameters depends on any of the answers. Plain addition then
    bears the least ε that goes with a δ up to `delta`, or the sums where these are no more."""
    plain = loss_of(events, order)
    chance = sum((event.cost.delta for event in events if event.kind == "concentrated"), Fraction(0))
    if not events or chance >= delta:
        return plain
    square = sum((greatest_mu(e.cost.epsilon, e.cost.delta) ** 2 for e in events if e.kind == "gaussian"), Fraction(0))
    epsilons = [event.cost.epsilon for event in events if event.kind != "gaussian"]
    found, failing = _least_epsilon(epsilons, square, delta - chance)
    if found >= plain.epsilon and plain.delta <= delta:
        return plain
    return replace(plain, epsilon=found, delta=failing + chance)


def _least_epsilon(epsilons: Sequence[Fraction], square: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """A few digits of the least ε for this δ, and what of the δ it needs."""
    bits = _BITS + delta.denominator.bit_length() - delta.numerator.bit_length()
    step, losses = _added(epsilons, _points(epsilons, square), bits)
    law = _Law(step, losses, root_above(square) if square else Fraction(0), bits)
    most = math.floor(delta * (1 << bits))
    near = max(law.near(float(delta)), float(LEAST_EPSILON))
    epsilon = least_decimal(lambda e: e >= LEAST_EPSILON and law.delta(e, most) <= most, _DIGITS, near)
    unit = Fraction(1, 10 ** (_PLACES + len(str(int(1 / delta)))))
    return epsilon, min(math.ceil(Fraction(law.delta(epsilon, most), 1 << bits) / unit) * unit, delta)


@frozen
class _Losses:
    """Chances of a loss of `low`, `low` + 1, … steps, and of one beyond all of them: in units of 2^-bits, and none too
    small."""

    low: int
    chances: list[int]
    beyond: int = 0


@frozen
class _Law:
    """Of a privacy loss on a lattice, and beside it a normal one of Gaussian noise."""

    step: Fraction
    losses: _Losses
    mu: Fraction
    bits: int

    def delta(self, epsilon: Fraction, most: int) -> int:
        """An upper bound of the least δ for this ε, near if about `most`."""
        chances, small = self.losses.chances, most >> _SMALL
        total = above = self.losses.beyond
        for at in reversed(range(len(chances))):
            if not (chance := chances[at]):
                continue
            above += chance
            if above <= small:
                total = above
                continue
            each = self._failing(epsilon - (self.losses.low + at) * self.step)
            total += (chance * each >> self.bits) + 1
            if each <= small:
                return total + (sum(chances[:at]) * each >> self.bits) + 1
        return total

    def _failing(self, rest: Fraction) -> int:
        """At least what δ the normal loss leaves of an ε; the rest may be negative."""
        one = 1 << self.bits
        failing = delta_bounds(abs(rest), self.mu, self.bits)[1] if self.mu else 0
        return failing if rest >= 0 else one - (exp_minus(-rest, self.bits)[0] * max(one - failing, 0) >> self.bits)

    def near(self, delta: float) -> float:
        """About the least ε: where to look first."""
        step, one = float(self.step), 1 << self.bits
        losses = [((self.losses.low + at) * step, chance / one) for at, chance in enumerate(self.losses.chances)]
        losses = [(loss, chance) for loss, chance in losses if chance * len(losses) > delta / (1 << _SMALL)]
        return guesses.epsilon_of_losses(losses, float(self.mu), delta)


def _points(epsilons: Sequence[Fraction], square: Fraction) -> int:
    """How many steps the greatest loss may have. What chance adds to the variance of n events is n·step²/4 at most;
    where nothing else is smooth, a few large losses need a lattice finer than that."""
    total, squares = float(sum(epsilons, Fraction(0))), float(sum((e * e for e in epsilons), square))
    needed = math.ceil(_FINE * total * math.sqrt(len(epsilons) / squares)) if epsilons else 1
    return min(max(needed, _SMOOTH_POINTS if square else _POINTS), _MOST_POINTS)


def _added(epsilons: Sequence[Fraction], points: int, bits: int) -> tuple[Fraction, _Losses]:
    """The lattice's step, and on it the loss of all randomised responses together."""
    if not epsilons:
        return Fraction(1), _Losses(0, [1 << bits])
    step = max(reduce(_common, epsilons), sum(epsilons, Fraction(0)) / points)
    laws = [_power(_on_lattice(epsilon, step, bits), times, bits) for epsilon, times in Counter(epsilons).items()]
    while len(laws) > 1:
        laws.sort(key=lambda law: -len(law.chances))
        laws.append(_product(laws.pop(), laws.pop(), bits))
    return step, laws[0]


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The greatest number of which both are multiples."""
    return Fraction(
        math.gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )


def _on_lattice(epsilon: Fraction, step: Fraction, bits: int) -> _Losses:
    """The loss of the response for ε: by chance it is that of one multiple of
    the step or of the next, so often that it is told right no less often."""
    below, one = int(epsilon / step), 1 << bits
    if below * step == epsilon:
        return _Losses(-below, _response(below, step, bits))
    # rounded so that the next place is only likelier: `right` and `next_right` down, `wanted` up
    (right, _), (_, wanted), (next_right, _) = (_right(e, bits) for e in (below * step, epsilon, (below + 1) * step))
    often = min(one, -(-((wanted - right) << bits) // max(next_right - right, 1)))
    near, far = _response(below, step, bits), _response(below + 1, step, bits)
    both = [often * chance for chance in far]
    for at, chance in enumerate(near, 1):
        both[at] += (one - often) * chance
    return _Losses(-below - 1, [-(-chance >> bits) for chance in both])


def _right(epsilon: Fraction, bits: int) -> Bounds:
    """Bounds of e^ε/(1+e^ε)."""
    low, high = exp_minus(epsilon, bits)
    one = 1 << bits
    return (one << bits) // (one + high), -(-(one << bits) // (one + low))


def _response(steps: int, step: Fraction, bits: int) -> list[int]:
    """Upper bounds of the chances of all losses from -steps to steps."""
    low, high = _right(steps * step, bits)
    chances = [0] * (2 * steps + 1)
    chances[0] += (1 << bits) - low
    chances[-1] += high
    return chances


def _power(one: _Losses, times: int, bits: int) -> _Losses:
    """Of so many together."""
    if times == 1:
        return one
    half = _power(one, times // 2, bits)
    both = _product(half, half, bits)
    return _product(both, one, bits) if times % 2 else both


def _product(one: _Losses, other: _Losses, bits: int) -> _Losses:
    """Of both together, rounded up: polynomials as two numbers, each digit of which has room for a coefficient."""
    laws = one.chances, other.chances
    width = sum(max(law).bit_length() for law in laws) + min(map(len, laws)).bit_length()
    width = width // 8 + 1
    first, second = (int.from_bytes(b"".join(c.to_bytes(width, "little") for c in law), "little") for law in laws)
    end = width * (sum(map(len, laws)) - 1)
    digits = (first * second).to_bytes(end, "little")
    chances = [-(-int.from_bytes(digits[at : at + width], "little") >> bits) for at in range(0, end, width)]
    return _trimmed(one.low + other.low, chances, one.beyond + other.beyond)


def _trimmed(low: int, chances: list[int], beyond: int) -> _Losses:
    """Without its tails: the greatest losses are made endless, and the least are made greater. All chances together
    are far more than two tails."""
    tail = 0
    while tail + chances[-1] <= _TAIL:
        tail += chances.pop()
    first = least_tail = 0
    while least_tail + chances[first] <= _TAIL:
        least_tail += chances[first]
        first += 1
    chances[first] += least_tail
    return _Losses(low + first, chances[first:], beyond + tail)
