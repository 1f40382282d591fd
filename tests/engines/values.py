"""Values into an engine's columns and out again, and tables of hostile ones."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import duckdb

from privql.conformance.rows import Row
from privql.engines.duckdb.dialect import DUCKDB
from privql.engines.duckdb.expressions import literal, type_name
from privql.engines.duckdb.session import give_meaning
from privql.engines.interface import Columns
from privql.engines.sql.expressions import Spelled, name
from privql.engines.sql.scalars import ScalarEmitter
from privql.kernel.scalars import Field, Scalar, Value, ValueType

SLOWER = 1


def connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 2})
    give_meaning(connection)
    return connection


def load(connection: duckdb.DuckDBPyConnection, table: str, columns: Columns, rows: list[Row]) -> None:
    names = ", ".join(f"{name(c)} {type_name(t)}" for c, t in columns)
    connection.execute(f"CREATE OR REPLACE TABLE {name(table)} ({names})")
    for at in range(0, len(rows), 50):
        values = ", ".join(
            "(" + ", ".join(literal(row[c], t).sql for c, t in columns) + ")" for row in rows[at : at + 50]
        )
        connection.execute(f"INSERT INTO {name(table)} VALUES {values}")


def emitter() -> ScalarEmitter:
    return ScalarEmitter(lambda field: Spelled(name(field.name), field.type, leaf=True), DUCKDB)


def outward(term: Scalar) -> str:
    """An expression's value as Python reads it exactly."""
    sql = emitter().sql(term)
    match term.type.kind:
        case "DATE":
            return f"datediff('day', DATE '1970-01-01', {sql})"
        case "TIMESTAMP":
            return f"epoch_us({sql})"
        case _:
            return sql


def inward(value: object, type: ValueType) -> Value:
    if isinstance(value, Decimal):
        assert type.kind == "DECIMAL"
        return Fraction(value)
    if value is not None:
        wanted = {"INT": int, "DATE": int, "TIMESTAMP": int, "FLOAT": float, "BOOL": bool, "TEXT": str}[type.kind]
        assert value.__class__ is wanted, (value, type)
    return value


def evaluated(connection: duckdb.DuckDBPyConnection, table: str, terms: list[Scalar]) -> list[tuple[Value, ...]]:
    """Each row of the table, each term's value in it, in the table's order."""
    found = connection.execute(f"SELECT {', '.join(map(outward, terms))} FROM {name(table)} ORDER BY rowid").fetchall()
    return [tuple(inward(v, t.type) for v, t in zip(row, terms, strict=True)) for row in found]


def kept(value: Value) -> Value:
    return value


def spelled(term: Scalar) -> str:
    return emitter().sql(term)


def types(connection: duckdb.DuckDBPyConnection, terms: list[Scalar], columns: Columns) -> list[str]:
    listed = ", ".join(f"typeof({spelled(term)})" for term in terms)
    nulls = ", ".join(f"CAST(NULL AS {physical(type)}) AS {name(c)}" for c, type in columns)
    return list(connection.execute(f"SELECT {listed} FROM (SELECT {nulls})").fetchone() or ())


def physical(type: ValueType) -> str:
    return {"INT": "BIGINT", "FLOAT": "DOUBLE", "BOOL": "BOOLEAN", "TEXT": "VARCHAR"}.get(type.kind, str(type))


def field(c: str, type: ValueType) -> Field:
    return Field(c, type)
