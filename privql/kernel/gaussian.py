"""The Gaussian mechanism: what noise of a deviation costs, and how far it reaches.

Integers that a unit moves by at most Δ2, in the L2 norm, with independent noise N(0, σ²) on each, are μ-Gaussian
private for μ = Δ2/σ, and so (ε, δ)-differentially private exactly from

    δ(ε, μ) = P[Z > ε/μ - μ/2] - e^ε · P[Z > ε/μ + μ/2] = φ(a) · (M(a) - M(b)),    a, b = ε/μ ∓ μ/2,

on, M being what `normal` calls so: b² - a² = 2ε, so e^ε·φ(b) = φ(a). Noise is rounded to whole numbers, which takes
nothing of that away: whole numbers plus noise, rounded, are as much as rounded noise added to them. So P[|X| > h] of
the rounded noise X is 2·P[Z > (h + 1/2)/σ]. Prices and promises are decided by certified bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from privql.kernel import guesses
from privql.kernel.cost import LEAST_EPSILON
from privql.kernel.decimals import at_rank, first_place, missed
from privql.kernel.enclosure import Bounds, at_most
from privql.kernel.normal import SPARE, density, float_tail, mills, tail
from privql.kernel.search import greatest_decimal, least, least_decimal, least_rank

_DIGITS = 6  # of what is found: nobody sees more in the noise, and certificates stay short
_NOTHING = Fraction(0)


def delta_bounds(epsilon: Fraction, mu: Fraction, bits: int) -> Bounds:
    """Bounds of δ(ε, μ), for ε >= 0 and μ > 0."""
    if epsilon < 0 or mu <= 0:
        raise ValueError("ε is not negative, and μ is positive")
    near, far, work = epsilon / mu - mu / 2, epsilon / mu + mu / 2, bits + SPARE
    dense, (low, high), (least_far, most_far) = density(near, work), mills(abs(near), work), mills(far, work)
    if near < 0:  # P[Z > a] is 1 - φ(a)·M(-a)
        one = 1 << bits
        low, high = dense[0] * (low + least_far) >> work + SPARE, (dense[1] * (high + most_far) >> work + SPARE) + 1
        return one - high, one - low
    return dense[0] * max(low - most_far, 0) >> work + SPARE, (dense[1] * max(high - least_far, 0) >> work + SPARE) + 1


def affordable(epsilon: Fraction, mu: Fraction, delta: Fraction) -> bool:
    """Whether δ(ε, μ) <= δ."""
    return at_most(lambda bits: delta_bounds(epsilon, mu, bits), delta)


def pays_for(epsilon: Fraction, delta: Fraction, mu: Fraction) -> bool:
    """What `affordable` says, sooner where (ε, δ) is asked about often: δ(ε, μ) grows with μ, so it is computed
    only for a μ between the two of six digits that are known."""
    paid, beyond = _neighbours(epsilon, delta)
    return mu <= paid or (mu < beyond and affordable(epsilon, mu, delta))


def greatest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The greatest μ of six significant digits that (ε, δ) pays for."""
    return _neighbours(epsilon, delta)[0]


@lru_cache(maxsize=256)
def _neighbours(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """That one, and the next, which (ε, δ) does not pay for."""
    if epsilon <= 0 or not 0 < delta < 1:
        raise ValueError("ε is positive, and δ lies strictly between 0 and 1")
    near = guesses.mu_paid_by(epsilon, delta)
    beyond = least_rank(lambda mu: not affordable(epsilon, mu, delta), _DIGITS, near)
    return at_rank(beyond - 1, _DIGITS), at_rank(beyond, _DIGITS)


def least_mu(square: Fraction) -> Fraction:
    """The least μ of six significant digits whose square is at least that."""
    return least_decimal(lambda mu: mu**2 >= square, _DIGITS, math.sqrt(square))


def least_epsilon(mu: Fraction, delta: Fraction) -> Fraction:
    """The least ε of four significant digits at which (ε, δ) pays for μ; the least that may be spent, if less would."""
    if not 0 < delta < 1:
        raise ValueError("δ lies strictly between 0 and 1")
    if affordable(LEAST_EPSILON, mu, delta):
        return LEAST_EPSILON
    return least_decimal(lambda epsilon: affordable(epsilon, mu, delta), 4, guesses.epsilon_that_pays(mu, delta))


def halfwidth(sigma: Fraction, confidence: Fraction, before: Fraction = _NOTHING) -> int:
    """The least h >= 0 with P[|X| > h] <= 1 - confidence. `before`: how far X was from normal before it was rounded."""
    if sigma <= 0:
        raise ValueError("a deviation is positive")
    miss = missed(confidence)
    return least(lambda h: _kept(h - before, sigma, miss), int(sigma * Fraction(guesses.normal_quantile(miss))))


def halfwidth_of_two(
    sigma: Fraction, weights: tuple[int, int], over: int, confidence: Fraction, before: Fraction = _NOTHING
) -> int:
    """An h with P[|E| > h] <= 1 - confidence, where a whole number + (p·X₁ + q·X₂) / over, rounded, is off by E.

    p·X₁ + q·X₂ is normal, of deviation σ·√(p² + q²), but for what rounding moves: (|p| + |q|)/2 at most.
    """
    p, q = map(abs, weights)
    wide = root_above((p * p + q * q) * sigma * sigma)
    moved = (p + q) * (Fraction(1, 2) + before)

    def kept(h: int) -> bool:
        return _beyond((over * (h + Fraction(1, 2)) - moved) / wide, miss)

    miss = missed(confidence)
    return least(kept, int((Fraction(guesses.normal_quantile(miss)) * wide + moved) / over))


def sigma_within(halfwidth: int, confidence: Fraction, before: Fraction = _NOTHING) -> Fraction:
    """The greatest σ of six significant digits with P[|X| > halfwidth] <= 1 - confidence."""
    if halfwidth < 0:
        raise ValueError("a half-width is not negative")
    miss = missed(confidence)
    far = halfwidth - before
    near = float(far + Fraction(1, 2)) / guesses.normal_quantile(miss)
    return greatest_sigma(lambda sigma: _kept(far, sigma, miss), near)


def greatest_sigma(enough: Callable[[Fraction], bool], near: float = 1.0) -> Fraction:
    """The greatest σ of six significant digits that is small enough; every smaller one must be, too."""
    return greatest_decimal(enough, _DIGITS, near)


def variance(sigma: Fraction) -> float:
    """σ² + 1/12, which is far nearer than that where σ exceeds 1; below, the sum itself."""
    spread = float(sigma)
    if spread > 1:
        return spread * spread + 1 / 12
    return 2 * sum((2 * k - 1) * float_tail((k - 0.5) / spread) for k in range(1, 40))


def pmf(k: int, sigma: Fraction) -> float:
    """P[X = k]."""
    near, far = ((abs(k) + side) / float(sigma) for side in (-0.5, 0.5))
    return float_tail(near) - float_tail(far)


def root_above(square: Fraction) -> Fraction:
    """A number of nine significant digits or so whose square is at least `square`, and hardly more."""
    places = 8 - first_place(square) // 2
    scaled = square * Fraction(100) ** places
    return (math.isqrt(-(-scaled.numerator // scaled.denominator) - 1) + 1) / Fraction(10) ** places


def _kept(h: Fraction, sigma: Fraction, miss: Fraction) -> bool:
    return _beyond((h + Fraction(1, 2)) / sigma, miss)


def _beyond(x: Fraction, miss: Fraction) -> bool:
    """Whether 2·P[Z > x] <= miss."""
    return at_most(lambda bits: tail(x, bits), miss / 2)
