"""Promises and prices against the law summed at 400 digits."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privql.kernel import tails
from privql.kernel.enclosure import exp_minus
from privql.noise.laplace import discrete_laplace
from tests.noise.law import EXACT, beyond, cdf, decimal, pmf, scaled_floor

quick = settings(derandomize=True, deadline=None, max_examples=60)
positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**9)
scales = st.fractions(min_value=Fraction(1, 30), max_value=10**6, max_denominator=1000)
confidences = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(999_999, 10**6), max_denominator=10**7)


def kept(a: int, scale: Fraction, confidence: Fraction) -> bool:
    return a >= 0 and beyond(a, scale) <= decimal(1 - confidence)


@quick
@given(x=positive, bits=st.integers(8, 700))
def test_exp_is_between_its_bounds(x: Fraction, bits: int) -> None:
    low, high = exp_minus(x, bits)
    true = scaled_floor(EXACT.exp(decimal(-x)), bits)
    assert low <= true
    assert true < high
    assert high - low <= 4


def test_exp_at_its_ends() -> None:
    assert exp_minus(Fraction(10**30), 64) == (0, 1)
    low, high = exp_minus(Fraction(0), 64)
    assert low <= 1 << 64 <= high
    with pytest.raises(ValueError):
        exp_minus(Fraction(-1), 64)


@quick
@given(scale=scales, confidence=confidences)
def test_halfwidth_is_the_least_that_keeps_the_promise(scale: Fraction, confidence: Fraction) -> None:
    a = tails.halfwidth(scale, confidence)
    assert kept(a, scale, confidence)
    assert not kept(a - 1, scale, confidence)


@quick
@given(halfwidth=st.integers(0, 10**6), confidence=confidences, sensitivity=st.integers(1, 10**12))
def test_epsilon_within_is_the_least_of_four_digits(halfwidth: int, confidence: Fraction, sensitivity: int) -> None:
    epsilon = tails.epsilon_within(sensitivity, halfwidth, confidence)
    digits = Fraction(1)
    while epsilon / digits >= 10_000:
        digits *= 10
    while epsilon / digits < 1000:
        digits /= 10
    assert (epsilon / digits).denominator == 1
    assert kept(halfwidth, sensitivity / epsilon, confidence)
    less = epsilon - (digits if epsilon / digits > 1000 else digits / 10)
    assert not kept(halfwidth, sensitivity / less, confidence)


def test_a_count_within_ten() -> None:
    assert tails.epsilon_within(1, 10, Fraction(95, 100)) == Fraction(2844, 10_000)


@pytest.mark.parametrize("sensitivity", [1, 2**100])
@pytest.mark.parametrize("confidence", [1 - Fraction(1, 10**400), Fraction(1, 10**30), 1 - Fraction(1, 10**9)])
def test_promises_far_out_are_decided_too(sensitivity: int, confidence: Fraction) -> None:
    for halfwidth in (0, 10**25):
        epsilon = tails.epsilon_within(sensitivity, halfwidth, confidence)
        assert tails.halfwidth(sensitivity / epsilon, confidence) <= halfwidth
        assert tails.halfwidth(sensitivity / (epsilon * Fraction(998, 1000)), confidence) >= halfwidth


@pytest.mark.parametrize("confidence", [Fraction(0), Fraction(1), Fraction(-1), Fraction(2)])
def test_confidence_that_promises_nothing_or_everything_is_refused(confidence: Fraction) -> None:
    for price in (lambda: tails.halfwidth(Fraction(1), confidence), lambda: tails.epsilon_within(1, 1, confidence)):
        with pytest.raises(ValueError, match="confidence"):
            price()


def test_other_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="scale"):
        tails.halfwidth(Fraction(0), Fraction(1, 2))
    with pytest.raises(ValueError, match="half-width"):
        tails.epsilon_within(1, -1, Fraction(1, 2))
    with pytest.raises(ValueError, match="sensitivity"):
        tails.epsilon_within(0, 1, Fraction(1, 2))


@quick
@given(scale=scales, k=st.integers(-(10**6), 10**6))
def test_densities_for_display(scale: Fraction, k: int) -> None:
    assert tails.pmf(k, scale) == pytest.approx(float(pmf(k, scale)), rel=1e-9, abs=1e-300)
    assert tails.cdf(k, scale) == pytest.approx(float(cdf(k, scale)), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    "scale", [Fraction(1, 100), Fraction(1, 3), Fraction(5), Fraction(2**31), Fraction(10**300)], ids=str
)
def test_variance(scale: Fraction) -> None:
    q = EXACT.exp(decimal(-1 / scale)) if scale < 10**9 else None
    if q is None:
        assert tails.variance(scale) == pytest.approx(2 * float(scale) * float(scale))
    else:
        true = 2 * q / EXACT.power(EXACT.subtract(Decimal(1), q), 2)
        assert tails.variance(scale) == pytest.approx(float(true), rel=1e-9)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(4000)], ids=str)
def test_the_promise_holds_for_draws(scale: Fraction) -> None:
    confidence = Fraction(95, 100)
    a = tails.halfwidth(scale, confidence)
    outside = np.count_nonzero(np.abs(discrete_laplace(scale, 500_000)) > a)
    assert outside < 500_000 * 0.05 + 7 * np.sqrt(500_000 * 0.05)
