"""How many charges a second the ledger makes durable, against bare commits of SQLite in the same mode.

    python benchmarks/ledger.py [CHARGES]

A charge is durable when `reserve` returns; the answer costs a second commit. Rounds alternate, and the best of each
is printed, because other work on the machine only ever slows a round down. Run it on the disk that will hold the
ledger: on a memory file system a commit costs nothing and the ratio says nothing. What the processor does is told
apart: the rest is the disk's, so that the last line can say what the ratio would be on a slower one.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from time import perf_counter, process_time

from privql.kernel.cost import Cost
from privql.kernel.events import Event
from privql.ledger import BudgetRow, Ledger, Permit, Request

TEXT = "SELECT region, COUNT(*) AS n, AVG(cost) AS mean_cost FROM patients WHERE age BETWEEN 40 AND {} GROUP BY region"
MEASUREMENTS = '[{"sums": ["tally", "balance"], "groups": 16, "scale": "20"}]' * 4
ANSWER = bytes(400)
ROUNDS = 5
SLOW = 3500  # µs: a commit on a slow disk


def timed(work: Callable[[int], object], numbers: range) -> tuple[float, float]:
    """How many µs one takes, and how many of them the processor is at work."""
    start, at_work = perf_counter(), process_time()
    for number in numbers:
        work(number)
    each = 1e6 / len(numbers)
    return (perf_counter() - start) * each, (process_time() - at_work) * each


def main(charges: int) -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        bare = sqlite3.connect(Path(folder) / "bare", isolation_level=None)
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE charge (id INTEGER PRIMARY KEY, query TEXT, measurements TEXT)")

        def commit(number: int) -> None:
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO charge (query, measurements) VALUES (?, ?)", (TEXT.format(number), MEASUREMENTS))
            bare.execute("COMMIT")

        ledger = Ledger.create(Path(folder) / "ledger")
        ledger.apply_policy(
            "", [BudgetRow("research", "patient", Fraction(10**5), Fraction(1, 10**6))], [], ["patients"]
        )
        permits: list[Permit] = []

        def reserve(number: int) -> None:
            permit = ledger.reserve(asked("alice", number))
            assert isinstance(permit, Permit)
            permits.append(permit)

        best: dict[str, tuple[float, float]] = {}
        for turn in range(ROUNDS):
            numbers = range(turn * charges, (turn + 1) * charges)
            found = {
                "bare commit": timed(commit, numbers),
                "reserve": timed(reserve, numbers),
                "release": timed(lambda number: ledger.release(permits[number], ANSWER), numbers),
                "replay": timed(lambda number: replay(ledger, number), numbers),
            }
            for name, (took, cpu) in found.items():
                least = best.get(name, (took, cpu))
                best[name] = min(took, least[0]), min(cpu, least[1])
        usual, at_work = best["bare commit"]
        for name, (took, cpu) in best.items():
            print(
                f"{name:12} {1e6 / took:9,.0f} /s {took:7.0f} µs, {cpu:5.0f} µs of it CPU   "
                f"{usual / took:5.2f} x as many as bare commits"
            )
        more = best["reserve"][1] - at_work
        print(f"{'reserve':12} {SLOW / (SLOW + more):.2f} x where a bare commit takes {SLOW / 1000} ms, by its CPU")
        start = perf_counter()
        assert ledger.verify() == ()
        print(f"verify       {ROUNDS * charges / (perf_counter() - start):9,.0f} charges/s")
        ledger.close()
        bare.close()


def replay(ledger: Ledger, number: int) -> None:
    ledger.reserve(asked("bob", number))


def asked(analyst: str, number: int) -> Request:
    charges = (("patient", (Event("pure", Cost(Fraction(1, 10))),)),)
    return Request(analyst, TEXT.format(number), "{}", 1, charges, MEASUREMENTS, ("patients",))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
