"""What a file's statistics say of its rows changes no sum."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from privql.engines.duckdb import DuckDBEngine, session
from privql.engines.interface import Source
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import BOOL, INT, TEXT, Apply, Const, Field
from privql.kernel.sums import Sums
from privql.kernel.terms import Filter, Gather, Join, Relation, Scan, Unit

PERSON = Unit("person")
OURS = Scan("ours", PERSON, ("a", TEXT), False, (("a", TEXT), ("age", INT)))
THEIRS = Scan("theirs", PERSON, ("b", TEXT), False, (("b", TEXT), ("n", INT)))
NOBODY = Apply("lt", (Field("n", INT), Const(-5, INT)), BOOL)  # as the statistics of the file say, too


@pytest.fixture
def engine(tmp_path: Path) -> DuckDBEngine:
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    duckdb.execute(f"COPY (SELECT 'u' || i AS a, i % 3 AS age FROM range(9) AS t(i)) TO '{ours}'")
    duckdb.execute(f"COPY (SELECT 'u' || i AS b, i AS n FROM range(9) AS t(i)) TO '{theirs}'")
    return DuckDBEngine({"ours": Source((str(ours),)), "theirs": Source((str(theirs),))}, threads=1)


def with_a_total_of_1(relation: Relation) -> Sums:
    """How many units have a total of 1: three of nine."""
    age = Steps(Field("age", INT), Fraction(1), 0, 9)
    totals = Gather(relation, (("u", Field("a", TEXT)),), (("s", Total(age)),))
    return Sums(Filter(totals, Apply("eq", (Field("s", INT), Const(1, INT)), BOOL)), (), (Tally(),))


def test_a_left_join_without_partners_keeps_its_rows(engine: DuckDBEngine) -> None:
    lonely = with_a_total_of_1(Join("LEFT", OURS, THEIRS, (), NOBODY))
    for each in (with_a_total_of_1(OURS), lonely, with_a_total_of_1(OURS), lonely):
        assert engine.run(each, b"").tolist() == [[3]]


def test_the_engine_is_told_when_to_consult_them(engine: DuckDBEngine) -> None:
    lonely = with_a_total_of_1(Join("LEFT", OURS, THEIRS, (), NOBODY))
    for each, wanted in ((lonely, False), (with_a_total_of_1(OURS), True), (lonely, False)):
        engine.run(each, b"")
        ((off,),) = engine._connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()
        assert ("statistics_propagation" not in off.split(",")) == wanted


def test_they_are_consulted_for_one_table_alone(engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    consulted: list[bool] = []
    monkeypatch.setattr(session, "consult_statistics", lambda _, yes: consulted.append(yes))
    lonely = with_a_total_of_1(Join("LEFT", OURS, THEIRS, (), NOBODY))
    for each in (with_a_total_of_1(OURS), lonely, lonely, with_a_total_of_1(OURS)):
        engine.run(each, b"")
    assert consulted == [True, False, True]
