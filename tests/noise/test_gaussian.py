"""The rounded Gaussian: its certified law against scipy, its draws against the law, and the paths chance avoids."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import erfcx, log_ndtr

from privql.finish.intervals import mean_interval
from privql.kernel import gaussian as law
from privql.kernel import normal
from privql.kernel.enclosure import at_most
from privql.kernel.noises import halfwidth_of_two
from privql.noise import gaussian
from privql.noise.gaussian import rounded_gaussian
from tests.noise.law import TOP_WORD, Script

SIGMAS = [Fraction(1, 3), Fraction(1), Fraction(10, 3), Fraction(1000), Fraction(10**9), Fraction(2**70)]
DELTAS = [Fraction(1, 10**k) for k in (1, 3, 6, 9, 30, 100)]


# ---------------------------------------------------------------- the normal law, in integers


@given(x=st.fractions(0, 40, max_denominator=1000), bits=st.sampled_from([64, 100, 320]))
@settings(max_examples=200, deadline=None)
def test_what_is_left_of_a_tail_is_enclosed(x: Fraction, bits: int) -> None:
    low, high = normal.mills(x, bits)
    assert 0 < low < high <= low + 4
    assert low / 2**bits == pytest.approx(math.sqrt(math.pi / 2) * erfcx(float(x) / math.sqrt(2)), rel=1e-13)


@given(x=st.fractions(2, 12, max_denominator=1000))
@settings(max_examples=40, deadline=None)
def test_the_series_and_the_fraction_say_the_same(x: Fraction) -> None:
    one, other = normal._by_series(x, 120), normal._by_fraction(x, 120)
    assert max(one[0], other[0]) < min(one[1], other[1])


@given(x=st.fractions(-30, 30, max_denominator=1000))
@settings(max_examples=100, deadline=None)
def test_tails_are_enclosed(x: Fraction) -> None:
    low, high = normal.tail(x, 800)
    assert low < high <= low + 4
    assert math.log(Fraction(low, 2**800)) == pytest.approx(log_ndtr(-float(x)), rel=1e-9, abs=1e-15)
    assert normal.tail(x, 8)[0] <= low >> 792 and normal.tail(x, 8)[1] >= high >> 792


# ---------------------------------------------------------------- what it costs


def exact_delta(epsilon: float, mu: float) -> float:
    """As it is written in papers, by scipy: in logarithms, where the second term is large."""
    first = log_ndtr(mu / 2 - epsilon / mu)
    return float(math.exp(first) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


@example(epsilon=Fraction(0), mu=Fraction(3, 2))
@given(
    epsilon=st.fractions(Fraction(1, 1000), 30, max_denominator=1000),
    mu=st.fractions(Fraction(1, 100), 10, max_denominator=1000),
)
@settings(max_examples=200, deadline=None)
def test_delta_is_enclosed(epsilon: Fraction, mu: Fraction) -> None:
    low, high = law.delta_bounds(epsilon, mu, 128)
    assert 0 <= low < high <= low + 8
    assert low / 2**128 == pytest.approx(exact_delta(float(epsilon), float(mu)), rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2**40), Fraction(1, 100), Fraction(1), Fraction(10), Fraction(2**20)])
def test_as_much_is_had_as_is_paid_for(epsilon: Fraction, delta: Fraction) -> None:
    mu = law.greatest_mu(epsilon, delta)
    assert law.affordable(epsilon, mu, delta)
    assert not law.affordable(epsilon, mu * (1 + Fraction(2, 10**5)), delta)
    least = law.least_epsilon(mu, delta)
    assert law.affordable(least, mu, delta) and least <= epsilon * Fraction(1001, 1000)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)])
@pytest.mark.parametrize("delta", DELTAS[2:])
def test_the_textbook_takes_more_noise(epsilon: Fraction, delta: Fraction) -> None:
    """σ = √(2·ln(1.25/δ))·Δ/ε, which is proved for ε < 1 alone."""
    textbook = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert textbook > 1 / law.greatest_mu(epsilon, delta)


def test_where_nothing_tells_two_sides_apart_the_dearer_one_is_taken() -> None:
    assert not at_most(lambda bits: ((1 << bits - 1) - 1, (1 << bits - 1) + 1), Fraction(1, 2))


@pytest.mark.parametrize(("epsilon", "mu"), [(Fraction(-1, 9), Fraction(1)), (Fraction(1), Fraction(0))])
def test_a_price_is_of_noise(epsilon: Fraction, mu: Fraction) -> None:
    with pytest.raises(ValueError):
        law.delta_bounds(epsilon, mu, 64)


def test_what_is_no_deviation_or_no_distance_is_refused() -> None:
    for wrong in (lambda: law.halfwidth(Fraction(0), Fraction(1, 2)), lambda: law.sigma_within(-1, Fraction(1, 2))):
        with pytest.raises(ValueError):
            wrong()


@given(square=st.fractions(Fraction(1, 10**12), 10**40))
@settings(max_examples=100, deadline=None)
@example(square=Fraction(24151485614087334990446591, 24151485614087310135450828000000000000))
def test_roots_are_rounded_up(square: Fraction) -> None:
    root = law.root_above(square)
    last = Fraction(10) ** (math.floor(math.log10(root)) - 8)
    assert (root - last) ** 2 < square <= root * root and root / last % 1 == 0


@pytest.mark.parametrize("root", [123_456_789, 999_999_999, 300_000_000, 54_321])
def test_the_root_of_a_square_is_exact_and_that_of_a_little_more_is_not(root: int) -> None:
    for place in (-12, 0, 7):
        exact = root * Fraction(10) ** place
        assert law.root_above(exact**2) == exact
        assert law.root_above(exact**2 + Fraction(1, 10**90)) > exact


# ---------------------------------------------------------------- how far it reaches


@given(
    sigma=st.fractions(Fraction(1, 30), 10**6, max_denominator=1000),
    confidence=st.sampled_from([Fraction(1, 2), Fraction(95, 100), Fraction(999999, 10**6)]),
)
@settings(max_examples=100, deadline=None)
def test_the_least_halfwidth(sigma: Fraction, confidence: Fraction) -> None:
    h, miss, wide = law.halfwidth(sigma, confidence), float(1 - confidence), float(sigma)
    assert 2 * stats.norm.sf((h + 0.5) / wide) <= miss * (1 + 1e-9)
    assert h == 0 or 2 * stats.norm.sf((h - 0.5) / wide) >= miss * (1 - 1e-9)
    widest = law.sigma_within(h, confidence)
    assert widest >= sigma * (1 - Fraction(1, 10**5)) and law.halfwidth(widest, confidence) <= h


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3), Fraction(40)])
@pytest.mark.parametrize(("of", "over"), [((1, 1), 1), ((1, 1), 9), ((7, -3), 10), ((5, 0), 5), ((10**6, 3), 10**6)])
def test_two_together(sigma: Fraction, of: tuple[int, int], over: int) -> None:
    h = halfwidth_of_two("gaussian", sigma, of, over, Fraction(95, 100))
    edge = math.ceil(9 * sigma)
    noise = np.arange(-edge, edge + 1)
    chance = np.array([law.pmf(int(k), sigma) for k in noise])
    together = of[0] * noise[:, None] + of[1] * noise[None, :]
    off = np.abs(together) >= (h + 0.5) * over
    assert float((chance[:, None] * chance[None, :])[off].sum()) <= 0.05
    least = np.sqrt(of[0] ** 2 + of[1] ** 2) * float(sigma) * 1.96 / over
    assert h <= least + 1.5 + sum(map(abs, of)) / over


@pytest.mark.parametrize("sigma", SIGMAS[:4])
def test_the_variance_is_that_of_the_law(sigma: Fraction) -> None:
    edge = math.ceil(12 * sigma) + 1
    summed = math.fsum(k * k * law.pmf(k, sigma) for k in range(-edge, edge + 1))
    assert law.variance(sigma) == pytest.approx(summed, rel=1e-9)


# ---------------------------------------------------------------- draws


@pytest.mark.parametrize("sigma", SIGMAS)
def test_draws_have_their_law(sigma: Fraction) -> None:
    """In 101 bins, of a whole number each if there are fewer: a right sampler fails once in 10^7 times."""
    size = 300_000 if sigma < 2**60 else 20_000
    draws = rounded_gaussian(sigma, size)
    wide = float(sigma)
    step = max(1, math.ceil(sigma / 17))
    bins = np.round(draws.astype(np.float64) / step) if step > 1 else draws.astype(np.float64)
    places = np.arange(-50, 51)
    chances = stats.norm.cdf((places + 0.5) * step / wide) - stats.norm.cdf((places - 0.5) * step / wide)
    if 1 < step < 10**6:  # whole numbers at the edges of a bin
        ends = np.array([math.floor((place + 0.5) * step) + (step % 2 == 0) * (-0.5) + 0.5 for place in places])
        ends = np.concatenate([[ends[0] - step], ends])
        chances = np.diff(stats.norm.cdf(ends / wide))
        bins = np.ceil((draws.astype(np.float64) - ends[0]) / step) - 51
    counted = chances * size > 10
    seen = np.array([np.count_nonzero(bins == place) for place in places[counted]])
    expected = chances[counted] * size
    rest = size - expected.sum()
    if rest > 10:
        seen, expected = np.append(seen, size - seen.sum()), np.append(expected, rest)
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1) > 1e-7


def test_low_bits_are_even() -> None:
    """What is lost in a float would show there."""
    draws = rounded_gaussian(Fraction(10**12), 100_000)
    for bit in range(12):
        assert abs(np.count_nonzero(draws >> bit & 1) - 50_000) < 1000


def strip_word(strip: int) -> int:
    """A first word that lies amid the strip's share of Φ."""
    low, high = (normal.tail(Fraction(-edge, 32), 64)[0] for edge in (strip, strip + 1))
    return (low + high) // 2


