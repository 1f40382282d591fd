"""The discrete Laplace law, drawn exactly: P[k] = (1-q)/(1+q) · q^|k|, q = exp(-1/t), t any positive rational.

X >= 0 has probability 1/(1+q), and then X is geometric; X < 0 has q/(1+q), and then -1-X is geometric. Split that
way no value belongs to both sides, zero included. A geometric number's digits in base 1024 are independent, so
X is drawn from the top: one table gives the sign together with all that stands above the low digits, and each low
digit has a table of 1,024 outcomes. Scales up to 25 need no low digit, up to 25,600 one, and so on.

Arrays are int64 up to five low digits, that is for scales up to 25·2^50; above, they hold Python integers. Should a
draw at a smaller scale still not fit (rarer than exp(-160)), its array holds Python integers too: nothing wraps.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, repeat

import numpy as np

from privql.kernel.enclosure import Bounds, exp_minus, quotient
from privql.noise.entropy import WordSource, system_words
from privql.noise.inversion import Integers, Table

DIGIT_BITS = 10
TOP_DEPTH = 11
TOP_SCALE = 25  # the top table then spans 40 scales on either side, leaving a tail below 2^-58
MOST_INT64_DIGITS = 5  # FARTHEST · 2^(10·5) < 2^63
CHUNK = 1 << 16  # keeps a batch of draws within the processor's caches


def discrete_laplace(scale: Fraction, size: int, *, source: WordSource = system_words) -> Integers:
    """`size` independent draws at `scale`, as int64, or as Python integers where those might not fit."""
    if not isinstance(scale, Fraction):
        raise TypeError(f"a scale is an exact Fraction, not {type(scale).__name__}")
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"a size is an int, not {type(size).__name__}")
    if scale <= 0:
        raise ValueError("a scale is positive")
    if size < 0:
        raise ValueError("a size is not negative")
    tables = _tables(scale)
    if size <= CHUNK:
        return _draw(tables, size, source)
    return np.concatenate([_draw(tables, min(CHUNK, size - done), source) for done in range(0, size, CHUNK)])


def _draw(tables: tuple[Table, ...], size: int, source: WordSource) -> Integers:
    top, *low_digits = tables
    values = top.draw(size, source)
    if not low_digits:
        return values
    if len(low_digits) > MOST_INT64_DIGITS:
        values = values.astype(np.object_)
    # Complementing by the mask turns a negative value into the geometric number -1-X, and back at the end.
    mask: Integers = np.where(values < 0, -1, 0)
    values = values ^ mask
    for digit in low_digits:
        values <<= DIGIT_BITS
        values += digit.draw(size, source)
    return values ^ mask


@lru_cache(maxsize=64)
def _tables(scale: Fraction) -> tuple[Table, ...]:
    """The top's table, then those of the low digits from the highest down."""
    digits = 0
    while scale > TOP_SCALE << DIGIT_BITS * digits:
        digits += 1
    low = (Table.of(Digit(scale / (1 << DIGIT_BITS * place))) for place in reversed(range(digits)))
    return Table.of(Top(scale, scale / (1 << DIGIT_BITS * digits))), *low


@dataclass(frozen=True, slots=True)
class Top:
    """X with its low digits dropped (rounded down): sign by q = exp(-1/scale), size by Q = exp(-1/step_scale)."""

    scale: Fraction
    step_scale: Fraction

    depth = TOP_DEPTH
    start_bits = 64  # its tails hold most of what 32 bits would leave undecided
    first = -(1 << TOP_DEPTH - 1)
    bounded = False

    def entries(self, bits: int) -> tuple[list[int], int]:
        ratio = exp_minus(1 / self.step_scale, bits)
        below, short = _progression(self._below(-1, bits), ratio, 1 << TOP_DEPTH - 1, bits)
        above, by = _progression(self._above(0, bits), ratio, (1 << TOP_DEPTH - 1) - 1, bits)
        short = max(short, by)
        below.reverse()
        return below + [(1 << bits) - short - low for low in above], short

    def cdf(self, k: int, bits: int) -> Bounds:
        if k < 0:
            return self._below(k, bits)
        low, high = self._above(k, bits)
        return (1 << bits) - high, (1 << bits) - low

    def _below(self, k: int, bits: int) -> Bounds:
        """P[X <= k] = q/(1+q) · Q^(-1-k), for k < 0."""
        return self._share(1 / self.scale + (-1 - k) / self.step_scale, bits)

    def _above(self, k: int, bits: int) -> Bounds:
        """P[X > k] = 1/(1+q) · Q^(k+1), for k >= 0."""
        return self._share((k + 1) / self.step_scale, bits)

    def _share(self, exponent: Fraction, bits: int) -> Bounds:
        """exp(-exponent) / (1+q)."""
        low, high = exp_minus(1 / self.scale, bits)
        return quotient(exp_minus(exponent, bits), ((1 << bits) + low, (1 << bits) + high), bits)


@dataclass(frozen=True, slots=True)
class Digit:
    """One base-1024 digit of a geometric number: P[d] proportional to r^d, r = exp(-1/scale), d from 0 to 1023."""

    scale: Fraction

    depth = DIGIT_BITS
    start_bits = 32  # it has no tail, and its 1,023 entries tie with one draw in four million
    first = 0
    bounded = True

    def entries(self, bits: int) -> tuple[list[int], int]:
        """By sums of powers, in which no bits cancel: a sum of k of them, divided by that of all."""
        many, one = 1 << DIGIT_BITS, 1 << bits
        powers, each = _progression((one, one), exp_minus(1 / self.scale, bits), many, bits)
        *sums, whole = accumulate(powers)
        short = many * each  # of any sum; what is left out above and below the line is worth that twice
        return [(part << bits) // (whole + short) for part in sums], (2 * short << bits) // whole + 2

    def cdf(self, k: int, bits: int) -> Bounds:
        if not 0 <= k < (1 << DIGIT_BITS) - 1:
            return (0, 0) if k < 0 else (1 << bits, 1 << bits)
        guard = self._guard()
        bits += guard
        share = quotient(self._complement(k + 1, bits), self._complement(1 << DIGIT_BITS, bits), bits)
        return _coarsen(share, guard)

    def _complement(self, power: int, bits: int) -> Bounds:
        """1 - r^power."""
        low, high = exp_minus(power / self.scale, bits)
        return (1 << bits) - high, (1 << bits) - low

    def _guard(self) -> int:
        """1 - r is about 1/scale: that many leading bits cancel."""
        return 16 + int(self.scale).bit_length()


def _progression(start: Bounds, ratio: Bounds, count: int, bits: int) -> tuple[list[int], int]:
    """Whole numbers below start, start·ratio, start·ratio², …, and how far below at most: none is above 1, so a step
    adds what the ratio is short of, and what is cut off."""
    lows = accumulate(repeat(ratio[0], count - 1), lambda low, ratio: low * ratio >> bits, initial=start[0])
    return list(lows), start[1] - start[0] + count * (ratio[1] - ratio[0] + 1)


def _coarsen(bounds: Bounds, spare: int) -> Bounds:
    return bounds[0] >> spare, -(-bounds[1] >> spare)
