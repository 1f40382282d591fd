"""What two samples of answers show of ε, whatever made them: an audit from outside.

If P[answer in E | one] > e^ε·P[answer in E | other] + δ for any set E of answers, the claim (ε, δ) is wrong. The first
half of the answers chooses E, the second half bounds both probabilities by Clopper and Pearson's intervals; nothing is
known of the mechanism but its answers. What is shown is a lower bound of the true ε, wrong by chance once in 5·10^8.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Outcome = tuple[str, tuple[int, ...]]  # what it says in words, and the numbers beside
Scores = NDArray[np.float64]
MISS = 1e-9
_THRESHOLDS = 48
_BESIDE = 6  # as many numbers are compared with each other
_OUT = -math.inf


def shown(one: Sequence[Outcome], other: Sequence[Outcome], delta: float = 0.0) -> float:
    """The greatest ε that these answers exclude, one way or the other."""
    return max(_shown(one, other, delta), _shown(other, one, delta))


def _shown(more: Sequence[Outcome], less: Sequence[Outcome], delta: float) -> float:
    half = len(more) // 2
    best, event = _OUT, (np.zeros(0), np.zeros(0), 0.0)
    for one, other in _scores((more, less), half):
        first = np.concatenate([one[:half], other[:half]])
        finite = first[np.isfinite(first)]
        for threshold in np.unique(np.quantile(finite, np.linspace(0, 1, _THRESHOLDS), method="nearest")).tolist():
            found = _bound(one[:half], other[:half], threshold, delta)
            if found > best:
                best, event = found, (one, other, threshold)
    one, other, threshold = event
    return max(_bound(one[half:], other[half:], threshold, delta), 0.0) if best > _OUT else 0.0


def _bound(one: Scores, other: Scores, threshold: float, delta: float) -> float:
    """A lower bound of ln((p - δ) / q), p and q being how likely either is to reach the threshold."""
    count, hits, others = len(one), int((one >= threshold).sum()), int((other >= threshold).sum())
    low = stats.beta.ppf(MISS, hits, count - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - MISS, others + 1, count - others) if others < count else 1.0
    return math.log((low - delta) / high) if low > delta else _OUT


def _scores(sides: tuple[Sequence[Outcome], Sequence[Outcome]], half: int) -> Iterator[tuple[Scores, Scores]]:
    """Ways to order answers, each learned from the first halves alone: the events are those above a threshold."""
    words = [[word for word, _ in side] for side in sides]
    whole = [[repr(outcome) for outcome in side] for side in sides]
    yield _by_ratio(words, half)
    if len({text for side in whole for text in side[:half]}) < half / 25:
        yield _by_ratio(whole, half)
    common = Counter(word for side in words for word in side[:half]).most_common(3)
    for word, many in common:
        if many > half / 50:
            yield from _by_numbers(sides, half, word)


def _by_ratio(sides: Sequence[Sequence[str]], half: int) -> tuple[Scores, Scores]:
    seen, beside = (Counter(side[:half]) for side in sides)
    return tuple(np.array([math.log((seen[x] + 0.5) / (beside[x] + 0.5)) for x in side]) for side in sides)  # type: ignore[return-value]


def _by_numbers(
    sides: tuple[Sequence[Outcome], Sequence[Outcome]], half: int, word: str
) -> Iterator[tuple[Scores, Scores]]:
    """Among answers that say this in words: each number up and down, and those that move, together."""
    here = [np.array([said == word for said, _ in side]) for side in sides]
    width = max(len(numbers) for side in sides for said, numbers in side if said == word)
    if not width:
        return
    tables = []
    for side, there in zip(sides, here, strict=True):
        table = np.zeros((len(side), width))
        table[there] = np.reshape([numbers for said, numbers in side if said == word], (-1, width))
        tables.append(table)

    def scored(made: Sequence[Scores]) -> tuple[Scores, Scores]:
        return np.where(here[0], made[0], _OUT), np.where(here[1], made[1], _OUT)

    for at in range(width):
        for sign in (1.0, -1.0):
            yield scored([sign * table[:, at] for table in tables])
            for beside in range(at + 1, min(width, _BESIDE)):
                yield scored([sign * (table[:, at] - table[:, beside]) for table in tables])
    first = [table[:half][there[:half]] for table, there in zip(tables, here, strict=True)]
    if min(len(table) for table in first) < 50:
        return
    middles = [np.median(table, axis=0) for table in first]
    spread = np.maximum(np.median(np.abs(first[0] - middles[0]), axis=0), 0.5)
    moved = middles[0] - middles[1]
    moving = np.abs(moved) > 0.3 * spread
    if moving.sum() > 1:
        yield scored([((table - middles[0]) * np.sign(moved) / spread)[:, moving].min(axis=1) for table in tables])
        yield scored([(table @ (moved / spread**2)) for table in tables])
