"""Permute-and-flip: coins settled by chosen bits, its law against the textbook's, and by frequencies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privql.kernel.enclosure import exp_minus
from privql.kernel.picks import Way
from privql.noise.flip import permute_and_flip
from privql.noise.picks import picked
from tests.assurance import assured, length
from tests.kernel.picks_law import law
from tests.noise.law import TOP_WORD, Script

DRAWS = length(15_000, 10**6)
ALARM = 1e-9


@pytest.mark.parametrize(("gap", "exponent"), [(1, "1/3"), (1, "1"), (7, "1/1000"), (3, "5"), (1, "41"), (9, "5")])
def test_a_coin_is_heads_exactly_below_its_chance(gap: int, exponent: str) -> None:
    """Of two candidates; where both are heads, the last word takes the first or the second."""
    s = Fraction(exponent)
    low, high = exp_minus(s * gap, 128)
    floor = high >> 64
    assert low >> 64 == floor

    def second(*words: int) -> bool:
        return permute_and_flip([gap, 0], s, source=Script([0, *words])) == 1

    assert not second(floor + 1) and not second(TOP_WORD)
    if floor:
        assert second(floor - 1, TOP_WORD) and not second(floor - 1, 0)
        assert second(0, TOP_WORD)
    assert second(floor, 0, TOP_WORD) and not second(floor, TOP_WORD)  # a tie of 64 bits draws on
    inside = low & TOP_WORD
    assert second(floor, inside - 2, TOP_WORD) and not second(floor, inside + 6)


def test_the_best_is_always_heads_and_one_far_behind_never() -> None:
    assert permute_and_flip([10**18, 0], Fraction(1), source=Script([TOP_WORD, TOP_WORD])) == 0
    assert permute_and_flip([0], Fraction(1), source=Script([TOP_WORD])) == 0
    assert {permute_and_flip([0, 2**62, 2**62 - 1], Fraction(1000)) for _ in range(20)} == {1}
    assert permute_and_flip([9, 0], Fraction(1, 2**80), source=Script([5, 5, TOP_WORD])) == 1  # gaps that nobody has
    equal = Counter(permute_and_flip([4, 4, 4], Fraction(1)) for _ in range(3000))
    assert min(equal.values()) > 800


def test_many_candidates_are_flipped_as_each_would_be() -> None:
    """What is settled for all at once, and one by one: the same words give the same choice."""
    random = np.random.default_rng(5)
    for s in (Fraction(1, 50), Fraction(1, 3), Fraction(3)):
        scores = random.integers(0, 200, 300).tolist()
        words = random.integers(0, 2**63, 300, dtype=np.uint64) >> random.integers(0, 9, 300).astype(np.uint64)
        chances = [exp_minus(s * (max(scores) - score), 64)[0] for score in scores]
        heads = [at for at, score in enumerate(scores) if score == max(scores) or int(words[at]) < chances[at]]
        assert permute_and_flip(scores, s, source=Script([*words.tolist(), 0])) == heads[0]


WAYS: list[Way] = ["FLIP", "NOISY_MAX", "EXPONENTIAL"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("scores", "picks", "q"),
    [([3, 1, 2, 2], 1, "1/2"), ([0, 0, 1], 2, "3/4"), ([9, 5], 1, "9/10"), ([1, 3, 2], 3, "1/3")],
)
def test_outcomes_are_as_frequent_as_their_law(way: Way, scores: Sequence[int], picks: int, q: str) -> None:
    with assured("samplers") as tally:
        tally["tried"] += DRAWS if (way, picks) == ("FLIP", 1) else DRAWS // 10
        exponent = Fraction(-math.log(Fraction(q))).limit_denominator(10**9)
        chances = {chosen: float(chance) for chosen, chance in law(tuple(scores), picks, way, Fraction(q)).items()}
        draws = DRAWS if (way, picks) == ("FLIP", 1) else DRAWS // 10
        seen = Counter(tuple(picked(scores, picks, way, exponent)) for _ in range(draws))
        assert seen.keys() <= chances.keys() and math.isclose(sum(chances.values()), 1)
        likely = [chosen for chosen, chance in chances.items() if chance * draws > 8]
        rest = 1 - sum(chances[chosen] for chosen in likely)
        found, wanted = [seen[chosen] for chosen in likely], [chances[chosen] * draws for chosen in likely]
        if rest * draws > 8:
            found, wanted = [*found, draws - sum(found)], [*wanted, rest * draws]
        assert stats.chisquare(found, np.array(wanted) / sum(wanted) * sum(found)).pvalue > ALARM


def test_a_histogram_is_noisy_once_and_then_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    from privql.noise import picks

    asked: list[tuple[Fraction, int]] = []

    def given(scale: Fraction, size: int, **_: object) -> object:
        asked.append((scale, size))
        return np.array([0, 3, -1, 0])

    monkeypatch.setattr(picks, "discrete_laplace", given)
    assert picked([5, 3, 9, 6], 3, "HISTOGRAM", Fraction(1, 7)) == [2, 1, 3]  # of 5, 6, 8 and 6
    assert asked == [(Fraction(7), 4)]
    with pytest.raises(ValueError, match="once"):
        picks._one([1, 2], "HISTOGRAM", Fraction(1), given)


def test_the_error_grows_with_how_many_are_chosen_and_less_where_counts_are_noisy_once() -> None:
    counts, epsilon = [40 - 4 * at for at in range(10)], Fraction(1)

    def short(way: Way, picks: int) -> float:
        exponent = epsilon / (1 if way == "HISTOGRAM" else picks)
        best = sum(sorted(counts)[-picks:])
        return sum(best - sum(counts[at] for at in picked(counts, picks, way, exponent)) for _ in range(300)) / 300

    for way in WAYS:
        assert short(way, 1) < short(way, 3) < short(way, 6)
    assert short("HISTOGRAM", 6) < short("FLIP", 6)


@pytest.mark.parametrize(("counts", "picks"), [([], 1), ([1, 2], 0), ([1, 2], 3)])
def test_what_cannot_be_chosen_is_refused(counts: list[int], picks: int) -> None:
    with pytest.raises(ValueError, match="candidates"):
        picked(counts, picks, "FLIP", Fraction(1))
    with pytest.raises(ValueError, match="one of several"):
        permute_and_flip(counts, Fraction(0))
    with pytest.raises(ValueError, match="one of several"):
        permute_and_flip([], Fraction(1))
