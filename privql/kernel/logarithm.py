"""Certified bounds of natural logarithms, in integers (see `enclosure`).

For x from 1 to 2, with w = (x-1)/(x+1) <= 1/3, ln x = 2·(w + w³/3 + w⁵/5 + …): terms are positive and fall to a ninth
or less, so that what is left out is less than an eighth of the last. Other numbers are powers of two times such ones.
"""

from fractions import Fraction
from functools import lru_cache

from privql.kernel.enclosure import Bounds


def log(x: Fraction, bits: int) -> Bounds:
    """Bounds of ln x, for x > 0, a few units of 2^-bits apart."""
    if x <= 0:
        raise ValueError("only a positive number has a logarithm")
    work = bits + 16
    power = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** power > x:
        power -= 1
    part = x / Fraction(2) ** power
    scaled = (part.numerator << work) // part.denominator
    low, high = log_near_one((scaled, scaled + 1), work)
    two = _log_of_two(work)
    low, high = low + power * two[power < 0], high + power * two[power >= 0]
    return low >> 16, (high >> 16) + 1


def log_near_one(x: Bounds, bits: int) -> Bounds:
    """Bounds of ln x from bounds of an x between 1 and 2."""
    one = 1 << bits
    w = ((max(x[0], one) - one) << bits) // (x[0] + one)
    square, total, term, n = w * w >> bits, w, w, 1
    while term:
        term, n = term * square >> bits, n + 2
        total += term // n
    v = ((x[1] - one) << bits) // (x[1] + one) + 1
    square, most, term, n = (v * v >> bits) + 1, v, v, 1
    while term > 2:
        term, n = (term * square >> bits) + 1, n + 2
        most += term // n + 1
    return 2 * total, 2 * (most + 1)


@lru_cache(maxsize=16)
def _log_of_two(bits: int) -> Bounds:
    return log_near_one((2 << bits, 2 << bits), bits)
