"""Coins that fall heads with probability exp(-x), and permute-and-flip: one of those whose coins fell heads.

Permute-and-flip takes the candidates in random order and flips each one's coin until one falls heads. The coins do not
depend on the order, and among those that would fall heads each is as likely to come first; so all are flipped at once,
and one of the heads is drawn uniformly. The best candidate's coin always falls heads.

A coin is heads iff U < exp(-x), U uniform on [0, 1), its bits drawn as they are needed: 64 settle what is not below
2^-floor(x), which is tails, else certified bounds decide, and where these leave a choice, more bits do.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privql.kernel.enclosure import Bounds, exp_minus
from privql.noise.entropy import WordSource, system_words
from privql.noise.exponential import uniform

_BITS = 64
_GREATEST = np.uint64(2**64 - 1)


def permute_and_flip(scores: Sequence[int], exponent: Fraction, *, source: WordSource = system_words) -> int:
    """The index of one; its coin is heads with probability exp(-exponent·(the greatest score - its own))."""
    if not len(scores) or exponent <= 0:
        raise ValueError("one of several is chosen, by an exponent that tells them apart")
    best = max(scores)
    heads = _heads(np.array([best - score for score in scores], dtype=np.int64), exponent, source)
    return int(heads[uniform(len(heads), source)])


def _heads(gaps: NDArray[np.int64], exponent: Fraction, source: WordSource) -> NDArray[np.int64]:
    """Those whose coins fall heads."""
    words = source(gaps.size)
    # exp(-x) < 2^-floor(x): a word with a bit among its first floor(x) is too large, whatever follows; and as ln 2 < 1,
    # this holds as well where a double's x is the next whole number already
    leading = (gaps * float(exponent)).clip(max=_BITS - 1).astype(np.uint64)
    open_ = np.flatnonzero(words <= _GREATEST >> leading)
    known: dict[int, Bounds] = {}
    return open_[[_head(int(gaps[at]), exponent, int(words[at]), known, source) for at in open_]]


def _head(gap: int, exponent: Fraction, value: int, known: dict[int, Bounds], source: WordSource) -> bool:
    """Whether U < exp(-exponent·gap), where the first 64 bits of U are `value`."""
    bits = _BITS
    if not gap:
        return True
    if gap not in known:
        known[gap] = exp_minus(exponent * gap, bits)
    low, high = known[gap]
    while low <= value < high:
        value, bits = value << _BITS | source(1).item(), bits + _BITS
        low, high = exp_minus(exponent * gap, bits)
    return value < low
