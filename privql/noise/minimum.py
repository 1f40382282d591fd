"""The least of several integers, each lowered by geometric noise: the first of those that are then equal."""

from collections.abc import Sequence
from fractions import Fraction

from privql.noise.entropy import WordSource, system_words
from privql.noise.laplace import discrete_laplace


def noisy_minimum(scores: Sequence[int], scale: Fraction, *, source: WordSource = system_words) -> int:
    """The index of the least score - G, with P[G = k] = (1-q)·q^k, q = exp(-1/scale).

    X of the discrete Laplace law has X >= 0 or -1-X >= 0, and either is geometric where it is (see there).
    """
    if not scores:
        raise ValueError("there is no least of nothing")
    draws = discrete_laplace(scale, len(scores), source=source).tolist()
    noisy = [score - (x if x >= 0 else -1 - x) for score, x in zip(scores, draws, strict=True)]
    return noisy.index(min(noisy))