HALF = 2**63


@pytest.mark.parametrize("strip", [0, 5, 31, 100, -1, -6, -32])
def test_a_place_in_a_strip_is_rounded(strip: int) -> None:
    """V = 1/2, and W = 0 stays for certain."""
    outwards = strip if strip >= 0 else -1 - strip
    for sigma in (*SIGMAS, Fraction(10**400)):
        drawn = int(rounded_gaussian(sigma, 1, source=Script([strip_word(strip), HALF, 0, *[5] * 30]))[0])
        expected = math.floor(sigma * (outwards + Fraction(1, 2)) / 32 + Fraction(1, 2))
        assert abs(abs(drawn) - expected) <= sigma / 2**64 and (drawn == 0 or (drawn < 0) == (strip < 0))


def test_a_place_that_does_not_stay_is_drawn_again_in_its_strip() -> None:
    """e^-t is 0.91 at V = 1/2 in strip 100."""
    refused, taken = int(0.97 * 2**32), int(0.85 * 2**32)
    words = [strip_word(100), HALF, refused, HALF // 2, taken]
    assert rounded_gaussian(Fraction(3200), 1, source=Script(words)).tolist() == [10025]


@pytest.mark.parametrize(("then", "stays"), [(0, True), (TOP_WORD, False)])
def test_a_close_call_is_decided_by_more_bits(then: int, stays: bool) -> None:
    """W begins as e^-t does; its next word says on which side it is. Those of V count in the answer."""
    strip, sigma = 100, Fraction(32 * 2**50)
    t = Fraction(1, 2) * (2 * strip + Fraction(1, 2)) / 2048
    begins = int(Fraction(math.exp(-t)) * 2**32)
    more = [2**62, then]
    words = [strip_word(strip), HALF, begins, *more, *([] if stays else [HALF // 2, 0]), 0]
    script = Script(words)
    drawn = int(rounded_gaussian(sigma, 1, source=script)[0])
    assert drawn == (strip * 2**50 + 2**49 if stays else strip * 2**50 + 2**48)


def test_what_falls_between_two_whole_numbers_waits_for_more_bits() -> None:
    """σ·V/32 = 1/2 + a little or less: 64 bits of V do not say."""
    sigma, words = Fraction(32 * 2**64), [strip_word(0), HALF, 0]
    assert rounded_gaussian(sigma, 1, source=Script([*words, TOP_WORD])).tolist() == [2**63 + 1]
    assert rounded_gaussian(sigma, 1, source=Script([*words, 0])).tolist() == [2**63]
    assert rounded_gaussian(Fraction(32), 1, source=Script([*words, 0])).tolist() == [1]
    below = [strip_word(0), HALF - 1, 0]
    assert rounded_gaussian(Fraction(32), 1, source=Script([*below, 0])).tolist() == [0]


def test_no_float_decides_what_it_cannot_see() -> None:
    """Places next to where σ·V/32 is halfway between two whole numbers: bits that follow are all 0."""
    shift, half = Fraction(10**13, 7), Fraction(1, 2)
    starts = [math.floor((at * 977 * 10**6 + half) / shift * 2**64) + off for at in range(1, 200) for off in (-1, 0, 1)]
    words = [*[strip_word(0)] * len(starts), *starts, *[0] * ((len(starts) + 1) // 2), *[0] * (4 * len(starts))]
    drawn = rounded_gaussian(32 * shift, len(starts), source=Script(words)).tolist()
    assert drawn == [math.floor(shift * start / 2**64 + half) for start in starts]


def test_far_tails_are_reached() -> None:
    """U begins with so many zeros that Z is below -9: a strip that no table holds."""
    script = Script([0, TOP_WORD, HALF, 0])
    assert rounded_gaussian(Fraction(10), 1, source=script).tolist() == [round(10 * stats.norm.ppf(2.0**-64))]


@pytest.mark.parametrize("size", [0, 1, gaussian.CHUNK + 3])
def test_as_many_as_asked_for(size: int) -> None:
    assert rounded_gaussian(Fraction(5), size).shape == (size,)


def test_tiny_deviations_are_no_noise() -> None:
    assert not rounded_gaussian(Fraction(1, 10**40), 100).any()


@pytest.mark.parametrize("sigma", [0.5, 1])
@pytest.mark.wrong_types
def test_a_deviation_is_exact(sigma: float) -> None:
    with pytest.raises(TypeError):
        rounded_gaussian(sigma, 1)


@pytest.mark.parametrize(("sigma", "size"), [(Fraction(0), 1), (Fraction(-1), 1), (Fraction(1), -1)])
def test_what_cannot_be_drawn(sigma: Fraction, size: int) -> None:
    with pytest.raises(ValueError):
        rounded_gaussian(sigma, size)


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(20), Fraction(10**6)])
@pytest.mark.parametrize(("above", "below"), [(0, 0), (0, 3), (40, 2), (1000, 3000), (10**8, 10**7)])
def test_a_mean_is_where_its_interval_says(above: int, below: int, sigma: Fraction) -> None:
    """Of 1,000 intervals at 90%, fewer than 850 hold the share with a chance below 10^-6, however few the rows are."""
    share, found = above / (above + below) if above + below else 0.5, 0
    for more, less in rounded_gaussian(sigma, 2000).reshape(-1, 2).tolist():
        low, high = mean_interval(above + more, below + less, sigma, 0.9, "gaussian")
        found += low <= share <= high
    assert found >= 850
    if above + below > 100 * sigma:  # then the root of both squares says how wide it must be
        wide = 2 * 1.645 * float(sigma) * math.hypot(share, 1 - share) / (above + below)
        low, high = mean_interval(above, below, sigma, 0.9, "gaussian")
        assert high - low < 1.1 * wide + 2 / (above + below)
