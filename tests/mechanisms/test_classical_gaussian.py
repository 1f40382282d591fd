"""Gaussian noise against the classical formula for it, by the exact curve of what it costs.

"The book" is C. Dwork and A. Roth, *The Algorithmic Foundations of Differential Privacy* (2014).
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy import stats

from privql.kernel import gaussian


@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**5), Fraction(1, 10**9)], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1)], ids=str)
def test_gaussian_noise_is_never_more_than_the_classical_formula(epsilon: Fraction, delta: Fraction) -> None:
    """σ² >= 2·ln(1.25/δ)·Δ²/ε² (the book's theorem A.1, for ε below 1) is enough: the deviation that is found from the
    exact δ(ε, μ) is less, by a tenth or more of its variance; and where it is found no less would do."""
    classical = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    mu = gaussian.greatest_mu(epsilon, delta)
    assert float(1 / mu) ** 2 < 0.9 * classical**2
    assert gaussian.affordable(epsilon, Fraction(1 / classical), delta)
    assert gaussian.affordable(epsilon, mu, delta)
    assert not gaussian.affordable(epsilon, mu * Fraction(100_002, 100_000), delta)
    a, b = float(epsilon / mu - mu / 2), float(epsilon / mu + mu / 2)
    assert stats.norm.sf(a) - math.exp(epsilon) * stats.norm.sf(b) == pytest.approx(float(delta), rel=1e-3)


def test_the_classical_formula_breaks_where_epsilon_is_large() -> None:
    """It is stated for ε below 1, and is wrong above some: ours is decided exactly, and holds for any."""
    epsilon, delta = Fraction(30), Fraction(1, 10)
    classical = Fraction(math.sqrt(2 * math.log(1.25 / delta)) / epsilon)
    assert not gaussian.affordable(epsilon, 1 / classical, delta)
    assert gaussian.affordable(epsilon, gaussian.greatest_mu(epsilon, delta), delta)
