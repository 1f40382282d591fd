"""Values into a PostgreSQL server's columns and out again, as `values` does it for DuckDB."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from privql.conformance.rows import Row
from privql.engines.interface import Columns
from privql.engines.postgres.expressions import literal, type_name
from privql.engines.postgres.values import Values
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Spelled, name
from privql.engines.sql.scalars import ScalarEmitter
from privql.kernel.scalars import Scalar, Value, ValueType
from tests.engines.values import inward
from tests.ledger.servers import fresh

_SETTINGS = (
    "SET standard_conforming_strings = on; SET jit = off; SET TIME ZONE 'Asia/Kathmandu'; SET datestyle = 'German'"
)
_VALUES = cast(Dialect, Values())  # all that spellings ask of one
SLOWER = 5


@cache
def _database() -> str:
    return fresh()


def connect() -> Any:
    """With settings that no spelling may mind."""
    import psycopg

    connection = psycopg.connect(_database(), autocommit=True)
    connection.execute(_SETTINGS)
    return connection


def kept(value: Value) -> Value:
    """A text of PostgreSQL has every character but that of number 0."""
    return value.replace("\x00", "\x01") if isinstance(value, str) else value


def load(connection: Any, table: str, columns: Columns, rows: list[Row]) -> None:
    names = ", ".join(f"{name(c)} {type_name(t)}" for c, t in columns)
    connection.execute(f"DROP TABLE IF EXISTS {name(table)}")
    connection.execute(f"CREATE TABLE {name(table)} (rowid bigint, {names})")
    for at in range(0, len(rows), 50):
        values = ", ".join(
            f"({at + place}, " + ", ".join(literal(kept(row[c]), t).sql for c, t in columns) + ")"
            for place, row in enumerate(rows[at : at + 50])
        )
        connection.execute(f"INSERT INTO {name(table)} VALUES {values}")


def emitter() -> ScalarEmitter:
    return ScalarEmitter(lambda field: Spelled(name(field.name), field.type, leaf=True), _VALUES)


def spelled(term: Scalar) -> str:
    return emitter().sql(term)


def types(connection: Any, terms: list[Scalar], columns: Columns) -> list[str]:
    listed = ", ".join(f"pg_typeof({spelled(term)})::text" for term in terms)
    nulls = ", ".join(f"NULL::{type_name(type)} AS {name(c)}" for c, type in columns)
    found = connection.execute(f"SELECT {listed} FROM (SELECT {nulls}) AS t").fetchone()
    return list(map(str, found or ()))


def physical(type: ValueType) -> str:
    named = {"FLOAT": "double precision", "TIMESTAMP": "timestamp without time zone"}
    return named.get(type.kind, type_name(type))


def outward(term: Scalar) -> str:
    """An expression's value as Python reads it exactly."""
    sql = emitter().sql(term)
    match term.type.kind:
        case "DATE":
            return f"({sql}) - DATE '1970-01-01'"
        case "TIMESTAMP":
            clock = f"EXTRACT(EPOCH FROM ({sql})::time)::numeric * 1000000"
            return f"round((({sql})::date - DATE '1970-01-01')::bigint * 86400000000 + {clock})::bigint"
        case _:
            return sql


def evaluated(connection: Any, table: str, terms: list[Scalar]) -> list[tuple[Value, ...]]:
    """Each row of the table, each term's value in it, in the table's order."""
    statement = f"SELECT {', '.join(map(outward, terms))} FROM {name(table)} ORDER BY rowid"
    found = connection.execute(statement).fetchall()
    return [tuple(inward(v, t.type) for v, t in zip(row, terms, strict=True)) for row in found]
