"""The exponential mechanism's draws: by chosen bits they are those of the law. Real ones: `tests/mechanisms`."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from privql.noise.entropy import Words
from privql.noise.exponential import exponential
from tests.noise.law import EXACT, TOP_WORD, Script, decimal, scaled_floor

Runs = list[tuple[int, int]]
CASES: list[tuple[Runs, Fraction]] = [
    ([(3, 0), (1, 2), (2, 1)], Fraction(1)),
    ([(1, 4), (5, 4)], Fraction(1, 3)),
    ([(100, 7), (1, 0), (50, 3), (2, 1)], Fraction(7, 10)),
    ([(4, 3000), (1, 1025), (4, 1024)], Fraction(1, 500)),
]


def shares(runs: Runs, exponent: Fraction) -> list[Decimal]:
    """Of each run, the probability of all up to it."""
    weights = [EXACT.multiply(Decimal(n), EXACT.exp(-decimal(exponent * loss))) for n, loss in runs]
    added = list(accumulate(weights, EXACT.add))
    return [EXACT.divide(each, added[-1]) for each in added]


@pytest.mark.parametrize(("runs", "exponent"), CASES)
def test_chosen_bits_take_the_run_that_they_are_in(runs: Runs, exponent: Fraction) -> None:
    """On either side of every boundary, as near as 64 and as 128 bits come to it."""
    starts = [sum(n for n, _ in runs[:at]) for at in range(len(runs))]
    for at, share in enumerate(shares(runs, exponent)[:-1]):
        floor = scaled_floor(share, 128)
        for value in {floor - 1, floor + 1, floor - 2**70, floor + 2**70}:
            wanted = at if value < floor else at + 1
            words = [value >> 64, value & TOP_WORD, TOP_WORD >> 1, 5]
            bits = Script([*words, *[0] * 8])
            drawn = exponential(runs, exponent, source=bits)
            assert starts[wanted] <= drawn < starts[wanted] + runs[wanted][0]
            assert bits.used <= 3 + 1 and (bits.used > 1 or abs(value - floor) > 2**60)


def test_the_ends() -> None:
    runs = [(1, 5), (1, 0), (1, 5)]
    assert exponential(runs, Fraction(1), source=Script([0, 0, 0])) == 0
    assert exponential(runs, Fraction(1), source=Script([TOP_WORD] * 3)) == 2
    assert exponential([(1, 9)], Fraction(1), source=Script([123])) == 0


def test_a_run_is_uniform_and_too_large_bits_are_drawn_again() -> None:
    def drawn(*words: int) -> int:
        return exponential([(5, 0)], Fraction(1), source=Script([1, *words]))

    assert [drawn(value << 61) for value in range(5)] == [0, 1, 2, 3, 4]
    assert drawn(7 << 61, 5 << 61, 6 << 61, 2 << 61) == 2
    wide = 2**70

    def draw_wide(*words: int) -> int:
        return exponential([(wide, 0)], Fraction(1), source=Script([1, *words]))

    assert draw_wide(TOP_WORD, TOP_WORD) == wide - 1 and draw_wide(0, 0) == 0 and draw_wide(0, 1 << 58) == 1


def test_losses_far_beyond_any_float_and_runs_as_wide_as_any_domain() -> None:
    runs = [(2**62, 10**30), (1, 10**30 - 1), (2**62, 10**31)]
    assert {exponential(runs, Fraction(1000)) for _ in range(20)} == {2**62}
    sides = Counter(exponential([(2**62, 10**30), (2**62, 10**30)], Fraction(1000)) < 2**62 for _ in range(200))
    assert min(sides[True], sides[False]) > 40


def test_bits_come_from_the_source_alone() -> None:
    asked: list[int] = []

    def words(count: int) -> Words:
        asked.append(count)
        return np.full(count, 0x0123_4567_89AB_CDEF, dtype=np.uint64)

    exponential([(6, 1), (3, 0)], Fraction(1), source=words)
    assert asked == [1, 1]


@pytest.mark.parametrize(("runs", "exponent"), [([], 1), ([(0, 1)], 1), ([(1, 0)], 0), ([(1, 0)], -1)])
def test_what_is_no_law_is_refused(runs: Runs, exponent: int) -> None:
    with pytest.raises(ValueError, match="one integer at least"):
        exponential(runs, Fraction(exponent))
