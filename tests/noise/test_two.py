"""How far two noises reach together: by their exact law, pair by pair."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privql.finish.accuracy import halves
from privql.finish.cells import finish_block
from privql.finish.recipe import Recipe
from privql.kernel.features import Steps
from privql.kernel.scalars import INT
from privql.kernel.sums import Balance
from privql.kernel.tails import halfwidth
from privql.kernel.two import EXACT_BELOW, halfwidth_of_sum, halfwidth_of_two
from tests.finish.shapes import ZERO, aggregate, block

SURE = Fraction(95, 100)


def beyond(scale: Fraction, weights: tuple[int, int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """P[|p·N₁ + q·N₂| > d] at d = 0, 1, …, every pair of noises with its probability."""
    edge = int(26 * scale) + 6
    steps = np.arange(-edge, edge + 1)
    density = np.tanh(0.5 / float(scale)) * np.exp(-np.abs(steps) / float(scale))
    far = np.abs(weights[0] * steps[:, None] + weights[1] * steps[None, :])
    law = np.bincount(far.ravel(), weights=(density[:, None] * density[None, :]).ravel())
    return np.asarray(law[::-1].cumsum()[::-1] - law)


SCALES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(12), Fraction(31), Fraction(33), Fraction(60)]


@pytest.mark.parametrize("confidence", [Fraction(1, 2), SURE, Fraction(99999, 100000)], ids=str)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_sum_of_two_is_exact(scale: Fraction, confidence: Fraction) -> None:
    chances = beyond(scale, (1, 1))
    least = int(np.argmax(chances <= float(1 - confidence)))
    assert halfwidth_of_sum(scale, confidence) == least
    assert halfwidth_of_two(scale, (1, -1), 1, confidence) == least


@pytest.mark.parametrize("over", [1, 2, 7, 40])
@pytest.mark.parametrize("weights", [(1, 1), (2, 1), (7, 3), (-5, 2), (12, 11), (40, 0), (0, -3)], ids=str)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_what_is_read_off_two_cells_keeps_its_promise_and_is_not_wasteful(
    scale: Fraction, weights: tuple[int, int], over: int
) -> None:
    chances = beyond(scale, weights)
    found = halfwidth_of_two(scale, weights, over, SURE)
    # rounded, it is further off only where at least (found + 1/2)·over is missing
    assert chances[-(-(2 * found + 1) * over // 2) - 1] <= 0.05
    if scale < EXACT_BELOW or abs(weights[0]) == abs(weights[1]) or 0 in weights:
        assert found == 0 or chances[-(-(2 * found - 1) * over // 2) - 1] > 0.05
    else:
        exact = int(np.argmax(chances <= 0.05))
        assert found <= 1.015 * exact / over + 1


@pytest.mark.parametrize("weights", [(1, 1), (2, 1), (7, 3), (-5, 2), (12, 11), (40, 0)], ids=str)
@pytest.mark.parametrize("scale", SCALES[:5], ids=str)
def test_so_many_smaller_steps_are_as_far(scale: Fraction, weights: tuple[int, int]) -> None:
    fine = weights[0] << 40, weights[1] << 40
    for over in (1, 2, 7):
        assert halfwidth_of_two(scale, fine, over << 40, SURE) == halfwidth_of_two(scale, weights, over, SURE)


CASES = [
    ("count", 0, 1, 4, 1), ("count", 0, 3, 9, 4), ("count", -2, 4, 0, 9), ("count", 5, 6, 7, 0),
    ("sum", 0, 3, 9, 4), ("sum", -3, 3, 5, 6), ("sum", 100, 103, 8, 2), ("sum", -7, -2, 3, 3), ("sum", -4, 0, 1, 9),
]  # fmt: skip


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(4)], ids=str)
@pytest.mark.parametrize(("gives", "low", "high", "at_high", "at_low"), CASES)
def test_an_interval_holds_the_truth_as_often_as_it_says(
    gives: str, low: int, high: int, at_high: int, at_low: int, scale: Fraction
) -> None:
    """Through to the answer and its ±, for rows at both ends of the range: no simulation."""
    over = high - low
    recipe = Recipe(Balance(Steps(ZERO, Fraction(1), low, high)), 0, scale, INT, gives)
    edge = int(14 * scale) + 3
    steps = np.arange(-edge, edge + 1)
    density = np.tanh(0.5 / float(scale)) * np.exp(-np.abs(steps) / float(scale))
    noise = [(int(x), int(y)) for x in steps for y in steps]
    cells = [[at_high * over + x, at_low * over + y] for x, y in noise]
    truth = at_high + at_low if gives == "count" else at_high * high + at_low * low
    shape = block(0, (), (aggregate("c1", gives, INT),))
    values = [row[0] for row in finish_block(shape, [recipe], cells, [()] * len(cells)).rows]
    (half,) = set(halves(recipe.law, values, [None] * len(cells), SURE))
    assert half is not None
    off = np.array([abs(value - truth) for value in values])
    chances = (density[:, None] * density[None, :]).ravel()
    assert chances[off > half].sum() <= 0.05
    assert half == 0 or chances[off >= half].sum() > 0.05 - 1e-9


def test_cells_without_noise_are_the_count_and_the_sum() -> None:
    for low, high in ((0, 1), (-3, 7), (100, 120), (-9, -2), (-(2**61), 2**61)):
        rows = [low, high, (low + high) // 2, low]
        cells = [sum(s - low for s in rows), sum(high - s for s in rows)]
        recipes = [
            Recipe(Balance(Steps(ZERO, Fraction(1), low, high)), 0, Fraction(1), INT, of) for of in ("count", "sum")
        ]
        shape = block(0, (), (aggregate("c1", "count", INT), aggregate("c2", "sum", INT)))
        assert finish_block(shape, recipes, [cells]).rows == ((4, sum(rows)),)


def test_numbers_beyond_floats_are_no_trouble() -> None:
    scale, weights = Fraction(10**30), (2**62, 2**61 + 1)
    one = halfwidth_of_two(scale, weights, 2**61 - 1, SURE)
    assert halfwidth(scale, SURE) * 2 < one < halfwidth(scale, SURE) * 3
    assert halfwidth_of_two(Fraction(1, 1000), weights, 2**61 - 1, SURE) == 0
    assert halfwidth_of_two(Fraction(5), (7, 3), 1, 1 - Fraction(1, 10**14)) > halfwidth_of_two(
        Fraction(5), (7, 3), 1, SURE
    )


def test_what_is_no_scale_or_confidence_is_refused() -> None:
    for scale, confidence in ((Fraction(0), SURE), (Fraction(1), Fraction(1)), (Fraction(1), Fraction(0))):
        with pytest.raises(ValueError):
            halfwidth_of_sum(scale, confidence)
