"""What an owner should know of a table on a server: who else may write it, what it calls equal, what it is slow at.

All of it from the catalog: no row is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from privql.engines.interface import Advice, Recognised
from privql.engines.postgres.sources import Found
from privql.engines.sql.expressions import name
from privql.kernel.scalars import TEXT

if TYPE_CHECKING:
    import psycopg

MANY = 100_000  # rows, about: with fewer, nobody waits for a key to be verified
_INDEXED = """
SELECT i.indexrelid, a.attname::text
FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid JOIN pg_am AS m ON m.oid = x.relam
  CROSS JOIN generate_series(0, i.indnkeyatts - 1) AS place LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid
  AND a.attnum = i.indkey[place] AND i.indcollation[place] IN (0, 'pg_catalog."C"'::regcollation)
WHERE i.indrelid = %s AND i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree'
ORDER BY i.indexrelid, place
"""
_IN_ORDER = ("bigint", "text", "character varying")  # types that are put in order as they are stored
_LOOSER = ("other citext", "numeric", "jsonb")  # that call values equal whose texts differ
_ONE_WAY = (
    "`Ann` and `ann`, or `1.0` and `1.00`, may be one person who counts twice: name a view that writes each unit in one"
    " way, such as `lower(name::text)` or `number::numeric(20, 2)`"
)


def advice(connection: psycopg.Connection[Any], table: str, found: Found, known: Recognised) -> Iterator[Advice]:
    if found.writable:
        told = "the role that reads it may also write it, and so may whoever else uses that role"
        help = "`privql source script` writes down a role that may read what the policy declares, and nothing else"
        yield Advice(table, told, help)
    for column, type in known.owners:
        own = found.table.column(column)
        if type == TEXT and own is not None and (own in found.folded or found.table.columns[own] in _LOOSER):
            yield Advice(table, f"its database calls texts of `{column}` equal that are two units here", _ONE_WAY)
    if found.rows < MANY:
        return
    indexed: dict[int, list[str | None]] = {}
    for index, column in connection.execute(_INDEXED, (found.oid,)).fetchall():
        indexed.setdefault(index, []).append(column)
    for key in known.keys:
        owns = [own for column in key if (own := found.table.column(column)) is not None]
        kinds = [found.table.columns[own].partition("(")[0] for own in owns]
        if len(owns) < len(key) or not set(kinds) <= set(_IN_ORDER):
            continue
        if not any(set(columns[: len(owns)]) == set(owns) for columns in indexed.values()):
            listed = ", ".join(
                name(o) + ("" if kind == "bigint" else ' COLLATE "C"') for o, kind in zip(owns, kinds, strict=True)
            )
            told = f"has no index to verify its key ({', '.join(key)}) by, which is done before each charge"
            yield Advice(table, told, f"`CREATE INDEX ON {found.table.relation} ({listed})`, and VACUUM now and then")
