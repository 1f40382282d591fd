"""Exact sampling from a law on the integers, by inversion of its certified distribution function.

The answer is the least k with U < F(k), where U is uniform on [0, 1) and its bits are drawn as they are needed. The
first b of them, 64 or 32 by the law, decide nearly always: a table holds floor(2^b · F(k)), and a start that differs
from every entry lies on a known side of every F(k). One that equals an entry (a tie), or falls outside the table (the
tail), draws further words and compares with certified bounds of F(k) until the order is proved; no probability is ever
rounded.

Bulk draws walk the table as an implicit tree: every draw makes the same `depth` steps, with no branch on its value.
What does depend on the value: which cache lines are read; for calls below `BULK` draws, the branches inside numpy's
searchsorted; and the extra words of a tie or a tail, rarer than 2^-50 a draw from 64 bits and 2^-22 from 32.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privql.kernel.enclosure import Bounds
from privql.kernel.search import least
from privql.noise.entropy import HalfWords, Words, WordSource, half_words

Starts = Words | HalfWords
Integers = NDArray[np.int64] | NDArray[np.object_]

BULK = 512  # from here on the tree is faster than searchsorted
FARTHEST = 1 << 12  # outcomes beyond are kept as Python integers, so that no caller's arithmetic can wrap
TABLE_BITS = 128


class Law(Protocol):
    """A law on the integers whose F(k) is irrational, or known exactly, wherever it is neither 0 nor 1."""

    @property
    def first(self) -> int:
        """The k of the table's first entry."""

    @property
    def depth(self) -> int:
        """The table has 2^depth - 1 entries, F(first) and those that follow."""

    @property
    def start_bits(self) -> int:
        """How many bits of U are drawn at first, 64 or 32: as few as leave the tails and ties of the table rare."""

    @property
    def bounded(self) -> bool:
        """Whether no outcome lies below `first` or beyond the last entry's successor."""

    def entries(self, bits: int) -> tuple[list[int], int]:
        """For every entry in turn a whole number that 2^bits·F(k) exceeds, and by how much at most; where F(k) is
        rational, 2^bits·F(k) itself."""

    def cdf(self, k: int, bits: int) -> Bounds:
        """Bounds of F(k) for any k, a few units of 2^-bits apart."""


@dataclass(frozen=True, slots=True)
class Table:
    """A law ready to be drawn from: `floors` in order, the same as a tree, and each rank's greatest entry below."""

    law: Law
    floors: Starts
    tree: Starts
    below: Starts

    @classmethod
    def of(cls, law: Law) -> "Table":
        floors = certified_floors(law)
        size = 1 << law.depth
        tree = np.zeros(size, dtype=floors.dtype)
        for level in range(law.depth):
            stride = size >> level
            tree[1 << level : 2 << level] = floors[stride // 2 - 1 :: stride]
        return cls(law, floors, tree, np.concatenate([np.zeros(1, dtype=floors.dtype), floors]))

    def draw(self, count: int, source: WordSource) -> Integers:
        starts = source(count) if self.law.start_bits == 64 else half_words(count, source)
        ranks = self._ranks(starts)
        doubtful = self.below.take(ranks, mode="clip") == starts
        if not self.law.bounded:
            doubtful |= (ranks == 0) | (ranks == self.floors.size)
        ranks += self.law.first
        outcomes: Integers = ranks
        for index in np.flatnonzero(doubtful):
            outcome = _decide(self.law, int(starts[index]), int(outcomes[index]), source)
            if abs(outcome) > FARTHEST:
                outcomes = outcomes.astype(np.object_)
            outcomes[index] = outcome
        return outcomes

    def _ranks(self, starts: Starts) -> NDArray[np.int64]:
        """How many entries are at most each start."""
        if starts.size < BULK:
            return self.floors.searchsorted(starts, side="right")
        node = np.ones(starts.size, dtype=np.int64)
        pivot = np.empty_like(starts)
        for _ in range(self.law.depth):
            np.take(self.tree, node, out=pivot, mode="clip")  # the clip never acts: it spares a buffered copy
            node += node
            node += pivot <= starts
        node -= 1 << self.law.depth
        return node


def certified_floors(law: Law) -> Starts:
    """floor(2^b · F(k)) for every entry; precision doubles until no error reaches across a boundary of b bits."""
    bits = TABLE_BITS
    while True:
        shift = bits - law.start_bits
        lows, short = law.entries(bits)
        # It is the number itself or strictly inside its bounds: the floor of 2^bits·F(k) is at most low + short - 1.
        rest, most = (1 << shift) - 1, (1 << shift) - short
        if all(low & rest <= most for low in lows):
            starts = [low >> shift for low in lows]
            return np.array(starts, np.uint64) if law.start_bits == 64 else np.array(starts, np.uint32)
        bits *= 2


def _decide(law: Law, start: int, guess: int, source: WordSource) -> int:
    """The least k with U < F(k), where U begins with `start`; further bits of U are drawn as they are needed."""
    value, bits = start, law.start_bits

    def below(k: int) -> bool:
        """Whether U < F(k)."""
        nonlocal value, bits
        while True:
            low, high = law.cdf(k, bits)
            if value >= high:
                return False
            if value < low:
                return True
            value, bits = value << 64 | source(1).item(), bits + 64

    return least(below, guess)
