"""How many rows a value that is chosen may be behind one that is not: that is public, whatever the counts are."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from fractions import Fraction

from privql.check.relations import Choice

_LEAST, _GREATEST = 1e-6, 1e3  # with the greatest, no chance is left that a double can tell from none
_HALVINGS = 80


def short(choice: Choice, exponent: Fraction, confidence: Fraction) -> Fraction:
    """At most so many rows fewer than any that is left has one that is chosen."""
    miss, s = float(1 - confidence), float(exponent)
    return Fraction(bisect_left(range(sys.maxsize), True, key=lambda rows: _miss(choice, s, rows + 1) <= miss))


def exponent_within(choice: Choice, rows: int, confidence: Fraction) -> Fraction:
    """One that keeps what is chosen no more than so many rows behind, in four digits, rounded up."""
    miss = float(1 - confidence)
    low, high = 0.0, _GREATEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _miss(choice, middle, rows + 1) > miss else (low, middle)
    high = max(high, _LEAST)  # where a coin toss would do
    digits = 3 - math.floor(math.log10(high))
    return Fraction(math.ceil(Fraction(high) * 10**digits), 10**digits)


def _miss(choice: Choice, exponent: float, rows: int) -> float:
    """No less than the probability that some choice is so far behind: of each that may be chosen and - where counts are
    noisy once, for all choices - of each that it may be behind, summed up."""
    every, q = len(choice.candidates), math.exp(-exponent)
    others, far = every - 1, math.exp(-exponent * rows)
    match choice.way:
        case "FLIP":  # its coin falls heads, and the best one's always does
            return choice.count * others * far / 2
        case "EXPONENTIAL" | "GUMBEL":
            return choice.count * others * far
        case _:  # two noises differ by so much
            apart = far / (1 + q) ** 2 * (rows * (1 - q) + (1 + q + 2 * q**2) / (1 + q))
            return apart * others * (every / 2 if choice.way == "HISTOGRAM" else choice.count)
