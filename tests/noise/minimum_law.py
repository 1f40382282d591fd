"""The law of a noisy minimum, outcome by outcome, in closed form and exact where q is a rational number."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

Number = TypeVar("Number", Fraction, float)


def noisy_minimum_law(scores: Sequence[int], q: Number) -> list[Number]:
    """P[the least score - G is that of each index, the first of equals], P[G = k] = (1-q)·q^k.

    With t the winner's own noise, another's must be at most t + offset, which has probability 1 - q^(t + offset + 1),
    and 0 where that is below 0. The product is multiplied out, and each of its terms summed over t.
    """
    return [_chance(scores, at, q) for at in range(len(scores))]


def _chance(scores: Sequence[int], at: int, q: Number) -> Number:
    offsets = [other - scores[at] - (place < at) for place, other in enumerate(scores) if place != at]
    least = max(0, *(-offset for offset in offsets)) if offsets else 0
    total = q - q
    for size in range(len(offsets) + 1):
        for chosen in combinations(offsets, size):
            sign, exponent = (-1) ** size, sum(chosen) + size + least * (1 + size)
            total += sign * (1 - q) * q**exponent / (1 - q ** (1 + size))
    return total
