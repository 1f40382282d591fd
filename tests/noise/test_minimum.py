"""The noisy minimum: by chosen noise it takes the one that it should, and by real noise as often as its law says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from privql.noise import minimum
from privql.noise.minimum import noisy_minimum
from tests.noise.minimum_law import noisy_minimum_law

DRAWS = 12_000
ALARM = 1e-9


@pytest.mark.parametrize(
    ("scores", "drawn", "wanted"),
    [
        ([5, 3, 4], [0, 0, 0], 1),
        ([5, 3, 4], [3, 0, 0], 0),  # 2 is below 3
        ([5, 3, 4], [2, 0, 0], 0),  # the first of equals
        ([5, 3, 4], [1, 0, 1], 1),
        ([5, 3, 4], [-1, -1, -1], 1),  # -1-X is 0: noise never raises a score
        ([5, 3, 4], [-4, 0, 0], 0),
        ([0, 10**30], [0, 0], 0),
        ([7], [0], 0),
    ],
)
def test_the_least_after_noise_is_taken(
    scores: list[int], drawn: list[int], wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(scale: Fraction, size: int, **_: Any) -> Any:
        assert (scale, size) == (Fraction(3), len(scores))
        return np.array(drawn, dtype=np.int64)

    monkeypatch.setattr(minimum, "discrete_laplace", given)
    assert noisy_minimum(scores, Fraction(3)) == wanted


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([3, 1, 2, 2], Fraction(1)),
        ([0, 0, 0], Fraction(1, 2)),
        ([20, 11, 9, 12, 30], Fraction(40)),
        ([0, 5], Fraction(3)),
    ],
)
def test_outcomes_are_as_frequent_as_their_law(scores: Sequence[int], scale: Fraction) -> None:
    law = noisy_minimum_law(scores, math.exp(-1 / float(scale)))
    assert math.isclose(sum(law), 1)
    seen = Counter(noisy_minimum(scores, scale) for _ in range(DRAWS))
    likely = [at for at, chance in enumerate(law) if chance * DRAWS > 8]
    rest = 1 - sum(law[at] for at in likely)
    found = [seen[at] for at in likely]
    wanted = [law[at] * DRAWS for at in likely]
    if rest * DRAWS > 8:
        found, wanted = [*found, DRAWS - sum(found)], [*wanted, rest * DRAWS]
    total = sum(found)
    assert stats.chisquare(found, np.array(wanted) / sum(wanted) * total).pvalue > ALARM
    assert DRAWS - total <= 60


def test_there_is_no_least_of_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        noisy_minimum([], Fraction(1))
