"""What an analyst could try beside asking: odd amounts and values, names, a second draw, other files."""

from __future__ import annotations

import datetime
import enum
import math
import os
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
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

POLICY = """
CREATE UNIT Patient;
CREATE UNIT house;
CREATE PRIVATE TABLE p (id INT UNIT Patient KEY, age INT BETWEEN 0 AND 120, t TEXT, x FLOAT BETWEEN 0 AND 1,
  big DECIMAL(38,0) BETWEEN -90000000000000000000000000000000000000 AND 90000000000000000000000000000000000000);
CREATE PRIVATE TABLE homes (id INT UNIT house KEY, rooms INT BETWEEN 0 AND 9);
CREATE BUDGET patients FOR UNIT Patient EPSILON 100;
CREATE BUDGET houses FOR UNIT house EPSILON 100;
"""
COUNT = "SELECT COUNT(*) FROM p"


def people(ids: list[int], texts: list[str] | None = None) -> pa.Table:
    many = len(ids)
    return pa.table(
        {
            "id": ids,
            "age": [50] * many,
            "t": pa.array(texts or ["a"] * many, pa.string()),
            "x": [0.5] * many,
            "big": pa.array([Decimal(1)] * many, pa.decimal128(38, 0)),
        }
    )


@pytest.fixture
def mallory() -> Iterator[Session]:
    frames = {"p": people(list(range(30))), "homes": pa.table({"id": [1, 2], "rooms": [3, 4]})}
    with privql.connect(policy=POLICY, frames=frames, analyst="mallory") as opened:
        yield opened


def spent(session: Session, budget: str = "patients") -> Fraction:
    return next(one.spent.epsilon for one in session.budget().budgets if one.budget.name == budget)


# ---------------------------------------------------------------- amounts

ABSURD = [math.nan, 0, -1, math.inf, 1e300, 1e-300, "1e-17", True, "nan", "-1", "1/0", "", "0x1", "1_0", "٣", -0.0]
ABSURD += [Decimal("NaN"), Decimal("1E+999999999"), Decimal("-1E-9"), Fraction(1, 1009), None, [1], b"1", 1 + 0j]


@pytest.mark.parametrize("value", ABSURD, ids=repr)
def test_absurd_amounts_are_refused_and_cost_nothing(mallory: Session, value: object) -> None:
    for text in (f"{COUNT} SPEND EPSILON $e", "SELECT COUNT(* SPEND $e) FROM p", f"{COUNT} WITHIN 5 MAX EPSILON $e"):
        with pytest.raises(PrivQLError, match=r"PQL050\d"):
            mallory.run(text, e=value)
    with pytest.raises(PrivQLError, match=r"PQL050\d"):
        tuple(mallory.run_text(f"SET epsilon = $e; {COUNT}", params={"e": value}))
    assert spent(mallory) == 0


@pytest.mark.parametrize(
    "text", ["0", "1e300", "1e-17", "1e-300", "1048577", "1/0", "1/1009", "(0.1 - 0.2)", "(1 - 1)"]
)
def test_absurd_amounts_in_the_text_too(mallory: Session, text: str) -> None:
    for query in (f"{COUNT} SPEND EPSILON {text}", f"SELECT COUNT(* SPEND {text}), SUM(age) FROM p SPEND EPSILON 1"):
        with pytest.raises(PrivQLError, match=r"PQL050\d"):
            mallory.run(query)
    assert spent(mallory) == 0
    if not text.startswith("("):
        with pytest.raises(PrivQLError, match=r"PQL07\d\d"):
            privql.connect(policy=POLICY.replace("100", text), analyst="mallory")


EXACT = [("$e", Decimal("0.1"), "1/10"), ("$e", 0.1, "1/10"), ("$e", "1/3", "1/3"), ("$e", Fraction(1, 7), "1/7")]
EXACT += [("$e", 2, "2"), ("$e", np.float64(0.3), "3/10"), ("1e-12", None, "1/1000000000000")]
EXACT += [("(1 + 1e-17)", None, "100000000000000001/100000000000000000"), ("(2 * $e - 0.1)", 0.1, "1/10")]


@pytest.mark.parametrize(("text", "value", "cost"), EXACT, ids=str)
def test_amounts_are_charged_to_the_last_digit(mallory: Session, text: str, value: object, cost: str) -> None:
    for query in (COUNT, "SELECT COUNT(*), SUM(age), AVG(age) FROM p") if text != "1e-12" else (COUNT,):
        before = spent(mallory)
        answer = mallory.run(f"{query} SPEND EPSILON {text}", {"e": value} if value is not None else {})
        assert spent(mallory) - before == answer.cost.epsilon == Fraction(cost)


