"""Invented rows obey what the policy declares, and need nothing but the policy."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privql.diagnostics import Source
from privql.kernel.scalars import Value, ValueType
from privql.policy.build import build_catalog
from privql.policy.catalog import Catalog, Column, Table
from privql.policy.dummy import dummy_frame

EPOCH = datetime.date(1970, 1, 1)


def built(text: str) -> Catalog:
    catalog, diagnostics = build_catalog(Source(text))
    assert not [each for each in diagnostics if each.severity == "error"], "\n".join(map(str, diagnostics))
    return catalog


def value_of(cell: object, type: ValueType) -> Value:
    """A frame's cell as the kernel writes it."""
    if cell is None or cell is pandas.NA or cell is pandas.NaT or cell != cell:
        return None
    match type.kind:
        case "INT":
            assert isinstance(cell, int)
            return int(cell)
        case "FLOAT":
            assert isinstance(cell, float)
            return float(cell)
        case "DECIMAL":
            assert isinstance(cell, Decimal)
            return Fraction(cell)
        case "BOOL":
            return bool(cell)
        case "DATE":
            assert isinstance(cell, datetime.date)
            return (cell - EPOCH).days
        case "TIMESTAMP":
            return (pandas.Timestamp(cell) - pandas.Timestamp(EPOCH)) // pandas.Timedelta(microseconds=1)
        case _:
            assert isinstance(cell, str)
            return cell


def cells(frame: pandas.DataFrame, column: Column) -> list[Value]:
    return [value_of(cell, column.type) for cell in frame[column.name].tolist()]


def obeys(table: Table, frame: pandas.DataFrame) -> None:
    assert list(frame.columns) == [column.name for column in table.columns]
    for column in table.columns:
        found = cells(frame, column)
        assert all(value in column.domain for value in found), column
        if column.unit is not None:
            assert None not in found
            most = 1 if table.one_row_per_unit else table.at_most
            assert most is None or all(found.count(unit) <= most for unit in set(found))
    for key in table.keys:
        told = list(zip(*(cells(frame, column) for name in key if (column := table.column(name))), strict=True))
        assert len(told) == len(set(told))


numbers = st.integers(-1000, 1000)
days = st.integers(-3000, 30000).map(lambda day: (EPOCH + datetime.timedelta(days=day)).isoformat())
tenths = st.integers(-999, 999).map(lambda number: f"{number / 10:.1f}")


def bounds(kind: str, values: st.SearchStrategy[object], quoted: bool = False) -> st.SearchStrategy[str]:
    def write(pair: tuple[object, object]) -> str:
        low, high = sorted(pair, key=lambda value: float(str(value)) if not quoted else str(value))
        return f"{kind} BETWEEN '{low}' AND '{high}'" if quoted else f"{kind} BETWEEN {low} AND {high}"

    return st.tuples(values, values).map(write)


