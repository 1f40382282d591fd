"""How far behind a chosen value may be: the promise is kept, by the exact laws, and not for much more than it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from privql.check.relations import Choice
from privql.kernel.picks import Way
from privql.kernel.zcdp import greatest_rho
from privql.noise.picks import picked
from privql.plan.behind import exponent_within, short
from tests.kernel.picks_law import law

COUNTS = [(9, 0), (9, 2, 2), (6, 5, 0, 0), (7, 7, 1, 0), (12, 6, 5), (20, 14, 14, 14)]
SURE = [Fraction(1, 2), Fraction(4, 5), Fraction(19, 20)]


def behind(counts: Sequence[int], chosen: Sequence[int]) -> int:
    """By how many rows any that was chosen falls short of any that is left then."""
    left, most = list(range(len(counts))), 0
    for at in chosen:
        left.remove(at)
        most = max(most, max((counts[other] for other in left), default=0) - counts[at])
    return most


def miss(choice: Choice, counts: tuple[int, ...], exponent: Fraction, rows: int) -> float:
    assert choice.way is not None
    q = Fraction(math.exp(-exponent)).limit_denominator(10**4)
    chances = law(counts, choice.count, choice.way, q)
    return float(sum((chance for chosen, chance in chances.items() if behind(counts, chosen) > rows), Fraction(0)))


@pytest.mark.parametrize("way", ["FLIP", "EXPONENTIAL", "GUMBEL"])
@pytest.mark.parametrize("picks", [1, 2])
def test_what_is_promised_is_kept(way: Way, picks: int) -> None:
    worst = 0.0
    for counts in COUNTS:
        choice = Choice(counts, picks, way)
        for confidence in SURE:
            for rows in (0, 1, 5):
                found = miss(choice, counts, exponent_within(choice, rows, confidence), rows)
                assert found <= 1 - confidence + 1e-3
                worst = max(worst, found / float(1 - confidence))
    assert worst > (0.4 if picks == 1 else 0.15)


@pytest.mark.parametrize("way", ["NOISY_MAX", "HISTOGRAM"])
@pytest.mark.parametrize("picks", [1, 2])
def test_of_noise_too(way: Way, picks: int) -> None:
    """By draws."""
    worst = 0.0
    for counts in COUNTS:
        choice = Choice(counts, picks, way)
        exponent = exponent_within(choice, 4, Fraction(4, 5))
        found = sum(behind(counts, picked(counts, picks, way, exponent)) > 4 for _ in range(1600))
        assert found < 1600 * 0.2 + 6 * math.sqrt(1600 * 0.16)
        worst = max(worst, found / 320)
    assert worst > 0.05  # 0.15 or more, seen by so many draws


@pytest.mark.parametrize("way", ["NOISY_MAX", "HISTOGRAM"])
def test_of_two_values_it_is_what_two_noises_may_differ_by(way: Way) -> None:
    """No chances are summed up then, so none are given away."""
    for rows in (0, 1, 4, 30):
        for sure in (Fraction(4, 5), Fraction(19, 20), Fraction(99, 100)):
            exponent = exponent_within(Choice(("x", "y"), 1, way), rows, sure)
            assert exponent == Fraction(f"{float(exponent):.3e}")
            assert differ(float(exponent), rows + 1) <= 1 - sure < differ(float(exponent) * 0.998, rows + 1)


@pytest.mark.parametrize("way", get_args(Way))
def test_of_more_values_the_chances_of_two_add_up(way: Way) -> None:
    """Each that is chosen may be behind each other one; of counts that are noisy once, each pair errs but once."""
    two, miss = Choice(("x", "y"), 1, way), Fraction(1, 10**4)
    for every, picks in ((2, 2), (5, 1), (5, 3), (9, 2)):
        pairs = every * (every - 1) // 2 if way == "HISTOGRAM" else picks * (every - 1)
        found = exponent_within(Choice(tuple(range(every)), picks, way), 3, 1 - pairs * miss)
        assert found == exponent_within(two, 3, 1 - miss)


def differ(exponent: float, least: int) -> float:
    """The probability that of two values as frequent, one comes out so far ahead of the other."""
    q, far = math.exp(-exponent), math.ceil(40 / exponent)
    law = (1 - q) / (1 + q) * q ** np.abs(np.arange(-far, far + 1))
    return float(np.convolve(law, law)[2 * far + least :].sum())


def test_what_the_manual_says_of_gumbel_noise() -> None:
    """k of 121 values, at ε = 1 and δ = 1e-6, of units that have twenty of them."""
    rho, told = greatest_rho(Fraction(1), Fraction("1e-6")), (Path(__file__).parents[2] / "docs/language/aggregates.md")
    exponents: dict[Way, Callable[[int], Fraction]] = {
        "GUMBEL": lambda picks: Fraction(math.sqrt(8 * rho / picks)),
        "FLIP": lambda picks: Fraction(1, picks),
        "HISTOGRAM": lambda _: Fraction(1, 20),
    }
    for way, exponent in exponents.items():
        choices = [Choice(tuple(range(121)), picks, way) for picks in (5, 7, 10, 20, 50)]
        rows = [short(choice, exponent(choice.count), Fraction(19, 20)) for choice in choices]
        name = "PERMUTE_AND_FLIP" if way == "FLIP" else way
        assert f"| `{name}` | {' | '.join(map(str, rows))} |\n" in told.read_text("utf-8")


@pytest.mark.parametrize("way", ["FLIP", "NOISY_MAX", "EXPONENTIAL", "HISTOGRAM"])
def test_the_two_directions_agree(way: Way) -> None:
    choice = Choice(tuple(range(50)), 3, way)
    for rows in (1, 2, 20, 64, 999):
        exponent = exponent_within(choice, rows, Fraction(19, 20))
        assert short(choice, exponent, Fraction(19, 20)) == rows
        assert short(choice, exponent * Fraction(997, 1000), Fraction(19, 20)) > rows or rows < 20


def test_where_there_is_no_choice_some_exponent_is_taken_all_the_same() -> None:
    for way in get_args(Way):
        choice = Choice(("x",), 1, way)
        exponent = exponent_within(choice, 10, Fraction(19, 20))
        assert Fraction(1, 10**6) <= exponent < Fraction(1, 1000) and short(choice, exponent, Fraction(19, 20)) == 0
