"""What an engine on Spark finds, refuses and says; whole integers, and one constant failure."""

from __future__ import annotations

import os
import random
import threading
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privql
from privql.engines.interface import EngineError, Recognised
from privql.functions.scalar import evaluate
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, decimal
from privql.kernel.sums import Key, Keys, Sums
from privql.kernel.terms import Filter, Relation, Scan, Unit
from tests.engines.breaking_off import ctrl_c
from tests.engines.small import SALT
from tests.engines.spark.local import engine

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'privql[spark]'")

from privql.engines.spark import session
from privql.engines.spark.engine import SparkEngine

MANY = bool(os.environ.get("PRIVQL_SOAK"))
PERSON = Unit("person")


# ---- what it is to be asked


def scan(*columns: tuple[str, Any], unit: str | None = "u") -> Scan:
    return Scan("t", PERSON, None if unit is None else (unit, INT), False, columns)


def small(spark: Any, folder: Path, **columns: Any) -> Any:
    pq.write_table(pa.table(columns), folder / "t.parquet")
    return engine(spark, {"t": folder / "t.parquet"})


def total(relation: Relation) -> Sums:
    return Sums(relation, (), (Total(Steps(Field("x", INT), Fraction(1), -(2**62), 2**62)), Tally()))


def test_a_table_or_a_column_that_is_not_there_is_named(spark: Any, tmp_path: Path) -> None:
    with small(spark, tmp_path, u=[1], X=[2]) as opened:
        opened.preflight([scan(("x", INT))])  # the only one that differs in nothing but case
        with pytest.raises(EngineError, match="`t` has no column `y`"):
            opened.preflight([scan(("y", INT))])
        with pytest.raises(EngineError, match="`elsewhere` is not there"):
            opened.preflight([Scan("elsewhere", PERSON, None, False, ())])
        spark.catalog.dropTempView("stored_t")
        assert opened.run(total(scan(("x", INT))), SALT).tolist() == [[2, 1]]  # what a copy knew when it was made


def test_the_owner_is_told_of_a_unit_that_is_read_only_because_it_may_be_null(spark: Any, tmp_path: Path) -> None:
    def told(one_row_each: bool) -> list[str]:
        keys = (("u",), ("u", "x")) if one_row_each else (("u", "x"),)
        with engine(spark, {"t": tmp_path / "t.parquet"}) as opened:
            said = opened.advice({"t": Recognised((("u", INT),), keys), "elsewhere": Recognised((), ())})
        return [f"{each.table}: {each.what}; {each.help}" for each in said]

    pq.write_table(pa.table({"U": [1, 2], "x": [2, 3]}), tmp_path / "t.parquet")
    (said,) = told(one_row_each=True)
    assert said.startswith("t: ") and "`u` may be NULL" in said and "coalesce(u, …) AS u" in said
    assert not told(one_row_each=False)
    rows = spark.read.parquet(str(tmp_path / "t.parquet"))
    rows.selectExpr("coalesce(U, -1) AS U", "x").createOrReplaceTempView("never_null")
    with SparkEngine(session.opened(spark)[0], {"t": ("never_null",)}) as opened:
        assert not opened.advice({"t": Recognised((("u", INT),), (("u",),))})
        assert "IS NOT NULL" not in opened.emit(total(scan(("x", INT))))
        assert opened.run(total(scan(("x", INT))), SALT).tolist() == [[5, 2]]


def test_failures_quote_nothing_and_the_owner_is_told_the_truth(spark: Any, tmp_path: Path) -> None:
    said: list[BaseException] = []
    with small(spark, tmp_path, u=[1], x=[2]) as opened:
        opened._owner_log = said.append
        os.remove(tmp_path / "t.parquet")
        with pytest.raises(EngineError) as failure:
            opened.run(total(scan(("x", INT))), SALT)
    assert str(failure.value) == "the engine could not complete the query" and failure.value.kind == "failed"
    assert failure.value.__context__ is None and failure.value.__cause__ is None
    assert said and "t.parquet" in str(said[0])


