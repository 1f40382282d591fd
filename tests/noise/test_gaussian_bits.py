"""The first bits of a Gaussian decide what all that may follow them would."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from privql.noise import gaussian
from privql.noise.entropy import Words
from tests.noise.law import TOP_WORD, Script


class Asked(Exception):
    """More bits were asked for."""


def no_more(count: int) -> Words:
    raise Asked


@pytest.mark.parametrize("strip", [0, 1, 31, 100, 255, 300])
def test_first_bits_decide_what_any_that_follow_would(strip: int) -> None:
    """Of V there are so few that it makes a difference where in its interval V is."""
    ways = set()
    for v in range(8):
        most, least = (math.exp(-place * (2 * strip + place) / 2048) * 2**40 for place in (v / 8, (v + 1) / 8))
        for w in {math.floor(edge) + off for edge in (least, most) for off in (-99, -4, -1, 0, 1, 4, 99)}:
            try:
                stays = gaussian._stays(strip, (v, 3), (w, 40), no_more) is not None
                assert w + 1 <= least + 0.01 if stays else w >= most - 0.01, (v, w)
            except Asked:
                stays = None
                assert least - 4 < w + 1 and w < most + 4, (v, w)
                if least + 4 < w < most - 4:  # the first word is of V, the second of W
                    assert gaussian._stays(strip, (v, 3), (w, 40), Script([7, TOP_WORD])) == (v << 64 | 7, 67)
                    assert gaussian._stays(strip, (v, 3), (w, 40), Script([TOP_WORD, 0])) is None
            ways.add(stays)
    assert ways == {True, False, None}


@pytest.mark.parametrize("strip", [0, 1, 7, 300])
def test_a_place_is_rounded_once_all_that_begin_so_agree(strip: int) -> None:
    ways = set()
    for shift in (Fraction(1, 3), Fraction(1, 2), Fraction(4), Fraction(22, 7), Fraction(8), Fraction(1000, 3)):
        for v in range(8):
            ends = [shift * (strip + Fraction(at, 8)) + Fraction(1, 2) for at in (v, v + 1)]
            first, last = math.floor(ends[0]), math.ceil(ends[1]) - 1  # the end of the interval is not in it
            try:
                found = gaussian._rounded(shift, strip, (v, 3), no_more)
                assert first == found == last
            except Asked:
                found = None
                assert first < last == gaussian._rounded(shift, strip, (v, 3), Script([TOP_WORD]))
                assert first == gaussian._rounded(shift, strip, (v, 3), Script([0]))
            ways.add(found is None)
    assert ways == {True, False}
