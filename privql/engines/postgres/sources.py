"""Tables of a server: what its catalog says of their columns, and what those are in the language.

Nothing here reads a row. A column's own collation may call different texts equal: each is read with that of their
characters' numbers.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from privql.engines.interface import Columns, EngineError
from privql.engines.postgres.dialect import POSTGRESQL
from privql.engines.postgres.expressions import held, plain
from privql.engines.sql.expressions import Spelled, name
from privql.engines.sql.relations import Names, Rows
from privql.engines.sql.stored import Table, read_table
from privql.frozen import frozen
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, Value, ValueType, decimal
from privql.kernel.terms import Scan

if TYPE_CHECKING:
    import psycopg

_FOUND = """
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, greatest(c.reltuples, 0)::bigint,
  has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT'),
  EXISTS (SELECT 1 FROM aclexplode(c.relacl) AS a WHERE a.grantee = 0
          AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'))
  OR EXISTS (SELECT 1 FROM pg_attribute AS t, aclexplode(t.attacl) AS a WHERE t.attrelid = c.oid AND a.grantee = 0
             AND a.privilege_type IN ('INSERT', 'UPDATE')),
  (pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE lower(n.nspname) = lower(%s) AND lower(c.relname) = lower(%s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_COLUMNS = """
WITH RECURSIVE made(attnum, type, modifier) AS (
  SELECT attnum, atttypid, atttypmod FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT m.attnum, t.typbasetype, CASE WHEN m.modifier = -1 THEN t.typtypmod ELSE m.modifier END
  FROM made AS m JOIN pg_type AS t ON t.oid = m.type WHERE t.typtype = 'd'
)
SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN n.nspname <> 'pg_catalog' THEN 'other ' || t.typname
                  ELSE format_type(m.type, m.modifier) END,
  has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
  EXISTS (SELECT 1 FROM pg_collation AS l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic),
  a.attnotnull AND EXISTS (SELECT 1 FROM pg_class AS c WHERE c.oid = a.attrelid
                           AND (c.relkind = 'p' OR c.relkind = 'r' AND NOT c.relhassubclass))
  AND NOT EXISTS (SELECT 1 FROM pg_constraint AS c WHERE c.conrelid = a.attrelid AND c.contype = 'n'
                  AND NOT c.convalidated AND a.attnum = ANY (c.conkey))
FROM made AS m JOIN pg_type AS t ON t.oid = m.type AND t.typtype <> 'd' JOIN pg_namespace AS n ON n.oid = t.typnamespace
  JOIN pg_attribute AS a ON a.attrelid = %s AND a.attnum = m.attnum
ORDER BY a.attnum
"""
_PLACE = "(tableoid::bigint::text || ctid::text)"
_STORED_ROWS = ("r", "p", "m")  # of tables and what is kept of views; a view's rows have no place


@frozen
class Found:
    """A table as the catalog has it."""

    table: Table
    folded: frozenset[str] = frozenset()  # whose collation calls different texts equal
    writable: bool = False  # by this role
    oid: int = 0
    rows: int = 0  # about, as they were last counted


def found_table(connection: psycopg.Connection[Any], table: str, inside: tuple[str, ...]) -> Found:
    """`inside`: schema and table, or a table of the schema `public`."""
    if not 0 < len(inside) <= 2:
        raise EngineError("missing source", table)
    schema, own = inside if len(inside) == 2 else ("public", *inside)
    alike = connection.execute(_FOUND, (schema, own)).fetchall()
    exact = [row for row in alike if (row[1], row[2]) == (schema, own)]
    if not exact and len(alike) != 1:
        raise EngineError("missing source", table)
    oid, schema, own, kind, count, enters, reads, exposed, writes = (exact or alike)[0]
    if not enters:
        raise EngineError("unreadable source", table)
    if exposed:
        raise EngineError("exposed source", table)
    read = connection.execute(_COLUMNS, (oid, oid)).fetchall()
    return Found(
        Table(
            f"{name(schema)}.{name(own)}",
            {column: physical for column, physical, *_ in read},
            closed=frozenset(column for column, _, may, *_ in read if not may),
            filled=frozenset(column for column, *_, filled in read if filled),
            place=_PLACE if reads and kind in _STORED_ROWS else "",
        ),
        folded=frozenset(column for column, _, _, folded, _ in read if folded),
        writable=bool(writes),
        oid=oid,
        rows=count,
    )


_PHYSICAL = {
    "INT": "bigint",
    "FLOAT": "double precision",
    "BOOL": "boolean",
    "TEXT": "text",
    "DATE": "date",
    "TIMESTAMP": "timestamp without time zone",
}


def constant_table(columns: Columns, rows: list[dict[str, Value]]) -> Table:
    """A table that stands in the statement; its last column is a row's place."""
    listed = [", ".join([*(_constant(row[c], type) for c, type in columns), str(at)]) for at, row in enumerate(rows)]
    if not rows:
        nothing = ", ".join([*(f"NULL::{POSTGRESQL.type_name(type)}" for _, type in columns), "0"])
        listed.append(nothing)
    names = ", ".join([*(name(column) for column, _ in columns), '"#"'])
    kept = "" if rows else " WHERE FALSE"
    relation = f"(SELECT * FROM (VALUES ({'), ('.join(listed)})) AS t({names}){kept}) AS t"
    types = {c: str(type).lower().replace("decimal", "numeric") for c, type in columns if type.kind == "DECIMAL"}
    return Table(relation, {c: types.get(c) or _PHYSICAL[type.kind] for c, type in columns}, '"#"')


def _constant(value: Value, type: ValueType) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"'{value}'::float8"
    return POSTGRESQL.literal(value, type).sql


def read_scan(scan: Scan, table: Table, names: Names) -> Rows:
    return read_table(scan, table, names, POSTGRESQL, _read_column)


_AS_TEXT = ("text", "json", "jsonb", "uuid", "enum", "name", "other citext", "numeric", '"char"')


def _read_column(own: str, physical: str) -> Spelled | None:
    """A number of any size is read as its text: where it has no declared digits, none tells which type it fits."""
    column = name(own)
    if physical == "bigint":
        return Spelled(column, INT, leaf=True)
    if physical in ("smallint", "integer"):
        most = 2**15 if physical == "smallint" else 2**31
        return Spelled(f"{column}::bigint", INT, low=-most, high=most - 1)
    if physical == "boolean":
        return Spelled(column, BOOL, leaf=True)
    if physical == "double precision":
        return Spelled(column, FLOAT, leaf=True, loose=True)
    if physical == "real":
        return Spelled(f"{column}::float8", FLOAT, loose=True)
    if physical == "date":
        return _held(column, DATE)
    if re.fullmatch(r"timestamp(\(\d\))? without time zone", physical):
        return _held(column, TIMESTAMP)
    if re.fullmatch(r"timestamp(\(\d\))? with time zone", physical):
        return _held(f"({column} AT TIME ZONE 'UTC')", TIMESTAMP)
    if digits := re.fullmatch(r"numeric\((\d+),(\d+)\)", physical):
        precision, scale = int(digits[1]), int(digits[2])
        if precision <= 38 and scale <= precision:
            return Spelled(column, decimal(precision, scale), leaf=True, loose=True)
    if physical in _AS_TEXT or physical.startswith(("character varying", "character(", "numeric(", "bpchar")):
        return Spelled(plain(f"{column}::text"), TEXT)
    return None


def _held(value: str, type: ValueType) -> Spelled:
    return Spelled(f"CASE WHEN {held(value, type)} THEN {value} END", type)
