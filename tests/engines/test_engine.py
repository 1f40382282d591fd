"""The DuckDB engine as its caller and its enemies meet it: shut in, silent, tidy, and hard to mislead by names."""

from __future__ import annotations

import itertools
import os
import stat
import threading
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError, Source
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar, ValueType
from privql.kernel.terms import Balance, Filter, KeepRows, Key, Project, Relation, Scan, Steps, Sums, Tally, Total, Unit

PERSON = Unit("person")
SALT = b"salt"
Columns = tuple[tuple[str, ValueType], ...]


def scan(columns: Columns, unit: tuple[str, ValueType] | None = None, table: str = "t") -> Scan:
    return Scan(table, PERSON, unit, False, columns)


def engine(data: dict[str, object], **options: object) -> DuckDBEngine:
    options.setdefault("owner_log", print)
    return DuckDBEngine({"t": Source(frame=pa.table(data))}, **options)  # type: ignore[arg-type]


def cells(data: dict[str, object], sums: Sums) -> list[list[int]]:
    with engine(data) as e:
        e.preflight([scan((), None)])
        return e.run(sums, SALT).tolist()  # type: ignore[no-any-return]


# ---- cells


def test_groups_stand_in_the_order_of_the_product_and_empty_ones_too() -> None:
    data = {"a": ["x", "y", None, "z", "x"], "b": [1, 2, 1, 1, 3]}
    keys = (Key(Field("a", TEXT), ("y", None, "x", "w")), Key(Field("b", INT), (1, 2)))
    found = cells(data, Sums(scan((("a", TEXT), ("b", INT))), keys, (Tally(),)))
    wanted = {("y", 2): 1, (None, 1): 1, ("x", 1): 1}
    assert found == [[wanted.get(g, 0)] for g in itertools.product(("y", None, "x", "w"), (1, 2))]


def test_without_keys_there_is_one_group_even_of_no_rows() -> None:
    steps = Steps(Field("b", INT), Fraction(1), -5, 9)
    assert cells({"b": pa.array([], pa.int64())}, Sums(scan((("b", INT),)), (), (Tally(), Balance(steps)))) == [
        [0, 0, 0]
    ]


def test_sums_beyond_64_bits_are_exact() -> None:
    data = {"b": [2**62] * 5 + [None]}
    steps = Steps(Field("b", INT), Fraction(1), -(2**62), 2**62)
    found = cells(data, Sums(scan((("b", INT),)), (), (Total(steps), Balance(steps), Tally())))
    assert found == [[5 * 2**62, 5 * 2**63, 0, 6]]
    with engine({"b": [1, 2]}) as e:
        assert e.run(Sums(scan((("b", INT),)), (), (Total(steps),)), SALT).dtype == np.int64


def test_many_groups_are_handed_over_as_arrays() -> None:
    count = 20_000
    names = [f"k{i}" for i in range(count)]
    members = (*names[::-1], None)
    data = {"k": [*names, names[7], None, "other"]}
    found = cells(data, Sums(scan((("k", TEXT),)), (Key(Field("k", TEXT), members),), (Tally(),)))
    assert [row[0] for row in found] == [2 if member == "k7" else 1 for member in members]


def test_a_list_that_names_a_group_twice_is_refused() -> None:
    with pytest.raises(EngineError) as refused, engine({"b": [1]}) as e:
        e.run(Sums(scan((("b", INT),)), (Key(Field("b", INT), (1, 1)),), (Tally(),)), SALT)
    assert refused.value.kind == "unsupported"


def test_a_declared_list_is_grouped_by_the_column_itself() -> None:
    raw = Field("k", TEXT)
    listed = Apply("case", (Apply("in", (raw, Const("a", TEXT)), BOOL), raw, Const(None, TEXT)), TEXT)
    sums = Sums(Project(scan((("k", TEXT),)), (("k", listed),)), (Key(Field("k", TEXT), ("a", "b", None)),), (Tally(),))
    with engine({"k": ["a", "b", "c", "a", None]}) as e:
        assert e.run(sums, SALT).tolist() == [[2], [0], [3]]
        assert e.emit(sums).count("GROUP BY c0") == 1


def test_a_clamp_that_steps_repeat_is_not_computed_twice() -> None:
    clamped = Apply("clamp", (Field("x", FLOAT), Const(0.0, FLOAT), Const(8.0, FLOAT)), FLOAT)
    relation = Project(scan((("x", FLOAT),)), (("x", clamped),))
    data = {"x": [-1.0, 3.25, 9.0, None, float("nan"), float("inf")]}
    for high in (64, 40):
        sums = Sums(relation, (), (Total(Steps(Field("x", FLOAT), Fraction(1, 8), 0, high)),))
        assert cells(data, sums) == [[26 + high]]


# ---- shut in


