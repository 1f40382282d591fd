"""Coins of a selection: thrown by chosen words they fall as the table says, and by real ones as often."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import privql.noise.selection as noise
from privql.kernel.selection import Count, Keep, keep_table
from privql.noise.selection import counted, kept
from tests.assurance import assured, length
from tests.noise.law import TOP_WORD, Script

DRAWS = length(400_000, 4_000_000)
ALARM = 1e-9
LAWS = [
    Keep(Fraction(1), Fraction(1, 100)),
    Keep(Fraction(1, 3), Fraction(1, 10**6)),
    Keep(Fraction(2), Fraction(1, 10**30)),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_coin_is_its_bits_below_its_probability(law: Keep) -> None:
    """Around every threshold: the words just below it are kept and it is not, whichever word tells them apart."""
    bits, chances = keep_table(law)
    words = bits // 64

    def coin(units: int, value: int) -> bool:
        written = [value >> 64 * place & TOP_WORD for place in reversed(range(words))]
        script = Script(written if value >> 64 * (words - 1) == chances[units] >> 64 * (words - 1) else written[:1])
        found = kept([units], law, source=script)
        assert script.used == len(script.words)
        return found[0]

    for units, chance in enumerate(chances):
        near = {0, chance - 2**64, chance - 1, chance, chance + 1, chance + 2**64, chance + 2**65, 2**bits - 1}
        for value in near & set(range(2)) | {v for v in near if 0 <= v < 2**bits}:
            assert coin(units, value) is (value < chance)
    assert kept([len(chances), len(chances) + 5, 10**12], law, source=Script([TOP_WORD] * 3)) == [True] * 3


def test_each_group_has_a_coin_of_its_own() -> None:
    law = LAWS[0]
    bits, chances = keep_table(law)
    half = next(n for n, chance in enumerate(chances) if chance >= 1 << bits - 1)
    words = [0, TOP_WORD] * 4
    assert kept([half] * 8, law, source=Script(words)) == [True, False] * 4
    assert kept([], law) == []


@pytest.mark.parametrize("law", LAWS[:2], ids=str)
def test_coins_fall_as_often_as_they_should(law: Keep) -> None:
    with assured("samplers") as tally:
        tally["tried"] += 4 * DRAWS
        bits, chances = keep_table(law)
        for units in (1, law.even // 2, law.even, law.certain - 1):
            heads = int(np.sum(kept([units] * DRAWS, law)))
            share = chances[units] / 2**bits
            assert stats.binomtest(heads, DRAWS, share).pvalue > ALARM, units
        assert not any(kept([0] * DRAWS, law))
        assert all(kept([law.certain] * 1000, law))


def test_a_group_of_one_is_kept_no_more_often_than_delta() -> None:
    law = Keep(Fraction(1), Fraction(1, 1000))
    heads = int(np.sum(kept([1] * DRAWS, law)))
    assert stats.binomtest(heads, DRAWS, 1 / 1000, alternative="greater").pvalue > ALARM


def test_a_number_of_units_is_not_negative() -> None:
    with pytest.raises(ValueError, match="not negative"):
        kept([3, -1], LAWS[0])
    with pytest.raises(ValueError, match="not negative"):
        counted([3, -1], COUNTS[0])


COUNTS = [
    Count(Fraction(1), Fraction(1, 100)),
    Count(Fraction(1, 3), Fraction(1, 10**6)),
    Count(Fraction(4), Fraction(1, 2)),
]


@pytest.mark.parametrize("law", COUNTS, ids=str)
def test_numbers_are_shown_as_often_as_they_should(law: Count) -> None:
    """Each outcome of a group that is likely, as likely as not, and unlikely to be shown; against the truncated law."""
    with assured("samplers") as tally:
        tally["tried"] += DRAWS // 2
        q = math.exp(-law.epsilon)
        weights = {x: q ** abs(x) for x in range(-law.reach, law.reach + 1)}
        whole, draws = sum(weights.values()), DRAWS // 10
        for units in (1, law.even - 1, law.even, law.certain, 10**12):
            found = Counter(counted([units] * draws, law))
            chances: dict[int | None, float] = {}
            for x, weight in weights.items():
                shown = units + x if units + x > law.reach else None
                chances[shown] = chances.get(shown, 0.0) + weight / whole
            assert found.keys() <= chances.keys()
            for shown, chance in chances.items():
                assert stats.binomtest(found[shown], draws, min(chance, 1.0)).pvalue > ALARM, (units, shown)


def test_noise_beyond_the_reach_is_drawn_again_for_its_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    law, asked = Count(Fraction(1), Fraction(1, 100)), []
    drawn = iter([[law.reach + 1, 2, -law.reach - 7, law.reach], [-law.reach, 10**30], [1]])

    def draw(scale: Fraction, size: int, **_: object) -> np.ndarray:
        asked.append((scale, size))
        return np.array(next(drawn), dtype=object)

    monkeypatch.setattr(noise, "discrete_laplace", draw)
    assert counted([100, 200, 300, 1], law) == [100 - law.reach, 202, 301, 1 + law.reach]
    assert asked == [(1, 4), (1, 2), (1, 1)]


def test_nobody_is_in_no_group_and_one_person_in_as_few_as_delta_says() -> None:
    law = Count(Fraction(1), Fraction(1, 1000))
    assert counted([0] * 10_000, law) == [None] * 10_000 and counted([], law) == []
    found = [number for number in counted([1] * DRAWS, law) if number is not None]
    assert set(found) == {law.reach + 1}
    assert stats.binomtest(len(found), DRAWS, 1 / 1000, alternative="greater").pvalue > ALARM
