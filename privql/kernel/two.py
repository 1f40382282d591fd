"""How far the noise of two cells reaches together, where a number is made of both.

A number is p·N₁ + q·N₂ off before it is divided and rounded, N₁ and N₂ being independent discrete Laplace noise of one
scale t. Where p = ±q the law is summed up exactly: with Q = exp(-1/t) and m = a + 1,

    P[|N₁ + N₂| > a] = 2·Q^m · (m·(1 - Q²) + 1 + Q + 2Q²) / (1 + Q)³        for a >= 0.

Else the chance is a sum over one of the two, or above `EXACT_BELOW` the closed form for continuous noise, one unit
closer (each noise is the difference of two rounded-down exponentials, so both can be coupled with continuous noise such
that p·N₁ + q·N₂ moves by less than |p| + |q|). Both are computed in floats and taken a little larger than they are.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from privql.kernel import guesses
from privql.kernel.enclosure import Bounds, at_most, exp_minus
from privql.kernel.search import least, solved
from privql.kernel.tails import halfwidth

EXACT_BELOW = 32  # scales from here on pay less than one per cent of width for the closed form
_SPAN = 32  # scales on either side that a sum covers; exp(-32) of one noise is left, and added
_FINE = 20  # bits: a distance is looked for in steps that are so much smaller than the noise
_RARE = 1e-9  # chances for which a sum that leaves out exp(-32) is too coarse
_ROUNDING = 1e-9  # far above what the floats here can lose


def weights(low: int, high: int, gives: Literal["count", "sum"]) -> tuple[int, int]:
    """(p, q) such that (p·A + q·B) / (high - low) is the count of the rows in a `Balance`, or their sum in steps."""
    return (1, 1) if gives == "count" else (high, low)


def halfwidth_of_two(scale: Fraction, weights: tuple[int, int], over: int, confidence: Fraction) -> int:
    """An h with P[|E| > h] <= 1 - confidence, where a whole number + (p·N₁ + q·N₂) / over, rounded, is off by E.

    Where p = ±q, or where one of them is 0, it is the least that there is if halves are rounded the wrong way.
    """
    # E is beyond h only where |p·N₁ + q·N₂| is at least over·(h + 1/2)
    return (2 * _distance(scale, weights, confidence) + over) // (2 * over)


def _distance(scale: Fraction, weights: tuple[int, int], confidence: Fraction) -> int:
    """A d with P[|p·N₁ + q·N₂| > d] <= 1 - confidence."""
    narrow, wide = sorted(map(abs, weights))
    if narrow == 0:
        return wide * halfwidth(scale, confidence)
    if narrow == wide:
        return wide * halfwidth_of_sum(scale, confidence)
    miss = float(1 - confidence) * (1 - _ROUNDING)
    share, whole = narrow / (narrow + wide), (narrow + wide) * scale
    near = solved(lambda x: reach_of_coupling(share, x, float(scale)) <= miss)
    if scale >= EXACT_BELOW or miss < _RARE:
        return math.ceil(Fraction(near) * whole)
    step = max(1, int(wide * scale) >> _FINE)
    guess = max(0, int(Fraction(near) * whole)) // step
    tail = _tail(wide, narrow, float(scale))
    return step * least(lambda d: d >= 0 and tail(d * step) <= miss, guess)


def halfwidth_of_sum(scale: Fraction, confidence: Fraction) -> int:
    """The least a >= 0 with P[|N₁ + N₂| > a] <= 1 - confidence, decided by certified bounds."""
    if scale <= 0 or not 0 < confidence < 1:
        raise ValueError("a scale is positive, and a confidence lies strictly between 0 and 1")
    miss = 1 - confidence
    near = int(Fraction(guesses.reach_of_two(miss)) * scale)
    return least(lambda a: a >= 0 and _kept(a, scale, miss), near)


def _kept(a: int, scale: Fraction, miss: Fraction) -> bool:
    """Whether P[|N₁ + N₂| > a] <= miss; they differ, as Q is transcendental."""
    return at_most(lambda bits: _beyond(a, scale, bits), miss)


def _beyond(a: int, scale: Fraction, bits: int) -> Bounds:
    """Bounds of P[|N₁ + N₂| > a], as it is written above."""
    one, m = 1 << bits, a + 1
    (q, more), (far, farther) = exp_minus(1 / scale, bits), exp_minus(m / scale, bits)
    low = m * (one**2 - more**2) + one**2 + one * q + 2 * q**2
    high = m * (one**2 - q**2) + one**2 + one * more + 2 * more**2
    return (2 * far * low << bits) // (one + more) ** 3, -((-2 * farther * high << bits) // (one + q) ** 3)


def _tail(wide: int, narrow: int, scale: float) -> Callable[[int], float]:
    """At least P[|wide·N₁ + narrow·N₂| > d] for any d, summed over N₂; by symmetry twice one side."""
    edge = math.ceil(_SPAN * scale) + 1
    powers = [math.exp(-n / scale) for n in range(edge + 1)]
    middle, beyond = math.tanh(0.5 / scale), 1 / (1 + powers[1])

    def tail(d: int) -> float:
        total = 0.0
        for n in range(1 - edge, edge):  # what is left out is less than what is added below
            # N₁ passes what N₂ leaves of the distance where it is at least this whole number
            least_passing = (d - narrow * n) // wide + 1
            if least_passing > 0:
                passing = beyond * powers[min(least_passing, edge)]
            else:
                passing = 1 - beyond * powers[min(1 - least_passing, edge)]
            total += powers[abs(n)] * passing
        return 2 * middle * total + 8 * math.exp(-_SPAN)

    return tail


def reach_of_coupling(share: float, distance: float, scale: float) -> float:
    """At least P[|(1-share)·N₁ - share·N₂| >= distance·scale], by continuous noise one unit closer."""
    distance = max(distance - 1 / scale, 0.0)
    wide, narrow = max(share, 1 - share), min(share, 1 - share)
    # (w²·e^(-d/w) - n²·e^(-d/n)) / (w² - n²), written so that neither n = w nor n = 0 divides by zero.
    gap = distance * (wide - narrow)
    blend = distance * narrow / wide
    if gap > 0:
        blend *= -math.expm1(-gap / (wide * narrow)) * wide * narrow / gap if narrow > 0 else 0.0
    return math.exp(-distance / wide) * (1 + blend / (wide + narrow))
