"""What a release prints, hands to Python and programs, and leaves in the ledger."""

from __future__ import annotations

import csv
import io
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privql.check.relations import Compute, Label, Measured, Sorted, SortKey
from privql.diagnostics import PrivQLError
from privql.domains import finite, whole
from privql.finish.cells import finish_block
from privql.finish.intervals import mean_interval
from privql.finish.origins import row_id
from privql.finish.present import MeasuredBlock, present
from privql.finish.recipe import Law
from privql.finish.result import Column, Release
from privql.finish.table import Table
from privql.kernel.cost import Cost
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, Field, Value, ValueType, decimal
from privql.kernel.tails import halfwidth
from tests.finish.shapes import REGIONS, aggregate, block, count, mean, query, total

PRICE = Cost(Fraction(1, 2), Fraction(1, 10**6))
REACH = halfwidth(Fraction(10), Fraction(95, 100))


def released() -> Release:
    """Three regions, sorted by their mean: the rows of the answer are not those of the block."""
    shape = block(0, (REGIONS,), (aggregate("c2", "count", INT), aggregate("c3", "sum", decimal(38, 2)),
                                  aggregate("c4", "avg", FLOAT)))  # fmt: skip
    recipes = [count(0), total(1, Fraction(1, 100), decimal(38, 2)), mean(2, Fraction(1, 2), -20, 80)]
    cells = [[412, 1234567, 9000, 1000], [7, -5, 3000, 7000], [-3, 0, 20, -30]]
    table = finish_block(shape, recipes, cells)
    leaf = Measured(0, table.columns)
    rel = Sorted(
        Compute(leaf, tuple((id, Field(id, type)) for id, type in table.columns)),
        (SortKey(Field("c4", FLOAT), False, False),),
    )
    asked = query(rel, list(table.columns), (shape,))
    order = [1, 0, 2]
    answer = Table((*table.columns, (row_id("c4"), INT)), tuple((*table.rows[at], at) for at in order))
    return present(
        asked, [MeasuredBlock(recipes, cells)], answer, cost=PRICE, release_id="r-1", certificate={"of": [1]}
    )


def test_every_interval_is_that_of_its_own_group() -> None:
    frame = released().interval(0.9)
    assert list(frame.columns) == ["c2_low", "c2_high", "c3_low", "c3_high", "c4_low", "c4_high"]
    reach = halfwidth(Fraction(10), Fraction(9, 10))
    assert list(frame["c2_low"]) == [7 - reach, 412 - reach, -3 - reach]
    assert list(frame["c3_high"]) == [Decimal(-5 + reach) / 100, Decimal(1234567 + reach) / 100, Decimal(reach) / 100]
    for at, cells in ((0, (3000, 7000)), (1, (9000, 1000))):
        low, high = mean_interval(*cells, Fraction(10), 0.9)
        assert frame["c4_low"][at] == pytest.approx(50 * low - 10, rel=1e-12)
        assert frame["c4_high"][at] == pytest.approx(50 * high - 10, rel=1e-12)
    assert math.isnan(frame["c4_low"][2])  # the noisy count was below 1, so there is no mean


def test_only_measured_columns_have_an_interval() -> None:
    release = Release((Column("k", TEXT, whole(TEXT), Label.PUBLIC),), (("a",),))
    assert list(release.interval().columns) == [] and len(release.interval()) == 1


def test_a_confidence_lies_between_0_and_1() -> None:
    for wrong in (0, 1, 1.5, -0.1, 90, "most", "1/0", math.nan, math.inf):
        with pytest.raises(PrivQLError, match="strictly between"):
            released().interval(wrong)


def test_it_prints_as_a_table_with_its_errors_and_its_price() -> None:
    assert str(released()).splitlines() == [
        "c1   |       c2 |              c3 |           c4",
        "-----+----------+-----------------+-------------",
        "S    |   7 ± 30 |    -0.05 ± 0.30 |  5.00 ± 0.12",
        "N    | 412 ± 30 | 12345.67 ± 0.30 | 35.00 ± 0.14",
        "NULL |  -3 ± 30 |     0.00 ± 0.30 |  NULL",
        "(± at 95%)",
        "(ε = 0.5, δ = 0.000001, release r-1)",
    ]


def test_a_program_reads_json() -> None:
    answer = json.loads(json.dumps(released().to_json(), allow_nan=False))
    assert answer["columns"][2] == {"name": "c3", "type": "DECIMAL(38,2)", "label": "Released"}
    assert answer["rows"][1] == ["N", 412, "12345.67", 35.0]
    assert answer["halfwidth95"][1][:3] == [None, REACH, pytest.approx(REACH / 100)]
    assert answer["halfwidth95"][2] == [None, REACH, pytest.approx(REACH / 100), None]
    low, high = (50 * share for share in mean_interval(9000, 1000, Fraction(10), 0.95))
    assert answer["halfwidth95"][1][3] == pytest.approx(max(45 - low, high - 45))
    assert answer["cost"] == {"epsilon": "1/2", "delta": "1/1000000"}
    assert answer["release_id"] == "r-1" and "dummy" not in answer


def test_invented_rows_say_so_everywhere() -> None:
    release = Release((Column("a", INT, whole(INT), Label.PUBLIC),), ((1,),), dummy=True)
    assert "invented" in str(release)
    assert release.to_json()["dummy"] is True
    assert release.to_csv() == "a,dummy\n1,true\n"
    assert release.to_pandas().attrs["dummy"] is True
    assert Release.from_bytes(release.to_bytes()).dummy


