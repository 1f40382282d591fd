"""Several noisy measurements of one number, merged: no nearer is claimed than they are."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, norm

from privql.kernel import gaussian, merged, noises
from privql.noise.gaussian import rounded_gaussian

SURE = Fraction(95, 100)
DEVIATIONS = [
    (Fraction(3), Fraction(3)),
    (Fraction(20), Fraction(5)),
    (Fraction(5), Fraction(20)),
    (Fraction(7, 2), Fraction(9), Fraction(4)),
    (Fraction(40), Fraction(31), Fraction(22), Fraction(19)),
]


def law(sigma: Fraction) -> dict[int, float]:
    """Of a rounded Gaussian, all but 10^-12 of it."""
    far = math.ceil(8 * sigma)
    return {k: gaussian.pmf(k, sigma) for k in range(-far, far + 1)}


@pytest.mark.parametrize("deviations", [each for each in DEVIATIONS if len(each) == 2])
def test_intervals_are_true_of_the_exact_law(deviations: tuple[Fraction, Fraction]) -> None:
    heavy, sigma = merged.weights(deviations), merged.deviation(deviations)
    laws = [law(each) for each in deviations]
    for confidence in (Fraction(1, 2), Fraction(4, 5), SURE, Fraction(999, 1000)):
        half = noises.halfwidth("merged", sigma, confidence)
        far = sum(
            p * q
            for (k, p), (m, q) in product(laws[0].items(), laws[1].items())
            if abs(merged.mean(heavy, (k, m))) > half
        )
        assert far <= float(1 - confidence)
        # and none that is much shorter would do: a step and a half less is too short
        assert half < 2 or 2 * norm.sf((half - 1) / float(sigma)) > float(1 - confidence)


@pytest.mark.parametrize("deviations", DEVIATIONS)
@pytest.mark.parametrize("exact", [0, 10**6 + 1, -17])
def test_many_draws_have_the_variance_that_is_claimed(deviations: tuple[Fraction, ...], exact: int) -> None:
    """By χ², at 10^-6 on either side; rounding adds from 1/12 to 2/12."""
    many, heavy = 20_000, merged.weights(deviations)
    drawn = [rounded_gaussian(sigma, many) + exact for sigma in deviations]
    means = [merged.mean(heavy, numbers) - exact for numbers in zip(*(map(int, one) for one in drawn), strict=True)]
    square = float(np.square(np.array(means, dtype=float)).sum())
    variance = 1 / float(merged.precision(deviations))
    assert square / (variance + 2 / 12) < chi2.isf(1e-6, many)
    assert square / (variance + 1 / 12) > chi2.ppf(1e-6, many)
    assert abs(sum(means)) / many < 6 * math.sqrt((variance + 0.2) / many)


def test_planted_weights_the_wrong_way_round_are_seen() -> None:
    deviations, many = (Fraction(20), Fraction(5)), 5_000
    wrong = merged.weights(deviations)[::-1]
    drawn = [map(int, rounded_gaussian(sigma, many)) for sigma in deviations]
    square = sum(merged.mean(wrong, numbers) ** 2 for numbers in zip(*drawn, strict=True))
    assert square * float(merged.precision(deviations)) > chi2.isf(1e-6, many)


@pytest.mark.parametrize("deviations", DEVIATIONS)
def test_weights_are_exactly_in_proportion_to_the_precisions(deviations: tuple[Fraction, ...]) -> None:
    heavy = merged.weights(deviations)
    assert len({weight * sigma**2 for weight, sigma in zip(heavy, deviations, strict=True)}) == 1
    assert merged.deviation(deviations) ** 2 >= 1 / merged.precision(deviations)
    assert float(merged.deviation(deviations)) == pytest.approx(float(merged.precision(deviations)) ** -0.5, rel=1e-8)
    assert merged.mean(heavy, [9] * len(heavy)) == 9


def test_one_that_is_merged_with_nothing_is_what_it_is() -> None:
    assert merged.deviation((Fraction(22, 7),)) == Fraction(22, 7)
    assert merged.mean(merged.weights((Fraction(22, 7),)), (-5,)) == -5


def test_what_is_asked_of_what_is_merged_is_what_it_has() -> None:
    for half in (1, 2, 5, 100):
        sigma = gaussian.sigma_within(half, SURE, merged.OFF)
        assert noises.halfwidth("merged", sigma, SURE) == half
        assert noises.halfwidth("merged", sigma * Fraction(1001, 1000), SURE) > half
        assert sigma < gaussian.sigma_within(half, SURE)


def test_of_two_cells_the_interval_is_true_of_the_exact_law() -> None:
    """(A + B)/R, of cells that were each merged of two."""
    deviations, over = (Fraction(6), Fraction(4)), 2
    heavy, sigma = merged.weights(deviations), merged.deviation(deviations)
    one: dict[int, float] = {}
    for (k, p), (m, q) in product(law(deviations[0]).items(), law(deviations[1]).items()):
        at = merged.mean(heavy, (k, m))
        one[at] = one.get(at, 0.0) + p * q
    for weights in ((1, 1), (2, 0), (1, -1)):
        half = noises.halfwidth_of_two("merged", sigma, weights, over, SURE)
        far = sum(
            p * q
            for (a, p), (b, q) in product(one.items(), one.items())
            if abs(weights[0] * a + weights[1] * b) >= over * (half + 0.5)
        )
        assert far <= 0.05
