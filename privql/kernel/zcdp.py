"""Zero-concentrated privacy: what a promise of (ε, δ) buys of ρ.

A mechanism is ρ-zCDP if its Rényi divergence of every order α > 1 is at most α·ρ between neighbours; what is chosen one
after the other adds its ρ up. Any one order proves (ε, δ) for

    δ >= exp(-(α-1)·(ε - α·ρ)) · (1 - 1/α)^α / (α-1),     ln (1 - 1/α)^α = -(1 + 1/(2α) + 1/(3α²) + …)

(Canonne, Kamath and Steinke 2020). The order is looked for in floats; that it proves the price is certified.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from privql.kernel.decimals import ln
from privql.kernel.enclosure import exp_minus
from privql.kernel.search import greatest_decimal

_TERMS = 20  # of the series: fewer claim less
_DIGITS = 6


def affordable(epsilon: Fraction, delta: Fraction, rho: Fraction, order: Fraction) -> bool:
    """Whether this order proves that (ε, δ) pays for ρ: never said where it does not."""
    if order <= 1 or rho < 0 or not 0 < delta < 1:
        raise ValueError("an order is above 1, ρ is not negative, and δ lies strictly between 0 and 1")
    above = order - 1
    series = sum((order ** (1 - j) / j for j in range(1, _TERMS + 1)), Fraction(0))
    exponent = above * (epsilon - order * rho) + series
    if exponent < 0:
        return False
    most = delta * above
    bits = 64 + max(0, most.denominator.bit_length() - most.numerator.bit_length())
    return exp_minus(exponent, bits)[1] <= most * (1 << bits)


@lru_cache(maxsize=256)
def greatest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ of six significant digits that (ε, δ) pays for, the greatest of the order that is best."""
    order = best_order(epsilon, delta)
    near = _rho(float(epsilon), ln(delta), float(order - 1))
    return greatest_decimal(lambda rho: affordable(epsilon, delta, rho, order), _DIGITS, near)


@lru_cache(maxsize=256)
def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """By which (ε, δ) pays for about the greatest ρ. Any order is sound."""
    if epsilon <= 0 or not 0 < delta < 1:
        raise ValueError("ε is positive, and δ lies strictly between 0 and 1")
    return 1 + Fraction(f"{_best(float(epsilon), ln(delta)):.6g}")


def _rho(epsilon: float, log: float, above: float) -> float:
    """About what the order 1 + `above` proves, ln δ being `log`."""
    order = 1 + above
    series = math.fsum(order ** (1 - j) / j for j in range(1, _TERMS + 1))
    return (epsilon - (-log - math.log(above) - series) / above) / order


def _best(epsilon: float, log: float) -> float:
    """The order, less 1, of which that is about the greatest: within an eighth of a power of ten, then near it."""
    place = max(range(-80, 200), key=lambda at: _rho(epsilon, log, 10 ** (at / 8))) / 8
    low, high = place - 1 / 8, place + 1 / 8
    for _ in range(60):
        third = (high - low) / 3
        near, far = low + third, high - third
        low, high = (near, high) if _rho(epsilon, log, 10**near) < _rho(epsilon, log, 10**far) else (low, far)
    return float(10**low)
