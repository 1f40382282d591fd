"""The discrete Laplace law computed another way: `decimal` at 400 digits, and words that a test chooses."""

from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate, repeat

import numpy as np
from numpy.typing import NDArray

EXACT = Context(prec=400, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_FLOOR)
TOP_WORD = 2**64 - 1
MIDDLE = 0x8020_0000_8020_0000  # both halves lie far from every entry of a digit's table


def decimal(x: Fraction) -> Decimal:
    return EXACT.divide(Decimal(x.numerator), Decimal(x.denominator))


def power(scale: Fraction, k: int) -> Decimal:
    """q^k."""
    return EXACT.exp(decimal(Fraction(-k) / scale))


def powers(scale: Fraction, count: int) -> list[Decimal]:
    """1, q, q², …"""
    q = power(scale, 1)
    return list(accumulate(repeat(q, count - 1), EXACT.multiply, initial=Decimal(1)))


def pmf(k: int, scale: Fraction) -> Decimal:
    q = power(scale, 1)
    return EXACT.multiply(EXACT.divide(EXACT.subtract(Decimal(1), q), EXACT.add(Decimal(1), q)), power(scale, abs(k)))


@cache
def cdf(k: int, scale: Fraction) -> Decimal:
    outside = EXACT.divide(power(scale, -k if k < 0 else k + 1), EXACT.add(Decimal(1), power(scale, 1)))
    return outside if k < 0 else EXACT.subtract(Decimal(1), outside)


def beyond(a: int, scale: Fraction) -> Decimal:
    """P[|X| > a]."""
    return EXACT.multiply(Decimal(2), cdf(-a - 1, scale))


def scaled_floor(x: Decimal, bits: int) -> int:
    return int(EXACT.multiply(x, Decimal(2**bits)).to_integral_value(ROUND_FLOOR))


def is_inverse(k: int, words: list[int], scale: Fraction) -> bool:
    """Whether F(k-1) <= U < F(k) for every U that begins with `words`."""
    bits = 64 * len(words)
    value = int.from_bytes(b"".join(word.to_bytes(8, "big") for word in words), "big")
    return scaled_floor(cdf(k - 1, scale), bits) < value < scaled_floor(cdf(k, scale), bits)


class Script:
    """A source that hands out the words a test wrote down, and no more."""

    def __init__(self, words: Iterable[int]) -> None:
        self.words = list(words)
        self.used = 0

    def __call__(self, count: int) -> NDArray[np.uint64]:
        assert self.used + count <= len(self.words), "the script has run out of words"
        self.used += count
        return np.array(self.words[self.used - count : self.used], dtype=np.uint64)
