"""A Gaussian rounded to whole numbers, drawn exactly: round(σ·Z), σ any positive rational.

Z is drawn as what it is, a place within a strip of the normal law 1/32 wide, and σ comes in last, so one table serves
every σ. Three uniform numbers decide, their bits drawn as they are needed:

- U, which strip: inversion of the certified Φ at the strips' edges (see `inversion`).
- V, the place: |Z| = (m + V)/32, m counting strips from 0 outwards.
- W, whether it stays: with the chance φ((m + V)/32) / φ(m/32) = e^-t, t = V·(2m + V)/2048; else V and W are drawn
  again. Within a strip φ falls by little, so nearly all stay.

Given its strip, Z then has the density of the normal law there. What stays is σ·(m + V)/32 rounded, a rational number.

Floats only sort out the clear cases: what they decide has a margin far above what they can lose, and what they cannot
is decided by certified bounds, with more bits of V and W. Of e^-t they take the series to t⁵, which is below it by
t⁶/720 at most: less than 2^-20 for t < 1/4, where the table's strips end. Of the product, relative errors of 2^-50 are
allowed for; its factors, rounded, lose less than 2^-51.

What depends on the value that is drawn: how often V and W are drawn again, besides what `inversion` says of its table.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privql.kernel.enclosure import Bounds, exp_minus
from privql.kernel.normal import tail
from privql.noise.entropy import Words, WordSource, half_words, system_words
from privql.noise.inversion import Integers, Table

STRIPS = 32  # to each unit
DEPTH = 9
CHUNK = 1 << 16  # keeps a batch of draws within the processor's caches

_WIDE = 1 << DEPTH - 1  # strips from here outwards are left to whole numbers
_MARGIN = 2.0**-20
_SERIES = (-1 / 120, 1 / 24, -1 / 6, 1 / 2, -1.0, 1.0)
_LARGEST = 1 << 62

Place = tuple[int, int]  # a number of 0 up to 1 that begins with these bits: a whole number, and how many they are


def rounded_gaussian(sigma: Fraction, size: int, *, source: WordSource = system_words) -> Integers:
    """`size` independent draws of deviation `sigma`, as int64, or as Python integers where those might not fit."""
    if not isinstance(sigma, Fraction):
        raise TypeError(f"a deviation is an exact Fraction, not {type(sigma).__name__}")
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"a size is an int, not {type(size).__name__}")
    if sigma <= 0:
        raise ValueError("a deviation is positive")
    if size < 0:
        raise ValueError("a size is not negative")
    if size <= CHUNK:
        return _draw(sigma, size, source)
    return np.concatenate([_draw(sigma, min(CHUNK, size - done), source) for done in range(0, size, CHUNK)])


def _draw(sigma: Fraction, size: int, source: WordSource) -> Integers:
    strips = _table().draw(size, source)
    negative = strips < 0
    outwards = np.where(negative, -1 - strips, strips)
    far = np.minimum(outwards, _WIDE).astype(np.float64)
    places, finer = _places(outwards, far, source)
    shift = sigma / STRIPS
    # A float of `shift` may be off by 2^-53 of it, m + V and the product each by as much again.
    steps = float(shift) if sigma < _LARGEST else 1e300
    values = steps * (far + places.astype(np.float64) * 2.0**-64) + 0.5
    whole = np.floor(values)
    slack = values * 2.0**-50 + steps * 2.0**-62  # the bits of V that are still to come are worth 2^-64 of a strip
    doubtful = ~((values - whole > slack) & (whole + 1 - values > slack) & (values < _LARGEST) & (far < _WIDE))
    whole[doubtful] = 0
    sizes: Integers = whole.astype(np.int64)
    for index in np.flatnonzero(doubtful):
        place = finer.get(int(index), (int(places[index]), 64))
        one = _rounded(shift, int(outwards[index]), place, source)
        if one >= _LARGEST:
            sizes = sizes.astype(np.object_)
        sizes[index] = one
    return np.where(negative, -sizes, sizes)


def _places(outwards: Integers, far: NDArray[np.float64], source: WordSource) -> tuple[Words, dict[int, Place]]:
    """For each draw the first 64 bits of its place, and more for those that took more to be decided."""
    places = np.zeros(outwards.size, dtype=np.uint64)
    finer: dict[int, Place] = {}
    left = np.arange(outwards.size)
    while left.size:
        drawn, chances = source(left.size), half_words(left.size, source)
        places[left] = drawn
        place = drawn.astype(np.float64) * 2.0**-64
        t = place * (2 * far[left] + place) / (2 * STRIPS**2)
        likely = np.full(left.size, _SERIES[0])
        for term in _SERIES[1:]:
            likely *= t
            likely += term
        beyond = chances.astype(np.float64) * 2.0**-32 - likely
        again = beyond > 0
        again_for_certain = (beyond > _MARGIN) & (far[left] < _WIDE)
        stays_for_certain = (beyond < -_MARGIN) & (far[left] < _WIDE)
        for at in np.flatnonzero(~(again_for_certain | stays_for_certain)):
            index = int(left[at])
            found = _stays(int(outwards[index]), (int(drawn[at]), 64), (int(chances[at]), 32), source)
            again[at] = found is None
            if found is not None:
                finer[index] = found
        left = left[again]
    return places, finer


def _stays(strip: int, place: Place, chance: Place, source: WordSource) -> Place | None:
    """The place, with as many more bits as it took, if W < e^-t; None if it does not stay."""
    (v, v_bits), (w, w_bits) = place, chance
    while True:
        one = 1 << v_bits
        nearest, farthest = (Fraction(end * (2 * strip * one + end), 2 * STRIPS**2 * one * one) for end in (v, v + 1))
        if w < exp_minus(farthest, w_bits)[0]:
            return v, v_bits
        if w >= exp_minus(nearest, w_bits)[1]:
            return None
        more = source(2)
        v, v_bits = v << 64 | int(more[0]), v_bits + 64
        w, w_bits = w << 64 | int(more[1]), w_bits + 64


def _rounded(shift: Fraction, strip: int, place: Place, source: WordSource) -> int:
    """shift·(strip + V), rounded: V has more bits drawn until all that begin so agree."""
    v, bits = place
    up, down = 2 * shift.numerator, 2 * shift.denominator
    while True:
        start = (strip << bits) + v
        low = (up * start + (shift.denominator << bits)) // (down << bits)
        # the end of the interval is not in it
        if up * (start + 1) + (shift.denominator << bits) <= (low + 1) * (down << bits):
            return low
        v, bits = v << 64 | source(1).item(), bits + 64


@lru_cache(maxsize=1)
def _table() -> Table:
    return Table.of(Strips())


@dataclass(frozen=True, slots=True)
class Strips:
    """The strip that Z is in: F(k) = Φ((k+1)/32). Beyond the table's 8 deviations there is less than 2^-49."""

    depth = DEPTH
    start_bits = 64
    first = -(1 << DEPTH - 1)
    bounded = False

    def entries(self, bits: int) -> tuple[list[int], int]:
        above = [tail(Fraction(k, STRIPS), bits) for k in range(1, 1 << DEPTH - 1)]
        half = 1 << bits - 1  # Φ(0), the one that is rational
        lows = [low for low, _ in reversed(above)] + [half] + [(1 << bits) - high for _, high in above]
        return lows, max(high - low for low, high in above)

    def cdf(self, k: int, bits: int) -> Bounds:
        return tail(Fraction(-(k + 1), STRIPS), bits)