def test_it_reads_nothing_but_its_sources(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a\n1\n")
    (tmp_path / "other.csv").write_text("a\n2\n")
    with DuckDBEngine({"t": Source((str(tmp_path / "mine.csv"),))}) as e:
        run = e._connection.execute
        assert run(f"SELECT count(*) FROM read_csv('{tmp_path}/mine.csv')").fetchall() == [(1,)]
        for statement in (
            f"SELECT * FROM read_csv('{tmp_path}/other.csv')",
            f"SELECT * FROM glob('{tmp_path}/*')",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            f"ATTACH '{tmp_path}/out.db'",
            "SET enable_external_access = true",
            "SET allowed_paths = ['/']",
            "SET threads = 1",
            "SET lock_configuration = false",
            "RESET error_on_division_by_zero",
            "INSTALL httpfs",
            "LOAD httpfs",
        ):
            with pytest.raises(duckdb.Error):
                run(statement)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.csv", "other.csv"]


def test_python_variables_are_no_tables() -> None:
    frame = pa.table({"a": [1]})
    with engine({"a": [1]}) as e, pytest.raises(duckdb.Error):
        e._connection.execute("SELECT * FROM frame")
    assert len(frame) == 1


def test_what_spills_goes_to_a_folder_of_its_own_that_is_removed() -> None:
    e = engine({"a": [1]})
    folder = e._folder
    ((used,),) = e._connection.execute("SELECT current_setting('temp_directory')").fetchall()
    assert used == folder and stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    e.close()
    assert not os.path.exists(folder)


def test_it_spills_although_it_is_shut_in() -> None:
    count = 400_000
    data = {"a": np.arange(count), "u": np.arange(count) % 1000, "b": [f"{i:060}" for i in range(count)]}
    columns: Columns = (("a", INT), ("b", TEXT))
    sums = Sums(
        KeepRows(scan(columns, ("u", INT)), 3),
        (),
        (Tally(Apply("is_distinct", (Field("b", TEXT), Const("", TEXT)), BOOL)),),
    )
    with engine(data, memory_limit="80MB", threads=1) as e:
        assert e.run(sums, SALT).tolist() == [[3000]]


# ---- silent


def _failing(e: DuckDBEngine) -> Sums:
    e.preflight([scan(())])
    e._connection.unregister("frame_0")
    return Sums(scan((("secret", TEXT),)), (), (Tally(),))


def test_a_failure_is_one_constant_error_without_its_cause() -> None:
    causes: list[BaseException] = []
    with engine({"secret": ["s3cret"]}, owner_log=causes.append) as e:
        with pytest.raises(EngineError) as raised:
            e.run(_failing(e), SALT)
        error = raised.value
        assert str(error) == "the engine could not complete the query" and error.kind == "failed"
        assert error.__cause__ is None and error.__context__ is None
        assert len(causes) == 1 and isinstance(causes[0], duckdb.Error)


def test_no_scalar_can_make_it_fail_and_none_is_guarded() -> None:
    x = Field("x", INT)
    zero = Const(0, INT)
    terms: list[Scalar] = [
        Apply("int_div", (x, zero), INT),
        Apply("mul", (x, Const(2**63 - 1, INT)), INT),
        Apply("abs", (x,), INT),
        Apply("cast", (Field("s", TEXT),), INT),
        Apply("left", (Field("s", TEXT), x), TEXT),
        Apply("ln", (Apply("cast", (x,), FLOAT),), FLOAT),
    ]
    data = {"x": [-(2**63), 2**63 - 1, 0, None], "s": ["a", "", "9" * 50, None]}
    columns = (("x", INT), ("s", TEXT))
    for term in terms:
        sums = Sums(scan(columns), (), (Tally(Apply("is_null", (term,), BOOL)),))
        assert 1 <= cells(data, sums)[0][0] <= 4


def test_preflight_names_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "broken.parquet").write_text("no parquet")
    sources = {
        "a": Source((str(tmp_path / "*.csv"),)),
        "gone": Source((str(tmp_path / "gone*.parquet"),)),
        "broken": Source((str(tmp_path / "broken.parquet"),)),
        "odd": Source(frame=[1, 2]),
    }
    with DuckDBEngine(sources) as e:
        e.preflight([scan((("x", INT), ("Y", TEXT)), ("x", INT), "a")])
        for table, column, kind in (
            ("a", "z", "missing column"),
            ("gone", "x", "missing source"),
            ("unknown", "x", "missing source"),
            ("broken", "x", "unreadable source"),
            ("odd", "x", "unreadable source"),
        ):
            with pytest.raises(EngineError) as raised:
                e.preflight([scan(((column, INT),), None, table)])
            assert raised.value.kind == kind and raised.value.table == table and table in str(raised.value)
            assert str(tmp_path) not in str(raised.value) and raised.value.__context__ is None
        with pytest.raises(EngineError, match="no column `u`"):
            e.preflight([scan((), ("u", TEXT), "a")])
        (tmp_path / "a.csv").unlink()
        with pytest.raises(EngineError, match="not there"):
            e.preflight([scan((("x", INT),), None, "a")])


