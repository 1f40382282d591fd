"""Processes that share a ledger, as a program, because it forks. What is left in the ledger is checked by test_storm.

python storm.py hammer PATH PROCESSES ATTEMPTS   many processes spend one budget, an attempt is a query
python storm.py mixed PATH PROCESSES ATTEMPTS    the same with plans of three, and limits for every other analyst
python storm.py delta PATH PROCESSES ATTEMPTS    the same with a δ, so that any of several filters admits
python storm.py fork PATH                        forks while another thread is in the middle of transactions
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest

from privql.kernel.cost import Cost
from privql.kernel.events import Event
from privql.ledger import BudgetRow, GrantRow, Ledger, LedgerError, OverBudget, Permit, Request
from tests.ledger.asking import ask, budget, ledger, met, plan

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
            with suppress(OverBudget):
                answer(made, ask(f"{at} {attempt}", SHARE, analyst=f"a{at}"))

    wait(*[in_child(lambda at=at: child(at)) for at in range(int(processes))])


def mixed(path: str, processes: str, attempts: str) -> None:
    grants = tuple(GrantRow("research", f"a{at}", None if at % 2 else 2 * SHARE) for at in range(int(processes)))

    def child(at: int) -> None:
        made = ledger(budget(1), grants=grants, path=path)
        for attempt in range(int(attempts)):
            queries = [f"{at} {attempt} {slot}" for slot in range(3 if attempt % 3 == 0 else 1)]
            try:
                if len(queries) == 1:
                    answer(made, ask(queries[0], SHARE, analyst=f"a{at}"))
                    continue
                (paid,) = made.prepay((plan(*queries, epsilon=SHARE, analyst=f"a{at}"),))
            except OverBudget:
                continue
            for slot, query in enumerate(queries):
                answer(made, ask(query, SHARE, analyst=f"a{at}"), paid, slot)

    wait(*[in_child(lambda at=at: child(at)) for at in range(int(processes))])


def answer(made: Ledger, request: Request, *paid: Any) -> None:
    granted = made.reserve(request, *paid)
    assert isinstance(granted, Permit)
    made.release(granted, os.urandom(8))


# what is asked for where the budget has a δ; the first is the smallest in every way of adding up
SIZES = (
    met(Fraction(1, 10)),
    met(Fraction(1, 7)),
    (Event("ranged", Cost(Fraction(1, 5))),),
    (Event("gaussian", Cost(Fraction(1, 5), Fraction(1, 10**8))),),
    met(Fraction(1, 9), Fraction(1, 10**9)),
)
WITH_DELTA = BudgetRow("research", "patient", Fraction(3), Fraction(1, 10**6))


def delta(path: str, processes: str, attempts: str) -> None:
    def child(at: int) -> None:
        made = ledger(WITH_DELTA, path=path)
        for attempt in range(int(attempts)):
            events = SIZES[(at + attempt) % len(SIZES)]
            request = ask(f"{at} {attempt}", analyst=f"a{at}", charges=(("patient", events),))
            with suppress(OverBudget):
                answer(made, request)

    wait(*[in_child(lambda at=at: child(at)) for at in range(int(processes))])


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
        wait(in_child(lambda at=at: child(at)))
    stop.set()
    thread.join()
    assert made.verify() == ()


if __name__ == "__main__":
    {"hammer": hammer, "mixed": mixed, "delta": delta, "fork": fork}[sys.argv[1]](*sys.argv[2:])
