"""Whole queries on Spark: TPC-H through a policy's connection, and random SQL over related tables.

Each term that a query measures runs on DuckDB, too, and both must find the same integers.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privql
from privql.audit import reference
from privql.audit.reference.ranks import ranked
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.finish.table import Table
from privql.kernel.ranks import Placed
from privql.kernel.selection import Selected
from privql.kernel.sums import Keys, Sums
from tests.engines.spark.local import engine
from tests.queries.test_tpch import KEYS, TPCH, compare, exactly, text_of
from tests.queries.tpch.data import write_tables
from tests.soundness.related import PRIVATE_COLUMNS, together
from tests.soundness.related_neighbours import SALT, World, databases, made_once_found, random_public
from tests.soundness.related_queries import Queries
from tests.soundness.test_related import accepted
from tests.soundness.test_related_engine import _dtype

room = pytest.importorskip("privql.engines.spark", reason="pyspark is not installed: pip install 'privql[spark]'")
MANY = bool(os.environ.get("PRIVQL_SOAK"))
SOME = sorted(KEYS) if MANY else [1, 4, 6, 13, 18, 22]


class Both:
    """Spark, and DuckDB beside it."""

    def __init__(self, spark: Any, other: DuckDBEngine, agreed: list[str]) -> None:
        self._spark, self._other, self._agreed = spark, other, agreed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def run(self, sums: Sums, salt: bytes, publics: Any) -> Any:
        found = self._spark.run(sums, salt, publics)
        assert found.tolist() == self._other.run(sums, salt, publics).tolist(), sums
        self._agreed.append("sums")
        return found

    def groups(self, keys: Keys, salt: bytes, publics: Any = {}) -> Any:  # noqa: B006
        found = self._spark.groups(keys, salt, publics)
        assert found == self._other.groups(keys, salt, publics), keys
        self._agreed.append("groups")
        return found


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str]]]:
    """The policy of TPC-H with every private table behind a connection; what both engines agreed on is listed."""
    folder = tmp_path_factory.mktemp("tpch")
    write_tables(folder)
    policy = (TPCH / "policy.pql").read_text(encoding="utf-8")
    places: dict[str, Source] = {}

    def moved(found: re.Match[str]) -> str:
        name = found[2]
        spark.read.parquet(str(folder / found[3])).createOrReplaceTempView(name)
        places[name] = Source((str(folder / found[3]),))
        return found[0].replace(f"'{found[3]}'", f"lake.{name}")

    policy = re.sub(r"(CREATE PRIVATE TABLE (\w+)[^;]*FROM '([^']+)')", moved, policy)
    assert places
    (folder / "policy.pql").write_text(policy, encoding="utf-8")
    agreed: list[str] = []
    plain: Callable[..., Any] = room.open

    def both(address: object, tables: Any, owner_log: Any) -> Both:
        return Both(plain(address, tables, owner_log), DuckDBEngine(places), agreed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "open", both)
        yield folder, agreed


@pytest.mark.parametrize("number", SOME)
def test_an_answer_is_the_plain_one(number: int, spark: Any, lake: tuple[Path, list[str]]) -> None:
    folder, agreed = lake
    before = len(agreed)
    with duckdb.connect() as connection:
        for path in folder.glob("*.parquet"):
            connection.execute(f"CREATE VIEW {path.stem} AS SELECT * FROM '{path}'")
        wanted = connection.execute(text_of(number)).fetchall()
    with privql.connect(policy=folder / "policy.pql", analyst="alice", connections={"lake": spark}) as session:
        session.run("SET epsilon = 1000000")
        answer = session.run(text_of(number))
    compare(answer, [tuple(exactly(value) for value in row) for row in wanted], KEYS[number])
    assert answer.cost.epsilon == 0 or len(agreed) > before


@pytest.mark.parametrize("seed", range(100) if MANY else range(1))
def test_rows_are_related_as_the_reference_does(seed: int, spark: Any, tmp_path: Path) -> None:
    choice, queries = random.Random(seed + 71), accepted(Queries(seed + 71), random.Random(seed + 73))
    for _ in range(20 if MANY else 8):
        check, _ = next(queries)
        rest, own = databases(choice, 2)
        tables = together(rest, *(unit for unit in own[:1]))
        files = {}
        for name, columns in PRIVATE_COLUMNS.items():
            frame = pd.DataFrame({c: pd.Series([row[c] for row in tables[name]], dtype=_dtype(c)) for c in columns})
            files[name] = tmp_path / f"{name}.parquet"
            pq.write_table(pa.Table.from_pandas(frame), files[name])
        with engine(spark, files) as opened:
            assert check.plan is not None
            for plan in check.plan.blocks:
                publics = {name: random_public(columns, choice) for name, _, columns in plan.publics}
                given = {name: Table(columns, tuple(publics[name])) for name, _, columns in plan.publics}
                last = made_once_found(plan, World(publics, (tables,), False), choice)
                for one in (*plan.looked_for, last, *plan.beside):
                    if one is None:
                        continue
                    where = check.source.text
                    opened.rehearse(one.term)
                    if isinstance(one, Selected):
                        found = [(tuple(group), units) for group, units in opened.groups(one.term, SALT, given)]
                        assert found == reference.counted(one.term, tables, SALT, publics), where
                    elif isinstance(one, Placed):
                        assert opened.ranks(one.term, SALT, given) == ranked(one.term, tables, SALT, publics), where
                    else:
                        cells = [list(map(int, row)) for row in opened.run(one.term, SALT, given)]
                        assert cells == reference.run(one.term, tables, SALT, publics), where
