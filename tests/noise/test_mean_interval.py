"""The interval of a mean keeps its promise for any data, few rows and extremes included, and is not wasteful."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from privql.finish.intervals import mean_interval, reach_of_sum
from privql.kernel.two import EXACT_BELOW, reach_of_coupling

TRUTHS = [Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


def simulated(scale: Fraction, size: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Differences of two geometric numbers: the same law another way, with a fixed seed."""
    draw = np.random.default_rng(seed).geometric(-np.expm1(-1 / float(scale)), (2, size)).astype(np.int64)
    return draw[0] - draw[1]


def coverage(width: int, epsilon: Fraction, rows: int, mean: Fraction, runs: int) -> tuple[float, float]:
    """How often the interval holds the truth, and its average half-width."""
    scale = width / epsilon
    a = round(mean * rows * width)
    b = rows * width - a
    truth = a / (a + b)
    first, second = simulated(scale, runs, 1).tolist(), simulated(scale, runs, 2).tolist()
    found = [mean_interval(a + x, b + y, scale, 0.95) for x, y in zip(first, second, strict=True)]
    assert all(0 <= low < high <= 1 for low, high in found)
    return (
        sum(low <= truth <= high for low, high in found) / runs,
        sum(high - low for low, high in found) / runs / 2,
    )


@pytest.mark.parametrize("mean", TRUTHS, ids=str)
@pytest.mark.parametrize("rows", [1, 5, 30, 1000])
@pytest.mark.parametrize(("width", "epsilon"), [(120, Fraction(1, 10)), (10**12, Fraction(2))])
def test_coverage(width: int, epsilon: Fraction, rows: int, mean: Fraction) -> None:
    assert coverage(width, epsilon, rows, mean, 1000)[0] >= 0.94


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(3, 2)], ids=str)
@pytest.mark.parametrize("cells", [(1, 0), (1, 1), (2, 1), (5, 5), (0, 8), (9, 3), (40, 20)])
def test_coverage_is_exact_where_noise_is_coarse(scale: Fraction, cells: tuple[int, int]) -> None:
    """Every pair of noises that matters, each with its probability: no simulation at all."""
    edge = 9 * int(scale + 1)
    steps = np.arange(-edge, edge + 1)
    weight = np.tanh(0.5 / float(scale)) * np.exp(-np.abs(steps) / float(scale))
    truth = cells[0] / sum(cells)
    missed = 0.0
    for x, first in zip(steps.tolist(), weight, strict=True):
        for y, second in zip(steps.tolist(), weight, strict=True):
            if first * second > 1e-6:
                low, high = mean_interval(cells[0] + x, cells[1] + y, scale, 0.95)
                missed += 0.0 if low <= truth <= high else first * second
    assert missed <= 0.05


# In the last four cases a simple share is kept although shares right before it are not.
@pytest.mark.parametrize(
    ("a", "b", "scale", "confidence"),
    [
        (7, 5, 1, 0.95),
        (20, 3, 2, 0.95),
        (1, 1, 1, 0.95),
        (12, -3, 2, 0.95),
        (-4, -6, 3, 0.95),
        (2, 5, 1, 0.99),
        (12, 6, 2, 0.99),
        (0, 10, 3, 0.95),
        (6, 1, 3, 0.5),
    ],
)
def test_no_share_that_the_exact_test_keeps_is_left_out(a: int, b: int, scale: int, confidence: float) -> None:
    """The test carried out in whole numbers, share by share, with the ties of simple fractions as they are."""
    low, high = mean_interval(a, b, Fraction(scale), confidence)
    for rows in (*range(1, 13), 97):
        for part in range(rows + 1):
            out = abs((rows - part) * max(a, 0) - part * max(b, 0))
            if exceeds(part, rows, out, scale) > 1 - confidence + 1e-9:
                assert low <= part / rows <= high


def exceeds(part: int, rows: int, out: int, scale: int) -> float:
    """P[|(rows-part)·N₁ - part·N₂| >= out], pair by pair."""
    steps = np.arange(-40 * scale, 40 * scale + 1)
    weight = np.tanh(0.5 / scale) * np.exp(-np.abs(steps) / scale)
    noise = np.abs((rows - part) * steps[:, None] - part * steps[None, :])
    return float((weight[:, None] * weight[None, :])[noise >= out].sum())


@pytest.mark.parametrize("scale", [1, 4])
@pytest.mark.parametrize("part", [0, 1, 4, 7, 8])
def test_chances_beyond_a_distance(part: int, scale: int) -> None:
    """Between two whole multiples, where no tie can fall: the sum is exact, the closed form never less."""
    for out in (0, 3, 10, 25):
        true = exceeds(part, 8, out + 1, scale)
        distance = (out + 0.5) / 8 / scale
        assert reach_of_sum(part / 8, distance, float(scale)) == pytest.approx(true, abs=1e-12)
        assert reach_of_coupling(part / 8, distance, float(scale)) >= true


def test_the_closed_form_and_the_sum_meet() -> None:
    """Just below and just above the scale where one takes over from the other."""
    for a, b in ((900, 500), (3000, 40), (100, 5000)):
        below = mean_interval(a, b, Fraction(EXACT_BELOW) - Fraction(1, 1000), 0.95)
        above = mean_interval(a, b, Fraction(EXACT_BELOW), 0.95)
        assert above[0] <= below[0] + 1e-9
        assert above[1] >= below[1] - 1e-9
        assert above[1] - above[0] < 1.02 * (below[1] - below[0])


@pytest.mark.parametrize("mean", [Fraction(1, 5), Fraction(1, 2)], ids=str)
@pytest.mark.parametrize(("width", "epsilon"), [(1, Fraction(1, 5)), (120, Fraction(1))])
def test_no_wider_than_the_law_asks(width: int, epsilon: Fraction, mean: Fraction) -> None:
    """With many rows, the half-width is the 95% point of the noise's linear combination over the count."""
    scale, rows = width / epsilon, 5000
    combined = np.abs(simulated(scale, 400_000, 3) * float(1 - mean) - simulated(scale, 400_000, 4) * float(mean))
    covered, halfwidth = coverage(width, epsilon, rows, mean, 200)
    assert halfwidth < 1.06 * float(np.quantile(combined, 0.95)) / (rows * width)
    assert covered >= 0.9


def test_few_rows_and_much_noise_say_nothing() -> None:
    assert coverage(120, Fraction(1, 10), 5, Fraction(1, 2), 500)[1] > 0.47
    assert mean_interval(-3, -5, Fraction(10), 0.95) == (0.0, 1.0)
    assert mean_interval(0, 0, Fraction(10**9), 0.95) == (0.0, 1.0)


def test_the_more_confidence_the_wider() -> None:
    nested = [mean_interval(5000, 9000, Fraction(100), confidence) for confidence in (0.5, 0.9, 0.99, 0.99999)]
    for (low, high), (lower, higher) in pairwise(nested):
        assert lower < low < 5000 / 14000 < high < higher


def test_cells_beyond_floats_are_no_trouble() -> None:
    low, high = mean_interval(3 * 2**120, 2**120, Fraction(2**100), 0.95)
    assert low < 0.75 < high
    assert high - low < 1e-5


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan"), -1.0])
def test_bad_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        mean_interval(1, 1, Fraction(1), confidence)


def test_bad_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="scale"):
        mean_interval(1, 1, Fraction(0), 0.95)
