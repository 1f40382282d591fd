"""TPC-H at scale factor 0.01 with customers as the unit: all 22 queries, each one text that DuckDB runs, too.

With ε = 10^6 an accepted answer is DuckDB's own on the same files: the same groups in the same order, and numbers that
differ by no more than the noise that the answer says it has.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import privql
from privql.diagnostics import Source
from privql.finish.accuracy import bounds
from privql.finish.result import Release
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog
from privql.policy.findings import accepted
from tests.queries.tpch.data import write_tables

TPCH = Path(__file__).parent / "tpch"

# Which columns of an answer name its group; the others are numbers, noisy where they come from private rows.
KEYS = {
    1: (0, 1), 2: tuple(range(8)), 3: (1, 2), 4: (0,), 5: (0,), 6: (), 7: (0, 1, 2), 8: (0,), 9: (0, 1), 10: (0,),
    11: (0,), 12: (0,), 13: (0,), 14: (), 15: (0, 1, 2, 3), 16: (0, 1, 2), 17: (), 18: (0,), 19: (), 20: (0, 1),
    21: (0,), 22: (0,),
}  # fmt: skip

# Queries that this version refuses, and the code that it says so with.
SURE = 1 - Fraction(1, 10**9)  # of the interval in which a noisy number's exact one lies
CLOSE = Fraction(1, 20)  # of a column's largest number: the most that noise may hide, or move what is computed from it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("tpch")
    write_tables(made)
    (made / "policy.pql").write_text((TPCH / "policy.pql").read_text(encoding="utf-8"), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def catalog(folder: Path) -> Catalog:
    return accepted(*build_catalog(Source((folder / "policy.pql").read_text(encoding="utf-8"))))


@pytest.fixture(scope="module")
def plain(folder: Path, catalog: Catalog) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for table in catalog.tables:
            connection.execute(f"CREATE VIEW {table.name} AS SELECT * FROM '{folder / table.files[0]}'")
        yield connection


def text_of(number: int) -> str:
    return (TPCH / f"q{number:02}.pql").read_text(encoding="utf-8")


# ---------------------------------------------------------------- the data is as declared, so that nothing is cut off


def test_the_declarations_hold(plain: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    for table in catalog.tables:
        for column in table.columns:
            if column.domain.bounded or column.domain.values is not None:
                found = plain.execute(f"SELECT DISTINCT {column.name} FROM {table.name}").fetchall()
                assert all(exactly(value) in column.domain for (value,) in found), column.name
        for key in table.keys:
            distinct = f"SELECT COUNT(*) = COUNT(DISTINCT ({', '.join(key)})) FROM {table.name}"
            assert plain.execute(distinct).fetchone() == (True,), (table.name, key)
    for name, rows in (("orders", "orders"), ("lineitem", "lineitem JOIN orders ON l_orderkey = o_orderkey")):
        (most,) = plain.execute(f"SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM {rows} GROUP BY o_custkey)").fetchall()
        declared = next(table.at_most for table in catalog.tables if table.name == name)
        assert declared is not None and declared // 3 < most[0] <= declared


# ---------------------------------------------------------------- the queries


@pytest.mark.parametrize("number", sorted(KEYS))
def test_an_answer_is_the_plain_one(number: int, folder: Path, plain: duckdb.DuckDBPyConnection) -> None:
    wanted = plain.execute(text_of(number)).fetchall()
    with privql.connect(policy=folder / "policy.pql", analyst="alice") as session:
        session.run("SET epsilon = 1000000")
        answer = session.run(text_of(number))
        assert answer.cost.epsilon in (0, 10**6)
    compare(answer, [tuple(exactly(value) for value in row) for row in wanted], KEYS[number])


def exactly(value: Any) -> Any:
    """A value of DuckDB's as an answer has it: decimals as fractions, days by their number."""
    match value:
        case Decimal():
            return Fraction(value)
        case datetime.date():
            return (value - datetime.date(1970, 1, 1)).days
        case _:
            return value


def compare(answer: Release, wanted: list[tuple[Any, ...]], keys: tuple[int, ...]) -> None:
    exact = {tuple(row[at] for at in keys): row for row in wanted}
    groups = [tuple(row[at] for at in keys) for row in answer.rows]
    assert len(groups) == len(set(groups)) and len(exact) == len(wanted) > 0
    assert [group for group in groups if group in exact] == list(exact), "the same groups, in the same order"
    for at, column in enumerate(answer.columns):
        if at in keys:
            continue
        released = [row[at] for row in answer.rows]
        known: list[Any] = [exact[group][at] if group in exact else None for group in groups]
        largest = max(abs(Fraction(value)) for value in known if value is not None)
        if column.law is None:
            for group, value, plain in zip(groups, released, known, strict=True):
                assert value is not None or group not in exact, (column.name, group)
                if plain is not None:
                    assert abs(Fraction(value) - Fraction(plain)) <= CLOSE * largest, (column.name, group)
            continue
        cells = column.cells or (None,) * len(released)
        enclosed = bounds(column.law, released, cells, SURE)
        for group, plain, ends in zip(groups, known, enclosed, strict=True):
            if group not in exact and column.law.kind == "mean":
                continue  # nobody is in this group: it has no mean
            assert ends is not None, (column.name, group)
            low, high = ends
            assert high - low <= max(CLOSE * largest, Fraction(1)), f"{column.name}: noise that hides the answer"
            assert low <= Fraction(plain or 0) <= high, (column.name, group)
