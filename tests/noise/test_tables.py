"""Every entry of every table against the law, and every rare path of a draw against exact inversion."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest

from privql.noise.gaussian import Strips
from privql.noise.inversion import BULK, FARTHEST, certified_floors
from privql.noise.laplace import Digit, Top, _tables, discrete_laplace
from tests.noise.law import EXACT, MIDDLE, TOP_WORD, Script, cdf, is_inverse, pmf, powers, scaled_floor

SMALL = [Fraction(1, 10**30), Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(10), Fraction(25)]


@pytest.mark.parametrize("scale", SMALL, ids=str)
def test_table_is_the_running_sum_of_the_law(scale: Fraction) -> None:
    law = Top(scale, scale)
    fades = powers(scale, -law.first + 1)
    none = pmf(0, scale)
    total = cdf(law.first - 1, scale)
    for k, entry in enumerate(certified_floors(law).tolist(), start=law.first):
        total = EXACT.add(total, EXACT.multiply(none, fades[abs(k)]))
        # Rounding down may carry a sum of many terms to 1 or past it, where the law only comes close.
        assert entry == min(scaled_floor(total, 64), TOP_WORD), k


def test_beyond_a_table_is_hardly_anything() -> None:
    """What is decided there takes longer, and might be told from the time: at no scale is it likelier than is said."""
    for scale in (*SMALL, Fraction(26), Fraction(25 * 1024), Fraction(10**30)):
        law, *digits = (table.law for table in _tables(scale))
        below, above = law.cdf(law.first, 128)[1], (1 << 128) - law.cdf(law.first + (1 << law.depth) - 2, 128)[0]
        assert max(below, above) < 1 << 128 - 58 and law.start_bits == 64
        assert len(digits) == next(n for n in range(20) if scale <= 25 * 1024**n)


def test_of_the_normal_law_a_half_is_exact_and_one_precision_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, honest = [], Strips.entries
    monkeypatch.setattr(Strips, "entries", lambda law, bits: asked.append(bits) or honest(law, bits))
    assert certified_floors(Strips())[-1 - Strips.first] == 2**63 and len(asked) == 1


@pytest.mark.parametrize("scale", [Fraction(30), Fraction(1000, 3), Fraction(2**70), Fraction(10**40)], ids=str)
def test_digit_table_is_the_running_sum_of_its_law(scale: Fraction) -> None:
    sums = list(accumulate(powers(scale, 1024), EXACT.add))
    floors = certified_floors(Digit(scale)).tolist()
    assert floors == [scaled_floor(EXACT.divide(part, sums[-1]), 32) for part in sums[:-1]]


@pytest.mark.parametrize("sharpen", [ROUND_FLOOR, ROUND_CEILING])
def test_an_entry_next_to_a_boundary_is_decided_by_more_precision(sharpen: str) -> None:
    # q = 1/3 would make F(0) = 3/4 exactly; this scale misses it by some 10^-240, far below what is looked at first.
    # Of a digit, r^512 = 1/3 would make half of its outcomes as likely.
    near = Fraction(Context(prec=240, rounding=sharpen).divide(Decimal(1), Context(prec=300).ln(Decimal(3))))
    for law, at, none in ((Top(near, near), 0, 2**62), (Digit(512 * near), 511, 2**30)):
        assert certified_floors(law)[at - law.first] == 3 * none - (1 if sharpen == ROUND_CEILING else 0)


def test_digits_and_sign_put_together_give_the_law() -> None:
    """Every cell of the top table with every digit, each weighed by its words: zero is counted once."""
    scale = Fraction(700)
    laws = Top(scale, scale / 1024), Digit(scale)
    edges = [[0, *certified_floors(law).tolist(), 1 << law.start_bits] for law in laws]
    middles = [[(a + b) // 2 for a, b in pairwise(edge)] for edge in edges]
    # A digit's entries are 32 bits long: its weights are taken from the law, which its table was held against above.
    sums = [Decimal(0), *accumulate(powers(scale, 1024), EXACT.add)]
    digit = np.array([float(EXACT.divide(b - a, sums[-1])) for a, b in pairwise(sums)])
    weights = [np.diff(np.array(edges[0], dtype=np.float64)) / 2.0**64, digit]
    halves = np.array(middles[1], dtype=np.uint32).view(np.uint64).tolist()
    found = {}
    for rank in np.flatnonzero(weights[0] > 1e-15).tolist():
        words = [middles[0][rank]] * 1024 + halves
        values = discrete_laplace(scale, 1024, source=Script(words)).tolist()
        found |= dict(zip(values, weights[0][rank] * weights[1], strict=True))
    assert len(found) > 40 * 1024
    none = float(pmf(0, scale))
    fades = [none * float(fade) for fade in powers(scale, 20_000)]
    assert all(abs(found[k] - fades[abs(k)]) < 1e-15 for k in range(-19_000, 19_000))
    assert abs(sum(found.values()) - 1) < 1e-12


@pytest.mark.parametrize("scale", SMALL[1:], ids=str)
@pytest.mark.parametrize("size", [1, BULK])
def test_draw_is_exact_inversion(scale: Fraction, size: int) -> None:
    random = np.random.default_rng(20240229)
    words = random.integers(0, 2**64, size=size, dtype=np.uint64).tolist()
    drawn = discrete_laplace(scale, size, source=Script(words)).tolist()
    assert all(is_inverse(k, [word], scale) for k, word in zip(drawn, words, strict=True))


@pytest.mark.parametrize("size", [1, BULK])
@pytest.mark.parametrize("k", [-40, -3, -1, 0, 1, 17, 60])
def test_tie_is_broken_by_the_bits_that_follow(k: int, size: int) -> None:
    scale = Fraction(10)
    entry = scaled_floor(cdf(k, scale), 64)
    following = scaled_floor(cdf(k, scale), 128) - (entry << 64)
    plain = [2**63] * (size - 1)
    for words, expected, used in (
        ([entry, *plain, following - 8], k, 1),
        ([entry, *plain, following + 8], k + 1, 1),
        ([entry, *plain, following, 0], k, 2),
        ([entry, *plain, following, TOP_WORD], k + 1, 2),
    ):
        source = Script(words)
        assert discrete_laplace(scale, size, source=source)[0] == expected
        assert source.used == size + used


@pytest.mark.parametrize("digits", [1, 7])
def test_tie_in_a_digit(digits: int) -> None:
    scale = Fraction(20 * 1024**digits)
    entry = int(certified_floors(Digit(scale))[500])
    above = [TOP_WORD - 2**60, *[MIDDLE] * (digits - 1)]  # a sign and digits without a tie
    low = discrete_laplace(scale, 1, source=Script([*above, entry, 0]))[0]
    assert discrete_laplace(scale, 1, source=Script([*above, entry, TOP_WORD]))[0] == low + 1
    assert low > 0
    assert low % 1024 == 500


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(25)], ids=str)
@pytest.mark.parametrize("zeros", [1, 2, 3])
def test_tail_goes_as_far_as_the_words_take_it(scale: Fraction, zeros: int) -> None:
    for head, last in ((0, 12345), (3, 2**63), (0, 2**63), (TOP_WORD, 12345), (TOP_WORD, TOP_WORD - 7)):
        words = [*[head] * zeros, last, 2**63, 2**63]
        drawn = int(discrete_laplace(scale, 1, source=Script(words))[0])
        assert is_inverse(drawn, words, scale)
        assert (drawn < 0) == (head < 4)


def test_draw_too_far_for_int64_becomes_a_python_integer() -> None:
    scale = 25 * Fraction(2**50)  # the largest that is int64 by rule
    rest = [MIDDLE] * 5
    assert discrete_laplace(scale, 1, source=Script([2**63, *rest])).dtype == np.int64
    # U < 2^-960 puts the top digit near -960·25·ln 2: that times 2^50 is beyond int64.
    far = discrete_laplace(scale, 1, source=Script([*[0] * 15, *rest, *rest]))
    assert far.dtype == np.object_
    assert -16_700 * 2**50 < far[0] < -16_600 * 2**50


def test_scales_beyond_int64_are_python_integers() -> None:
    drawn = discrete_laplace(Fraction(2**70), 5)
    assert drawn.dtype == np.object_
    assert all(type(x) is int for x in drawn)
    assert max(abs(x) for x in drawn) > 2**63


def test_a_digit_is_within_its_ends() -> None:
    for bits in (8, 64):
        law = Digit(Fraction(70))
        assert law.cdf(-1, bits) == (0, 0) and law.cdf(1023, bits) == (1 << bits, 1 << bits)
        assert law.cdf(1022, bits)[0] < 1 << bits and law.cdf(0, bits)[1] > 0


@pytest.mark.parametrize("digits", range(8))
def test_each_digit_has_the_scale_of_its_place_and_no_sum_of_them_wraps(digits: int) -> None:
    scale = Fraction(25 << 10 * digits)
    top, *low = _tables(scale)
    assert top.law == Top(scale, Fraction(25))
    assert [table.law for table in low] == [Digit(scale / 1024**place) for place in reversed(range(digits))]
    assert discrete_laplace(scale, 1).dtype == (np.int64 if FARTHEST << 10 * digits < 2**63 else np.object_)