def test_what_cannot_be_exact_is_refused_before_a_row_is_read(spark: Any, tmp_path: Path) -> None:
    text = Field("s", TEXT)
    with small(spark, tmp_path, u=[1], s=["a"]) as opened:
        for op, given in (("json_valid", ()), ("regexp_extract", ("(a|b)+c",)), ("regexp_extract", ("a*b*c*d*",))):
            args = (text, *(Const(value, TEXT) for value in given))
            refused = Filter(scan(("s", TEXT)), Apply("is_null", (Apply(op, args, BOOL if not given else TEXT),), BOOL))
            with pytest.raises(EngineError) as refusal:
                opened.rehearse(Sums(refused, (), (Tally(),)))
            assert refusal.value.kind == "unsupported"


def test_a_session_keeps_its_own_settings(spark: Any, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled"), spark.conf.get("spark.sql.caseSensitive")
    with small(spark, tmp_path, u=[1], x=[2]) as opened:
        assert opened.session.conf.get("spark.sql.ansi.enabled") == "false"
    assert (spark.conf.get("spark.sql.ansi.enabled"), spark.conf.get("spark.sql.caseSensitive")) == before
    assert spark.sql("SELECT 1 AS one").collect()[0].one == 1  # and it is still there


def endless(spark: Any, folder: Path) -> Any:
    opened = small(spark, folder, u=[1], x=[0])
    rows = opened.session.sql("SELECT a.id AS u, b.id % 3 AS x FROM range(3000000) a CROSS JOIN range(1000000) b")
    rows.createOrReplaceTempView("stored_t")
    return opened


def test_ctrl_c_stops_a_query_and_its_jobs(spark: Any, tmp_path: Path) -> None:
    with endless(spark, tmp_path) as opened:
        with ctrl_c(8):
            opened.run(total(scan(("x", INT))), SALT)
        assert not opened.session.interruptAll(), "nothing of it runs any more"
        assert opened.session.sql("SELECT 1 AS one").collect()[0].one == 1


def test_a_second_ctrl_c_waits_for_nothing(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with endless(spark, tmp_path) as opened:
        stop = opened.session.interruptAll
        in_any_case = threading.Timer(60, stop)
        in_any_case.start()
        with monkeypatch.context() as of_a_server_that_does_not_stop, ctrl_c(8, 10):
            of_a_server_that_does_not_stop.setattr(opened.session, "interruptAll", list)
            opened.run(total(scan(("x", INT))), SALT)
        in_any_case.cancel()
        until = time.monotonic() + 60
        while not stop():  # what goes on there is stopped, once it can be
            assert time.monotonic() < until
            time.sleep(0.1)


def test_jobs_are_of_the_group_that_the_owners_code_names(spark: Any, tmp_path: Path) -> None:
    with small(spark, tmp_path, u=[1], x=[2]) as opened:
        spark.sparkContext.setJobGroup("ours", "what is asked of PrivQL")
        assert opened.run(total(scan(("x", INT))), SALT).tolist() == [[2, 1]]
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("ours")


def test_a_char_is_the_text_that_is_stored_however_many_groups_are_listed(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE chars (u INT, c CHAR(3)) USING parquet")
    spark.sql("INSERT INTO chars VALUES (1, 'a'), (2, 'a  '), (3, 'b')")
    own, leave = session.opened(spark)
    c = Field("c", TEXT)
    with SparkEngine(own, {"t": ("chars",)}, leave=leave) as opened:
        for others in (0, 60):
            key = Key(c, ("a", "a  ", "b  ", *(f"{n}" for n in range(others))))
            opened.preflight([scan(("c", TEXT))])
            found = opened.run(Sums(scan(("c", TEXT)), (key,), (Tally(),)), SALT).tolist()
            assert found[:3] == [[0], [2], [1]]
    spark.sql("DROP TABLE chars")


def test_the_owner_is_told_what_holds(spark: Any, tmp_path: Path) -> None:
    with small(spark, tmp_path, u=[1, 1, None], x=[1, 2, 3]) as opened:
        u, x = ("u", INT), ("x", INT)
        assert opened.readable("t", (u, x)) and opened.complete("t", (x,)) and not opened.complete("t", (u,))
        assert opened.unique("t", (x,)) and opened.unique("t", (u, x)) and not opened.unique("t", (u,))


def test_a_row_of_its_own_is_a_unit_and_meets_no_other_reading_of_it(spark: Any, tmp_path: Path) -> None:
    with small(spark, tmp_path, x=[1, 2, 2]) as opened:
        own = Scan("t", Unit("row"), None, False, (("x", INT),))
        assert opened.run(total(own), SALT).tolist() == [[5, 3]]
        assert opened.groups(Keys(own, (("x", INT),)), SALT) == [((1,), 1), ((2,), 2)]


def test_sums_beyond_64_bits_are_exact(spark: Any, tmp_path: Path) -> None:
    most = 2**62
    with small(spark, tmp_path, u=list(range(40)), x=[2**63 - 1] * 40) as opened:
        assert opened.run(total(scan(("x", INT))), SALT).tolist() == [[40 * most, 40]]


def test_a_million_groups_arrive_as_they_are(spark: Any, tmp_path: Path) -> None:
    groups = 1_000_000 if MANY else 100_000
    values = np.arange(2 * groups) % groups
    with small(spark, tmp_path, u=np.arange(2 * groups), x=values, f=values / 4) as opened:
        steps = Steps(Field("f", FLOAT), Fraction(1, 4), 0, 2**30)
        keys = (Key(Field("x", INT), tuple(range(groups))),)
        sums = Sums(scan(("x", INT), ("f", FLOAT)), keys, (Tally(), Total(steps)))
        found = opened.run(sums, SALT)
    assert found.dtype == np.int64 and found.shape == (groups, 2)
    assert (found[:, 0] == 2).all() and (found[:, 1] == 2 * np.arange(groups)).all()


def test_a_like_takes_time_by_the_length_of_the_text(spark: Any) -> None:
    """What would be tried in every way that twenty runs can share ten thousand characters."""
    text, pattern = "ab" * 5_000, "%a" * 20 + "%c"
    term = Apply("like", (Const(text, TEXT), Const(pattern, TEXT)), BOOL)
    from privql.engines.spark.dialect import SPARK
    from privql.engines.sql.scalars import ScalarEmitter

    def column(field: Field) -> Any:
        raise AssertionError(field)

    sql = ScalarEmitter(column, SPARK).sql(term)
    start = time.monotonic()
    ((found,),) = spark.sql(f"SELECT {sql}").collect()
    assert found is evaluate("like", (TEXT, TEXT), BOOL, (text, pattern)) is False
    assert time.monotonic() - start < 30


def test_a_session_that_python_hands_over_answers(spark: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"person": list(range(3000)), "age": [40] * 3000}), tmp_path / "people.parquet")
    spark.read.parquet(str(tmp_path / "people.parquet")).createOrReplaceTempView("people")
    policy = """CREATE UNIT person;
    CREATE PRIVATE TABLE people (person INT UNIT person KEY, age INT BETWEEN 0 AND 100) FROM lake.people;
    CREATE BUDGET b FOR UNIT person EPSILON 1000000;"""
    with privql.connect(policy=policy, analyst="alice", connections={"lake": spark}) as asking:
        (row,) = asking.run("SELECT COUNT(*), AVG(age) FROM people SPEND EPSILON 100000").rows
    assert abs(row[0] - 3000) <= 2 and abs(row[1] - 40) < 0.1


@pytest.mark.parametrize("type", [(15, 0), (15, 2), (15, 15), (18, 3), (20, 1)])
def test_every_digit_of_a_decimal_is_summed(type: tuple[int, int], spark: Any, tmp_path: Path) -> None:
    precision, scale = type
    drawn, most = random.Random(precision * scale), 10**precision - 1
    units = [most, -most, 0, 1, -1, most - 1, *(drawn.randint(-most, most) for _ in range(20_000))]
    column = pa.array([Decimal(unit).scaleb(-scale) for unit in units], pa.decimal128(precision, scale))
    x, widest = Field("x", decimal(precision, scale)), 2**61
    ranges = (-widest, widest), (max(-most // 3, -widest), min(most // 2, widest))
    totals = tuple(Total(Steps(x, Fraction(1, 10**scale), low, high)) for low, high in ranges)
    with small(spark, tmp_path, u=[1] * len(units), x=column) as opened:
        found = opened.run(Sums(scan(("x", x.type)), (), totals), SALT).tolist()
    assert found == [[sum(min(max(unit, low), high) for unit in units) for low, high in ranges]]
