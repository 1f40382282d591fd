"""How many rows a value that is chosen may be behind one that is not: that is public, whatever the counts are."""

from __future__ import annotations

import math
from fractions import Fraction

from privql.check.relations import Choice


def short(choice: Choice, exponent: Fraction, confidence: Fraction) -> Fraction:
    """At most so many rows fewer than any that is left has one that is chosen."""
    return Fraction(_far(choice, confidence)) / exponent


def exponent_within(choice: Choice, rows: int, confidence: Fraction) -> Fraction:
    """One that keeps what is chosen no more than so many rows behind, in four digits, rounded up."""
    least = _far(choice, confidence) / (rows + 1) * (1 + 1e-12)
    digits = 3 - math.floor(math.log10(least))
    return Fraction(math.ceil(least * 10**digits), 10**digits)


def _far(choice: Choice, confidence: Fraction) -> float:
    """As a multiple of 1 / exponent. A candidate that is g behind is chosen with probability e^-exponent·g at most, by
    its coin half of that; of noises, some two must differ by g, and one of them is g/2 or more with twice that."""
    every, others = len(choice.candidates), len(choice.candidates) - 1
    match choice.way:
        case "FLIP":
            times, draws = 1, Fraction(choice.count * others, 2)
        case "EXPONENTIAL":
            times, draws = 1, Fraction(choice.count * others)
        case "NOISY_MAX":
            times, draws = 2, Fraction(2 * choice.count * every)
        case _:
            times, draws = 2, Fraction(2 * every)
    return times * (math.log(max(draws, Fraction(1))) - math.log(1 - confidence))
