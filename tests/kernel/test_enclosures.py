"""Certified bounds of few bits hold what those of many say: nothing that is rounded is rounded inwards, not once."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from privql.kernel import found, gaussian, normal, plans, selection, tails, two
from privql.kernel.enclosure import Bounds, exp_minus, quotient
from privql.kernel.logarithm import log, log_near_one
from privql.kernel.search import solved
from privql.kernel.selection import Count
from privql.noise.exponential import _weights
from privql.noise.laplace import Digit, Top

MANY = 400
GRID = [Fraction(n, 13) for n in (*range(1, 60, 3), 100, 130, 700)]
SEEN = found._Seen(6, Fraction(3))

# each at a few places, and how far apart its bounds may be
ENCLOSED: dict[str, tuple[Callable[[Fraction, int], Bounds], int]] = {
    "exponential": (exp_minus, 4),
    "quotient": (lambda x, bits: quotient(exp_minus(x, bits), exp_minus(Fraction(1, 7), bits), bits), 12),
    "logarithm": (log, 4),
    "normal tail": (normal.tail, 3),
    "left tail": (lambda x, bits: normal.tail(-x, bits), 3),
    "normal density": (normal.density, 6),
    "what is left of a tail": (normal.mills, 4),
    "by the series": (lambda x, bits: normal._by_series(min(x, Fraction(9)), bits), 4),
    "by the fraction": (lambda x, bits: normal._by_fraction(max(x, Fraction(6)), bits), 4),
    "root of half of pi": (lambda x, bits: normal._root_of_half_pi(bits), 4),
    "δ of a small ε": (lambda x, bits: gaussian.delta_bounds(Fraction(1, 9), x, bits), 8),
    "δ of a large ε": (lambda x, bits: gaussian.delta_bounds(x, Fraction(5, 3), bits), 8),
    "noise beyond": (lambda x, bits: tails._beyond(int(x), 1 + x / 5, bits), 16),
    "noise of two beyond": (lambda x, bits: two._beyond(int(x), 1 + x / 5, bits), 400),
    "noise of two far beyond": (lambda x, bits: two._beyond(40, 40 + x, bits), 40),
    "what is not hidden": (lambda x, bits: selection._unhidden(Count(x, Fraction(1, 7)), 2, bits), 16),
    "what is hardly hidden": (lambda x, bits: selection._unhidden(Count(x, Fraction(9, 10)), 1, bits), 16),
    "seen of few units": (lambda x, bits: SEEN._tail(int(x) % 6, 0, bits), 8),
    "seen of many units": (lambda x, bits: SEEN._tail(-(int(x) % 6), 0, bits), 12),
    "told right": (plans._right, 8),
    "above 0": (lambda x, bits: Top(x, x)._above(int(x) % 3, bits), 12),
    "below 0": (lambda x, bits: Top(x, x)._below(-1 - int(x) % 3, bits), 12),
    "a digit": (lambda x, bits: Digit(1 + 9 * x).cdf(int(x), bits), 3),
    "a weight": (lambda x, bits: _weights([(3, 5), (1, int(2000 * x) + 5), (9, 4)], 4, x / 3000, bits)[1], 12),
}


@pytest.mark.parametrize("spare", [3, 6])
@pytest.mark.parametrize("name", [name for name in ENCLOSED if "tail" in name or "by the" in name or "δ" in name])
def test_what_is_lost_in_rounding_is_lost_outwards(name: str, spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so few spare bits that it is seen."""
    bounds, _ = ENCLOSED[name]
    places = [x + Fraction(k, 91) for x in GRID for k in range(4)]
    exact = [bounds(x, MANY) for x in places]
    for room in (normal, gaussian):
        monkeypatch.setattr(room, "SPARE", spare)
    for x, (least, most) in zip(places, exact, strict=True):
        for bits in range(4, 60, 5):
            low, high = bounds(x, bits)
            assert low << MANY - bits <= most and least <= high << MANY - bits


@pytest.mark.parametrize("name", ENCLOSED)
def test_few_bits_enclose_what_many_say(name: str) -> None:
    bounds, apart = ENCLOSED[name]
    for x in GRID:
        least, most = bounds(x, MANY)
        for bits in range(2, 40):
            low, high = bounds(x, bits)
            assert low << MANY - bits <= most and least <= high << MANY - bits
            assert low <= high <= low + apart


@pytest.mark.parametrize("bits", range(11))
def test_the_logarithm_of_every_number_of_few_bits_is_enclosed(bits: int) -> None:
    one = 1 << bits
    for x in range(one, 2 * one + 1):
        low, high = log_near_one((x, x), bits)
        assert low <= math.log1p((x - one) / one) * one + 1e-9 and low <= high <= low + 2 * bits + 2
        assert math.log1p((x - one) / one) * one <= high + 1e-9
        assert log_near_one((one, x), bits) == (0, high) and log_near_one((x, 2 * one), bits)[0] == low
    with pytest.raises(ValueError):  # below 1 the terms have no end
        log_near_one((2**63, 2**63), 64)


def test_no_chance_is_less_than_none() -> None:
    """Of few bits, too: whatever is divided by one of them has its sign."""
    for bits in range(1, 12):
        for units in range(1, 14):
            base = max(SEEN.reach + 1 - units, 0)
            assert all(SEEN._tail(j, base, bits)[0] >= 0 for j in range(base, SEEN.reach + 2))


def test_where_a_search_begins_is_found_to_the_last_digits_and_on_the_right_side() -> None:
    for start in (n * 10.0**place for n in (1, 1.7, 3, 8.9) for place in (-200, -9, -1, 0, 3, 60)):
        assert start <= solved(lambda x, start=start: x >= start) <= start * (1 + 1e-14)


def test_chances_beyond_all_floats_are_decided() -> None:
    """However many bits they take: a search for a distance ends."""
    miss = Fraction(1, 10**1000)
    assert 1000 * 2.301 < tails.halfwidth(Fraction(1), 1 - miss) < 1000 * 2.303
    assert found.units_within(30, 20, Fraction(1, 4), 1 - miss) == (10, 50)
