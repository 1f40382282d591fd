"""Keep or leave out: coins whose probabilities are those of a selection's table, thrown exactly.

A probability is a whole number of 2^-bits, so a coin is `bits` uniform bits below it. All groups take one word each;
only where that equals the probability's own first word are further words drawn.

Where groups are shown with their numbers of units, these have discrete Laplace noise, drawn again where it is beyond
the law's reach: what is left has the law of that noise given that it is within, exactly.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from privql.kernel.selection import Count, Keep, keep_table
from privql.noise.entropy import Words, WordSource, system_words
from privql.noise.laplace import discrete_laplace

_WORD = 64


def kept(units: Sequence[int], keep: Keep, *, source: WordSource = system_words) -> list[bool]:
    """For groups of so many units each, independently, whether they are kept."""
    if any(count < 0 for count in units):
        raise ValueError("a number of units is not negative")
    bits, chances = keep_table(keep)
    starts, first = source(len(units)), _first_words(keep)
    places = np.minimum(np.array(units, dtype=np.int64), len(chances))
    certain = places == len(chances)
    thresholds = first[np.minimum(places, len(chances) - 1)]
    heads = (starts < thresholds) | certain
    for at in np.flatnonzero((starts == thresholds) & ~certain):
        heads[at] = _below(chances[places[at]], int(starts[at]), bits, source)
    return [bool(one) for one in heads]


def counted(units: Sequence[int], law: Count, *, source: WordSource = system_words) -> list[int | None]:
    """For groups of so many units each, independently, a noisy number of them; None where the group is not shown."""
    if any(count < 0 for count in units):
        raise ValueError("a number of units is not negative")
    noise = np.zeros(len(units), dtype=np.object_)
    waiting = np.arange(len(units))
    while waiting.size:
        noise[waiting] = drawn = discrete_laplace(law.scale, waiting.size, source=source)
        waiting = waiting[np.abs(drawn) > law.reach]
    noisy = (count + int(moved) for count, moved in zip(units, noise, strict=True))
    return [number if number > law.reach else None for number in noisy]


def _below(chance: int, start: int, bits: int, source: WordSource) -> bool:
    value = start
    for word in source(bits // _WORD - 1):
        value = value << _WORD | int(word)
    return value < chance


@lru_cache(maxsize=16)
def _first_words(keep: Keep) -> Words:
    bits, chances = keep_table(keep)
    return np.array([chance >> bits - _WORD for chance in chances], dtype=np.uint64)
