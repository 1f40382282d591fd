"""How many charges a second the ledger makes durable, against bare commits of SQLite in the same mode.

    python benchmarks/ledger.py [CHARGES]

A charge is durable when `reserve` returns; the answer costs a second commit. Rounds alternate, and the best of each
is printed, because other work on the machine only ever slows a round down. Run it on the disk that will hold the
ledger: on a memory file system a commit costs nothing and the ratio says nothing.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from time import perf_counter

from privql.kernel.cost import Cost
from privql.kernel.events import Event
from privql.ledger import BudgetRow, Ledger, Permit, Request

TEXT = "SELECT region, COUNT(*) AS n, AVG(cost) AS mean_cost FROM patients WHERE age BETWEEN 40 AND {} GROUP BY region"
MEASUREMENTS = '[{"sums": ["tally", "balance"], "groups": 16, "scale": "20"}]' * 4
ANSWER = bytes(400)
ROUNDS = 5


def rate(work: Callable[[int], object], numbers: range) -> float:
    start = perf_counter()
    for number in numbers:
        work(number)
    return len(numbers) / (perf_counter() - start)


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

        best = dict.fromkeys(("bare commit", "reserve", "release", "replay"), 0.0)
        for turn in range(ROUNDS):
            numbers = range(turn * charges, (turn + 1) * charges)
            rates = {
                "bare commit": rate(commit, numbers),
                "reserve": rate(reserve, numbers),
                "release": rate(lambda number: ledger.release(permits[number], ANSWER), numbers),
                "replay": rate(lambda number: replay(ledger, number), numbers),
            }
            best = {name: max(found, best[name]) for name, found in rates.items()}
        for name, found in best.items():
            print(f"{name:12} {found:9,.0f} /s   {found / best['bare commit']:6.2f} x a bare commit")
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
