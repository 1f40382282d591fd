"""A statement is planned before it is charged, over tables that have the sources' columns and none of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privql.conformance.trees import Trees, tables
from privql.diagnostics import PrivQLError
from privql.engines.duckdb import DuckDBEngine, session
from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.interface import EngineError, Source
from privql.kernel.features import Tally
from privql.kernel.scalars import DATE, INT, TEXT
from privql.kernel.sums import Keys, Sums
from privql.kernel.terms import Link, Relation, Scan, Unit
from privql.session import Session, connect
from tests.engines.conformance import SALT
from tests.engines.files import write

PEOPLE = pd.DataFrame(
    {
        "id": [1, 2, 3],
        'a "b"': pd.Categorical(["x", "it's", "x"]),
        "Day": pd.to_datetime(["2024-01-01", "2024-02-28", "2024-02-29"]),
        "list": [[1], [2], None],
        "big": pa.array([1, 2**64 - 1, None], pa.uint64()).to_pandas(),
    }
)
COLUMNS = (("id", INT), ('A "b"', TEXT), ("day", DATE), ("list", INT), ("big", INT))


def sources(folder: Path) -> Iterator[Source]:
    plain = PEOPLE.drop(columns=["list"]).assign(list=[1, 2, 3])
    yield Source(frame=PEOPLE)
    yield Source(frame=pa.Table.from_pandas(PEOPLE))
    plain.to_csv(folder / "p.csv", index=False)
    yield Source((str(folder / "p.csv"),))
    lines = plain.rename(columns={'a "b"': 'A "b"', "Day": "day"}).astype(str)
    lines.to_json(folder / "p.json", orient="records", lines=True)
    yield Source((str(folder / "p.json"),))
    pq.write_table(pa.Table.from_pandas(PEOPLE), folder / "p.parquet")
    yield Source((str(folder / "p.parquet"),))


def test_what_can_be_run_can_be_rehearsed_from_every_source(tmp_path: Path) -> None:
    unit = Unit("person")
    for source in sources(tmp_path):
        with DuckDBEngine({"p": source, "q": source}) as engine:
            for owner in (("id", INT), None):
                scan = Scan("p", unit, owner, False, COLUMNS)
                for term in (Sums(scan, (), (Tally(),)), Keys(scan, COLUMNS)):
                    engine.rehearse(term)
            along = Scan("p", unit, ("big", INT), False, COLUMNS[:2], (Link("id", "q", ("id", INT)),))
            engine.rehearse(Sums(along, (), (Tally(),)))
            bare = Sums(Scan("p", unit, None, False, ()), (), (Tally(),))  # no column is read
            engine.rehearse(bare)
            assert [engine.run(term, SALT).tolist() for term in (Sums(scan, (), (Tally(),)), bare)] == [[[3]]] * 2
            left = engine._connection.execute("SELECT * FROM duckdb_tables()").fetchall()
            assert left == []


def test_it_is_what_runs_that_is_rehearsed(tmp_path: Path) -> None:
    random = Random(5)
    for at in range(2):
        data, files = tables(random, 8), {}
        for table, rows in data.items():
            write(rows, tmp_path / f"{table}{at}.parquet")
            files[table] = Source((str(tmp_path / f"{table}{at}.parquet"),))
        with DuckDBEngine(files, threads=1) as engine:
            for _ in range(25):
                trees = Trees(random, random.choice((None, "u", "v")))
                sums = trees.sums_of(trees.once(trees.tree(random.choice((1, 2, 3)))), [])
                assert failure(engine.rehearse, sums) == emitted(engine, sums)


def failure(work: Callable[[Sums], object], term: Sums) -> str | None:
    try:
        work(term)
    except EngineError as error:
        return error.kind
    return None


def emitted(engine: DuckDBEngine, term: Sums) -> str | None:
    return failure(engine.emit, term)


def test_no_row_is_read(tmp_path: Path) -> None:
    """Of a file that has its footer still, but no values that can be read."""
    path = tmp_path / "p.parquet"
    frame = pa.table({"id": list(range(1000)), "x": [str(each) for each in range(1000)]})
    pq.write_table(frame, path, compression="zstd")
    kept = pq.ParquetFile(path).metadata.serialized_size + 8
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * (len(whole) - 4 - kept) + whole[-kept:])
    scan: Relation = Scan("p", Unit("person"), ("id", INT), False, (("x", TEXT),))
    with DuckDBEngine({"p": Source((str(path),))}) as engine:
        engine.rehearse(Keys(scan, (("x", TEXT),)))
        with pytest.raises(EngineError):
            engine.groups(Keys(scan, (("x", TEXT),)), SALT)


POLICY = """CREATE UNIT person;
CREATE PRIVATE TABLE patients (pid TEXT UNIT person KEY, age INT BETWEEN 0 AND 3);
CREATE PRIVATE TABLE visits (vid INT KEY, pid TEXT UNIT person, minutes INT BETWEEN -1 AND 4, urgent BOOL);
CREATE PRIVATE TABLE tests (vid INT REFERENCES visits(vid), kind TEXT IN ('a', 'b') NOT NULL) UNIT person VIA vid;
CREATE BUDGET everything FOR UNIT person EPSILON 10;"""
UNBOUND = """SELECT COUNT(t5.x0) FROM (SELECT t4.k AS k, SUM(t4.x0) AS x0,
  CASE WHEN t4.k IS NULL THEN 'a' WHEN t4.x0 IS NULL THEN 'b' END AS x1
FROM (SELECT t1.pid AS k, t3.n AS x0, t1.vid AS x1
  FROM (SELECT v.pid, v.vid, t.kind FROM visits v JOIN tests t ON v.vid = t.vid) AS t1
  LEFT JOIN (SELECT p.pid, v.vid FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.urgent) AS t2
    ON t1.pid = t2.pid
  JOIN (SELECT pid, COUNT(*) AS n, SUM(minutes) AS total FROM visits GROUP BY pid) AS t3
    ON t2.pid IS NULL AND t3.pid = t1.pid
  WHERE t2.pid IS NULL OR t3.total BETWEEN 0 AND 1) AS t4
GROUP BY t4.k, CASE WHEN t4.k IS NULL THEN 'a' WHEN t4.x0 IS NULL THEN 'b' END) AS t5
AT MOST 3 ROWS PER UNIT SPEND EPSILON 1"""


def hospital() -> Session:
    visits = pd.DataFrame({"vid": [1, 2], "pid": ["a", "b"], "minutes": [1, 2], "urgent": [True, False]})
    patients = pd.DataFrame({"pid": ["a"], "age": [1]})
    tests = pd.DataFrame({"vid": [1, 1], "kind": ["a", "b"]})
    return connect(policy=POLICY, frames={"visits": visits, "patients": patients, "tests": tests}, analyst="ada")


def test_a_statement_that_the_engine_cannot_bind_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is with two optimizers of version 2.0, and without them is not."""
    with hospital() as ada:
        ada.run(UNBOUND)
        assert ada.budget().budgets[0].spent.epsilon == 1
    monkeypatch.setattr(session, "OPTIMIZERS", session.OPTIMIZERS | {"projection_pullup", "outer_join_simplification"})
    with hospital() as ada:
        with pytest.raises(PrivQLError, match="PQL0602"):
            ada.run(UNBOUND)
        assert ada.budget().budgets[0].spent.epsilon == 0


def test_a_median_is_rehearsed_in_both_forms_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among many rows it is looked for coarsely first: where that has no plan, it is refused before it is charged."""
    asked = "SELECT MEDIAN(minutes) FROM visits AT MOST 2 ROWS PER UNIT SPEND EPSILON 1"
    with hospital() as ada:
        ada.run(asked)
        assert ada.budget().budgets[0].spent.epsilon == 1
    monkeypatch.setattr(type(DUCKDB), "shifted", lambda self, number, places: f"no_such_function({number})")
    with hospital() as ada:
        with pytest.raises(PrivQLError, match="PQL0602"):
            ada.run(asked)
        assert ada.budget().budgets[0].spent.epsilon == 0
