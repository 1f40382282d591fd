"""Uniform 64-bit words from the operating system's cryptographic generator.

Noise that can be predicted protects nobody, so there is no seed to set and no state to steal: each call asks the
kernel for fresh bytes and keeps none. With nothing buffered, two processes can never hand out the same words after a
fork. A sampler takes its source of words as an argument; tests pass one that forces the rare paths.
"""

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
HalfWords = NDArray[np.uint32]
WordSource = Callable[[int], Words]


def system_words(count: int) -> Words:
    """`count` independent words, uniform over all 64-bit values."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def half_words(count: int, source: WordSource) -> HalfWords:
    """`count` independent values, uniform over all of 32 bits, two from each word of the source."""
    return source((count + 1) // 2).view(np.uint32)[:count]
