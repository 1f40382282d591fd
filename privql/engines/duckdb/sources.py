"""Where rows come from: files and frames as relations, and what their columns are in the language.

Text formats are read as text first. Nothing here depends on a row: not the columns, their types, how a file is read.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import re
import stat
from collections.abc import Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING

from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.duckdb.times import date_in_calendar, time_in_calendar
from privql.engines.interface import EngineError, Source
from privql.engines.sql.expressions import Call, Spelled, name, text
from privql.engines.sql.relations import Names, Rows
from privql.engines.sql.stored import Table, read_table
from privql.frozen import frozen
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, decimal
from privql.kernel.terms import Scan
from privql.names import fold

if TYPE_CHECKING:
    import duckdb

_LENIENT = "ignore_errors = true, strict_mode = false"
_LONGEST_LINE = 2**24


def paths(source: Source) -> list[str]:
    """The files there are, in an order of their own."""
    found: set[str] = set()
    for pattern in source.files:
        found.update(
            [pattern] if os.path.isfile(pattern) else filter(os.path.isfile, glob.glob(pattern, recursive=True))
        )
    return sorted(map(os.path.abspath, found))


def exposed(files: list[str]) -> bool:
    """Whether every account of the machine may write one of these files, or put another in its place: then what was
    verified says nothing, and neither does who is in it."""
    if os.name != "posix":
        return False
    folders = {os.path.dirname(file) for file in files}
    return any(os.stat(file).st_mode & stat.S_IWOTH for file in files) or any(
        os.stat(folder).st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH for folder in folders
    )


def described(connection: duckdb.DuckDBPyConnection, relation: str) -> Mapping[str, str]:
    found = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {str(row[0]): str(row[1]) for row in found}


def table_of_files(connection: duckdb.DuckDBPyConnection, table: str, files: list[str]) -> Table:
    listing = "[" + ", ".join(map(text, files)) + "]"
    match _format(files):
        case "parquet":
            relation = f"read_parquet({listing}, union_by_name = true, hive_types_autocast = false)"
            columns = described(connection, relation)
            taken = {"file_index", "file_row_number"} & set(map(fold, columns))
            return Table(relation, columns, "" if taken else PLACE)
        case "csv" | "tsv" as kind:
            delimiter = "\t" if kind == "tsv" else ","
            first = _first_line(table, files, delimiter)
            return Table(_csv(listing, first, delimiter), dict.fromkeys(first.columns, "VARCHAR"))
        case "json":
            return Table(listing, {})
        case _:
            raise EngineError("unreadable source", table)


def _format(files: list[str]) -> str:
    kinds = {file.lower().removesuffix(".gz").rpartition(".")[2] for file in files}
    kinds = {{"pq": "parquet", "ndjson": "json", "jsonl": "json"}.get(kind, kind) for kind in kinds}
    return kinds.pop() if len(kinds) == 1 else ""


def strictly(relation: str) -> str:
    """The same source, which raises if a line of text does not fit: a stray quote takes all lines behind it along."""
    return relation.replace(_LENIENT, "ignore_errors = false, strict_mode = true")


def _csv(listing: str, first: _FirstLine, delimiter: str) -> str:
    """Read in one fixed dialect, every field as text. A line that does not fit is left out: no query raises for it.

    Which lines fit is not a question about each alone, so a file that has others is refused beforehand (`strictly`).
    """
    types = ", ".join(f"{text(column)}: 'VARCHAR'" for column in first.columns)
    return (
        f"read_csv({listing}, auto_detect = false, header = true, delim = '{delimiter}', quote = '\"', escape = '\"',"
        f" new_line = '{first.line_end}', columns = {{{types}}}, nullstr = '',"
        f" {_LENIENT}, max_line_size = {_LONGEST_LINE})"
    )


@frozen
class _FirstLine:
    columns: tuple[str, ...]
    line_end: str


def _first_line(table: str, files: list[str], delimiter: str) -> _FirstLine:
    """The names, and how a line ends: the same in every file."""
    found = set()
    for file in files:
        with gzip.open(file) if file.lower().endswith(".gz") else open(file, "rb") as stream:
            line = stream.readline(_LONGEST_LINE).decode("utf-8-sig", "replace")
        columns = next(csv.reader(io.StringIO(line), delimiter=delimiter), [])
        found.add(_FirstLine(tuple(columns), "\\r\\n" if line.endswith("\r\n") else "\\n"))
    first = found.pop()
    if found or not first.columns or not all(first.columns) or len({*map(fold, first.columns)}) < len(first.columns):
        raise EngineError("unreadable source", table)
    return first


def _json(listing: str, columns: Mapping[str, str]) -> str:
    types = ", ".join(f"{text(column)}: 'VARCHAR'" for column in columns)
    return f"read_json({listing}, columns = {{{types}}}, ignore_errors = true)"


# ---- columns as declared


def whatever_is_asked(columns: Iterable[str]) -> Mapping[str, str]:
    """The columns of JSON, as text: one of which nothing is asked if need be, so that there are rows."""
    return dict.fromkeys(columns, "VARCHAR") or {"any": "VARCHAR"}


def read_scan(scan: Scan, table: Table, names: Names) -> Rows:
    if not table.columns:  # JSON
        wanted = dict(scan.columns)
        if scan.unit_column is not None:
            wanted.setdefault(*scan.unit_column)
        columns = whatever_is_asked(wanted)
        table = Table(_json(table.relation, columns), columns)
    return read_table(scan, table, names, DUCKDB, _read_column)


PLACE = "(CAST(file_index AS BIGINT) * BIGINT '1099511627776' + file_row_number)"  # what every Parquet file has


STORED_TEXT = "VARCHAR COLLATE NOCASE"  # any text of a database: its collation is not told, and may be such
_AS_THEY_ARE = {"BIGINT": INT, "DOUBLE": FLOAT, "BOOLEAN": BOOL, "VARCHAR": TEXT}
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")


def readable_as(physical: str) -> str:
    """A type under which a column without rows is read by the same text. What an ENUM lists may be the data's own."""
    return physical if not physical.startswith("ENUM(") and _read_column("", physical) is not None else "VARCHAR"


