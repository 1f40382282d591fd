"""Certified bounds of what the normal law makes of a number, in integers (see `enclosure`).

φ is the density, M(x) = P[Z > x] / φ(x) what is left of the tail beside it: that shrinks as 1/x, where the tail itself
is lost. For x >= 0 two forms enclose it, both made of positive terms:

    M(x) = √(π/2)·e^(x²/2) - S(x)    with S(x) = x + x³/3 + x⁵/(3·5) + x⁷/(3·5·7) + …
    M(x) = 1/r(0)                    with r(n) = x + (n+1)/r(n+1), and x < r(n) < x + (n+1)/x

For the second, let I(n) be the integral of (t-x)^n/n! · φ(t) from x on, and I(-1) = φ(x). By parts (n+1)·I(n+1) =
I(n-1) - x·I(n), so that r(n) = I(n-1)/I(n) is as it is written, and positive.
"""

import math
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from privql.kernel.enclosure import Bounds, exp_minus, quotient

SPARE = 16  # bits that are computed beyond those that are asked for, and lost in rounding


def tail(x: Fraction, bits: int) -> Bounds:
    """Bounds of P[Z > x], a few units of 2^-bits apart."""
    if x < 0:
        low, high = tail(-x, bits)
        return (1 << bits) - high, (1 << bits) - low
    work = bits + SPARE
    dense, share = density(x, work), mills(x, work)
    return dense[0] * share[0] >> work + SPARE, (dense[1] * share[1] >> work + SPARE) + 1


def density(x: Fraction, bits: int) -> Bounds:
    """Bounds of φ(x) = exp(-x²/2) / √(2π)."""
    half = _root_of_half_pi(bits)
    return quotient(exp_minus(x * x / 2, bits), (2 * half[0], 2 * half[1]), bits)


def mills(x: Fraction, bits: int) -> Bounds:
    """Bounds of M(x), for x >= 0."""
    if x < 0:
        raise ValueError("what is left of a tail is bounded for x >= 0 only")
    return _by_series(x, bits) if 4 * x * x < bits else _by_fraction(x, bits)  # whichever is shorter


def _grown(x: Fraction, bits: int) -> Bounds:
    """Bounds of √(π/2)·exp(x²/2)."""
    spare = SPARE + 3 * int(x * x)  # of 1/e, the error is e² times as large as that of e
    work = bits + spare
    low, high = quotient(_root_of_half_pi(work), exp_minus(x * x / 2, work), work)
    return low >> spare, (high >> spare) + 1


def _by_series(x: Fraction, bits: int) -> Bounds:
    spare = SPARE + int(x * x)  # no term exceeds e^(x²/2)
    work = bits + spare
    up, down = (x * x).numerator, (x * x).denominator
    low, high = (x.numerator << work) // x.denominator, -((-x.numerator << work) // x.denominator)
    sum_low, sum_high, n = low, high, 1
    while high > 2 or (n + 2) * down < 2 * up:
        n += 2
        low, high = low * up // (down * n), -(-high * up // (down * n))
        sum_low, sum_high = sum_low + low, sum_high + high
    sum_high += high  # of those that follow, each is at most half of the one before
    least, most = _grown(x, work)
    return max(least - sum_high, 0) >> spare, (most - sum_low >> spare) + 1


def _by_fraction(x: Fraction, bits: int) -> Bounds:
    work, depth = bits + SPARE, 16
    one = 1 << work
    floor, ceiling = (x.numerator << work) // x.denominator, -((-x.numerator << work) // x.denominator)
    while True:
        low, high = floor, ceiling - (-depth * one * one // floor)
        for n in reversed(range(1, depth)):
            low, high = floor + n * one * one // high, ceiling - (-n * one * one // low)
        low, high = quotient((one, one), (low, high), work)
        if 2 * (high - low) < 1 << SPARE:
            return low >> SPARE, (high >> SPARE) + 1
        depth *= 2


@lru_cache(maxsize=16)
def _root_of_half_pi(bits: int) -> Bounds:
    """Bounds of √(π/2), by Machin's π = 16·arctan(1/5) - 4·arctan(1/239)."""
    work = 2 * bits + 8
    (five_low, five_high), (far_low, far_high) = _arctan_of_inverse(5, work), _arctan_of_inverse(239, work)
    low, high = 16 * five_low - 4 * far_high, 16 * five_high - 4 * far_low
    return isqrt(low >> 9), isqrt((high >> 9) + 1) + 1


def _arctan_of_inverse(whole: int, bits: int) -> Bounds:
    """Σ ±1/(n·whole^n) over odd n: each term is cut by less than two units, and what is left out is less than one."""
    power = (1 << bits) // whole
    total, n = power, 1
    while power:
        n += 2
        power //= whole * whole
        total += power // n if n % 4 == 1 else -(power // n)
    return total - n - 2, total + n + 2


def float_tail(x: float) -> float:
    """About P[Z > x]."""
    return math.erfc(x / math.sqrt(2)) / 2
