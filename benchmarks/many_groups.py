"""How much this process holds while Spark sums up very many groups, and their exact cells come back.

    python benchmarks/many_groups.py [--groups 1000000] [--rows 5000000]

Spark runs in a process of its own, as it does behind an address: what counts is what the one with the ledger needs.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from benchmarks.engine import quiet_session
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import INT, Field
from privql.kernel.sums import Balance, Key, Sums
from privql.kernel.terms import Scan, Unit


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    if importlib.util.find_spec("pyspark") is None:
        print("pyspark is not installed: pip install 'privql[spark]'")
        return
    from privql.engines.spark import open as open_engine

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=5_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = quiet_session(2)
        made = f"SELECT id AS person, id % {options.groups} AS g, id % 100 AS x FROM range({options.rows})"
        session.sql(made).write.parquet(str(Path(folder) / "rows"))
        session.read.parquet(str(Path(folder) / "rows")).createOrReplaceTempView("stored")
        scan = Scan("t", Unit("person"), ("person", INT), True, (("g", INT), ("x", INT)))
        steps = Steps(Field("x", INT), Fraction(1), 0, 100)
        key = Key(Field("g", INT), tuple(range(options.groups)))
        sums = Sums(scan, (key,), (Tally(), Total(steps), Balance(steps)))
        before, start = peak(), time.perf_counter()
        with open_engine(session, {"t": ("stored",)}, print) as engine:
            found = engine.run(sums, b"")
        took, after = time.perf_counter() - start, peak()
        assert int(found[:, 0].sum()) == options.rows
        print(f"{options.groups:,} groups of {options.rows:,} rows, {found.shape[1]} cells each: {took:.1f} s")
        print(f"peak memory of this process: {after:.0f} MB ({before:.0f} MB before)")
        session.stop()


if __name__ == "__main__":
    main()
