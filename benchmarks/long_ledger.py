"""How a ledger with a long history opens, admits and reports: all of it should cost what it costs on the first day.

    python benchmarks/long_ledger.py [CHARGES]

The history is written by SQL, as `reserve` and `release` would have written it: fifty analysts, a name for every tenth
answer. Then alice asks, who has not asked for long, and zoe, who has never asked. Each line is the median and the 95th
percentile of many calls. Run it on the disk that will hold the ledger.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from time import perf_counter

from privql.kernel import losses
from privql.kernel.cost import Cost
from privql.kernel.events import Event, written
from privql.kernel.losses import loss_of
from privql.ledger import BudgetRow, Ledger, Permit, Request, chain
from privql.ledger.asked import identity

EVENTS = (Event("pure", Cost(Fraction(1, 1000))),)
BUDGET = BudgetRow("research", "patient", Fraction(1040), Fraction(1, 10**6))
OTHER = BudgetRow("teaching", "patient", Fraction(10), Fraction(1, 10**6))
TEXT = "SELECT region, COUNT(*) AS n, AVG(cost) AS mean_cost FROM patients WHERE age BETWEEN 40 AND {} GROUP BY region"
MEASURED = '[{"sums": ["tally", "balance"], "groups": 16, "scale": "20"}]'
VERSIONS = '{"patients": 0}'
ANSWER = bytes(400)
ANALYSTS = 50
CALLS = 200


def analyst(number: int) -> str:
    return "alice" if number < 1000 else f"a{number % ANALYSTS}"


def build(path: Path, charges: int) -> None:
    with Ledger.create(path) as ledger:
        ledger.apply_policy("", [BUDGET, OTHER], [], ["patients"])

    def rows() -> Iterator[tuple[object, ...]]:
        for number in range(charges):
            query = TEXT.format(number)
            same = identity(query, "{}", 1, VERSIONS, MEASURED, {"patient": EVENTS})
            yield number + 1, same, analyst(number), query, VERSIONS, MEASURED, ANSWER

    numbers = range(charges)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = OFF")
        db.executemany(
            "INSERT INTO charge (id, identity, analyst, query, parameters, policy_version, data_version, measurements,"
            " state, resumes, reserved_at, released_at, answer)"
            " VALUES (?, ?, ?, ?, '{}', 1, ?, ?, 'released', 0, 'then', 'then', ?)",
            rows(),
        )
        line = "patient", BUDGET.name, written(EVENTS)
        db.executemany("INSERT INTO charge_line VALUES (?, ?, ?, ?, 0)", ((number + 1, *line) for number in numbers))
        names = ((analyst(number), f"n{number}", f"n{number}", number + 1) for number in numbers[::10])
        db.executemany("INSERT INTO release_name VALUES (?, ?, ?, ?)", names)
        (order,) = db.execute("SELECT renyi_order FROM budget_filter").fetchone()
        one = loss_of(EVENTS, Fraction(order))
        each = Counter(map(analyst, numbers))
        totals = [("", "", charges), ("research", "", charges), *(("research", who, n) for who, n in each.items())]
        added = (
            (budget, who, losses.written((one if budget else one.unordered).times(times)))
            for budget, who, times in totals
        )
        db.executemany("INSERT INTO total VALUES ('patient', ?, ?, 0, ?)", added)
        for number in numbers:
            chain.append(db, "charge", number + 1)
            chain.append(db, "release", number + 1)
            if number % 10 == 0:
                chain.append(db, "name", analyst(number), f"n{number}")
    db.close()


def timed(name: str, call: Callable[[int], object], calls: int = CALLS) -> None:
    took = []
    for number in range(calls):
        start = perf_counter()
        call(number)
        took.append((perf_counter() - start) * 1000)
    took.sort()
    print(f"{name:30} {took[len(took) // 2]:8.2f} ms   p95 {took[int(len(took) * 0.95)]:8.2f} ms", flush=True)


def main(charges: int) -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "ledger"
        start = perf_counter()
        build(path, charges)
        size = path.stat().st_size / 1e6
        print(f"{charges:,} charges in {size:,.0f} MB, built in {perf_counter() - start:.0f} s", flush=True)
        timed("open", lambda _: Ledger.open(path).policy(), 20)
        with Ledger.open(path) as ledger:
            permits: list[Permit] = []

            def reserve(number: int) -> None:
                permit = ledger.reserve(asked("alice", charges + number))
                assert isinstance(permit, Permit)
                permits.append(permit)

            timed("last query, long ago", lambda _: ledger.last("alice", "research"))
            timed("reserve", reserve)
            timed("release", lambda number: ledger.release(permits[number], ANSWER))
            timed("replay", lambda number: ledger.reserve(asked("bob", number)))
            timed("look for an answer", lambda number: ledger.find(asked("zoe", number)))
            for who in ("alice", "zoe"):
                timed(f"budgets of {who}", lambda _, who=who: ledger.budget_report(who))
                timed(f"what is left to {who}", lambda _, who=who: [one.left for one in ledger.budget_report(who)])
                timed(f"last query of {who}", lambda _, who=who: ledger.last(who, "research"))
                timed(f"last of {who}, other budget", lambda _, who=who: ledger.last(who, "teaching"))
                timed(f"names of {who}", lambda _, who=who: ledger.release_names(who))
            state = ledger.budget_report("alice")[0]
            timed("more like the last", lambda _: state.more_like(EVENTS))
            timed("an entry", lambda number: ledger.entry(f"r{number + 1}"), 20)
            timed("a release", lambda number: ledger.release_named("alice", f"n{number * 10}"), 50)


def asked(who: str, number: int) -> Request:
    charges = (("patient", EVENTS),)
    return Request(who, TEXT.format(number), "{}", 1, charges, MEASURED, ("patients",))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
