"""One of many integers, drawn exactly with probabilities proportional to exp(-exponent·loss).

The integers stand in order, in runs that share a loss. U is uniform on [0, 1), its bits drawn as they are needed; the
run is the one with A(i-1) <= U·A < A(i), where A(i) adds up length·exp(-exponent·loss) of the runs up to i, and A of
all. Certified bounds of these decide; where they leave a choice, more bits are drawn and the bounds are made finer.
Which of a run's integers it is, is uniform, again by bits alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from privql.kernel.enclosure import Bounds, exp_minus
from privql.noise.entropy import WordSource, system_words

Runs = Sequence[tuple[int, int]]  # how many integers, and the loss of each

_DIGIT = 10
_BASE = 1 << _DIGIT


def exponential(runs: Runs, exponent: Fraction, *, source: WordSource = system_words) -> int:
    """An integer from 0 on: its place among those of all runs."""
    if not runs or min(length for length, _ in runs) < 1 or exponent <= 0:
        raise ValueError("there are runs of one integer at least, and an exponent that tells them apart")
    least = min(loss for _, loss in runs)
    many = sum(length for length, _ in runs).bit_length()
    value, drawn = source(1).item(), 64
    while True:
        found = _run(_weights(runs, least, exponent, drawn + many + 64), value, drawn)
        if found is not None:
            return sum(length for length, _ in runs[:found]) + uniform(runs[found][0], source)
        value, drawn = value << 64 | source(1).item(), drawn + 64


def _run(weights: Sequence[Bounds], value: int, drawn: int) -> int | None:
    """Which one every U that begins with these bits is in; None if they are not all in one."""
    lows, highs = (list(accumulate(bound[side] for bound in weights)) for side in (0, 1))
    at = bisect_left(lows, -(-(value + 1) * highs[-1] >> drawn), hi=len(lows) - 1)  # the last one has no end
    return at if at == 0 or highs[at - 1] << drawn <= value * lows[-1] else None


def _weights(runs: Runs, least: int, exponent: Fraction, bits: int) -> list[Bounds]:
    """Bounds of 2^bits·length·exp(-exponent·(loss - least))."""
    powers: dict[tuple[int, int], Bounds] = {}  # of single digits in base 1024: few of them are many losses

    def power(loss: int) -> Bounds:
        low = high = 1 << bits
        place = 0
        while loss:
            digit = loss % _BASE
            if digit:
                if (place, digit) not in powers:
                    powers[place, digit] = exp_minus(exponent * (digit << place), bits)
                one = powers[place, digit]
                low, high = low * one[0] >> bits, (high * one[1] >> bits) + 1
            loss, place = loss // _BASE, place + _DIGIT
        return low, high

    return [(length * low, length * high) for length, (low, high) in ((n, power(loss - least)) for n, loss in runs)]


def uniform(length: int, source: WordSource) -> int:
    """Uniform below `length`: bits that are too large are thrown away."""
    bits = (length - 1).bit_length()
    words = -(-bits // 64)
    while True:
        value = 0
        for word in source(words):
            value = value << 64 | int(word)
        value >>= 64 * words - bits
        if value < length:
            return value
