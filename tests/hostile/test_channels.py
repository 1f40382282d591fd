"""What an analyst could try beside asking: a second draw, what fails, other files, names."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import privql
from privql.diagnostics import PrivQLError
from privql.engines.interface import EngineError
from privql.finish.cells import finish_block
from privql.finish.result import Release
from privql.pipeline import steps as room
from privql.session import Session, apply, connect
from tests.hostile.clinic import observed
from tests.hostile.mallory import COUNT, POLICY, spent
from tests.hostile.mallory import mallory as opened


@pytest.fixture
def mallory() -> Iterator[Session]:
    with opened() as session:
        yield session


# ---------------------------------------------------------------- between the charge and the answer


def test_an_answer_that_fails_buys_no_second_draw(mallory: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Post-processing can be made to fail by what was drawn: whatever it tells, it tells of one draw."""
    draws: list[Any] = []

    def failing(*given: Any) -> object:
        draws.append(given[2])
        if len(draws) < 4:
            raise KeyboardInterrupt
        return finish_block(*given)

    monkeypatch.setattr(room, "finish_block", failing)
    query = "SELECT COUNT(*), SUM(age) FROM p SPEND EPSILON 0.01"
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            mallory.run(query)
    answer = mallory.run(query)
    assert draws[0] == draws[1] == draws[2] == draws[3]
    assert answer.rows[0][0] == draws[0][0][0]
    assert spent(mallory) == Fraction(1, 100)


