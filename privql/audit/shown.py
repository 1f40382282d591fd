"""What two samples of answers show of ε, whatever made them: an audit from outside.

If P[answer in E | one] > e^ε·P[answer in E | other] + δ for any set E of answers, the claim (ε, δ) is wrong. The first
half of the answers chooses E, the second half bounds both probabilities by Clopper and Pearson's intervals; nothing is
known of the mechanism but its answers. What is shown is a lower bound of the true ε, each of its two bounds being wrong
by chance once in 1 / `miss`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privql.frozen import frozen

Outcome = tuple[str, tuple[int, ...]]  # what it says in words, and the numbers beside
Scores = NDArray[np.float64]
Words = Callable[[float], str]  # of the event that a score is at least this
MISS = 1e-9
_THRESHOLDS = 48
_BESIDE = 6  # as many numbers are compared with each other
_NUMBERS = 24  # as many are looked at by themselves: those that differ most
_LIKELY, _HOPED = 4.0, 1.5  # deviations, by which an event is chosen, and by which one is hoped for
_OUT = -math.inf


@frozen
class Shown:
    """The greatest ε that answers exclude, by an event: how often it came, of as many answers, on either side."""

    epsilon: float
    event: str = ""
    hits: int = 0
    others: int = 0
    count: int = 0
    first: bool = True  # whether it is the first side on which it is more likely


@frozen
class _Event:
    guess: float
    words: str = ""
    scores: tuple[Scores, ...] = ()  # of both sides
    threshold: float = 0.0
    first: bool = True


def shown(one: Sequence[Outcome], other: Sequence[Outcome], delta: float = 0.0, miss: float = MISS) -> Shown:
    """By one event, which may be more likely on either side."""
    half = len(one) // 2
    event = max(_chosen(one, other, delta, half), _chosen(other, one, delta, half, False), key=lambda e: e.guess)
    if event.guess == _OUT:
        return Shown(0.0, count=len(one) - half)
    hits, others = (int((side[half:] >= event.threshold).sum()) for side in event.scores)
    count = len(one) - half
    found = bound(hits, others, count, delta, miss)
    return Shown(max(found, 0.0), event.words, hits, others, count, event.first)


def guessed(one: Sequence[Outcome], other: Sequence[Outcome], delta: float = 0.0) -> float:
    """What of it may be hoped for: all of these answers choose, and none bounds."""
    sides = (one, other), (other, one)
    return max(_chosen(*both, delta, len(one), likely=_HOPED).guess for both in sides)


def bound(hits: int, others: int, count: int, delta: float, miss: float) -> float:
    """A lower bound of ln((p - δ) / q), p and q being how likely what came so often is on either side."""
    low, high = lowest(hits, count, miss), 1 - lowest(count - others, count, miss)
    return math.log((low - delta) / high) if low > delta else _OUT


def lowest(hits: int, count: int, miss: float) -> float:
    """Clopper and Pearson's: the least p for which so many of `count` or more are no less likely than `miss`."""
    if not hits:
        return 0.0
    chosen, at = _binomials(count)[hits:], np.arange(hits, count + 1)
    low, high = 0.0, hits / count
    for _ in range(60):
        p = (low + high) / 2
        if p in (low, high):
            break
        logs = chosen + at * math.log(p) + (count - at) * math.log1p(-p)
        most = float(logs.max())
        if most + math.log(float(np.exp(logs - most).sum())) < math.log(miss):
            low = p
        else:
            high = p
    return low


