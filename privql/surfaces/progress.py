"""A line on a terminal while something takes long: what, how far it is if that may be told, and since when.

It stands on standard error, appears after a second, and is gone when the work is done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

PATIENCE, AGAIN = 1.0, 0.2  # seconds: until it appears, and between two looks
WIDTH = 24


@contextmanager
def watched(what: str, progress: Callable[[], float | None] | None, stream: TextIO | None = None) -> Iterator[None]:
    """`progress`: which part is done, for whom it may be told. To others it says something of the rows."""
    stream = sys.stderr if stream is None else stream
    if stream is None or not stream.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, progress, stream, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(what: str, progress: Callable[[], float | None] | None, stream: TextIO, done: threading.Event) -> None:
    began = time.monotonic()
    with suppress(OSError, ValueError):  # a terminal that is gone is no reason to fail
        if done.wait(PATIENCE):
            return
        while True:
            stream.write(f"\r\x1b[K{line(what, None if progress is None else progress(), time.monotonic() - began)}")
            stream.flush()
            if done.wait(AGAIN):
                break
        stream.write("\r\x1b[K")
        stream.flush()


def line(what: str, part: float | None, seconds: float) -> str:
    """`verifying visits  [######··················]  25%, 12.4 s, 2.0% a second`; without a part the time alone."""
    if part is None:
        return f"{what}  {seconds:.0f} s"
    full = round(WIDTH * min(max(part, 0), 1))
    rate = f", {100 * part / seconds:.1f}% a second" if seconds > 0 else ""
    return f"{what}  [{'#' * full}{'·' * (WIDTH - full)}]  {100 * part:.0f}%, {seconds:.0f} s{rate}"
