"""How much slower a private median, and nine deciles at once, are than the engine's own without noise.

    python -m benchmarks.ranks [--rows 10000000] [--repeats 5] [--epsilon 1]

One row a person, in Parquet: a whole number of 100 values, one of a million, and a float. PrivQL's side is all of it,
from the text to the answer, the ledger included; the other is `median(x)`, or `quantile_disc(x, [0.1, …, 0.9])`, on
DuckDB itself. Both in turns, the ratio of the least times.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from itertools import count
from multiprocessing import Process
from pathlib import Path

import duckdb

import privql
from benchmarks.bounding import asked, seconds

COLUMNS = {"few": "a whole number of 100", "many": "a whole number of 1,000,000", "part": "a float"}
DECILES = "[" + ", ".join(f"0.{tenth}" for tenth in range(1, 10)) + "]"
QUERIES = {
    "median": (
        "SELECT MEDIAN({x}) AS half FROM people SPEND EPSILON {epsilon}",
        "SELECT median({x}) FROM {people}",
        2.5,
    ),
    "nine deciles": (
        f"SELECT QUANTILE({{x}}, {DECILES}) AS decile FROM people SPEND EPSILON {{epsilon}}",
        f"SELECT quantile_disc({{x}}, {DECILES}) FROM {{people}}",
        None,
    ),
}
POLICY = """
CREATE UNIT person;
CREATE PRIVATE TABLE people (
  person INT UNIT person KEY, few INT BETWEEN 0 AND 99, many INT BETWEEN 0 AND 999999, part FLOAT BETWEEN 0 AND 64
) FROM '{path}';
CREATE BUDGET research FOR UNIT person EPSILON 1000;
"""


def write(path: Path, rows: int) -> None:
    duckdb.execute("SELECT setseed(0.5)")
    duckdb.execute(
        "COPY (SELECT range AS person, CAST(floor(random() * 100) AS BIGINT) AS few,"
        " CAST(floor(random() * 1000000) AS BIGINT) AS many, random() * 64 AS part"
        f" FROM range({rows})) TO '{path}'"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        writer = Process(target=write, args=(path, options.rows))
        writer.start()
        writer.join()
        plain = duckdb.connect()
        fresh = count()
        with privql.connect(policy=POLICY.format(path=path), ledger=":memory:", analyst="alice") as session:
            print(f"{options.rows:,} rows, least of {options.repeats}")
            print(f"{'':42}{'PrivQL':>9}{'plain':>9}{'ratio':>7}{'must':>6}")
            for title, (query, by_hand, must) in QUERIES.items():
                for column, what in COLUMNS.items():
                    theirs_sql = by_hand.format(x=column, people=f"read_parquet('{path}')")
                    pairs = []
                    for _ in range(options.repeats):
                        epsilon = options.epsilon + next(fresh) / 1000  # asked anew: the same would be free
                        ask = partial(session.run, query.format(x=column, epsilon=epsilon))
                        pairs.append((seconds(ask), seconds(partial(asked, plain, theirs_sql))))
                    ours, theirs = (min(times) for times in zip(*pairs, strict=True))
                    times = f"{ours * 1e3:7.0f}ms{theirs * 1e3:7.0f}ms{ours / theirs:7.2f}{must or '':>6}"
                    print(f"{title + ' of ' + what:42}{times}", flush=True)


if __name__ == "__main__":
    main()
