"""How far discrete Laplace noise reaches: the promises printed beside an answer, and what a wished promise costs.

X has P[k] = (1-q)/(1+q) · q^|k| with q = exp(-1/t), so P[|X| > a] = 2·q^(a+1)/(1+q) for an integer a >= 0. A promise
and a price enter certificates: both are decided by certified bounds and hold exactly. Deviations and densities only
describe answers, so floats do.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from privql.kernel import guesses
from privql.kernel.decimals import missed
from privql.kernel.enclosure import Bounds, at_most, exp_minus, quotient
from privql.kernel.search import least, least_decimal


def halfwidth(scale: Fraction, confidence: Fraction) -> int:
    """The least a >= 0 with P[|X| > a] <= 1 - confidence."""
    _require_scale(scale)
    miss = missed(confidence)
    return least(lambda a: a >= 0 and _kept(a, scale, miss), guesses.laplace_reach(scale, miss))


def epsilon_within(sensitivity: int, halfwidth: int, confidence: Fraction) -> Fraction:
    """The least ε of four significant digits with P[|X| > halfwidth] <= 1 - confidence at scale sensitivity/ε."""
    if sensitivity < 1:
        raise ValueError("a sensitivity is at least 1")
    miss = missed(confidence)
    if halfwidth < 0:
        raise ValueError("a half-width is not negative")
    near = Fraction(guesses.laplace_epsilon(halfwidth, miss)) * sensitivity
    return least_epsilon(lambda epsilon: _kept(halfwidth, sensitivity / epsilon, miss), near)


def least_epsilon(enough: Callable[[Fraction], bool], near: Fraction = Fraction(1)) -> Fraction:
    """The least ε of four significant digits that is enough; every greater one must be, too."""
    return least_decimal(enough, 4, near)


def variance(scale: Fraction) -> float:
    """2q/(1-q)²."""
    _require_scale(scale)
    if scale > 1 << 30:
        return 2.0 * float(scale) * float(scale)  # short by 1/6, which no float of this size shows
    q = _exp_minus(1, scale)
    return 2.0 * q / math.expm1(-_exponent(1, scale)) ** 2


def pmf(k: int, scale: Fraction) -> float:
    """P[X = k]."""
    _require_scale(scale)
    return math.tanh(_exponent(1, scale) / 2) * _exp_minus(abs(k), scale)


def cdf(k: int, scale: Fraction) -> float:
    """P[X <= k]."""
    _require_scale(scale)
    outside = _exp_minus(-k if k < 0 else k + 1, scale) / (1.0 + _exp_minus(1, scale))
    return outside if k < 0 else 1.0 - outside


def _kept(halfwidth: int, scale: Fraction, miss: Fraction) -> bool:
    """Whether P[|X| > halfwidth] <= miss; they differ, as q is transcendental."""
    return at_most(lambda bits: _beyond(halfwidth, scale, bits), miss)


def _beyond(halfwidth: int, scale: Fraction, bits: int) -> Bounds:
    """Bounds of P[|X| > halfwidth] = 2·q^(halfwidth+1)/(1+q)."""
    (low, high), far, one = exp_minus(1 / scale, bits), exp_minus((halfwidth + 1) / scale, bits), 1 << bits
    return quotient((2 * far[0], 2 * far[1]), (one + low, one + high), bits)


def _require_scale(scale: Fraction) -> None:
    if scale <= 0:
        raise ValueError("a scale is positive")


def _exp_minus(count: int, scale: Fraction) -> float:
    return math.exp(-_exponent(count, scale))


def _exponent(count: int, scale: Fraction) -> float:
    """count/scale, cut off where its exponential is zero in floats anyway."""
    return float(min(count / scale, Fraction(800)))
