"""Ctrl-C while an engine is at work."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def ctrl_c(*after: float) -> Iterator[None]:
    """It is pressed after so many seconds each, and breaks off what is done here; heard even where a shell has put the
    tests into the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timers = [threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)) for seconds in after]
    for timer in timers:
        timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        for timer in timers:
            timer.cancel()  # what failed before must not be broken off, nor the tests behind it
            timer.join()
        signal.signal(signal.SIGINT, before)
