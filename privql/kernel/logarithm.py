"""Certified bounds of natural logarithms, in integers (see `enclosure`).

For x from 1 to 2, with w = (x-1)/(x+1) <= 1/3, ln x = 2·(w + w³/3 + w⁵/5 + …): terms are positive and fall to a ninth
or less, so that what is left out is less than an eighth of the last. Other numbers are powers of two times such ones.
"""

from fractions import Fraction
from functools import lru_cache

from privql.kernel.enclosure import Bounds


def log(x: Fraction, bits: int) -> Bounds:
    """Bounds of ln x, for x > 0: a few units of 2^-bits apart, or more if x is beyond 2^1000 or the inverse of such."""
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
    """Bounds of ln x from bounds of x, from 1 to 2 themselves."""
    if x[0] < 1 << bits:
        raise ValueError("the series is for numbers from 1")
    return _series(x[0], bits)[0], _series(x[1], bits)[1]


def _series(x: int, bits: int) -> Bounds:
    """Of the one number that is so many units."""
    one = 1 << bits
    w = ((x - one) << bits) // (x + one)
    square, total, term, n = w * w >> bits, w, w, 1
    while term:
        term, n = term * square >> bits, n + 2
        total += term // n
    # All is rounded down. Of w that loses less than 9/8 of a unit in the end, of its square and the powers less than
    # 4/3 in each power, a third or less of it in a term, and of each term less than one: of all together less than n.
    # Where w is none at all, x is two units above 1 at most, and so is twice n.
    return 2 * total, 2 * (total + n)


@lru_cache(maxsize=16)
def _log_of_two(bits: int) -> Bounds:
    return log_near_one((2 << bits, 2 << bits), bits)
