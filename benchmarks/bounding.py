"""How much slower a unit's bounded contribution is than the same bounding written by hand in the engine.

    python benchmarks/bounding.py [--rows 10000000] [--units 500000] [--repeats 5] [--alone]

Visits of patients in twelve wards, in Parquet. Both sides run on DuckDB, in turns; the ratio of the least times counts,
and beside it stands the greatest memory that this process has had so far. PrivQL's side is the term that its planner
makes of the query. By hand, what a unit has in each group is added up and clamped, and three groups a unit are kept
by the threshold of their hashes.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import Process
from pathlib import Path

import duckdb

from privql.check.env import Env
from privql.diagnostics import Source as Text
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.kernel.sums import Sums
from privql.pipeline.check import check_text
from privql.policy.build import build_catalog

WARDS = tuple(f"ward {number}" for number in range(12))
POLICY = f"""
CREATE UNIT patient;
CREATE PRIVATE TABLE visits (
  visit_id INT, patient_id INT UNIT patient, ward TEXT IN ({", ".join(f"'{ward}'" for ward in WARDS)}),
  minutes INT BETWEEN 0 AND 600
);
"""
_BY_GROUP = "SELECT patient_id, ward, SUM(minutes) AS t FROM visits GROUP BY patient_id, ward"
_BY_HAND = "SELECT patient_id, ward, sum(minutes) AS t FROM {visits} GROUP BY patient_id, ward"
QUERIES = {
    "a unit's total": (
        "SELECT SUM(minutes) FROM visits AT MOST 20 ROWS PER UNIT SPEND EPSILON 1",
        "SELECT sum(least(greatest(t, 0), 12000))"
        " FROM (SELECT patient_id, sum(minutes) AS t FROM {visits} GROUP BY patient_id)",
    ),
    "a unit's totals in each group": (
        f"SELECT ward, SUM(CLAMP(t, 0, 1000)) FROM ({_BY_GROUP}) AS x GROUP BY ward SPEND EPSILON 1",
        f"SELECT ward, sum(least(greatest(t, 0), 1000)) FROM ({_BY_HAND}) GROUP BY ward",
    ),
    "three groups of each unit": (
        f"SELECT ward, SUM(CLAMP(t, 0, 1000)) FROM ({_BY_GROUP}) AS x GROUP BY ward"
        " AT MOST 3 ROWS PER UNIT SPEND EPSILON 1",
        f"WITH p AS (SELECT patient_id, ward, least(greatest(t, 0), 1000) AS t,"
        f" md5_number(concat('salt', patient_id, ':', ward)) AS h FROM ({_BY_HAND})),"
        " q AS (SELECT patient_id, min(h, 4)[4] AS beyond FROM p GROUP BY patient_id)"
        " SELECT ward, sum(t) FROM p JOIN q USING (patient_id) WHERE beyond IS NULL OR h < beyond GROUP BY ward",
    ),
}
MUST = 1.3


def write(path: Path, rows: int, units: int) -> None:
    duckdb.execute("SELECT setseed(0.5)")
    duckdb.execute(
        f"COPY (SELECT range AS visit_id, CAST(floor(random() * {units}) AS BIGINT) AS patient_id,"
        f" 'ward ' || CAST(floor(random() * {len(WARDS)}) AS INT) AS ward,"
        f" CAST(floor(random() * 600) AS BIGINT) AS minutes FROM range({rows})) TO '{path}'"
    )


def planned(query: str) -> Sums:
    catalog, _ = build_catalog(Text(POLICY, "policy"))
    (check, _), *_ = check_text(Text(query, "query"), Env(catalog))
    assert check.plan is not None, check.diagnostics
    measured = check.plan.blocks[0].measured
    assert measured is not None
    return measured.term


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def asked(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    return connection.execute(sql).fetchall()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--units", type=int, default=500_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="run PrivQL's side only, and see its memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.parquet"
        writer = Process(target=write, args=(path, options.rows, options.units))  # its memory is not the engine's
        writer.start()
        writer.join()
        plain = duckdb.connect(config={"threads": options.threads})
        sources = {"visits": Source((str(path),))}
        with DuckDBEngine(sources, threads=options.threads) as engine:
            print(f"{options.rows:,} rows of {options.units:,} units, least of {options.repeats}")
            print(f"{'':32}{'PrivQL':>9}{'by hand':>9}{'ratio':>7}{'must':>6}{'memory':>9}")
            for title, (query, by_hand) in QUERIES.items():
                run = partial(engine.run, planned(query), b"salt")
                ask = partial(asked, plain, by_hand.format(visits=f"read_parquet('{path}')"))
                pairs = [(seconds(run), 0.0 if options.alone else seconds(ask)) for _ in range(options.repeats)]
                ours, theirs = (min(times) for times in zip(*pairs, strict=True))
                ratio = f"{theirs * 1e3:7.0f}ms{ours / theirs:7.2f}{MUST:6.1f}" if theirs else " " * 22
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                print(f"{title:32}{ours * 1e3:7.0f}ms{ratio}{memory:7.2f}GB", flush=True)


if __name__ == "__main__":
    main()