@lru_cache(maxsize=4)
def _binomials(count: int) -> Scores:
    """The logarithm of how many there are to pick each number of so many."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    return np.asarray(factorials[-1] - factorials - factorials[::-1], dtype=np.float64)


def _chosen(
    more: Sequence[Outcome],
    less: Sequence[Outcome],
    delta: float,
    half: int,
    first: bool = True,
    likely: float = _LIKELY,
) -> _Event:
    best = _Event(_OUT)
    for one, other, words in _scores((more, less), half):
        seen = [np.sort(side[:half]) for side in (one, other)]
        both = np.concatenate(seen)
        finite = both[np.isfinite(both)]
        if not len(finite):
            continue
        thresholds = np.unique(np.quantile(finite, np.linspace(0, 1, _THRESHOLDS), method="nearest"))
        p, q = (1 - np.searchsorted(side, thresholds) / half for side in seen)
        far = likely**2 / half
        low = p - likely * np.sqrt(p * (1 - p) / half) - far * (p < 1)
        high = q + likely * np.sqrt(q * (1 - q) / half) + far * (q < 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            guesses = np.where(low > delta, np.log(np.maximum(low - delta, 1e-300) / np.minimum(high, 1)), _OUT)
        at = int(np.argmax(guesses))
        if guesses[at] > best.guess:
            best = _Event(float(guesses[at]), words(float(thresholds[at])), (one, other), float(thresholds[at]), first)
    return best


def _scores(sides: tuple[Sequence[Outcome], Sequence[Outcome]], half: int) -> Iterator[tuple[Scores, Scores, Words]]:
    """Ways to order answers, each learned from the first halves alone: the events are those above a threshold."""
    words = [[word for word, _ in side] for side in sides]
    if len({word for side in words for word in side[:half]}) > 1:
        yield *_by_ratio(words, half), lambda _: "what was found is what is found more often there"
    whole = [[repr(outcome) for outcome in side] for side in sides]
    if len({text for side in whole for text in side[:half]}) < half / 25:
        yield *_by_ratio(whole, half), _answers(whole, half)
    common = Counter(word for side in words for word in side[:half]).most_common(3)
    for word, many in common:
        if many > half / 50:
            yield from _by_numbers(sides, half, word)


def _by_ratio(sides: Sequence[Sequence[str]], half: int) -> tuple[Scores, Scores]:
    seen, beside = (Counter(side[:half]) for side in sides)
    one, other = (np.array([math.log((seen[x] + 0.5) / (beside[x] + 0.5)) for x in side]) for side in sides)
    return one, other


def _answers(sides: Sequence[Sequence[str]], half: int) -> Words:
    seen, beside = (Counter(side[:half]) for side in sides)

    def words(threshold: float) -> str:
        such = [x for x, _ in seen.most_common() if math.log((seen[x] + 0.5) / (beside[x] + 0.5)) >= threshold]
        named = [x.rpartition("', (")[2].rstrip(",)") for x in such[:4]]
        return f"it is {' or '.join(named)}{' or …' if len(such) > 4 else ''}" if such else "it is none of those seen"

    return words


def _by_numbers(
    sides: tuple[Sequence[Outcome], Sequence[Outcome]], half: int, word: str
) -> Iterator[tuple[Scores, Scores, Words]]:
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

    def scored(made: Sequence[Scores], words: Words) -> tuple[Scores, Scores, Words]:
        return np.where(here[0], made[0], _OUT), np.where(here[1], made[1], _OUT), words

    first = [table[:half][there[:half]] for table, there in zip(tables, here, strict=True)]
    enough = min(len(table) for table in first) >= 50
    middles = [np.median(table, axis=0) if enough else np.zeros(width) for table in first]
    spread = np.maximum(np.median(np.abs(first[0] - middles[0]), axis=0), 0.5) if enough else np.ones(width)
    moved = middles[0] - middles[1]
    most = sorted(range(width), key=lambda at: -abs(moved[at]) / spread[at])[:_NUMBERS]
    for place, at in enumerate(most):
        for sign in (1.0, -1.0):
            yield scored([sign * table[:, at] for table in tables], _beyond(f"number {at + 1}", sign))
            for beside in most[place + 1 : _BESIDE]:
                both = _beyond(f"number {at + 1} less number {beside + 1}", sign)
                yield scored([sign * (table[:, at] - table[:, beside]) for table in tables], both)
    moving = np.abs(moved) > 0.3 * spread
    if enough and moving.sum() > 1:
        together = f"{int(moving.sum())} of the numbers together"
        yield scored(
            [((table - middles[0]) * np.sign(moved) / spread)[:, moving].min(axis=1) for table in tables],
            lambda _: f"{together} are far off, each of them",
        )
        yield scored([(table @ (moved / spread**2)) for table in tables], lambda _: f"{together} are far off, added up")


def _beyond(what: str, sign: float) -> Words:
    return lambda threshold: f"{what} is at {'least' if sign > 0 else 'most'} {sign * threshold:.0f}"
