"""Decimals of so many digits, one after the other; logarithms of what may have no float; what a confidence leaves."""

from __future__ import annotations

import math
from fractions import Fraction


def at_rank(rank: int, digits: int) -> Fraction:
    """Those of so many digits, one an integer; of four: 0 is 1000, 8999 is 9999, 9000 is 10000, 9001 is 10010."""
    least = int(10 ** (digits - 1))
    exponent, behind = divmod(rank, 9 * least)
    return (least + behind) * Fraction(10) ** exponent


def rank_near(x: Fraction | float, digits: int) -> int:
    """About the rank of the greatest of so many digits that is at most x: where to look first."""
    exact, least = Fraction(x), int(10 ** (digits - 1))
    exponent = first_place(exact) - digits + 1
    return 9 * least * exponent + int(exact / Fraction(10) ** exponent) - least


def first_place(x: Fraction) -> int:
    """The place of its first digit: 2 of 123, -1 of 0.5. Next to a power of ten no float can tell."""
    near = math.floor(ln(x) / math.log(10))
    return near + (x >= Fraction(10) ** (near + 1)) - (x < Fraction(10) ** near)


def ln(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


def missed(confidence: Fraction) -> Fraction:
    """How often what is said with this confidence may be wrong."""
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies strictly between 0 and 1")
    return 1 - confidence