def test_each_unit_is_charged_for_its_own(mallory: Session) -> None:
    mallory.run("SELECT (SELECT COUNT(* SPEND 0.25) FROM p) + (SELECT COUNT(* SPEND 0.5) FROM homes) AS n")
    assert (spent(mallory), spent(mallory, "houses")) == (Fraction(1, 4), Fraction(1, 2))


# ---------------------------------------------------------------- values


def test_values_that_look_alike_are_not_the_same_question(mallory: Session) -> None:
    """A replay must be of this very question: True, 1, '1' and 1.00 are read as different types."""
    values = [True, 1, "1", Decimal("1"), Decimal("1.00"), "True", "1.0", None, datetime.date(2024, 1, 1), "2024-01-01"]
    seen = set()
    for at, value in enumerate(values, 1):
        answer = mallory.run("SELECT COUNT(*) FROM p WHERE CAST($v AS TEXT) = t SPEND EPSILON 1", v=value)
        seen.add(answer.release_id)
        assert spent(mallory) == at, value
    assert len(seen) == len(values)
    again = mallory.run("SELECT COUNT(*) FROM p WHERE CAST($v AS TEXT) = t SPEND EPSILON 1", v=1)
    assert again.release_id in seen and not again.cost


def named(name: str, value: str | int) -> enum.Enum:
    """Of an enumeration whose only member, whatever its value, is called A."""
    return enum.Enum(name, {"A": value}, type=type(value)).A  # type: ignore[attr-defined,no-any-return]


class Boasting(str):
    def __str__(self) -> str:
        return "a"

    def __format__(self, spec: str) -> str:
        return "a"


def test_a_value_is_what_it_is_and_not_what_it_calls_itself(mallory: Session) -> None:
    query = "SELECT COUNT(*) FROM p WHERE CAST($v AS TEXT) = t SPEND EPSILON 1"
    alike: list[list[object]] = [[named("E", "x"), "x"], [named("E", "y"), Boasting("y")], [Boasting("z"), "z"]]
    alike += [[named("E", 1), 1], [named("E", 2), 2], [Boasting("w")]]
    for at, values in enumerate(alike, 1):
        assert len({mallory.run(query, v=value).release_id for value in values}) == 1
        assert spent(mallory) == at, values
    halves = [
        mallory.run(f"{COUNT} WHERE x < $v SPEND EPSILON 1", v=value).release_id for value in (np.float64(0.5), 0.5)
    ]
    assert halves[0] == halves[1]


HOSTILE = [
    "'; DROP TABLE p; --",
    "x' OR '1'='1",
    "a\"; COPY (SELECT 1) TO '/tmp/stolen",
    "\\",
    "$v",
    "a\x00' OR 1=1 --",
    "‮",
    "c1 u2 __0",
    "x" * 16_000,
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: ascii(v)[:20])
def test_a_text_is_only_ever_a_text(value: str) -> None:
    """Counted among rows of which one holds it: noise of ε = 90 is nearly none."""
    frames = {"p": people([1, 2, 3], ["other", value, "other"])}
    for query in (
        "t = $v",
        "t IN ($v, 'none')",
        "REPLACE(t, $v, 'hit') = 'hit'",
        "STARTS_WITH(t, $v) AND ENDS_WITH(t, $v)",
    ):
        with privql.connect(policy=POLICY, frames=frames, analyst="mallory") as opened:
            assert opened.run(f"{COUNT} WHERE {query} SPEND EPSILON 90", v=value).rows == ((1,),), query


def test_numbers_that_would_never_end_are_refused(mallory: Session) -> None:
    for value in (Decimal("1E+999999999"), Decimal("1E-999999999"), Decimal("-1E+5000"), 10**5000, math.inf):
        with pytest.raises(PrivQLError):
            mallory.run(f"{COUNT} WHERE age = $v SPEND EPSILON 1", v=value)
    for text in ("1e99999999", "1e-99999999", "1/3", "9" * 5000, "٣", "nan"):
        with pytest.raises(PrivQLError):
            mallory.run(f"{COUNT} WHERE DATE '2024-01-01' + INTERVAL '{text}' DAY > DATE '2024-01-01' SPEND EPSILON 1")
    assert spent(mallory) == 0


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