VALUES: dict[ValueType, st.SearchStrategy[Value]] = {
    INT: st.integers(-(1 << 63), (1 << 63) - 1),
    FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    decimal(38, 3): st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Fraction(n, 1000)),
    decimal(9, 0): st.integers(-(10**9) + 1, 10**9 - 1).map(Fraction),
    BOOL: st.booleans(),
    TEXT: st.text(),
    DATE: st.integers(-2147483646, 2147483646),
    TIMESTAMP: st.integers(-9223372022400000000, (1 << 63) - 2),
}


@st.composite
def releases(draw: st.DrawFn) -> Release:
    types = draw(st.lists(st.sampled_from(list(VALUES)), max_size=5))
    rows = draw(st.lists(st.tuples(*(st.none() | VALUES[type] for type in types)), max_size=4))
    columns = []
    for at, type in enumerate(types):
        law, cells = draw(
            st.sampled_from(
                [
                    (None, ()),
                    (Law("sum", Fraction(1, 3), Fraction(7, 2)), ()),
                    (
                        Law("mean", Fraction(1, 3), Fraction(7, 2), -1, 5),
                        tuple((n, -n) if n else None for n in range(len(rows))),
                    ),
                ]
            )
        )
        listed = [value for value in (row[at] for row in rows) if value is not None]
        domain = finite(listed, True) if draw(st.booleans()) else whole(type)
        columns.append(Column(draw(st.text()), type, domain, Label.RELEASED, law, cells))
    return Release(tuple(columns), tuple(rows), PRICE, draw(st.none() | st.text()), {"scale": "7/2", "n": [1, None]})


@settings(max_examples=60)
@given(releases())
def test_the_ledger_gives_back_exactly_what_it_was_given(release: Release) -> None:
    again = Release.from_bytes(release.to_bytes())
    assert again == release
    for row, old in zip(again.rows, release.rows, strict=True):
        assert [type(value) for value in row] == [type(value) for value in old]


@settings(max_examples=60)
@given(releases())
def test_nothing_that_it_holds_keeps_it_from_being_shown(release: Release) -> None:
    assert len(str(release).splitlines()) >= len(release.rows) + 2
    json.dumps(release.to_json(), allow_nan=False)
    if release.columns:
        assert len(list(csv.reader(io.StringIO(release.to_csv(), newline="")))) == len(release.rows) + 1
    frame = release.to_pandas()
    assert frame.shape == (len(release.rows), len(release.columns))
    assert [str(name) for name in frame.columns] == [column.name for column in release.columns]


def test_pandas_gets_types_that_hold_the_values() -> None:
    rows = (
        (1 << 62, 0.5, Fraction(-1, 8), True, "é", 19000, 10**15 + 1),
        (None,) * 7,
    )
    types = (INT, FLOAT, decimal(9, 3), BOOL, TEXT, DATE, TIMESTAMP)
    release = Release(tuple(Column(type.kind, type, whole(type), Label.PUBLIC) for type in types), rows)
    frame = release.to_pandas()
    assert str(frame["INT"].dtype) == "Int64" and frame["INT"][0] == 1 << 62 and frame["INT"][1] is pd.NA
    assert frame["FLOAT"].dtype == np.float64 and math.isnan(frame["FLOAT"][1])
    assert frame["DECIMAL"][0] == Decimal("-0.125") and frame["DECIMAL"][1] is None
    assert str(frame["BOOL"].dtype) == "boolean"
    assert frame["DATE"][0] == pd.Timestamp("2022-01-08") and frame["DATE"][1] is pd.NaT
    assert frame["TIMESTAMP"][0] == pd.Timestamp("2001-09-09 01:46:40.000001")
    assert release.to_json()["rows"][0] == [
        1 << 62,
        0.5,
        "-0.125",
        True,
        "é",
        "2022-01-08",
        "2001-09-09T01:46:40.000001",
    ]
    assert release.table.rows == rows


def test_an_interval_of_integers_is_rounded_outwards() -> None:
    law = Law("sum", Fraction(1, 7), Fraction(10))
    release = Release((Column("n", INT, whole(INT), Label.RELEASED, law),), ((3,), (None,)))
    reach = Fraction(REACH, 7)
    frame = release.interval()
    assert frame["n_low"][0] == math.floor(3 - reach) and frame["n_high"][0] == math.ceil(3 + reach)
    assert frame["n_low"][1] is pd.NA


def test_a_mean_without_a_partner_in_a_join_has_no_interval() -> None:
    law = Law("mean", Fraction(1), Fraction(10), 0, 9)
    release = Release((Column("m", FLOAT, whole(FLOAT), Label.RELEASED, law, (None,)),), ((None,),))
    assert math.isnan(release.interval()["m_low"][0])


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_a_program_never_reads_less_error_than_there_is(grid: Fraction) -> None:
    column = Column("x", FLOAT, whole(FLOAT), Label.RELEASED, Law("sum", grid, Fraction(10)))
    ((found,),) = Release((column,), ((0.0,),)).to_json()["halfwidth95"]
    assert REACH * grid <= Fraction(found) <= REACH * grid * (1 + Fraction(1, 10**12))
