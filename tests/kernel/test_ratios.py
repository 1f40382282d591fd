"""What WITHIN costs of means, variances and covariances: never too little, hardly more than the worst data need."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from privql.kernel import ratios
from privql.kernel.gaussian import pmf
from privql.kernel.ratios import Missed, epsilon_of, sigma_of

TRIALS = 40_000
Floats = NDArray[np.float64]


def noise(scale: float, cells: int, seed: int) -> Floats:
    """Discrete Laplace: the difference of two geometric draws. Of a scale below 0, a rounded Gaussian of that size."""
    random = np.random.default_rng(seed)
    if scale < 0:
        return np.rint(random.normal(0, -scale, (cells, TRIALS)))
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


Simulated = Callable[[int, int, float, float], float]
KINDS: dict[str, tuple[Callable[[int, Fraction, int], Missed], Simulated, float]] = {  # how much less noise would do
    "mean": (ratios.mean, mean_missed, 1.12),
    "var_pop": (partial(ratios.variance, samples=False), partial(variance_missed, samples=False), 1.2),
    "var_samp": (partial(ratios.variance, samples=True), partial(variance_missed, samples=True), 1.2),
    "covar_pop": (partial(ratios.covariance, samples=False), partial(covariance_missed, samples=False), 1.35),
    "covar_samp": (partial(ratios.covariance, samples=True), partial(covariance_missed, samples=True), 1.35),
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
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_promise_holds_for_the_worst_data(kind: str, wish: tuple[int, Fraction, int, int], law: str) -> None:
    of, missed_of, most = KINDS[kind]
    reach, error, rows, percent = wish
    whole = reach if kind == "mean" else reach**2
    missed, sure = of(whole, error, rows), Fraction(percent, 100)
    scale = (
        3 * whole / float(epsilon_of(missed, 3 * whole, sure)) if law == "laplace" else -float(sigma_of(missed, sure))
    )
    share, far = float(error), 1 - percent / 100
    rough = 3 * (far * (1 - far) / TRIALS) ** 0.5
    for many in (rows, 3 * rows):
        assert missed_of(many, whole, share, scale) <= far + rough
    if wish in WISHES:
        assert missed_of(rows, whole, share, most * scale) > far - rough


@pytest.mark.parametrize("kind", KINDS)
def test_more_is_never_less(kind: str) -> None:
    """A greater error, more rows and a smaller confidence cost no more; the price is of four digits."""
    of, _, _ = KINDS[kind]

    def epsilon(sensitivity: int, error: Fraction, rows: int, percent: int) -> Fraction:
        return epsilon_of(of(100, error, rows), sensitivity, Fraction(percent, 100))

    def sigma(error: Fraction, rows: int, percent: int) -> Fraction:
        return sigma_of(of(100, error, rows), Fraction(percent, 100))

    base = epsilon(100, Fraction(1, 40), 500, 95)
    assert epsilon(100, Fraction(1, 39), 500, 95) <= base
    assert epsilon(100, Fraction(1, 40), 501, 95) <= base
    assert epsilon(100, Fraction(1, 40), 500, 94) <= base
    assert epsilon(200, Fraction(1, 40), 500, 95) > base
    assert float(f"{float(base):.3e}") == float(base)
    most = sigma(Fraction(1, 40), 500, 95)
    assert sigma(Fraction(1, 39), 500, 95) > most
    assert sigma(Fraction(1, 40), 501, 95) > most
    assert sigma(Fraction(1, 40), 500, 94) > most
    assert float(f"{float(most):.5e}") == float(most)


@pytest.mark.parametrize(
    ("kind", "farthest"), [("mean", 1), ("var_pop", Fraction(1, 4)), ("covar_pop", Fraction(1, 2))]
)
def test_no_answer_is_farther_off_than_the_range(kind: str, farthest: Fraction) -> None:
    of, _, _ = KINDS[kind]
    for rows, sure in ((10, Fraction(9, 10)), (40, Fraction(1, 2))):
        prices = [epsilon_of(of(3, farthest * part, rows), 3, sure) for part in (1, Fraction(11, 10), 2, 100)]
        assert len(set(prices)) == 1
        assert epsilon_of(of(3, farthest * Fraction(9, 10), rows), 3, sure) > prices[0]


# ---------------------------------------------------------------- weights, over all data that there can be


Reach = list[tuple[float, float]]  # the greatest weight, and all together


def asked(of: Callable[[ratios.Beyond], float]) -> Reach:
    """Of which weights the chances are asked, in turn."""
    found: Reach = []

    def beyond(wide: float, rest: float, cells: int, distance: float) -> float:
        found.append((wide, wide + rest))
        return 0.0

    of(beyond)
    return found


def reached(*weights: NDArray[np.float64]) -> tuple[float, float]:
    sizes = np.abs(np.stack(np.broadcast_arrays(*weights)))
    return float(sizes.max()), float(sizes.sum(axis=0).max())


@pytest.mark.parametrize("error", [0.01, 0.1, 0.24, 0.4])
def test_no_data_give_the_cells_of_a_covariance_more_weight(error: float) -> None:
    """And some give nearly as much."""
    grid = np.linspace(0, 1, 41)
    one, other, part = (each.ravel() for each in np.meshgrid(grid, grid, grid))
    least, most = -np.minimum(one * other, (1 - one) * (1 - other)), np.minimum(one * (1 - other), other * (1 - one))
    both = least + part * (most - least)
    cells = [(x - one) * (y - other) - both for x in (0, 1) for y in (0, 1)]
    found = asked(lambda beyond: ratios._covariance(1, error, 100, beyond))
    assert len(found) > 6
    for (mean, left), noise, means in zip(ratios._means(error), found[::2], found[1::2], strict=True):
        wide, whole = np.maximum(reached(*(c - left for c in cells)), reached(*(c + left for c in cells)))
        assert wide <= noise[0] + 1e-9 and whole <= noise[1] + 1e-9
        assert wide >= noise[0] - 0.01 and whole >= noise[1] - 0.26
        # of a mean, two cells of each value
        assert means == pytest.approx(reached(*(value - grid + mean for value in (0, 0, 1, 1))))


@pytest.mark.parametrize("error", [0.01, 0.1, 0.2, 0.24])
def test_no_data_give_the_cells_of_a_variance_more_weight(error: float) -> None:
    mean, part = (each.ravel() for each in np.meshgrid(np.linspace(0, 0.5, 101), np.linspace(0, 1, 101)))
    spread = part * mean * (1 - mean)
    cells = np.stack([mean**2 - spread, -(mean * (1 - mean) + spread), (1 - mean) ** 2 - spread])
    found = asked(lambda beyond: ratios._variance(1, error, 100, beyond))
    above = reached(*(cells - error))
    assert above == pytest.approx(found[0])
    large = cells[:, spread >= error]  # a variance that is not above the error is never too small by it
    assert np.less_equal(reached(*(large - error)), np.add(found[1], 1e-9)).all()
    rest = zip(ratios._means(error), found[2::3], found[3::3], found[4::3], strict=True)
    for (far, left), below, low, high in rest:
        assert np.less_equal(reached(*(large + left)), np.add(below, 1e-9)).all()
        for sides, bound in (((-far,), low), ((far,), high)):
            for side in sides:
                weights = [value - mean + side for value in (0, 0.5, 1)]
                assert np.less_equal(reached(*weights), np.add(bound, 1e-9)).all(), (far, side)


# ---------------------------------------------------------------- chances, over all weights of a size


GRID = 8  # parts of a weight
Noise = Literal["laplace", "gaussian"]


def reaches(noise: Noise, scale: float, weights: list[int], distance: float) -> float:
    """P[Σ weight·N / GRID >= distance], summed over all that each N may be."""
    reach = math.ceil((40 if noise == "laplace" else 9) * scale) + 3
    at = np.arange(-reach, reach + 1)
    if noise == "laplace":
        law = np.tanh(0.5 / scale) * np.exp(-np.abs(at) / scale)
    else:
        law = np.array([pmf(int(k), Fraction(scale)) for k in at])
    together = np.ones(1)
    for weight in map(abs, filter(None, weights)):
        spread = np.zeros(2 * reach * weight + 1)
        spread[::weight] = law
        together = np.convolve(together, spread)
    return float(together[len(together) // 2 + math.ceil(distance * GRID * (1 - 1e-12)) :].sum())


def bound(noise: Noise, scale: float, wide: float, whole: float, cells: int, distance: float) -> float:
    if noise == "laplace":
        return ratios._laplace(scale, wide, whole - wide, cells, distance)
    return ratios._gaussian(scale, 0.5, wide, whole - wide, cells, distance)


@pytest.mark.parametrize("scale", [0.1, 0.2, 0.4, 0.5, 1.0, 2.5, 3.0])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_no_weights_make_it_likelier_to_be_far_off(noise: Noise, scale: float) -> None:
    """What is just so far counts, too: no float can tell. Of one cell it is as likely as is said."""
    choice = random.Random(5)
    for cells in (1, 1, 2, 2, 3, 4) * 25:
        weights = [choice.choice((-2, -1, 1, 2)) * choice.randint(1, GRID) for _ in range(cells)]
        wide, whole = (of(map(abs, weights)) / GRID for of in (max, sum))
        distance = choice.choice((0.3, 0.5, 0.99, 1, 1.5, 2, 3, 4, 7.5)) * choice.choice((1, wide, whole))
        said, true = bound(noise, scale, wide, whole, cells, distance), reaches(noise, scale, weights, distance)
        assert true <= said * (1 + 1e-9) + 1e-12, (weights, distance)
        if cells == 1:
            assert said <= true * (1 + 1e-9) + 1e-12, (weights, distance)
        assert said <= bound(noise, scale, whole / 2, whole, cells, distance) or wide > whole / 2


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_of_two_cells_alike_not_much_more_is_said_than_is_so(noise: Noise) -> None:
    for weight in (2, 8):
        for far in (2, 5, 10, 20):
            wide, distance = weight / GRID, far * weight / GRID
            assert bound(noise, 6.0, wide, 2 * wide, 2, distance) <= 1.25 * reaches(noise, 6.0, [weight] * 2, distance)
