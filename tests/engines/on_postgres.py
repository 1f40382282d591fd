"""The rows of Parquet files and frames as tables of a PostgreSQL server, and an engine that reads them there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from privql.engines.postgres.engine import PostgresEngine
from privql.engines.sql.expressions import name
from privql.kernel.scalars import ValueType
from privql.kernel.terms import Scan, Unit
from tests.ledger.servers import fresh

_SCHEMAS = count()


@cache
def database() -> str:
    """One for all tests of a process; each has a schema of its own."""
    return fresh()


def connected() -> Any:
    """Of no type: statements that tests put together are no literals, which is what psycopg's types ask for."""
    import psycopg

    return psycopg.connect(database(), autocommit=True)


def engine(tables: Mapping[str, pa.Table | Path], **options: Any) -> PostgresEngine:
    schema = f"s{next(_SCHEMAS)}"
    with connected() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        for table, rows in tables.items():
            load(connection, f"{schema}.{name(table)}", pq.read_table(rows) if isinstance(rows, Path) else rows)
    return PostgresEngine(database(), {table: (schema, table) for table in tables}, **options)


def load(connection: Any, table: str, rows: pa.Table) -> None:
    """Dates and times go through whole numbers: Python's own end with the year 9999."""
    kinds = [_kind(field.type) for field in rows.schema]
    raw = [{"date": "bigint", "timestamp": "bigint"}.get(kind, kind) for kind in kinds]
    names = [name(field.name) for field in rows.schema]
    listed = ", ".join(f"{column} {kind}" for column, kind in zip(names, raw, strict=True))
    connection.execute(f"CREATE TEMP TABLE handed ({listed})")
    columns = [_plain(rows.column(at), kind) for at, kind in enumerate(kinds)]
    with connection.cursor().copy("COPY handed FROM STDIN") as copy:
        for row in zip(*columns, strict=True):
            copy.write_row(row)
    made = ", ".join(f"{_made(column, kind)} AS {column}" for column, kind in zip(names, kinds, strict=True))
    connection.execute(f"CREATE TABLE {table} AS SELECT {made} FROM handed")
    connection.execute("DROP TABLE handed")


def _kind(type: pa.DataType) -> str:
    if pa.types.is_decimal(type):
        return f"numeric({type.precision},{type.scale})"
    if pa.types.is_timestamp(type):
        return "timestamp"
    if pa.types.is_date(type):
        return "date"
    if pa.types.is_integer(type):
        return "bigint"
    if pa.types.is_floating(type):
        return "double precision"
    return "boolean" if pa.types.is_boolean(type) else "text"


def _plain(column: pa.ChunkedArray, kind: str) -> list[Any]:
    if kind == "date":
        column = column.cast(pa.date32()).cast(pa.int32())
    if kind == "timestamp":
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _made(column: str, kind: str) -> str:
    if kind == "date":
        return f"(DATE '1970-01-01' + {column}::integer)"
    if kind == "timestamp":
        days = f"({column} / 86400000000)::float8 * INTERVAL '1 day'"
        return f"(TIMESTAMP '1970-01-01' + {days} + ({column} % 86400000000)::float8 * INTERVAL '1 microsecond')"
    return f"{column}::{kind}"


@contextmanager
def own_schema() -> Iterator[Any]:
    """A connection to a schema of its own, as an administrator sees it."""
    with connected() as connection:
        schema = f"own_{id(connection)}_{time.monotonic_ns()}"
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}")
        yield connection
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def schema_of(server: Any) -> str:
    return str(server.execute("SELECT current_schema()").fetchone()[0])


def opened(server: Any, *tables: str, address: str | None = None, **options: Any) -> PostgresEngine:
    inside = {table: (schema_of(server), table) for table in tables or ("t",)}
    return PostgresEngine(address or database(), inside, **options)


def asked(columns: tuple[tuple[str, ValueType], ...], table: str = "t") -> Scan:
    return Scan(table, Unit("row"), None, False, columns)
