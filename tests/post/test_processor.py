"""The engine for post-processing: what it reads, what it leaves behind, and what it says when it fails."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privql.check.relations import (
    Joined,
    PublicScan,
    ReleasedScan,
    Where,
)
from privql.engines.interface import EngineError, Source
from privql.finish.table import Table
from privql.kernel.scalars import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    TEXT,
    TIMESTAMP,
    Apply,
    Const,
    Field,
    Value,
    ValueType,
    decimal,
)
from privql.post.run import PostProcessor
from tests.post.asking import LEAF, NAMES, PROCESSOR, asked

# ---- exact values, in and out

VALUES: dict[ValueType, st.SearchStrategy[Value]] = {
    INT: st.integers(-(1 << 63), (1 << 63) - 1),
    FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    decimal(38, 3): st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Fraction(n, 1000)),
    decimal(38, 38): st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Fraction(n, 10**38)),
    decimal(9, 0): st.integers(-(10**9) + 1, 10**9 - 1).map(Fraction),
    BOOL: st.booleans(),
    TEXT: st.text(st.characters(exclude_categories=("Cs",))),
    DATE: st.integers(-2147483646, 2147483646),
    TIMESTAMP: st.integers(-9223372022400000000, (1 << 63) - 2),
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_values_come_back_as_they_went_in(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=5))
    rows = data.draw(st.lists(st.tuples(*(st.none() | VALUES[type] for type in types)), max_size=5))
    table = Table(tuple((f'col "{at}', type) for at, type in enumerate(types)), tuple(rows))
    scan = ReleasedScan("r", tuple((f"c{at}", name, type) for at, (name, type) in enumerate(table.columns)))
    query = asked(scan, *((id, type) for id, _, type in scan.columns))
    found = PROCESSOR.run(query, released={"r": table}).rows
    assert found == table.rows
    for row, other in zip(found, rows, strict=True):
        assert [type(value) for value in row] == [type(value) for value in other]
        assert [math.copysign(1, v) for v in row if isinstance(v, float)] == [
            math.copysign(1, v) for v in other if isinstance(v, float)
        ]


def test_what_the_engine_cannot_hold_is_null() -> None:
    types = (INT, FLOAT, decimal(5, 2), DATE, TIMESTAMP)
    above: tuple[Value, ...] = (1 << 63, math.inf, Fraction(1000), 1 << 31, 1 << 63)
    below: tuple[Value, ...] = (-(1 << 63) - 1, math.nan, Fraction(-1000), -(1 << 31), -(1 << 63))
    table = Table(tuple((f"c{at}", type) for at, type in enumerate(types)), (above, below))
    query = asked(ReleasedScan("r", tuple((id, id, type) for id, type in table.columns)), *table.columns)
    assert PROCESSOR.run(query, released={"r": table}).rows == ((None,) * 5,) * 2


def test_a_decimal_that_rounds_out_of_its_type_is_null() -> None:
    table = Table(
        (("d", decimal(4, 2)),),
        tuple((Fraction(n, 1000),) for n in (99_994, 99_996, -99_994, -99_996, 5, 15, -5, 99_990, 0)),
    )
    scan = ReleasedScan("r", (("c1", "d", decimal(4, 2)),))
    found = PROCESSOR.run(asked(scan, ("c1", decimal(4, 2))), released={"r": table}).rows
    hundredths = (9999, None, -9999, None, 0, 2, 0, 9999, 0)  # a tie goes to the even one
    assert found == tuple((None if n is None else Fraction(n, 100),) for n in hundredths)


# ---- public tables


@pytest.fixture
def regions(tmp_path: Path) -> Path:
    path = tmp_path / "regions.csv"
    path.write_text('code,Name,population\nN,north,5\nS,"a, b",x\n,west,7\nS,again,9\n')
    return path


CODES: dict[str, list[tuple[str, ValueType]]] = {"regions": [("code", TEXT), ("name", TEXT), ("population", INT)]}


def test_a_public_file_is_read_as_declared_in_its_order(regions: Path) -> None:
    processor = PostProcessor({"regions": Source((str(regions),))}, CODES)
    scan = PublicScan("regions", (("c1", "code", TEXT), ("c2", "population", INT)))
    assert processor.run(asked(scan, ("c1", TEXT), ("c2", INT))).rows == (("N", 5), ("S", None), (None, 7), ("S", 9))
    assert processor.distinct_values("regions", "code") == ("N", "S")
    assert processor.distinct_values("regions", "population") == (5, 7, 9)


def test_of_more_than_a_million_values_none_is_told() -> None:
    """They are a list that each query would carry."""
    frame = pd.DataFrame({"code": range(10**6 + 1)})
    processor = PostProcessor({"numbers": Source(frame=frame)}, {"numbers": [("code", INT)]})
    assert processor.distinct_values("numbers", "code") is None


def test_a_public_frame_joins_measured_groups() -> None:
    frame = pd.DataFrame(
        {"code": ["S", "N", "Q"], "since": [datetime.date(2024, 1, 1)] * 3, "share": [0.5, math.inf, 1.0]}
    )
    tables = {"f": [("code", TEXT), ("since", DATE), ("share", FLOAT)]}
    processor = PostProcessor({"f": Source(frame=frame)}, tables)
    scan = PublicScan("f", (("c3", "code", TEXT), ("c4", "since", DATE), ("c5", "share", FLOAT)))
    rel = Joined("LEFT", scan, LEAF, Apply("eq", (Field("c3", TEXT), Field("c1", TEXT)), BOOL))
    for _ in range(2):
        found = processor.run(asked(rel, ("c3", TEXT), ("c4", DATE), ("c5", FLOAT), ("c2", INT)), [NAMES]).rows
        assert found == (("S", 19723, 0.5, 7), ("N", 19723, None, 3), ("Q", 19723, 1.0, None))
    assert processor.distinct_values("f", "share") == (0.5, 1.0)


def test_what_is_missing_is_named_as_the_policy_names_it(tmp_path: Path, regions: Path) -> None:
    scan = PublicScan("regions", (("c1", "code", TEXT),))
    gone = PostProcessor({"regions": Source((str(tmp_path / "none.csv"),))}, CODES)
    with pytest.raises(EngineError) as failed:
        gone.run(asked(scan, ("c1", TEXT)))
    assert (failed.value.kind, failed.value.table) == ("missing source", "regions")
    lacking = PostProcessor({"regions": Source((str(regions),))}, {"regions": [("code", TEXT), ("area", INT)]})
    with pytest.raises(EngineError) as failed:
        lacking.run(asked(scan, ("c1", TEXT)))
    assert (failed.value.kind, failed.value.column) == ("missing column", "area")


def test_the_engine_reads_nothing_else_of_the_machine(tmp_path: Path, regions: Path) -> None:
    secret = tmp_path / "patients.csv"
    secret.write_text("a\n1\n")
    processor = PostProcessor({"regions": Source((str(regions),))}, CODES)
    processor.distinct_values("regions", "code")
    connection = processor._connection
    assert connection is not None
    for sql in (
        f"FROM '{secret}'",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "SET threads = 2",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(sql).fetchall()


# ---- failures and what is left behind


def test_a_failure_is_one_constant_error_and_the_next_query_works() -> None:
    processor = PostProcessor({}, {})
    table = Table((("t", TEXT),), (("4711 is a value",), ("\ud800",)))
    scan = ReleasedScan("r", (("c1", "t", TEXT),))
    with pytest.raises(EngineError) as failed:
        processor.run(asked(scan, ("c1", TEXT)), released={"r": table})
    assert processor._connection is None  # the engine may be of no more use
    assert failed.value.kind == "failed" and "4711" not in str(failed.value) and failed.value.__cause__ is None
    kept = Where(LEAF, Const(True, BOOL))
    assert processor.run(asked(kept, ("c1", TEXT)), [NAMES]).rows == (("N",), ("S",), (None,))


def test_nothing_is_left_in_the_engine_between_queries() -> None:
    processor = PostProcessor({}, {})
    for _ in range(2):
        processor.run(asked(Where(LEAF, Const(True, BOOL)), ("c1", TEXT)), [NAMES])
        assert processor._connection is not None
        assert processor._connection.execute("SHOW TABLES").fetchall() == []
    processor.close()
    assert processor._connection is None
