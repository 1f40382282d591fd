"""How much slower exact, clamped, bounded sums are than the plain SQL a person would write, on the engine itself.

    python benchmarks/engine.py [--engine duckdb] [--rows 10000000] [--repeats 7]

With `--engine spark`, on a Spark of as many threads in a process of its own, whose processor time counts, too; with
`--nullable` over rows that may have no unit, as far as Spark knows, so that it reads the unit's column. With
`--engine postgres`, on a table of the server that PRIVQL_TEST_PG names or that `privql[engines]` brings, whose
processor time is not known: the clock's stands in its place.

Both sides read the same rows, of a Parquet file or a table, warm, in turns; the ratio of the least times is what
counts, and beside it stands that of processor time, which other work on the machine disturbs less. PrivQL's side is
what a query over declared columns lowers to: ranges as clamps, the list as a CASE, sums in whole steps, rows without a
unit dropped; the plain side is `SELECT k, count(*), sum(x), avg(x) … GROUP BY k`. Between one row in 100 and one in 2
lies outside its range.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Engine, Source
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar, ValueType, decimal
from privql.kernel.sums import Balance, Contribution, Key, Sums
from privql.kernel.terms import Project, Scan, Unit

REGIONS = tuple(f"region {i}" for i in range(8))
PRICE = decimal(10, 2)
RANGES: dict[str, tuple[ValueType, float | Fraction, float | Fraction, Fraction]] = {
    "i": (INT, 0, 100, Fraction(1)),
    "d": (PRICE, Fraction(0), Fraction(10000), Fraction(1, 100)),
    "f": (FLOAT, 0.0, 64.0, Fraction(1, 2**34)),
}
TARGETS = {"i": 1.4, "d": 1.4, "f": 1.8, None: 1.4}


def write(path: Path, rows: int) -> None:
    duckdb.execute("SELECT setseed(0.5)")
    duckdb.execute(
        "COPY (SELECT range AS person, CASE WHEN random() < 0.01 THEN 'elsewhere'"
        " ELSE 'region ' || CAST(floor(random() * 8) AS INT) END AS k, CAST(random() * 120 AS BIGINT) AS i,"
        " CAST(random() * 20000 AS DECIMAL(10,2)) AS d, random() * 65 AS f"
        f" FROM range({rows})) TO '{path}'"
    )


def query(contributions: tuple[Contribution, ...], columns: tuple[str, ...], grouped: bool) -> Sums:
    """As the planner writes it: the scan, the declarations made true, groups, sums."""
    declared: dict[str, Scalar] = {}
    types: list[tuple[str, ValueType]] = []
    for column in columns:
        type, low, high, _ = RANGES[column]
        types.append((column, type))
        declared[column] = Apply("clamp", (Field(column, type), Const(low, type), Const(high, type)), type)
    keys: tuple[Key, ...] = ()
    if grouped:
        k = Field("k", TEXT)
        inside = Apply("in", (k, *(Const(region, TEXT) for region in REGIONS)), BOOL)
        declared["k"] = Apply("case", (inside, k, Const(None, TEXT)), TEXT)
        types.append(("k", TEXT))
        keys = (Key(k, (*REGIONS, None)),)
    scan = Scan("t", Unit("person"), ("person", INT), True, tuple(types))
    return Sums(Project(scan, tuple(declared.items())), keys, contributions)


def steps(column: str) -> Steps:
    type, low, high, grid = RANGES[column]
    return Steps(Field(column, type), grid, int(Fraction(low) / grid), int(Fraction(high) / grid))


Times = tuple[float, float]  # of the clock, of the processors


def least(
    work: Callable[[], object], other: Callable[[], object], repeats: int, busy_for: Callable[[], float]
) -> tuple[Times, Times]:
    """The least seconds of both, taken in turns."""
    times: dict[Callable[[], object], list[Times]] = {work: [], other: []}
    for _ in range(repeats):
        for one, into in times.items():
            start, busy = time.perf_counter(), busy_for()
            one()
            into.append((time.perf_counter() - start, busy_for() - busy))
    ours, theirs = ((min(t[0] for t in taken), min(t[1] for t in taken)) for taken in times.values())
    return ours, theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("duckdb", "spark", "postgres"), default="duckdb")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nullable", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, options.rows)
        on_spark = partial(on_spark_of, nullable=options.nullable)
        opening = {"duckdb": on_duckdb, "spark": on_spark, "postgres": on_postgres}[options.engine]
        with opening(path, options.threads) as (engine, plain, rows, busy_for):
            print(f"{options.engine}, {options.rows:,} rows, {options.threads} threads, least of {options.repeats}")
            print(f"{'':32}{'PrivQL':>9}{'plain':>9}{'ratio':>7}{'must':>6}{'CPU ratio':>11}")
            for grouped in (True, False):
                key, group = ("k, ", " GROUP BY k") if grouped else ("", "")
                cases: list[tuple[str, str | None, tuple[Contribution, ...], str]] = [
                    ("COUNT", None, (Tally(),), "count(*)")
                ]
                for x, (type, *_) in RANGES.items():
                    total, balance = Total(steps(x)), Balance(steps(x))
                    cases += [
                        (f"SUM {type}", x, (total,), f"sum({x})"),
                        (f"AVG {type}", x, (balance,), f"avg({x})"),
                        (f"all three, {type}", x, (Tally(), total, balance), f"count(*), sum({x}), avg({x})"),
                    ]
                for title, column, contributions, sql in cases:
                    sums = query(contributions, (column,) if column else (), grouped)
                    text = f"SELECT {key}{sql} FROM {rows}{group}"
                    ours, theirs = least(
                        partial(engine.run, sums, b""), partial(plain, text), options.repeats, busy_for
                    )
                    clock, busy = ours[0] / theirs[0], ours[1] / theirs[1]
                    label = title + (" by k" if grouped else "")
                    row = f"{label:32}{ours[0] * 1e3:7.0f}ms{theirs[0] * 1e3:7.0f}ms{clock:7.2f}"
                    print(f"{row}{TARGETS[column]:6.1f}{busy:11.2f}", flush=True)


Opened = tuple[Engine, Callable[[str], object], str, Callable[[], float]]  # and plain SQL, over what, and time spent


@contextmanager
def on_duckdb(path: Path, threads: int) -> Iterator[Opened]:
    plain = duckdb.connect(config={"threads": threads})
    with DuckDBEngine({"t": Source((str(path),))}, threads=threads) as engine:
        yield engine, lambda sql: plain.execute(sql).fetchall(), f"read_parquet('{path}')", time.process_time


@contextmanager
def on_postgres(path: Path, threads: int) -> Iterator[Opened]:
    """As many rows, made by the server; both sides on connections that are set up alike."""
    import psycopg

    from privql.engines.postgres import session
    from privql.engines.postgres.engine import PostgresEngine
    from tests.ledger.servers import fresh

    ((rows,),) = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()
    address = fresh()
    with psycopg.connect(address, autocommit=True) as made:
        made.execute("SELECT setseed(0.5)")
        statement = (
            "CREATE TABLE t AS SELECT i AS person, CASE WHEN random() < 0.01 THEN 'elsewhere'"
            " ELSE 'region ' || floor(random() * 8)::integer END AS k, (random() * 120)::bigint AS i,"
            " (random() * 20000)::numeric(10,2) AS d, random() * 65 AS f"
            f" FROM generate_series(1::bigint, {rows}) AS r(i)"
        )
        made.execute(statement)
        made.execute("ALTER TABLE t ALTER person SET NOT NULL")  # as a person's number is where there is a server
        made.execute("VACUUM ANALYZE t")
    plain = session.opened(address)
    with PostgresEngine(address, {"t": ("t",)}) as engine:
        for connection in (plain, engine._connection):
            connection.execute(f"SET max_parallel_workers_per_gather = {threads - 1}")
        yield engine, lambda sql: plain.execute(sql).fetchall(), "public.t", time.perf_counter


def quiet_session(threads: int) -> Any:
    from pyspark.sql import SparkSession

    options = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
    options |= {"spark.driver.memory": "4g", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return SparkSession.builder.master(f"local[{threads}]").config(map=options).getOrCreate()


@contextmanager
def on_spark_of(path: Path, threads: int, nullable: bool) -> Iterator[Opened]:
    """Plain SQL in the same session's own settings, ANSI mode and all. A column of a file may always be NULL, as far as
    Spark knows; a table's may be NOT NULL, and a view's cannot be where it says what stands for NULL."""
    from privql.engines.spark import open as open_engine

    session = quiet_session(threads)
    rows = session.read.parquet(str(path))
    (rows if nullable else rows.na.fill(-1, ["person"])).createOrReplaceTempView("stored")
    process = session.sparkContext._gateway.proc

    def busy_for() -> float:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    engine = open_engine(session, {"t": ("stored",)}, print)
    try:
        yield engine, lambda sql: session.sql(sql).collect(), "stored", busy_for
    finally:
        engine.close()
        session.stop()


if __name__ == "__main__":
    main()