def test_what_cannot_be_computed_is_refused_before_it_is_charged(
    mallory: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privql.engines.sql import statements

    def unsupported(*_: object) -> None:
        raise EngineError("unsupported")

    monkeypatch.setattr(statements, "emit", unsupported)
    with pytest.raises(PrivQLError, match="PQL0602"):
        mallory.run(f"{COUNT} SPEND EPSILON 1")
    assert spent(mallory) == 0


@pytest.mark.parametrize("problem", [RuntimeError, MemoryError, OverflowError, UnicodeError])
def test_whatever_the_engine_meets_is_said_in_the_same_words(
    mallory: Session, monkeypatch: pytest.MonkeyPatch, problem: type[Exception]
) -> None:
    from privql.engines.sql import engine

    def met(*_: object) -> None:
        raise problem("the row of Ada Lovelace, 36")

    monkeypatch.setattr(engine, "cells", met)
    with pytest.raises(PrivQLError, match="PQL0601") as told:
        mallory.run(f"{COUNT} SPEND EPSILON 1")
    chain: BaseException | None = told.value
    while chain is not None:
        assert "Ada" not in str(chain)
        chain = chain.__cause__ or chain.__context__
    assert spent(mallory) == 1


# ---------------------------------------------------------------- what the owner's word is held against


def test_a_key_that_breaks_while_a_session_is_open_is_seen(tmp_path: Path) -> None:
    """By other rows in a file of the same length and date, as `cp --preserve` and `rsync -t` leave it."""
    data = tmp_path / "people.csv"
    data.write_text("id\n" + "".join(f"{n}\n" for n in range(10, 40)))
    policy = """CREATE UNIT Patient; CREATE BUDGET patients FOR UNIT Patient EPSILON 9;
    CREATE PRIVATE TABLE p (id INT UNIT Patient KEY) FROM 'people.csv';"""
    (tmp_path / "policy.sql").write_text(policy)
    apply(tmp_path / "policy.sql", tmp_path / "ledger.db")
    before = data.stat()
    with connect(tmp_path / "ledger.db", analyst="mallory") as opened:
        opened.run(f"{COUNT} SPEND EPSILON 1")
        data.write_text("id\n" + "10\n" * 30)
        os.utime(data, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert data.stat().st_size == before.st_size
        with pytest.raises(PrivQLError, match="PQL0603"):
            opened.run("SELECT COUNT(*) + 0 FROM p SPEND EPSILON 1")
        assert spent(opened) == 1


def test_a_key_that_is_null_after_all_is_seen(tmp_path: Path) -> None:
    """And not in the unit's column, where a NULL is nobody's row."""
    data = tmp_path / "calls.csv"
    data.write_text("call,id\n1,10\n2,10\n3,\n")
    policy = """CREATE UNIT Patient; CREATE BUDGET patients FOR UNIT Patient EPSILON 9;
    CREATE PRIVATE TABLE p (call INT KEY, id INT UNIT Patient) AT MOST 2 ROWS PER UNIT FROM 'calls.csv';"""
    (tmp_path / "policy.sql").write_text(policy)
    apply(tmp_path / "policy.sql", tmp_path / "ledger.db")
    with connect(tmp_path / "ledger.db", analyst="mallory") as opened:
        opened.run(f"{COUNT} SPEND EPSILON 1")
        data.write_text("call,id\n1,10\n,10\n3,\n")
        with pytest.raises(PrivQLError, match="PQL0603"):
            opened.run("SELECT COUNT(*) + 0 FROM p SPEND EPSILON 1")
        assert spent(opened) == 1


@pytest.mark.parametrize("twins", [["1", "01"], ["1", " 1 "], ["1", "1.0"], ["7", "7e0"], ["2", "1.5"]], ids=str)
def test_units_that_are_written_differently_and_read_alike_break_a_key(twins: list[str]) -> None:
    frame = pd.DataFrame({"id": pd.Series([*twins, "30"], dtype=object), "age": 1, "t": "a", "x": 0.5, "big": "1"})
    told = observed_refusal(frame)
    assert "PQL0603" in told
    assert all(f"'{twin}'" not in told for twin in twins)


def observed_refusal(frame: pd.DataFrame) -> str:
    with (
        privql.connect(policy=POLICY, frames={"p": frame}, analyst="mallory") as opened,
        pytest.raises(PrivQLError) as told,
    ):
        opened.run(f"{COUNT} SPEND EPSILON 1")
    return str(told.value)


# ---------------------------------------------------------------- columns of every kind


def test_a_value_of_any_stored_type_changes_nothing_but_numbers() -> None:
    """Columns of the types an engine has and the language has not, and values beyond what the language's hold."""
    from tests.soundness.world import KINDS

    edge = 2**63 - 1
    stored = [
        ("z", pa.array([1, 2**64 - 1], pa.uint64())),
        ("w", pa.array([0.5, math.nan])),
        ("w", pa.array([0.5, math.inf], pa.float32())),
        ("t", pa.array(["x", "\x00"])),
        ("t", pa.array(["x", "9" * 1_000_000])),
        ("d", pa.array([0, 2**31 - 1], pa.int32()).view(pa.date32())),
        ("d", pa.array([0, 104_000_000], pa.int32()).view(pa.date32())),  # in the year 286711
        ("d", pa.array([0, edge]).view(pa.timestamp("us"))),
        ("d", pa.array([0, -edge]).view(pa.timestamp("ns"))),
        ("d", pa.array([0, -edge - 1]).view(pa.timestamp("us", "UTC"))),
        ("a", pa.array([[1], None])),
        ("a", pa.array([{"x": 1}, None])),
        ("a", pa.array([b"1", b"\xff"])),
        ("s", pa.array(["x", "zz"]).dictionary_encode()),
        ("a", pa.array([datetime.time(1), None])),
        ("k", pa.nulls(2)),
    ]
    base = {"id": ["u1", "u2"], "a": [1, 2], "b": [1, 2], "c": ["1", "2"], "f": [0.5, 0.6], "s": ["x", "y"]}
    base |= {"k": [True, False], "d": [datetime.date(2024, 3, 1)] * 2, "z": [1, 2], "w": [0.5, 0.6], "t": ["x", "y"]}
    query = "SELECT COUNT(*), COUNT(a), COUNT(k), COUNT(s), SUM(CLAMP(z, 0, 5)), SUM(CLAMP(w, 0, 1)),"
    query += (
        " COUNT(*) FILTER (WHERE d > DATE '2024-02-28'), COUNT(*) FILTER (WHERE CAST(t AS INT) > UPPER(t) LIKE 'X%')"
    )
    query = query.replace("CAST(t AS INT) > UPPER(t) LIKE 'X%'", "CAST(t AS INT) > 3 OR UPPER(t) LIKE 'X%'")
    for name, column in stored:
        full = pa.table({**base, name: column})
        kind = KINDS["people"]
        told = [
            observed(f"{query} FROM people SPEND EPSILON 8", {kind.table: part}) for part in (full, full.slice(0, 1))
        ]
        assert told[0] == told[1], (name, column.type)
        assert "error[PQL" not in str(told[0]), told[0]


NAMES = ["select", 'a"b', "a'b", "c1", "u1", "x; --", "группа", "a b", "__0", "group_at", "1"]


@pytest.mark.parametrize("column", NAMES)
def test_columns_may_be_called_anything(column: str) -> None:
    quoted = '"' + column.replace('"', '""') + '"'
    policy = f"""CREATE UNIT person; CREATE BUDGET b FOR UNIT person EPSILON 1000;
    CREATE PRIVATE TABLE t ({quoted} INT BETWEEN 0 AND 9, "{column.replace('"', '""')}u" TEXT UNIT person KEY);"""
    frame = pa.table({column: [5, 5, 7], column + "u": ["a", "b", "c"]})
    with privql.connect(policy=policy, frames={"t": frame}, analyst="mallory") as opened:
        found = opened.run(f"SELECT {quoted}, COUNT(*) AS n FROM t GROUP BY 1 SPEND EPSILON 200")
        assert isinstance(found, Release)
        assert [row for row in found.rows if row[1]] == [(5, 2), (7, 1)]


@pytest.mark.parametrize(
    "public",
    [
        "generate_series(1, 1000) AS s(i), generate_series(1, 1000) AS t(j)",
        "(SELECT i FROM generate_series(1, 1000) AS s(i), generate_series(1, 1000) AS t(j)) AS x",
        "(SELECT i, j FROM generate_series(1, 1000) AS s(i), generate_series(1, 1000) AS t(j) GROUP BY i, j) AS x",
        "(SELECT i, j FROM generate_series(1, 1000) AS s(i) FULL JOIN generate_series(1, 1000) AS t(j) ON TRUE) AS x",
        "(SELECT i FROM generate_series(1, 400) AS s(i), generate_series(1, 200) AS t(j) UNION ALL"
        " SELECT i FROM generate_series(1, 400) AS s(i), generate_series(1, 200) AS t(j)) AS x",
    ],
)
def test_what_one_row_can_meet_is_bounded_before_anything_is_read(public: str, mallory: Session) -> None:
    """Else one person's row would show by the time, or the memory, that the query takes."""
    found = mallory.check(f"SELECT COUNT(*) FROM p, {public} WHERE age = 3 AT MOST 1 ROWS PER UNIT SPEND EPSILON 1")
    assert [d.code for d in found.diagnostics] == ["PQL0407"]
    assert "could meet" in found.diagnostics[0].message
