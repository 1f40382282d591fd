"""Real draws: moments, low bits, independence; χ² is in `tests/mechanisms`.

The noise is never seeded, so the thresholds leave one false alarm in 10^9 runs.
"""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from privql.kernel import tails
from privql.noise.laplace import CHUNK, discrete_laplace
from tests.assurance import assured, length

DRAWS = length(1_000_000, 10_000_000)
ALARM = 1e-9
SCALES = [Fraction(1, 4), Fraction(2, 3), Fraction(7, 3), Fraction(25), Fraction(80), Fraction(1000), Fraction(10**7)]


def drawn(scale: Fraction, size: int) -> NDArray[np.int64]:
    draws = discrete_laplace(scale, size)
    assert draws.dtype == np.int64
    return draws.astype(np.int64)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_mean_and_variance_are_those_of_the_law(scale: Fraction) -> None:
    with assured("samplers") as tally:
        tally["tried"] += DRAWS
        draws = drawn(scale, DRAWS)
        values = draws.astype(np.float64)
        deviation = np.sqrt(tails.variance(scale) / DRAWS)
        assert abs(values.mean()) < 7 * deviation
        spread = np.sqrt((np.mean(values**4) - np.mean(values**2) ** 2) / DRAWS)
        assert abs(np.mean(values**2) - tails.variance(scale)) < 7 * spread


@pytest.mark.parametrize("scale", [Fraction(10**6), Fraction(2**45)], ids=str)
def test_low_bits_say_nothing(scale: Fraction) -> None:
    """At a large scale the residues mod 64 are equally likely, up to 64²/scale²."""
    with assured("samplers") as tally:
        tally["tried"] += DRAWS
        seen = np.bincount(drawn(scale, DRAWS) & 63, minlength=64)
        assert stats.chisquare(seen).pvalue > ALARM


def test_draws_of_one_call_are_independent() -> None:
    """Successive draws, and the digits within a draw, are uncorrelated in sign and in low bits."""
    draws = drawn(Fraction(5000), 1 << 18)
    for pair in ((draws[:-1] > 0, draws[1:] > 0), (draws > 0, draws & 1 > 0), (draws & 1 > 0, draws >> 10 & 1 > 0)):
        table = np.histogram2d(pair[0].astype(float), pair[1].astype(float), bins=2)[0]
        assert stats.chi2_contingency(table).pvalue > ALARM


@pytest.mark.parametrize("size", [0, 1, 7, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(3), Fraction(10**5), Fraction(2**50)], ids=str)
def test_as_many_draws_as_asked(scale: Fraction, size: int) -> None:
    assert discrete_laplace(scale, size).shape == (size,)


@pytest.mark.parametrize("size", [0, 3])
def test_scales_beyond_int64_are_python_integers(size: int) -> None:
    draws = discrete_laplace(Fraction(2**75), size)
    assert draws.dtype == np.object_
    assert all(type(draw) is int for draw in draws)


@pytest.mark.parametrize("size", [5, 600])
def test_scale_near_zero_adds_nothing(size: int) -> None:
    assert not discrete_laplace(Fraction(1, 10**40), size).any()


@pytest.mark.parametrize("scale", [2, 2.0, True, "2", None, float("nan"), float("inf")])
def test_scale_that_is_no_fraction_is_refused(scale: object) -> None:
    with pytest.raises(TypeError):
        discrete_laplace(scale, 1)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1, 3)])
def test_scale_that_is_not_positive_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="positive"):
        discrete_laplace(scale, 1)


@pytest.mark.parametrize(("size", "error"), [(-1, ValueError), (True, TypeError), (1.0, TypeError)])
def test_bad_size_is_refused(size: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="a size is"):
        discrete_laplace(Fraction(1), size)
