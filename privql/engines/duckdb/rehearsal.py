"""A statement tried out before anything is charged: bound and planned over tables without rows.

They have the columns and types of the sources, and nothing else of them - no row, no statistics, no number of rows.
So whether it succeeds follows from the query and from the schemas, and a refusal tells nothing, although it is free.
(With the sources themselves, what an optimizer makes of their statistics would be part of it.) It is the plan that will
run: where relations meet, only optimizers are on that look at nothing but the statement (`session.OPTIMIZERS`). A
failure that only the rows bring about comes after the charge, as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from privql.engines.duckdb.sources import readable_as, whatever_is_asked
from privql.engines.sql.expressions import name
from privql.engines.sql.references import read_by
from privql.engines.sql.stored import Table
from privql.kernel.terms import Scan

if TYPE_CHECKING:
    import duckdb

_PLACES = {"file_index": "BIGINT", "file_row_number": "BIGINT"}  # what every Parquet file has beside its columns


@contextmanager
def without_rows(
    connection: duckdb.DuckDBPyConnection, scans: Iterable[Scan], table: Callable[[str], Table]
) -> Iterator[Mapping[str, Table]]:
    """The tables that are read, as empty ones with the columns that are read of them."""
    read: dict[str, dict[str, None]] = {}
    for scan in scans:
        for source, asked in read_by(scan):
            read.setdefault(source, {}).update(dict.fromkeys(asked))
    made: dict[str, Table] = {}
    try:
        for at, (source, columns) in enumerate(read.items()):
            known = table(source)
            if not known.columns:  # JSON
                known = replace(known, columns=whatever_is_asked(columns))
            own = [found for column in columns if (found := known.column(column)) is not None]
            types = {name(column): readable_as(known.columns[column]) for column in dict.fromkeys(own)}
            types |= _PLACES if known.place or not types else {}
            listed = ", ".join(f"{column} {type}" for column, type in types.items())
            made[source] = replace(known, relation=f"empty_{at}")
            connection.execute(f"CREATE TEMP TABLE {made[source].relation} ({listed})")
        yield made
    finally:
        for each in made.values():
            connection.execute(f"DROP TABLE IF EXISTS {each.relation}")


def planned(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Bound, optimized and made into a plan that is never run."""
    connection.execute(f"PREPARE rehearsed AS {sql}")
    connection.execute("DEALLOCATE rehearsed")
