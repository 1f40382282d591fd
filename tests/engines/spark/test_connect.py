"""A Spark Connect server on loopback, with executors in processes of their own; and what is said when it is gone."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privql
from privql.audit import reference
from privql.conformance.terms import Terms, hostile_rows
from privql.engines.interface import EngineError
from privql.kernel.features import Tally
from privql.kernel.scalars import INT
from privql.kernel.sums import Sums
from privql.kernel.terms import Scan, Unit
from tests.engines.breaking_off import ctrl_c
from tests.engines.conformance import SALT, wrong
from tests.engines.files import write
from tests.engines.spark import local

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'privql[spark]'")

from privql.engines.spark import open as open_engine

POLICY = """
CREATE UNIT person;
CREATE PRIVATE TABLE people (
  id INT UNIT person KEY, age INT BETWEEN 0 AND 120, place TEXT IN ('north', 'south')
) FROM lake.people;
CREATE BUDGET research FOR UNIT person EPSILON 1000000;
"""


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]"])
def test_a_server_answers_and_its_end_is_told_in_constant_words(master: str, tmp_path: Path) -> None:
    if reason := local.missing():
        pytest.skip(reason)
    said: list[BaseException] = []
    with local.server(tmp_path, master) as (address, process):
        table = hostile_rows(Random(6), 60)
        write(table, tmp_path / "rows.parquet")
        count = 10_000
        people = {"id": list(range(count)), "age": [40] * count, "place": ["north", "south"] * (count // 2)}
        pq.write_table(pa.table(people), tmp_path / "people.parquet")
        engine = open_engine(address, {"table": ("stored",)}, said.append)
        try:
            _sums(engine, table, tmp_path)
            _policy(address, engine, tmp_path)
            _endless(engine)
            with ctrl_c(5):
                engine.run(ENDLESS, SALT)
            assert not engine.session.interruptAll(), "nothing of it runs any more"
            assert not said
            _killed(engine, process)
        finally:
            engine.close()
    assert said
    with pytest.raises(OSError):  # nobody listens any more, which is found out at once
        open_engine(address, {}, said.append)


def _sums(engine: Any, table: list[reference.Row], folder: Path) -> None:
    engine.session.read.parquet(str(folder / "rows.parquet")).createOrReplaceTempView("stored")
    terms = Terms(Random(9))
    for _ in range(6):
        sums = terms.sums(table)
        engine.preflight([Scan("table", Unit("unit"), None, False, ())])
        assert wrong(engine, sums, reference.run(sums, {"table": table}, SALT)) is None, sums


def _policy(address: str, engine: Any, folder: Path) -> None:
    """Views are of a session: what another is to see has a place in the catalog."""
    engine.session.read.parquet(str(folder / "people.parquet")).createOrReplaceGlobalTempView("people")
    policy = POLICY.replace("lake.people", "lake.global_temp.people")
    with privql.connect(policy=policy, analyst="alice", connections={"lake": address}) as session:
        answer = session.run(
            "SELECT place, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY place SPEND EPSILON 100000"
        )
    rows = {place: (n, a) for place, n, a in answer.rows}
    assert rows.keys() == {"north", "south", None} and abs(rows[None][0]) <= 2
    for place in ("north", "south"):
        assert abs(rows[place][0] - 5000) <= 2 and abs(rows[place][1] - 40) < 0.1


ENDLESS = Sums(Scan("table", Unit("person"), ("u", INT), False, ()), (), (Tally(),))


def _endless(engine: Any) -> None:
    engine.session.sql(
        "SELECT a.id AS u FROM range(3000000) a CROSS JOIN range(1000000) b WHERE a.id % 7 <> b.id % 11"
    ).createOrReplaceTempView("stored")
    engine.preflight([Scan("table", Unit("person"), ("u", INT), False, ())])


def _killed(engine: Any, process: Any) -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            engine.run(ENDLESS, SALT)
        except EngineError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(5)
    assert thread.is_alive()
    process.kill()
    process.wait()
    thread.join(120)
    (error,) = raised
    assert str(error) == "the engine could not complete the query" and error.__context__ is None
    with pytest.raises(EngineError, match="cannot be reached") as lost:
        engine.preflight([Scan("table", Unit("person"), ("u", INT), False, ())])
    assert isinstance(lost.value, EngineError) and lost.value.kind == "unreachable"
