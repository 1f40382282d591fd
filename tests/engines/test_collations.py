"""Texts are equal if all of their characters are, whatever a stored column calls equal: what one unit may move rests on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from privql.engines.duckdb import DuckDBEngine, sources
from privql.engines.interface import Source
from privql.kernel.features import Tally
from privql.kernel.scalars import INT, TEXT, Field
from privql.kernel.sums import Key, Keys, Sums
from privql.kernel.terms import Project, Scan, Unit
from tests.pipeline.post import connected

SALT = b"salt"
SPELLINGS = tuple("".join(each) for each in itertools.product(*((c, c.upper()) for c in "ward")))
COLUMNS = (("x", TEXT),)


@pytest.fixture(params=["VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOCASE.NOACCENT", "view", "VARCHAR"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / "rows.duckdb"
    with duckdb.connect(str(made)) as database:
        stored = "VARCHAR" if request.param == "view" else request.param
        database.execute(f"CREATE TABLE stored (u {stored}, x {stored})")
        database.execute("INSERT INTO stored VALUES ('ann', 'ward'), ('Ann', 'WARD'), ('bob', 'wárd')")
        made_so = "u COLLATE NOCASE AS u, x COLLATE NOACCENT AS x" if request.param == "view" else "*"
        database.execute(f"CREATE VIEW t AS SELECT {made_so} FROM stored")
    return made


@pytest.fixture
def engine(path: Path) -> Iterator[DuckDBEngine]:
    with DuckDBEngine({"t": Source((str(path),), inside=("t",))}) as opened:
        yield opened


def rows() -> Project:
    scan = Scan("t", Unit("person"), ("u", TEXT), True, COLUMNS)
    return Project(scan, (("x", Field("x", TEXT)),))


def listed(engine: DuckDBEngine) -> dict[str, int]:
    found = engine.run(Sums(rows(), (Key(Field("x", TEXT), (*SPELLINGS, None)),), (Tally(),)), SALT)
    return {name: count for name, (count,) in zip((*SPELLINGS, ""), found.tolist(), strict=True) if count}
