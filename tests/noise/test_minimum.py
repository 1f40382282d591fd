"""The noisy minimum: by chosen noise it takes the one that it should. Its law: `tests/mechanisms`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privql.noise import minimum
from privql.noise.minimum import noisy_minimum


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


def test_there_is_no_least_of_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        noisy_minimum([], Fraction(1))
