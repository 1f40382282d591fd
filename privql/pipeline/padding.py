"""PAD TIME: how long it took to read rows shows as one of few lengths that everyone knows.

The lengths are the owner's and its doubles. A query of less than an hour shows one of a dozen lengths, where multiples
of two seconds would show one of 1,800; and one unit's rows change what shows only where the time was just about to
double.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from privql.domains import number_text


@contextmanager
def padded(shortest: Fraction | None) -> Iterator[None]:
    """What is done inside ends, for whoever waits for it, so long after it began - however it ends.

    Ctrl-C waits, too: it would be heard when the engine next listens, which is when some work is done.
    """
    if shortest is None:
        yield
        return
    began = time.monotonic()
    try:
        yield
    finally:
        _wait(began + shown(float(shortest), time.monotonic() - began))


def shown(shortest: float, took: float) -> float:
    """The least of the lengths that is no shorter."""
    length = shortest
    while length < took:
        length *= 2
    return length


def lengths(shortest: Fraction) -> str:
    """As people read them."""
    return ", ".join(f"{number_text(shortest * 2**doubled)} s" for doubled in range(3)) + ", …"


def _wait(until: float) -> None:
    """Not cut short by Ctrl-C, which is passed on at the end."""
    interrupted = False
    while (left := until - time.monotonic()) > 0:
        try:
            time.sleep(left)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt
