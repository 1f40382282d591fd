"""Which candidates come out, by their counts: the five ways of `kernel/picks.py`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from privql.kernel.picks import Way
from privql.noise.entropy import WordSource, system_words
from privql.noise.exponential import exponential
from privql.noise.flip import permute_and_flip
from privql.noise.laplace import discrete_laplace


def picked(
    counts: Sequence[int], picks: int, way: Way, exponent: Fraction, *, source: WordSource = system_words
) -> list[int]:
    """The numbers of `picks` candidates, in the order in which they were chosen: each once."""
    if not 1 <= picks <= len(counts):
        raise ValueError("so many are chosen as there are candidates at most")
    if way == "HISTOGRAM":
        return greatest(noisy(counts, exponent, source), picks)
    left, chosen = list(range(len(counts))), list[int]()
    for _ in range(picks):
        chosen.append(left.pop(_one([counts[at] for at in left], way, exponent, source)))
    return chosen


def _one(counts: Sequence[int], way: Way, exponent: Fraction, source: WordSource) -> int:
    match way:
        case "FLIP":
            return permute_and_flip(counts, exponent, source=source)
        case "NOISY_MAX":
            return greatest(noisy(counts, exponent, source), 1)[0]
        case "EXPONENTIAL" | "GUMBEL":  # the order of noisy scores has the law of choosing one by one
            best = max(counts)
            return exponential([(1, best - count) for count in counts], exponent, source=source)
        case "HISTOGRAM":
            raise ValueError("a histogram is noisy once, for all that are chosen")
        case _:
            assert_never(way)


def noisy(counts: Sequence[int], exponent: Fraction, source: WordSource) -> list[int]:
    noise = discrete_laplace(1 / exponent, len(counts), source=source).tolist()
    return [count + x for count, x in zip(counts, noise, strict=True)]


def greatest(scores: Sequence[int], most: int) -> list[int]:
    """Of equals the first."""
    return sorted(range(len(scores)), key=lambda at: -scores[at])[:most]
