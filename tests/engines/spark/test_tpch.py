"""TPC-H on Spark: what each of the 22 queries has measured comes to the same integers there as on DuckDB; and answers
through a policy's connection are those of plain SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import privql
from privql.engines.interface import Engine
from tests.assurance import SOAK, assured
from tests.engines.spark.local import engine
from tests.queries.test_tpch import KEYS, compare, exactly, text_of
from tests.queries.tpch.beside import measures_the_same, written

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'privql[spark]'")


@pytest.fixture(scope="module")
def there(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Engine]]:
    folder = tmp_path_factory.mktemp("tpch")
    with engine(spark, written(folder)) as opened:
        yield folder, opened


SOME = sorted(KEYS) if SOAK else [1, 4, 6, 13, 18, 22]


@pytest.mark.parametrize("number", SOME)
def test_what_is_measured_is_the_same(number: int, there: tuple[Path, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    with assured("tpch") as tally:
        tally["tried"] += 1
        measures_the_same(number, *there, monkeypatch)


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy with every private table behind a connection."""
    folder = tmp_path_factory.mktemp("lake")
    policy = folder / "policy.pql"
    for table, path in written(folder).items():
        spark.read.parquet(str(path)).createOrReplaceTempView(table)
        text = policy.read_text(encoding="utf-8")
        assert text.count(f"FROM '{path.name}'") == 1
        policy.write_text(text.replace(f"FROM '{path.name}'", f"FROM lake.{table}"), encoding="utf-8")
    return folder


@pytest.mark.parametrize("number", SOME)
def test_an_answer_is_the_plain_one(number: int, spark: Any, lake: Path) -> None:
    with duckdb.connect() as connection:
        for path in lake.glob("*.parquet"):
            connection.execute(f"CREATE VIEW {path.stem} AS SELECT * FROM '{path}'")
        wanted = connection.execute(text_of(number)).fetchall()
    with privql.connect(policy=lake / "policy.pql", analyst="alice", connections={"lake": spark}) as session:
        session.run("SET epsilon = 1000000")
        answer = session.run(text_of(number))
    compare(answer, [tuple(exactly(value) for value in row) for row in wanted], KEYS[number])
