"""Ctrl-C while an engine is at work."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def ctrl_c(after: float) -> Iterator[None]:
    """It is pressed after so many seconds, and breaks off what is done here; heard even where a shell has put the tests
    into the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        timer.cancel()  # what failed before must not be broken off, nor the tests behind it
        timer.join()
        signal.signal(signal.SIGINT, before)
