"""The law of the rounded Gaussian, put together of what its sampler does with its words.

Whether a place stays in its strip depends on two words together, so there are no intervals of words that do the same.
But each part of it can be seen: which strip a first word leads to, which share of third words lets a place stay, and
what a place is rounded to. Integrated over the places, they are the law.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from privql.kernel import gaussian
from privql.noise.gaussian import STRIPS, Strips, rounded_gaussian
from privql.noise.inversion import Table
from tests.mechanisms.words import WORD, Given, More, law_of
from tests.noise.law import Script

_MIDDLE = 1 << 63


def phi(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


@cache
def strips() -> dict[int, Fraction]:
    table = Table.of(Strips())
    law = law_of(lambda source: int(table.draw(1, source)[0]), 1)
    assert law.open < Fraction(1, 2**50)
    return {int(strip): share for strip, share in law.chances.items()}


def first_word(strip: int) -> int:
    """One that leads to this strip."""
    low, high = (int(phi(edge / STRIPS) * 2.0**64) for edge in (strip, strip + 1))
    return (low + high) // 2


def stays(strip: int, place: int) -> float:
    """The share of third words that let this place stay, by halving."""
    low, high = 0, 1 << 32
    while high - low > 1:
        middle = (low + high) // 2
        try:
            rounded_gaussian(Fraction(1000), 1, source=Given([first_word(strip), place, middle]))
            low = middle
        except More:
            high = middle
    return (low + 1) / 2**32


@pytest.mark.parametrize("strip", [0, 1, 40, 130, 200, -1, -77])
def test_a_place_stays_as_often_as_the_density_falls(strip: int) -> None:
    outwards = strip if strip >= 0 else -1 - strip
    for place in (1 << 40, WORD // 7, WORD // 2, WORD - (1 << 40)):
        v = place / WORD
        wanted = math.exp(-v * (2 * outwards + v) / (2 * STRIPS**2))
        assert stays(strip, place) == pytest.approx(wanted, abs=2.0**-30)


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(10, 3)], ids=str)
def test_its_parts_make_the_law(sigma: Fraction) -> None:
    """Within a strip the density of a place is what stays; a place is rounded where it should be, to the last bits."""
    found: dict[int, float] = {}
    for strip, share in strips().items():
        outwards, sign = (strip, 1) if strip >= 0 else (-1 - strip, -1)
        low, high = (sigma * (outwards + end) / STRIPS + Fraction(1, 2) for end in (0, 1))
        edges = [
            Fraction(0),
            *((k - low) / (high - low) for k in range(math.floor(low) + 1, math.ceil(high))),
            Fraction(1),
        ]
        parts = [_mass(outwards, float(a), float(b)) for a, b in pairwise(edges)]
        for k, part in enumerate(parts, math.floor(low)):
            found[sign * k] = found.get(sign * k, 0.0) + float(share) * part / sum(parts)
        if -150 < strip < 150:
            for k, edge in enumerate(edges[1:-1], math.floor(low) + 1):
                at = math.ceil(edge * WORD)
                for place, wanted in ((at - 2, k - 1), (at + 1, k)):
                    words = Script([first_word(strip), place, 0, _MIDDLE])
                    assert abs(int(rounded_gaussian(sigma, 1, source=words)[0])) == wanted
    for k, chance in found.items():
        assert chance == pytest.approx(gaussian.pmf(k, sigma), rel=1e-9, abs=1e-13)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


def _mass(outwards: int, low: float, high: float) -> float:
    """∫ e^-t over these places, by Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    v = (nodes + 1) / 2 * (high - low) + low
    return float((weights * np.exp(-v * (2 * outwards + v) / (2 * STRIPS**2))).sum() * (high - low) / 2)