types = st.one_of(
    st.sampled_from(["INT", "FLOAT", "DECIMAL(3,2)", "DECIMAL(38,10)", "BOOL", "TEXT", "DATE", "TIMESTAMP"]),
    bounds("INT", numbers),
    st.tuples(tenths, st.integers(1, 99)).map(
        lambda pair: f"FLOAT BETWEEN {pair[0]} AND {float(pair[0]) + pair[1]:.1f}"
    ),
    bounds("DECIMAL(6,2)", tenths),
    bounds("DATE", days, quoted=True),
    bounds("TIMESTAMP", days, quoted=True),
    st.just("FLOAT BETWEEN 0 AND 9 GRID 0.5"),
    st.just("INT BETWEEN -100 AND 100 GRID 25"),
    st.lists(st.text("ab'é😀", max_size=3), min_size=1, max_size=4, unique=True).map(
        lambda texts: "TEXT IN (" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + ")"
    ),
    st.lists(numbers, min_size=1, max_size=4, unique=True).map(lambda items: f"INT IN ({str(items)[1:-1]})"),
)
columns = st.lists(st.tuples(types, st.sampled_from(["", " NOT NULL", " KEY"])), max_size=5)


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(columns, st.sampled_from(["KEY", "", "ROW", "AT MOST 2"]), st.integers(0, 60), st.booleans())
def test_invented_rows_obey_the_policy(options: list[tuple[str, str]], unit: str, rows: int, composite: bool) -> None:
    written = [f"c{index} {type}{option}" for index, (type, option) in enumerate(options)]
    if unit != "ROW":
        written.append(f"who TEXT UNIT person {'KEY' if unit == 'KEY' else ''}")
    if composite and len(options) > 1:
        written.append("KEY (c0, c1)")
    if not written:
        written.append("alone INT")
    end = {"ROW": "UNIT ROW AS person", "AT MOST 2": "AT MOST 2 ROWS PER UNIT"}.get(unit, "")
    catalog = built(f"CREATE UNIT person; CREATE PRIVATE TABLE t ({', '.join(written)}) {end};")
    table = catalog.tables[0]
    frame = dummy_frame(table, catalog, rows)
    assert len(frame) <= rows
    obeys(table, frame)
    pandas.testing.assert_frame_equal(frame, dummy_frame(table, catalog, rows))


HOSPITAL = """
CREATE UNIT patient;
CREATE PUBLIC TABLE regions (code TEXT KEY, name TEXT);
CREATE PRIVATE TABLE patients (patient_id TEXT UNIT patient KEY, age INT BETWEEN 0 AND 120 NOT NULL,
  region TEXT REFERENCES regions(code), sex TEXT IN ('F', 'M', 'X'));
CREATE PRIVATE TABLE visits (visit_id INT KEY, patient_id TEXT UNIT patient, minutes INT BETWEEN 0 AND 600)
  AT MOST 20 ROWS PER UNIT;
CREATE PRIVATE TABLE tests (visit_id INT REFERENCES visits(visit_id), level FLOAT) UNIT patient VIA visit_id;
CREATE PRIVATE TABLE calls (caller TEXT REFERENCES patients(patient_id)) UNIT patient VIA caller;
CREATE PRIVATE TABLE letters (patient_id TEXT UNIT patient REFERENCES patients(patient_id));
"""


def frame_of(catalog: Catalog, name: str, **given: object) -> pandas.DataFrame:
    table = catalog.table(name)
    assert table is not None
    return dummy_frame(table, catalog, **given)


def test_edges_and_nulls_occur() -> None:
    catalog = built(HOSPITAL)
    patients = frame_of(catalog, "patients")
    assert {0, 120} <= set(patients["age"])
    assert set(patients["sex"].dropna()) == {"F", "M", "X"}
    assert patients["sex"].isna().any() and not patients["age"].isna().any()


def test_rows_of_several_tables_meet() -> None:
    catalog = built(HOSPITAL)
    regions, patients, visits, tests, calls, letters = (
        frame_of(catalog, name) for name in ("regions", "patients", "visits", "tests", "calls", "letters")
    )
    assert set(patients["region"].dropna()) <= set(regions["code"])
    assert set(visits["patient_id"]) & set(patients["patient_id"])
    assert set(tests["visit_id"].dropna()) <= set(visits["visit_id"])
    assert set(calls["caller"].dropna()) <= set(patients["patient_id"])
    assert set(letters["patient_id"]) & set(patients["patient_id"])
    assert max(visits["patient_id"].value_counts()) > 1


def test_public_values_are_used_where_they_are_known() -> None:
    catalog = built(HOSPITAL)
    asked: list[str] = []

    def public(column: Column) -> list[Value]:
        asked.append(column.name)
        return ["N", "S"]

    patients = frame_of(catalog, "patients", public_values=public)
    assert asked == ["region"]
    assert set(patients["region"].dropna()) == {"N", "S"}


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_no_more_rows_than_asked(rows: int) -> None:
    assert len(frame_of(built(HOSPITAL), "visits", rows=rows)) == rows