def _read_column(own: str, physical: str) -> Spelled | None:
    """A stored column as a value of the language, in the type nearest to the engine's; None if there is none."""
    column = name(own)
    call, leaf = Call("", (), TEXT, count(), DUCKDB), Spelled(column, TEXT, leaf=True)
    if physical == STORED_TEXT:
        return Spelled(f"({column} COLLATE C)", TEXT, leaf=True)
    if physical in _AS_THEY_ARE:
        return Spelled(column, _AS_THEY_ARE[physical], leaf=True, loose=physical == "DOUBLE")
    if physical in _INTEGERS:
        return Spelled(f"CAST({column} AS BIGINT)", INT)
    if physical in ("UBIGINT", "HUGEINT", "UHUGEINT"):
        return Spelled(f"TRY_CAST({column} AS BIGINT)", INT)
    if physical == "FLOAT":
        return Spelled(f"CAST({column} AS DOUBLE)", FLOAT, loose=True)
    if found := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", physical):
        return Spelled(column, decimal(int(found[1]), int(found[2])), leaf=True)
    if physical == "UUID" or physical.startswith("ENUM("):
        return Spelled(f"CAST({column} AS VARCHAR)", TEXT)
    if physical == "DATE":
        return Spelled(date_in_calendar(call, leaf), DATE)
    if physical == "TIMESTAMP":
        return Spelled(time_in_calendar(call, leaf), TIMESTAMP)
    if physical in ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return Spelled(time_in_calendar(call, Spelled(f"TRY_CAST({column} AS TIMESTAMP)", TIMESTAMP)), TIMESTAMP)
    if physical == "TIMESTAMP WITH TIME ZONE":
        return Spelled(time_in_calendar(call, Spelled(f"make_timestamp(epoch_us({column}))", TIMESTAMP)), TIMESTAMP)
    return None
