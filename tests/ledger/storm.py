"""Processes that share a ledger and die: run as a program, because it forks. What it prints is checked by test_storm.

python storm.py hammer PATH PROCESSES ATTEMPTS   many processes spend one budget
python storm.py kill PATH ROUNDS                 a process is killed at a random moment; what it gave out is printed
python storm.py step PATH                        a process is killed before and after each statement it runs
python storm.py fork PATH                        forks while another thread is in the middle of transactions
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from privql.ledger import Ledger, LedgerError, OverBudget, Permit, TooManyResumes
from tests.ledger.asking import ask, budget, ledger

SHARE = Fraction(1, 97)


def in_child(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def wait(*pids: int) -> None:
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        if status:
            sys.exit(f"a child ended with {status}")


def hammer(path: str, processes: str, attempts: str) -> None:
    def child(at: int) -> None:
        made = ledger(budget(1), path=path)  # all of them create it and apply the same policy
        for attempt in range(int(attempts)):
            try:
                granted = made.reserve(ask(f"{at} {attempt}", SHARE, analyst=f"a{at}"))
            except OverBudget:
                continue
            assert isinstance(granted, Permit)
            made.release(granted, os.urandom(8))

    wait(*[in_child(lambda at=at: child(at)) for at in range(int(processes))])  # type: ignore[misc]


def ask_and_tell(made: Ledger, rounds: int, out: int) -> None:
    """Ask queries of a small pool, so that killed ones come up again; tell whatever is given out."""
    for _ in range(rounds):
        try:
            granted = made.reserve(ask(random.randrange(60), SHARE))
        except (OverBudget, TooManyResumes):
            continue
        release = made.release(granted, os.urandom(8)) if isinstance(granted, Permit) else granted
        os.write(out, f"{release.release_id} {release.answer.hex()}\n".encode())


def kill(path: str, rounds: str) -> None:
    start = time.perf_counter()
    with ledger(budget(40 * SHARE), path=path) as made:
        ask_and_tell(made, 4, 1)
    once = (time.perf_counter() - start) / 4  # commits take 0.1 ms on one disk and 5 ms on another
    for _ in range(int(rounds)):
        pid = in_child(lambda: ask_and_tell(Ledger.open(path), 1000, 1))
        time.sleep(random.uniform(0, 6 * once))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Dying:
    """A connection whose process dies before or after its n-th statement."""

    def __init__(self, real: sqlite3.Connection, steps: list[int], after: bool) -> None:
        self._real, self._steps, self._after = real, steps, after

    def execute(self, *args: Any) -> Any:
        self._steps[0] -= 1
        if self._steps[0] == 0 and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        done = self._real.execute(*args)
        if self._steps[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def step(path: str) -> None:
    ledger(budget(1000), path=path).close()
    connect = sqlite3.connect
    for number in range(1, 60):
        for after in (False, True):

            def child(number: int = number, after: bool = after) -> None:
                steps = [number]
                sqlite3.connect = lambda *args, **kwargs: Dying(connect(*args, **kwargs), steps, after)  # type: ignore
                made = Ledger.open(path)
                granted = made.reserve(ask(f"{number} {after}"))
                assert isinstance(granted, Permit)
                release = made.release(granted, os.urandom(8))
                os.write(1, f"{release.release_id} {release.answer.hex()}\n".encode())

            os.waitpid(in_child(child), 0)


def fork(path: str) -> None:
    made = ledger(budget(1000), path=path)
    scratch = ledger(budget(1))
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            made.reserve(ask(f"thread {time.monotonic_ns()}", SHARE, analyst="thread"))
            time.sleep(0.0001)  # or the lock is never free for long enough to fork

    thread = threading.Thread(target=busy)
    thread.start()

    def child(at: int) -> None:
        assert made._store._connection is None  # a connection that crossed a fork believes in locks that it has not
        for query in range(5):
            granted = made.reserve(ask(f"{at} {query}", SHARE, analyst="child"))
            assert isinstance(granted, Permit)
            made.release(granted, b"x")
        with pytest.raises(LedgerError, match="in memory"):  # a copy of it would double its budget
            scratch.reserve(ask("a"))

    for at in range(8):
        wait(in_child(lambda at=at: child(at)))  # type: ignore[misc]
    stop.set()
    thread.join()
    assert made.verify() == ()


if __name__ == "__main__":
    {"hammer": hammer, "kill": kill, "step": step, "fork": fork}[sys.argv[1]](*sys.argv[2:])
