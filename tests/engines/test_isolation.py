"""The DuckDB engine as its enemies meet it: shut in, silent, and hard to mislead by names."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import EngineError, Source
from privql.kernel.features import Tally
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar
from privql.kernel.sums import Key, Sums
from privql.kernel.terms import Filter, KeepRows, Relation
from tests.engines.breaking_off import ctrl_c
from tests.engines.small import SALT, cells, engine, scan

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


@pytest.mark.skipif(os.name != "posix", reason="names hold no backslash here")
def test_a_backslash_in_a_name_opens_no_other_file(tmp_path: Path) -> None:
    """The engine takes it for a slash."""
    (tmp_path / "a").mkdir()
    for name in ("a\\mine.csv", "a/mine.csv"):
        (tmp_path / name).write_text("a\n1\n")
    with DuckDBEngine({"t": Source((str(tmp_path / "a\\mine.csv"),))}) as e, pytest.raises(duckdb.Error):
        e._connection.execute(f"SELECT * FROM read_csv('{tmp_path}/a/mine.csv')")


def test_each_guard_is_set_though_another_stands_behind_it() -> None:
    with engine({"a": [1]}) as e:
        for setting, wanted in (
            ("autoinstall_known_extensions", False),
            ("autoload_known_extensions", False),
            ("allow_community_extensions", False),
            ("python_enable_replacements", False),
            ("enable_external_access", False),
            ("enable_progress_bar_print", False),
            ("lock_configuration", True),
        ):
            assert e._connection.execute("SELECT current_setting(?)", [setting]).fetchall() == [(wanted,)], setting


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
    seen: list[int] = []
    over = threading.Event()
    with engine({"b": [f"{i:060}" for i in range(600_000)]}, memory_limit="50MB", threads=1) as e:

        def watch() -> None:
            while not over.wait(0.002):
                seen.append(len(os.listdir(e._folder)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        unique = e.unique("t", (("b", TEXT),))
        over.set()
        watcher.join()
    assert unique and max(seen) > 0


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


def test_ctrl_c_is_no_failure_of_the_engine() -> None:
    """It says so, keeps no incident, and goes on; an error that only reads like it does not pass for it."""
    relation: Relation = scan((("b", INT),), ("u", INT))
    for _ in range(3):
        relation = KeepRows(relation, 10_000)
    failed: list[BaseException] = []
    count = 1_500_000
    with engine({"u": np.arange(count) % 1000, "b": np.arange(count)}, threads=1, owner_log=failed.append) as e:
        with ctrl_c(0.3):
            e.run(Sums(relation, (), (Tally(),)), SALT)
        assert not failed
        assert e.run(Sums(scan((("b", INT),)), (), (Tally(),)), SALT).tolist() == [[count]]


@pytest.mark.parametrize("cause", [ValueError("Query interrupted"), RuntimeError("Query interrupted by row 7")])
def test_what_only_reads_like_ctrl_c_is_a_failure(monkeypatch: pytest.MonkeyPatch, cause: Exception) -> None:
    failed: list[BaseException] = []

    def ask(self: DuckDBEngine, *given: object) -> object:
        raise cause

    monkeypatch.setattr(DuckDBEngine, "_ask", ask)
    with engine({"b": [1]}, owner_log=failed.append) as e, pytest.raises(EngineError, match="could not complete"):
        e.run(Sums(scan((("b", INT),)), (), (Tally(),)), SALT)
    assert failed == [cause]


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
