"""Where exact searches begin: about what they will find, in floats. Nothing is believed of this. Whatever is said here,
the same is found, sooner or later, as a test sees to.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

from privql.kernel.decimals import ln
from privql.kernel.normal import float_tail
from privql.kernel.search import solved


def mu_paid_by(epsilon: Fraction, delta: Fraction) -> float:
    """The greatest μ of Gaussian noise."""
    return solved(lambda mu: _log_delta(float(epsilon), mu) >= ln(delta))


def epsilon_that_pays(mu: Fraction, delta: Fraction) -> float:
    """The least ε for Gaussian noise."""
    return solved(lambda epsilon: _log_delta(epsilon, float(mu)) <= ln(delta))


def normal_quantile(miss: Fraction) -> float:
    """The x >= 0 with 2·P[Z > x] = miss."""
    target = ln(miss / 2)
    return solved(lambda x: -x * x / 2 - math.log(2 * math.pi) / 2 + math.log(_mills(x)) <= target)


def laplace_reach(scale: Fraction, miss: Fraction) -> int:
    """The a with P[|X| > a] = miss: a + 1 = t·ln(2 / (miss·(1+q))), q = e^(-1/t)."""
    return int(scale * Fraction(ln(2 / miss) - math.log1p(math.exp(-float(min(1 / scale, Fraction(800)))))))


def laplace_epsilon(halfwidth: int, miss: Fraction) -> float:
    """The ε of a sum that a unit moves by 1, with P[|X| > halfwidth] = miss."""
    return solved(lambda x: x * (halfwidth + 1) + math.log1p(math.exp(-x)) >= ln(2 / miss))


def reach_of_two(miss: Fraction) -> float:
    """Of the sum of two Laplace draws, in scales."""
    return solved(lambda x: (1 + x / 2) * math.exp(-x) <= float(miss))


def reach_that_hides(epsilon: float, delta: float) -> int:
    """The k with q^k·(1 - q + 2δq) = δ·(1+q), q = e^-ε, or one more."""
    q = math.exp(-epsilon)
    return math.ceil(math.log((2 + (1 - q) / delta) / (1 + q)) / epsilon)


def half_of_mu(epsilon: float) -> float:
    """The x with P[Z > x] = 1/(1+e^ε)."""
    root, near, far = math.sqrt(2), math.tanh(epsilon / 2), 2 / (1 + math.exp(epsilon))

    def enough(x: float) -> bool:
        return math.erf(x / root) >= near if epsilon < 1 else math.erfc(x / root) <= far

    return solved(enough)


def epsilon_of_mu(square: float) -> float:
    """The pure ε that has this μ²."""
    half = math.sqrt(square / 8)
    return 2 * math.atanh(math.erf(half)) if half < 3 else max(half * half, -math.log(math.erfc(half) / 2 + 1e-300))


def epsilon_of_divergence(renyi: float, order: float) -> float:
    """The pure ε that has this Rényi divergence of an order."""
    if renyi * order < 1e-6:
        return math.sqrt(2 * renyi / order)

    def enough(epsilon: float) -> bool:
        between = math.log1p(math.exp(-epsilon)) - math.log1p(math.exp(-(2 * order - 1) * epsilon))
        return epsilon - between / (order - 1) >= renyi

    return solved(enough)


def epsilon_of_losses(losses: Sequence[tuple[float, float]], mu: float, delta: float) -> float:
    """The least ε for this δ: of losses in order with their chances, and beside them Gaussian noise."""

    def failing(rest: float) -> float:
        if not mu:
            return -math.expm1(rest)
        # beyond 700 no float has the power, and hardly any the tail
        return float_tail(rest / mu - mu / 2) - math.exp(min(rest, 700.0)) * float_tail(rest / mu + mu / 2)

    def enough(epsilon: float) -> bool:
        beyond = losses if mu else losses[bisect_left(losses, (epsilon, 0.0)) :]  # without μ no others fail
        return sum(chance * failing(epsilon - loss) for loss, chance in beyond) <= delta

    return solved(enough)


def _log_delta(epsilon: float, mu: float) -> float:
    """ln δ(ε, μ) of Gaussian noise."""
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near < -20:
        return 0.0
    middle = epsilon / mu
    between = _mills(near) - _mills(far) if mu > 1e-3 else mu * (1 - middle * _mills(middle))
    return -near * near / 2 - math.log(2 * math.pi) / 2 + math.log(max(between, 1e-300))


def _mills(x: float) -> float:
    if x < 25:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    return (1 - 1 / (x * x)) / x
