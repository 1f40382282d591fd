"""One small table `t` in an engine, and its cells."""

from __future__ import annotations

import pyarrow as pa

from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source
from privql.kernel.scalars import ValueType
from privql.kernel.sums import Sums
from privql.kernel.terms import Scan, Unit

PERSON = Unit("person")
SALT = b"salt"
Columns = tuple[tuple[str, ValueType], ...]


def scan(columns: Columns, unit: tuple[str, ValueType] | None = None, table: str = "t") -> Scan:
    return Scan(table, PERSON, unit, False, columns)


def engine(data: dict[str, object], **options: object) -> DuckDBEngine:
    options.setdefault("owner_log", print)
    return DuckDBEngine({"t": Source(frame=pa.table(data))}, **options)


def cells(data: dict[str, object], sums: Sums) -> list[list[int]]:
    with engine(data) as e:
        e.preflight([scan((), None)])
        return e.run(sums, SALT).tolist()
