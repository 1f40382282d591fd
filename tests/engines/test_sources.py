"""Files and frames read as the types declared: converted, or NULL, and never an error that a row could cause."""

from __future__ import annotations

import datetime
import gzip
import os
from decimal import Decimal
from itertools import product, zip_longest
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privql.engines.duckdb import DuckDBEngine
from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.duckdb.sources import STORED_TEXT, _read_column, read_scan, readable_as
from privql.engines.interface import EngineError, Source
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.relations import Names
from privql.engines.sql.stored import Table, read_table
from privql.kernel.features import Tally
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, ValueType, decimal
from privql.kernel.sums import Sums
from privql.kernel.terms import Scan, Unit
from tests.engines.values import inward

PRICE = decimal(5, 2)


Read = list[tuple[object, ...]]


def read(source: Source, *columns: tuple[str, ValueType], unit: tuple[str, ValueType] | None = None) -> Read:
    scan = Scan("t", Unit("person"), unit, False, columns)
    failures: list[BaseException] = []
    with DuckDBEngine({"t": source}, owner_log=failures.append) as engine:
        engine.preflight([scan])
        counted = engine.run(Sums(scan, (), (Tally(),)), b"").tolist()
        rows = read_scan(scan, engine._table("t"), Names())
        names = [rows.columns[c].spelled for c, _ in columns]
        outward = ", ".join(_outward(spelled.sql, spelled.type, spelled.loose) for spelled in names) or "1"
        found = engine._connection.execute(f"SELECT {outward} FROM ({rows.sql(outward)})").fetchall()
    assert counted == [[len(found)]] and not failures
    types = [t for _, t in columns]
    return [tuple(inward(v, t) for v, t in zip(row, types, strict=False)) for row in found]


def _outward(sql: str, type: ValueType, loose: bool) -> str:
    if loose:
        return f"CASE WHEN isfinite({sql}) THEN {sql} END"
    return {"DATE": f"datediff('day', DATE '1970-01-01', {sql})", "TIMESTAMP": f"epoch_us({sql})"}.get(type.kind, sql)


def day(text: str) -> int:
    return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days


CSV = "\n".join(
    (
        'id,Age,"a ""b""",born',
        '1,5,"x, y",2024-02-29',
        '2,,"",2023-02-29',
        '3,abc,"two\nlines",',
        "4,1e1,'z',0001-01-01",
        "5,7",
        "6,8,x,2024-01-01,more",
        " 7 ,-0x1, q ,24-1-1",
        "",
    )
)


