"""How many words a sampler reads says nothing of the numbers that it hides: with the same words, it reads as many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from privql.kernel.selection import Count, Keep
from privql.noise.entropy import Words
from privql.noise.minimum import noisy_minimum
from privql.noise.picks import picked
from privql.noise.selection import counted, kept

KEEP, COUNT = Keep(Fraction(1), Fraction(1, 1000)), Count(Fraction(1), Fraction(1, 1000))
Draw = Callable[[Sequence[int], Callable[[int], Words]], object]
DRAWS: dict[str, Draw] = {
    "groups that are kept": lambda units, source: kept(units, KEEP, source=source),
    "groups with their numbers": lambda units, source: counted(units, COUNT, source=source),
    "a level of bounds": lambda scores, source: noisy_minimum(scores, Fraction(7, 2), source=source),
    "the greatest of noisy counts": lambda counts, source: picked(
        counts, 1, "NOISY_MAX", Fraction(1, 3), source=source
    ),
    "a noisy histogram": lambda counts, source: picked(counts, 3, "HISTOGRAM", Fraction(1, 3), source=source),
}
HIDDEN = [[0] * 50, [1] * 50, list(range(50)), [10**9] * 50, [0] * 49 + [10**6], [5, 6] * 25]


def read(draw: Draw, hidden: Sequence[int], seed: int) -> list[int]:
    """How many words were asked for, each time."""
    generator, asked = np.random.default_rng(seed), []

    def source(count: int) -> Words:
        asked.append(count)
        return generator.integers(0, 2**64, count, dtype=np.uint64)

    draw(hidden, source)
    return asked


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_read_of_the_source_does_not_depend_on_what_is_hidden(name: str) -> None:
    for seed in range(40):
        assert len({tuple(read(DRAWS[name], hidden, seed)) for hidden in HIDDEN}) == 1


def test_planted_a_coin_that_is_only_thrown_where_it_matters_is_seen() -> None:
    def lazy(units: Sequence[int], source: Callable[[int], Words]) -> object:
        return kept([count for count in units if count], KEEP, source=source)

    assert len({tuple(read(lazy, hidden, 1)) for hidden in HIDDEN}) > 1
