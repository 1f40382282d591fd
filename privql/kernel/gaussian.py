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

from privql.kernel.cost import LEAST_EPSILON
from privql.kernel.decimals import at_rank, ln, missed
from privql.kernel.enclosure import Bounds, at_most
from privql.kernel.normal import SPARE, density, mills, tail
from privql.kernel.search import least, solved

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
        return max(one - high, 0), one - low
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
    target = ln(delta)
    guess = solved(lambda mu: _log_delta(float(epsilon), mu) >= target)
    beyond = least(lambda rank: not affordable(epsilon, at_rank(rank, _DIGITS), delta), _rank(guess))
    return at_rank(beyond - 1, _DIGITS), at_rank(beyond, _DIGITS)


def least_mu(square: Fraction) -> Fraction:
    """The least μ of six significant digits whose square is at least that."""
    return at_rank(least(lambda rank: at_rank(rank, _DIGITS) ** 2 >= square, _rank(math.sqrt(square))), _DIGITS)


def least_epsilon(mu: Fraction, delta: Fraction) -> Fraction:
    """The least ε of four significant digits at which (ε, δ) pays for μ; the least that may be spent, if less would."""
    if mu <= 0 or not 0 < delta < 1:
        raise ValueError("μ is positive, and δ lies strictly between 0 and 1")
    if affordable(LEAST_EPSILON, mu, delta):
        return LEAST_EPSILON
    target = ln(delta)
    guess = solved(lambda epsilon: _log_delta(epsilon, float(mu)) <= target)
    return at_rank(least(lambda rank: affordable(at_rank(rank, 4), mu, delta), _rank(guess, 4)), 4)


def halfwidth(sigma: Fraction, confidence: Fraction, before: Fraction = _NOTHING) -> int:
    """The least h >= 0 with P[|X| > h] <= 1 - confidence. `before`: how far X was from normal before it was rounded."""
    if sigma <= 0:
        raise ValueError("a deviation is positive")
    miss = missed(confidence)
    guess = int(sigma * Fraction(_quantile(miss)))
    return least(lambda h: _kept(h - before, sigma, miss), guess)


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
    guess = int((Fraction(_quantile(miss)) * wide + moved) / over)
    return least(kept, guess)


def sigma_within(halfwidth: int, confidence: Fraction, before: Fraction = _NOTHING) -> Fraction:
    """The greatest σ of six significant digits with P[|X| > halfwidth] <= 1 - confidence."""
    if halfwidth < 0:
        raise ValueError("a half-width is not negative")
    miss = missed(confidence)
    far = halfwidth - before
    return greatest_sigma(lambda sigma: _kept(far, sigma, miss), float(far + Fraction(1, 2)) / _quantile(miss))


def greatest_sigma(enough: Callable[[Fraction], bool], guess: float = 1.0) -> Fraction:
    """The greatest σ of six significant digits that is small enough; every smaller one must be, too."""
    return at_rank(least(lambda rank: not enough(at_rank(rank, _DIGITS)), _rank(guess)) - 1, _DIGITS)


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


def float_tail(x: float) -> float:
    """About P[Z > x]."""
    return math.erfc(x / math.sqrt(2)) / 2


def root_above(square: Fraction) -> Fraction:
    """A number of nine significant digits or so whose square is at least `square`, and hardly more."""
    places = 8 - _place(square) // 2
    scaled = square * Fraction(100) ** places
    return (math.isqrt(-(-scaled.numerator // scaled.denominator) - 1) + 1) / Fraction(10) ** places


def _kept(h: Fraction, sigma: Fraction, miss: Fraction) -> bool:
    return _beyond((h + Fraction(1, 2)) / sigma, miss)


def _beyond(x: Fraction, miss: Fraction) -> bool:
    """Whether 2·P[Z > x] <= miss."""
    return at_most(lambda bits: tail(x, bits), miss / 2)


# ---------------------------------------------------------------- where to look, in floats


def _log_delta(epsilon: float, mu: float) -> float:
    """About ln δ(ε, μ)."""
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near < -20:
        return 0.0
    middle = epsilon / mu
    between = _float_mills(near) - _float_mills(far) if mu > 1e-3 else mu * (1 - middle * _float_mills(middle))
    return -near * near / 2 - math.log(2 * math.pi) / 2 + math.log(max(between, 1e-300))


def _float_mills(x: float) -> float:
    if x < 25:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    return (1 - 1 / (x * x)) / x


def _quantile(miss: Fraction) -> float:
    """About the x >= 0 with 2·P[Z > x] = miss."""
    target = ln(miss / 2)
    return solved(lambda x: -x * x / 2 - math.log(2 * math.pi) / 2 + math.log(_float_mills(x)) <= target)


def _rank(x: float, digits: int = _DIGITS) -> int:
    place, least_digits = math.floor(math.log10(x)), int(10 ** (digits - 1))
    return (
        9 * least_digits * (place - digits + 1) + int(Fraction(x) * Fraction(10) ** (digits - 1 - place)) - least_digits
    )


def _place(x: Fraction) -> int:
    """Of its first digit."""
    return math.floor(ln(x) / math.log(10))
