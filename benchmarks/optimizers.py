"""What the engine's optimizers save: the measure of which are on, and where.

    python -m benchmarks.optimizers [--rows 3000000] [--units 150000] [--repeats 3]

Each query of `benchmarks/bounding.py`, a plain count and sum, and three in which rows meet others of their unit, with
all optimizers, with those that are on (`privql/engines/duckdb/session.py`), with statistics beside them or not, and
with each one taken away. The least time of the processors counts, as a ratio to that with all.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import duckdb

from benchmarks.bounding import QUERIES, planned, write
from privql.engines.duckdb import DuckDBEngine, session
from privql.engines.interface import Source

_BOUND = " AT MOST 20 ROWS PER UNIT SPEND EPSILON 1"
_ASKED = {
    "count and sum by group": "SELECT ward, COUNT(*), SUM(minutes) FROM visits GROUP BY ward",
    "rows beside others": "SELECT COUNT(*) FROM visits a JOIN visits b"
    " ON a.patient_id = b.patient_id AND a.minutes < b.minutes",
    "the longest of each": "SELECT COUNT(b.x) FROM visits a LEFT JOIN (SELECT patient_id, MAX(minutes) AS x FROM visits"
    " GROUP BY patient_id) AS b ON a.patient_id = b.patient_id AND a.minutes = b.x",
    "those who have another": "SELECT COUNT(*) FROM visits a WHERE EXISTS"
    " (SELECT 1 FROM visits b WHERE b.patient_id = a.patient_id AND b.minutes > 590)",
}
STATISTICS = "statistics_propagation"


def variants() -> Mapping[str, frozenset[str]]:
    known = frozenset(name for (name,) in duckdb.execute("SELECT name FROM duckdb_optimizers()").fetchall())
    on = session.OPTIMIZERS | {STATISTICS}
    made = {"all": known, "those on": on, "no statistics": session.OPTIMIZERS}
    return made | {f"without {name}": on - {name} for name in sorted(session.OPTIMIZERS)}


def opened(path: Path, on: frozenset[str]) -> DuckDBEngine:
    """An engine that keeps to these, whatever it is asked."""
    kept, session.OPTIMIZERS = session.OPTIMIZERS, on
    engine = DuckDBEngine({"visits": Source((str(path),))}, threads=2)
    session.OPTIMIZERS = kept
    return engine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--units", type=int, default=150_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.parquet"
        write(path, options.rows, options.units)
        engines = {name: opened(path, on) for name, on in variants().items()}
        session.consult_statistics = lambda *_: None
        asked = {title: query + _BOUND for title, query in _ASKED.items()}
        for title, query in {**{title: query for title, (query, _) in QUERIES.items()}, **asked}.items():
            term, least = planned(query), dict.fromkeys(engines, float("inf"))
            for _ in range(options.repeats):
                for name, engine in engines.items():
                    busy = time.process_time()
                    engine.run(term, b"salt")
                    least[name] = min(least[name], time.process_time() - busy)
            print(f"{title}: {least['all'] * 1e3:.0f} ms of the processors with all")
            for name, seconds in least.items():
                print(f"    {name:32}{seconds / least['all']:6.2f}", flush=True)
        for engine in engines.values():
            engine.close()


if __name__ == "__main__":
    main()
