"""What the best adversary gets, who chooses every mechanism by all answers before, as long as a filter lets her."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

Law = tuple[tuple[float, float], ...]  # of each outcome: its chance on one database, and on its neighbour


def response(epsilon: float, leak: float = 0.0) -> Law:
    """Randomised response; with a chance it tells everything."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    told: Law = ((leak, 0.0), (0.0, leak)) if leak else ()
    return ((1 - leak) * right, (1 - leak) * (1 - right)), ((1 - leak) * (1 - right), (1 - leak) * right), *told


def cells(mu: float, ends: Sequence[float]) -> Law:
    """Which of some intervals, with these losses between them, a Gaussian release falls in."""

    def below(loss: float, mean: float) -> float:
        return math.erfc(-(loss - mean) / mu / math.sqrt(2)) / 2

    one, other = ([0.0, *(below(end, mean) for end in ends), 1.0] for mean in (mu * mu / 2, -mu * mu / 2))
    return tuple((one[i + 1] - one[i], other[i + 1] - other[i]) for i in range(len(ends) + 1))


def gain(laws: Sequence[Law], admits: Callable[[tuple[int, ...]], bool], epsilon: float) -> float:
    """The greatest Σ max(0, P - e^ε·P') over all transcripts. `admits`: whether so many of each mechanism are let by.

    Of a transcript only how often each outcome of each mechanism came matters: for its chances, and for the filter.
    """

    @cache
    def best(counts: tuple[tuple[int, ...], ...]) -> float:
        one = other = 1.0
        for law, times in zip(laws, counts, strict=True):
            for (p, q), n in zip(law, times, strict=True):
                one, other = one * p**n, other * q**n
        most = max(0.0, one - math.exp(epsilon) * other)
        if not one or not other:
            return most
        used = [sum(times) for times in counts]
        for at, law in enumerate(laws):
            if admits(tuple(n + (i == at) for i, n in enumerate(used))):
                most = max(most, math.fsum(best(_with(counts, at, outcome)) for outcome in range(len(law))))
        return most

    return best(tuple((0,) * len(law) for law in laws))


def _with(counts: tuple[tuple[int, ...], ...], at: int, outcome: int) -> tuple[tuple[int, ...], ...]:
    one = tuple(n + (i == outcome) for i, n in enumerate(counts[at]))
    return (*counts[:at], one, *counts[at + 1 :])
