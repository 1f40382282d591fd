"""Texts are equal if all their characters are, whatever a stored column calls equal: what a unit may move rests on it.

A column of a DuckDB database keeps its collation wherever it is read, and does not say that it has one. PostgreSQL's
are tried in tests/engines/test_postgres.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from privql import connect
from privql.engines.duckdb import databases
from privql.session import Session

SPELLINGS = tuple("".join(each) for each in itertools.product(*((c, c.upper()) for c in "ward")))
POLICY = """
CREATE UNIT patient;
CREATE PUBLIC TABLE codes (code TEXT KEY) FROM 'codes.csv';
CREATE PRIVATE TABLE stays (patient TEXT UNIT patient KEY, ward TEXT) PARTS BY ward FROM w.main.stays;
CREATE BUDGET research FOR UNIT patient EPSILON 1000000;
"""
_SURE = "SPEND EPSILON 10000"  # beside this much, noise is none


NOCASE, BOTH, A_VIEW, NONE = "VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT.NOCASE", "a view", "VARCHAR"
OF_WARDS = "wards alone"
ROWS = "VALUES ('ann', 'ward'), ('Ann', 'WARD'), ('bob', 'wárd')"


@pytest.fixture(params=[NOCASE, BOTH, A_VIEW, NONE])
def session(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    Path("codes.csv").write_text("code\n" + "\n".join(SPELLINGS) + "\n")
    with duckdb.connect("rows.duckdb") as database:
        if request.param == A_VIEW:
            columns = "patient COLLATE NOCASE AS patient, ward COLLATE NOACCENT AS ward"
            database.execute(f"CREATE VIEW stays AS SELECT {columns} FROM ({ROWS}) AS stored(patient, ward)")
        else:
            patient, ward = (NONE, NOCASE) if request.param == OF_WARDS else (request.param, request.param)
            database.execute(f"CREATE TABLE stays (patient {patient}, ward {ward})")
            database.execute(f"INSERT INTO stays {ROWS}")
    Path("rows.duckdb").chmod(0o600)
    Path("policy.pql").write_text(POLICY)
    with connect(
        policy="policy.pql", ledger=":memory:", analyst="mallory", connections={"w": str(tmp_path / "rows.duckdb")}
    ) as opened:
        yield opened


def number(session: Session, text: str) -> int:
    ((found,),) = session.run(f"{text} {_SURE}").rows
    return round(float(found))


def listed(session: Session) -> dict[str, int]:
    keys = ", ".join(f"'{each}'" for each in SPELLINGS)
    rows = session.run(f"SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward KEYS ({keys}) {_SURE}").rows
    return {ward: round(float(n)) for ward, n in rows if round(float(n))}


def test_a_row_is_in_one_listed_group(session: Session) -> None:
    assert listed(session) == {"ward": 1, "WARD": 1}


def test_a_row_meets_one_row_of_a_public_key(session: Session) -> None:
    assert number(session, "SELECT COUNT(*) AS n FROM stays JOIN codes ON ward = code") == 2


def test_a_row_is_of_one_part(session: Session) -> None:
    counted = [number(session, f"SELECT COUNT(*) AS n FROM stays WHERE ward = '{each}'") for each in SPELLINGS]
    assert sum(counted) == 2
    assert [each for each, n in zip(SPELLINGS, counted, strict=True) if n] == ["ward", "WARD"]


def test_units_are_as_many_as_their_spellings(session: Session) -> None:
    assert number(session, "SELECT COUNT(*) AS n FROM stays AT MOST 1 ROWS PER UNIT") == 3
    assert number(session, "SELECT COUNT(DISTINCT patient) AS n FROM stays") == 3
    assert number(session, "SELECT COUNT(*) AS n FROM stays AS a JOIN stays AS b ON a.patient = b.patient") == 3


def test_conditions_and_order_go_by_characters(session: Session) -> None:
    told = "SELECT SUM(CASE WHEN {} THEN 1 ELSE 0 END) AS n FROM stays"
    assert number(session, told.format("ward IN ('Ward', 'WARD')")) == 1
    assert number(session, told.format("ward LIKE 'w%'")) == 2
    assert number(session, told.format("ward < 'a'")) == 1
    assert number(session, told.format("ward = LOWER(ward)")) == 2
    assert number(session, told.format("NULLIF(ward, 'Ward') IS NULL")) == 0


@pytest.mark.parametrize("session", [OF_WARDS], indirect=True)
def test_planted_a_column_is_read_as_it_is(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "STORED_TEXT", "VARCHAR")
    assert set(listed(session)) == set(SPELLINGS)