def test_interrupted_from_another_thread_it_fails_and_goes_on() -> None:
    count = 1_500_000
    data = {"u": np.arange(count) % 1000, "b": np.arange(count)}
    relation: Relation = scan((("b", INT),), ("u", INT))
    for _ in range(3):
        relation = KeepRows(relation, 10_000)
    with engine(data, threads=1) as e:
        timer = threading.Timer(0.3, e.interrupt)
        timer.start()
        with pytest.raises(EngineError, match="could not complete"):
            e.run(Sums(relation, (), (Tally(),)), SALT)
        timer.join()
        assert e.run(Sums(scan((("b", INT),)), (), (Tally(),)), SALT).tolist() == [[count]]


def test_threads_may_share_it() -> None:
    sums = Sums(scan((("b", INT),), ("u", INT)), (Key(Field("b", INT), tuple(range(100))),), (Tally(),))
    found: list[list[list[int]]] = []
    with engine({"u": list(range(5000)), "b": [i % 100 for i in range(5000)]}) as e:
        threads = [threading.Thread(target=lambda: found.append(e.run(sums, SALT).tolist())) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [[[50]] * 100] * 6


# ---- names

HOSTILE = [
    '"; DROP TABLE t; --',
    "a'b",
    'x" AS y, "',
    "c0",
    "u",
    "",
    " ",
    "\\",
    "é",
    "select",
    "a\nb",
    "$1",
    "?",
    "{x}",
    "__0",
]


@pytest.mark.parametrize("odd", HOSTILE)
def test_names_and_texts_are_never_read_as_sql(odd: str, tmp_path: Path) -> None:
    column = odd or "empty"
    folder = tmp_path / (odd.replace("\\", "") or "folder").strip()
    folder.mkdir(exist_ok=True)
    path = folder / "rows.parquet"
    duckdb.from_arrow(pa.table({column: [odd, "other", None], "n": [1, 2, 3]})).write_parquet(str(path))
    raw = Field(column, TEXT)
    relation = Filter(
        scan(((column, TEXT), ("n", INT)), (column, TEXT), odd), Apply("eq", (raw, Const(odd, TEXT)), BOOL)
    )
    sums = Sums(
        KeepRows(relation, 1), (Key(raw, (odd, *HOSTILE[:3], None) if odd not in HOSTILE[:3] else (odd,)),), (Tally(),)
    )
    with DuckDBEngine({odd: Source((str(path),))}) as e:
        assert e.run(sums, odd.encode()).tolist()[0] == [1]


def test_columns_that_differ_in_case_alone_are_told_apart() -> None:
    data = {"É": ["x"], "é": ["y"], "A": [1]}
    keys = (Key(Field("É", TEXT), ("x", "y")), Key(Field("a", INT), (1,)))
    assert cells(data, Sums(scan((("É", TEXT), ("é", TEXT), ("a", INT))), keys, (Tally(),))) == [[1], [0]]


# ---- depth


def test_deep_terms_are_planned_and_run() -> None:
    x: Scalar = Field("x", INT)
    for at in range(150):
        x = Apply("nullif", (Apply("add", (x, Const(1, INT)), INT), Const(at, INT)), INT)
    sums = Sums(scan((("x", INT),)), (), (Total(Steps(x, Fraction(1), 0, 1000)),))
    assert cells({"x": [1, 5]}, sums) == [[306]]


def test_columns_used_twice_in_each_of_many_projections_do_not_multiply() -> None:
    relation: Relation = scan((("x", INT),))
    x = Field("x", INT)
    for _ in range(80):
        doubled = Apply("mod", (Apply("add", (x, x), INT), Const(1000, INT)), INT)
        relation = Filter(
            Project(relation, (("x", doubled),)), Apply("ge", (Apply("add", (x, x), INT), Const(0, INT)), BOOL)
        )
    assert cells({"x": [1, 5]}, Sums(relation, (), (Tally(),))) == [[2]]


# ---- for the owner


def test_uniqueness_of_keys_is_verified() -> None:
    with engine({"a": ["x", "y", None, None], "b": [1, 1, 2, 2], "c": ["1", "01", "q", "2"]}) as e:
        assert e.unique("t", (("a", TEXT),)) and not e.unique("t", (("b", INT),))
        assert e.unique("t", (("a", TEXT), ("b", INT)))
        assert e.unique("t", (("c", TEXT),)) and not e.unique("t", (("c", INT),))  # as the type declared
        assert (
            e.unique_unit(scan((), ("a", TEXT))) and not e.unique_unit(scan((), ("b", INT))) and e.unique_unit(scan(()))
        )