@pytest.mark.parametrize("name", ["a.csv", "a.CSV.gz", "a.tsv"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_is_read_as_text_in_one_dialect(name: str, end: str, tmp_path: Path) -> None:
    written = CSV.replace("\n", end).replace(",", "\t") if name.endswith("tsv") else CSV.replace("\n", end)
    data = written.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    source = Source((str(tmp_path / "*.*"),))
    found = read(source, ("ID", INT), ("age", INT), ('a "b"', TEXT), ("born", DATE))
    first = "x\t y" if name.endswith("tsv") else "x, y"
    assert found == [
        (1, 5, first, day("2024-02-29")),
        (2, None, None, None),
        (3, None, f"two{end}lines", None),
        (4, 10, "'z'", day("0001-01-01")),
        (6, 8, "x", day("2024-01-01")),
        (7, None, " q ", None),
    ]
    assert len(read(source, ("id", TEXT), unit=("age", INT))) == 3


def test_broken_lines_of_csv_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,2\n\xff\xfe,3\n4," + b"9" * 20_000_000 + b'\n5,6\n7,"unclosed\n8,9\n')
    assert read(Source((str(path),)), ("a", INT), ("b", INT))[:2] == [(1, 2), (5, 6)]


def test_files_of_one_table_agree_in_their_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a,b\n3,4\n")
    files = Source((str(tmp_path / "*.csv"),))
    assert sorted(read(files, ("a", INT), ("b", FLOAT))) == [(1, 2.0), (3, 4.0)]
    for other in ("b,a\n3,4\n", "", "a,A\n", "a,\n"):
        (tmp_path / "b.csv").write_text(other)
        with pytest.raises(EngineError, match="cannot be read"):
            read(files, ("a", INT))


def test_json_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text('{"a": 1, "b": "x"}\n{"a": "2", "b": null, "c": [1]}\n{"b": {"k": 1}}\n')
    assert read(Source((str(path),)), ("a", INT), ("b", TEXT)) == [(1, "x"), (2, None), (None, '{"k":1}')]


def test_stored_types_are_converted_as_cast_would(tmp_path: Path) -> None:
    moment = datetime.datetime(2024, 2, 29, 23, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=-2)))
    table = pa.table(
        {
            "i8": pa.array([1, -1, None], pa.int8()),
            "u64": pa.array([1, 2**63, None], pa.uint64()),
            "f32": pa.array([0.5, float("nan"), float("inf")], pa.float32()),
            "f64": [2.5, float("-inf"), 1e300],
            "dec": pa.array([Decimal("1.005"), Decimal("999.995"), None], pa.decimal128(20, 3)),
            "text": ["12", "x", None],
            "zoned": pa.array([moment, None, None], pa.timestamp("us", "America/Sao_Paulo")),
            "far": pa.array([0, 10**12, -(10**12)], pa.timestamp("s")),
            "date": pa.array([0, 3_000_000, -800_000], pa.date32()),
            "list": [[1], [2], None],
            "dict": pa.array(["a", "b", None]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    utc = day("2024-03-01") * 86_400_000_000 + 90 * 60_000_000
    wanted = {
        ("i8", INT): [1, -1, None], ("i8", TEXT): ["1", "-1", None], ("i8", BOOL): [True, True, None],
        ("u64", INT): [1, None, None], ("u64", FLOAT): [1.0, None, None],
        ("f32", FLOAT): [0.5, None, None], ("f64", FLOAT): [2.5, None, 1e300], ("f64", INT): [3, None, None],
        ("f64", TEXT): [None] * 3, ("dec", PRICE): [Decimal("1.01"), None, None], ("dec", INT): [1, 1000, None],
        ("text", INT): [12, None, None], ("zoned", TIMESTAMP): [utc, None, None],
        ("zoned", DATE): [day("2024-03-01"), None, None],
        ("far", TIMESTAMP): [0, None, None], ("date", DATE): [0, None, None], ("date", INT): [None] * 3,
        ("list", TEXT): [None] * 3, ("dict", TEXT): ["a", "b", None],
    }  # fmt: skip
    for source in (Source((str(tmp_path / "a.parquet"),)), Source(frame=table)):
        for (column, type), values in wanted.items():
            assert [row[0] for row in read(source, (column, type))] == values, (column, type)
    assert len(read(Source(frame=table), unit=("u64", INT))) == 1
    assert len(read(Source(frame=table), unit=("f64", FLOAT))) == 2


TEXTS = "'', 'a', NULL"
MOMENTS = "TIMESTAMP '2024-02-29 23:30:00', TIMESTAMP '1677-12-31', 'infinity', NULL"
AT = (day("2024-02-29") * 86400 + 84600) * 1_000_000
STORED: dict[str, tuple[str, ValueType, list[object]]] = {
    "TINYINT": ("-128, 127, NULL", INT, [-128, 127, None]),
    "SMALLINT": ("-32768, 32767, NULL", INT, [-(2**15), 2**15 - 1, None]),
    "INTEGER": ("-2147483648, 2147483647", INT, [-(2**31), 2**31 - 1]),
    "BIGINT": ("-9223372036854775808, 9223372036854775807", INT, [-(2**63), 2**63 - 1]),
    "UTINYINT": ("0, 255", INT, [0, 255]),
    "USMALLINT": ("0, 65535", INT, [0, 2**16 - 1]),
    "UINTEGER": ("0, 4294967295", INT, [0, 2**32 - 1]),
    "UBIGINT": ("7, 18446744073709551615, NULL", INT, [7, None, None]),
    "HUGEINT": ("-7, 9223372036854775808", INT, [-7, None]),
    "UHUGEINT": ("7, 9223372036854775808", INT, [7, None]),
    "FLOAT": ("0.5, 'nan', '-inf', NULL", FLOAT, [0.5, None, None, None]),
    "DOUBLE": ("0.1, 'nan', 'inf', 1e300", FLOAT, [0.1, None, None, 1e300]),
    "BOOLEAN": ("true, false, NULL", BOOL, [True, False, None]),
    "DECIMAL(5,2)": ("999.99, -0.01, NULL", PRICE, [Decimal("999.99"), Decimal("-0.01"), None]),
    "DECIMAL(38,0)": ("7", decimal(38, 0), [Decimal(7)]),
    "VARCHAR": (TEXTS, TEXT, ["", "a", None]),
    "UUID": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL", TEXT, ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None]),
    "ENUM('', 'a')": (TEXTS, TEXT, ["", "a", None]),
    "DATE": ("'2024-02-29', '10000-01-01', 'infinity', NULL", DATE, [day("2024-02-29"), None, None, None]),
    "TIMESTAMP": (MOMENTS, TIMESTAMP, [AT, day("1677-12-31") * 86_400_000_000, None, None]),
    "TIMESTAMP_S": (MOMENTS, TIMESTAMP, [AT, day("1677-12-31") * 86_400_000_000, None, None]),
    "TIMESTAMP_MS": (MOMENTS, TIMESTAMP, [AT, day("1677-12-31") * 86_400_000_000, None, None]),
    "TIMESTAMP_NS": (MOMENTS, TIMESTAMP, [AT, day("1677-12-31") * 86_400_000_000, None, None]),
    "TIMESTAMP WITH TIME ZONE": ("'2024-02-29 21:30:00-02', NULL", TIMESTAMP, [AT, None]),
    "TIME": ("'12:00:00', NULL", TEXT, [None, None]),
    "INTERVAL": ("INTERVAL 1 DAY", INT, [None]),
    "BLOB": ("'a'", TEXT, [None]),
    "INTEGER[]": ("[1]", INT, [None]),
    "STRUCT(a INTEGER)": ("{'a': 1}", INT, [None]),
}


def test_every_stored_type_is_read_as_the_nearest_or_not_at_all(tmp_path: Path) -> None:
    path, given = tmp_path / "a.duckdb", [values.split(", ") for values, _, _ in STORED.values()]
    rows = list(zip_longest(*given, fillvalue="NULL"))
    with duckdb.connect(str(path)) as database:
        database.execute(f"CREATE TABLE t ({', '.join(f'c{at} {physical}' for at, physical in enumerate(STORED))})")
        for row in rows:
            database.execute(f"INSERT INTO t VALUES ({', '.join(row)})")
    columns = [(f"c{at}", type) for at, (_, type, _) in enumerate(STORED.values())]
    found = zip(*read(Source((str(path),), inside=("t",)), *columns), strict=True)
    for (physical, (_, _, wanted)), got in zip(STORED.items(), found, strict=True):
        assert list(got) == wanted + [None] * (len(rows) - len(wanted)), physical


def test_a_stored_column_is_of_the_type_that_is_said_and_written_as_it_is_where_it_can_be() -> None:
    for physical, (_, type, wanted) in STORED.items():
        found = _read_column("x", physical)
        assert (None if found is None else found.type) == (type if any(each is not None for each in wanted) else None)
        assert found is None or found.leaf == (found.sql == '"x"')
    text = _read_column("x", STORED_TEXT)
    assert text is not None and (text.type, text.leaf, text.loose) == (TEXT, True, False)


def test_a_rehearsal_takes_no_type_that_lists_values() -> None:
    for physical, (_, _, wanted) in STORED.items():
        taken = any(value is not None for value in wanted) and not physical.startswith("ENUM")
        assert readable_as(physical) == (physical if taken else "VARCHAR")


def test_files_whose_types_differ_are_read_as_one(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": pa.array([2**40], pa.int64()), "b": ["x"]}), tmp_path / "1.parquet")
    assert sorted(read(Source((str(tmp_path / "*.parquet"),)), ("a", INT))) == [(1,), (2**40,)]


def test_object_columns_of_pandas_do_not_depend_on_a_sample() -> None:
    late = [1] * 2000 + ["x", Decimal("1.50"), None, b"\xff", datetime.date(2024, 1, 1), float("nan"), [1]]
    frame = pd.DataFrame({"o": late, "n": np.arange(len(late))})
    wanted = [1] * 2000 + [None, Decimal("1.5")] + [None] * 5
    assert [row[0] for row in read(Source(frame=frame), ("o", PRICE))] == wanted
    assert read(Source(frame=frame), ("o", DATE))[-3] == (day("2024-01-01"),)


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes here")
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.duckdb"])
def test_what_every_account_may_write_is_not_read(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / name
    match path.suffix:
        case ".csv":
            path.write_text("a\n1\n")
        case ".parquet":
            pq.write_table(pa.table({"a": [1]}), path)
        case _:
            with duckdb.connect(str(path)) as database:
                database.execute("CREATE TABLE t AS SELECT 1 AS a")
    path.chmod(0o664)  # a group is somebody's choice
    source = Source((str(path),), inside=("t",) if name == "a.duckdb" else ())
    assert read(source, ("a", INT)) == [(1,)]
    for exposed, mode in ((path, 0o666), (path, 0o602), (folder, 0o777), (folder, 0o703)):
        kept = exposed.stat().st_mode
        exposed.chmod(mode)
        with pytest.raises(EngineError, match="every account") as raised:
            read(source, ("a", INT))
        assert raised.value.kind == "exposed source"
        exposed.chmod(kept)
    folder.chmod(0o1777)  # others may add files, and change none
    assert read(source, ("a", INT)) == [(1,)]


@pytest.mark.parametrize("declared", [INT, TEXT, DATE, FLOAT, PRICE], ids=str)
@pytest.mark.parametrize("stored", [INT, TEXT, DATE, FLOAT, PRICE, None], ids=str)
def test_rows_of_nobody_are_left_out_unless_there_can_be_none(declared: ValueType, stored: ValueType | None) -> None:
    """Where the source itself sees to it, and what it stores is read as it is: a date may be none of the calendar."""
    for filled, loose in product((True, False), repeat=2):
        found = None if stored is None else Spelled('"u"', stored, leaf=True, loose=loose)
        table = Table("t", {"u": "any"}, filled=frozenset("u" if filled else ()))
        scan = Scan("t", Unit("person"), ("U", declared), False, ())
        rows = read_table(scan, table, Names(), DUCKDB, lambda own, physical, found=found: found)
        surely = filled and not loose and stored == declared and declared in (INT, TEXT)
        assert ("IS NOT NULL" not in rows.sql(rows.owner.sql)) == surely


def test_complete_is_what_lacks_nothing_in_any_column() -> None:
    rows = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": pd.array([1, None], dtype="Int64")})
    with DuckDBEngine({"t": Source(frame=rows)}) as engine:
        assert engine.complete("t", (("a", INT),)) and not engine.complete("t", (("a", INT), ("b", INT)))
