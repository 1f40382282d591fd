"""The laws of the five ways to choose among counts, outcome by outcome, with q = exp(-s) a rational number.

Permute-and-flip as its textbook has it: in each order, until a coin falls heads. Noise is cut off where 2^-80 is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import factorial

from privql.kernel.picks import Way

Law = dict[tuple[int, ...], Fraction]  # of the chosen, in order
_LEFT = Fraction(1, 2**80)


@cache
def law(counts: tuple[int, ...], picks: int, way: Way, q: Fraction) -> Law:
    """Of `picks` candidates that are chosen one after the other."""
    return _peeled(tuple(range(len(counts))), counts, picks, way, q)


def _peeled(left: tuple[int, ...], counts: tuple[int, ...], picks: int, way: Way, q: Fraction) -> Law:
    if not picks:
        return {(): Fraction(1)}
    out: Law = {}
    for at, chance in enumerate(one([counts[at] for at in left], way, q)):
        rest = left[:at] + left[at + 1 :]
        for others, then in _peeled(rest, counts, picks - 1, way, q).items():
            out[(left[at], *others)] = chance * then
    return out


def one(counts: Sequence[int], way: Way, q: Fraction) -> list[Fraction]:
    least = min(counts)
    return list(_one(tuple(count - least for count in counts), way, q))


@cache
def _one(counts: tuple[int, ...], way: Way, q: Fraction) -> tuple[Fraction, ...]:
    best = max(counts)
    match way:
        case "FLIP":
            out = [Fraction(0)] * len(counts)
            for order in permutations(range(len(counts))):
                tails = Fraction(1, factorial(len(counts)))
                for at in order:
                    heads = q ** (best - counts[at])
                    out[at] += tails * heads
                    tails *= 1 - heads
            return tuple(out)
        case "EXPONENTIAL" | "GUMBEL":
            weights = [q ** (best - count) for count in counts]
            return tuple(weight / sum(weights) for weight in weights)
        case "NOISY_MAX":
            return tuple(_wins(counts, at, q) for at in range(len(counts)))
        case _:
            raise ValueError(way)


def _wins(counts: tuple[int, ...], at: int, q: Fraction) -> Fraction:
    """The noise of this one is x, and no other's is too great for it: of equals the first comes out."""
    total = Fraction(0)
    far = next(x for x in range(10**6) if q**x < _LEFT)
    for x in range(-far, far + 1):
        chance = (1 - q) / (1 + q) * q ** abs(x)
        for other, count in enumerate(counts):
            if other != at:
                chance *= at_most(x + counts[at] - count - (other < at), q)
        total += chance
    return total


def at_most(x: int, q: Fraction) -> Fraction:
    """P[X <= x] of the discrete Laplace law."""
    return 1 - q ** (x + 1) / (1 + q) if x >= 0 else q**-x / (1 + q)
