"""What WITHIN costs of means, variances and covariances: never too little, hardly more than the worst data need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from privql.kernel.ratios import epsilon_of_covariance, epsilon_of_mean, epsilon_of_variance

TRIALS = 40_000
Floats = NDArray[np.float64]


def noise(scale: float, cells: int, seed: int) -> Floats:
    """Discrete Laplace: the difference of two geometric draws."""
    random = np.random.default_rng(seed)
    left, right = (random.geometric(-np.expm1(-1 / scale), (cells, TRIALS)) for _ in range(2))
    return (left - right).astype(float)


def mean_missed(rows: int, whole: int, error: float, scale: float) -> float:
    """Of the worst data: how often the mean is farther off than wished, or NULL."""
    of = noise(scale, 2, 1)
    worst = 0.0
    for share in {0.0, error / 2, min(error, 1.0), min(1.5 * error, 1.0), 0.3, 0.5, 1.0}:
        first, second = share * rows * whole + of[0], (1 - share) * rows * whole + of[1]
        answer = np.clip(first / np.where(first + second == 0, 1, first + second), 0, 1)
        missed = (np.abs(answer - share) > error * (1 + 1e-12)) | (first + second < whole)
        worst = max(worst, float(missed.mean()))
    return worst


def pairs() -> Iterator[tuple[float, float]]:
    """Means and variances of values between 0 and 1."""
    for mean in (0.0, 0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 0.97):
        for part in (0.0, 0.5, 1.0):
            yield mean, part * mean * (1 - mean)


def variance_missed(rows: int, whole: int, error: float, scale: float, samples: bool) -> float:
    of = noise(scale, 3, 2)
    worst = 0.0
    near = min(error, 0.25)
    for mean, spread in [*pairs(), (near, near * (1 - near)), (1.3 * near, 1.02 * near)]:
        square = spread + mean**2
        shares = (1 - 2 * mean + square, 2 * (mean - square), square)
        cells = [share * rows * whole + one for share, one in zip(shares, of, strict=True)]
        weight = sum(cells)
        some = np.where(weight == 0, 1, weight)
        answer = np.clip(cells[2] / some - ((cells[1] + 2 * cells[2]) / (2 * some)) ** 2, 0, 0.25)
        worst = max(worst, missed(answer, spread, weight, rows, whole, error, samples))
    return worst


def covariance_missed(rows: int, whole: int, error: float, scale: float, samples: bool) -> float:
    of = noise(scale, 4, 3)
    worst = 0.0
    for one, other, part in [(0, 0, 0), (0, 1, 0), (0.03, 0.03, 1), (0.2, 0.2, -1), (0.5, 0.5, 1), (0.1, 0.95, -1)]:
        most = min(one * (1 - other), other * (1 - one)) if part > 0 else min(one * other, (1 - one) * (1 - other))
        both = part * most
        corner = both + one * other
        shares = (1 - one - other + corner, other - corner, one - corner, corner)
        cells = [share * rows * whole + each for share, each in zip(shares, of, strict=True)]
        weight = sum(cells)
        some = np.where(weight == 0, 1, weight)
        first, second = (cells[2] + cells[3]) / some, (cells[1] + cells[3]) / some
        answer = np.clip(cells[3] / some - first * second, -0.25, 0.25)
        worst = max(worst, missed(answer, both, weight, rows, whole, error, samples))
    return worst


def missed(answer: Floats, true: float, weight: Floats, rows: int, whole: int, error: float, samples: bool) -> float:
    some = np.where(weight < 2 * whole, 2 * whole, weight)
    if samples:
        answer, true = answer * some / (some - whole), true * rows / (rows - 1)
    return float(((np.abs(answer - true) > error * (1 + 1e-12)) | (weight < (1 + samples) * whole)).mean())


Missed = Callable[[int, int, float, float], float]
KINDS: dict[str, tuple[Callable[..., Fraction], Missed, float]] = {  # the last: how much less noise would do at most
    "mean": (epsilon_of_mean, mean_missed, 1.12),
    "var_pop": (partial(epsilon_of_variance, samples=False), partial(variance_missed, samples=False), 1.2),
    "var_samp": (partial(epsilon_of_variance, samples=True), partial(variance_missed, samples=True), 1.2),
    "covar_pop": (partial(epsilon_of_covariance, samples=False), partial(covariance_missed, samples=False), 1.35),
    "covar_samp": (partial(epsilon_of_covariance, samples=True), partial(covariance_missed, samples=True), 1.35),
}
WISHES = [  # the range in steps, the error as a share of it, rows, confidence in per cent
    (120, Fraction(1, 60), 1000, 95),
    (1, Fraction(1, 50), 1000, 95),
    (20_000, Fraction(1, 400), 2000, 90),
    (40, Fraction(1, 30), 300, 99),
]
WIDE = [
    (7, Fraction(1, 20), 60, 80),
    (1, Fraction(1, 8), 12, 95),
    (3, Fraction(1, 3), 10, 60),
    (1, Fraction(1, 100), 10, 90),
    (2, Fraction(3), 20, 75),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wish", WISHES + WIDE)
def test_the_promise_holds_for_the_worst_data(kind: str, wish: tuple[int, Fraction, int, int]) -> None:
    epsilon_of, missed_of, most = KINDS[kind]
    reach, error, rows, percent = wish
    whole = reach if kind == "mean" else reach**2
    epsilon = epsilon_of(3 * whole, whole, error, rows, Fraction(percent, 100))
    share, far = float(error), 1 - percent / 100
    rough = 3 * (far * (1 - far) / TRIALS) ** 0.5
    for many in (rows, 3 * rows):
        assert missed_of(many, whole, share, 3 * whole / float(epsilon)) <= far + rough
    if wish in WISHES:
        assert missed_of(rows, whole, share, most * 3 * whole / float(epsilon)) > far - rough


def test_more_is_never_less() -> None:
    """A greater error, more rows and a smaller confidence cost no more; the price is of four digits."""
    for epsilon_of, _, _ in KINDS.values():
        base = epsilon_of(100, 100, Fraction(1, 40), 500, Fraction(95, 100))
        assert epsilon_of(100, 100, Fraction(1, 39), 500, Fraction(95, 100)) <= base
        assert epsilon_of(100, 100, Fraction(1, 40), 501, Fraction(95, 100)) <= base
        assert epsilon_of(100, 100, Fraction(1, 40), 500, Fraction(94, 100)) <= base
        assert epsilon_of(200, 100, Fraction(1, 40), 500, Fraction(95, 100)) > base
        assert float(f"{float(base):.3e}") == float(base)
