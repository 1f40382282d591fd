"""The law of a sampler, computed and not sampled: all words that it may be given, divided by what it does with them.

A sampler is a function of the words that it reads. `law_of` finds, place by place, the intervals of words within which
it does the same, by halving until both ends agree, and weighs each outcome by how many words lead to it. What is left
open - words that ask for more than `deep` further ones - is its `open` part: every probability is known up to that.
Halving takes it that what is done changes at the ends of intervals wider than a sixteenth of all words, or between two
that differ; `spots` words in between, chosen at random, see to it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from privql.noise.entropy import Words, WordSource

WORD = 1 << 64
_GRID = 16
_FOLLOWING = (0x9E37_79B9_7F4A_7C15, 3 << 62, 1 << 61, (1 << 62) + 12345)  # what may come after, to tell words apart

Sampler = Callable[[WordSource], Hashable]


class More(Exception):
    """The sampler asks for more words than there are."""


@dataclass
class Given:
    """A source of the words that are written down; `more` if others are asked for."""

    words: Sequence[int]
    used: int = 0

    def __call__(self, count: int) -> Words:
        if self.used + count > len(self.words):
            raise More
        self.used += count
        return np.array(self.words[self.used - count : self.used], dtype=np.uint64)


@dataclass
class Law:
    """P[outcome], each known up to `open`."""

    chances: dict[Hashable, Fraction]
    open: Fraction


def law_of(sampler: Sampler, deep: int = 2, spots: int = 40) -> Law:
    """`deep`: how many words are divided before the rest is left open."""
    chances: Counter[Hashable] = Counter()
    left = Fraction(0)
    choice = random.Random(0)

    def divide(before: tuple[int, ...], share: Fraction) -> None:
        nonlocal left
        for word, count in intervals(lambda word: _does(sampler, (*before, word)), choice, spots):
            part = share * count / WORD
            try:
                chances[sampler(Given((*before, word)))] += part
            except More:
                if len(before) + 1 < deep and count > 1:
                    divide((*before, word), part)
                else:
                    left += part

    divide((), Fraction(1))
    return Law({outcome: Fraction(chance) for outcome, chance in chances.items()}, left)


def _does(sampler: Sampler, words: tuple[int, ...]) -> tuple[bool, Hashable]:
    """Its outcome if these words decide it; else what comes of several that may follow."""
    try:
        return True, sampler(Given(words))
    except More:
        return False, tuple(_then(sampler, (*words, *[following] * 6)) for following in _FOLLOWING)


def _then(sampler: Sampler, words: tuple[int, ...]) -> Hashable:
    given = Given(words)
    try:
        return sampler(given), given.used
    except More:
        return None


def intervals(does: Callable[[int], Hashable], choice: random.Random, spots: int) -> Iterator[tuple[int, int]]:
    """All words, as intervals of one doing each: a word of each, and how many there are."""
    found: list[tuple[int, int, Hashable]] = []  # first, behind the last, what is done there
    step = WORD // _GRID
    todo = [(at, at + step - 1, does(at), does(at + step - 1)) for at in reversed(range(0, WORD, step))]
    while todo:
        low, high, first, last = todo.pop()
        if first != last and high - low > 1:
            middle = (low + high) // 2
            there = does(middle)
            todo += [(middle, high, there, last), (low, middle, first, there)]
            continue
        ends = [(low, high + 1, first)] if first == last else [(low, high, first), (high, high + 1, last)]
        for start, stop, done in ends:
            start = max(start, found[-1][1] if found else 0)
            if start >= stop:
                continue
            if found and found[-1][2] == done:
                found[-1] = (found[-1][0], stop, done)
            else:
                found.append((start, stop, done))
    assert found[0][0] == 0 and found[-1][1] == WORD
    for _ in range(spots):
        word = choice.randrange(WORD)
        assert next(done for _, stop, done in found if word < stop) == does(word), "not of one piece"
    for start, stop, _ in found:
        yield (start + stop - 1) // 2, stop - start


def strata(sampler: Sampler, rare: Fraction) -> list[tuple[int, Fraction]]:
    """For a sampler of one word: a word for each outcome that is likelier than `rare`, and its probability."""
    found = intervals(lambda word: _does(sampler, (word,)), random.Random(0), 40)
    decided = ((word, Fraction(count, WORD)) for word, count in found if _does(sampler, (word,))[0])
    return [(word, share) for word, share in decided if share > rare]


def law_of_several(sampler: Sampler, one: Sampler, places: int, rare: Fraction) -> Law:
    """The law of a sampler that reads `places` words, each of which counts by what `one` makes of it alone."""
    words = strata(one, rare)
    chances: dict[Hashable, Fraction] = {}
    for chosen in product(words, repeat=places):
        outcome = sampler(Given([word for word, _ in chosen]))
        share = Fraction(1)
        for _, part in chosen:
            share *= part
        chances[outcome] = chances.get(outcome, Fraction(0)) + share
    return Law(chances, 1 - sum(chances.values(), Fraction(0)))
