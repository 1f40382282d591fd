"""A statement tried out before anything is charged: analysed and planned over views without rows.

They have the columns and types of the sources, and nothing else of them. So whether it succeeds follows from the query
and from the schemas, and a refusal tells nothing, although it is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from privql.engines.interface import EngineError
from privql.engines.spark.expressions import name
from privql.engines.spark.session import Session
from privql.engines.sql.references import read_by
from privql.engines.sql.stored import Table
from privql.kernel.terms import Scan


@contextmanager
def without_rows(
    session: Session, scans: Iterable[Scan], table: Callable[[str], Table]
) -> Iterator[Mapping[str, Table]]:
    """The tables that are read, as empty views with the columns that are read of them."""
    read: dict[str, dict[str, None]] = {}
    for scan in scans:
        for source, asked in read_by(scan):
            read.setdefault(source, {}).update(dict.fromkeys(asked))
    made: dict[str, Table] = {}
    try:
        for at, (source, columns) in enumerate(read.items()):
            known = table(source)
            own = dict.fromkeys(found for column in columns if (found := known.column(column)) is not None)
            listed = [f"CAST(NULL AS {known.columns[column]}) AS {name(column)}" for column in own] or ["1"]
            made[source] = replace(known, relation=f"empty_{at}")
            session.sql(f"SELECT {', '.join(listed)} WHERE FALSE").createOrReplaceTempView(made[source].relation)
        yield made
    finally:
        for each in made.values():
            session.catalog.dropTempView(each.relation)


def planned(session: Session, sql: str) -> None:
    """Analysed, optimized and made into a plan that is never run: where it cannot be, Spark says so in the plan."""
    (first, *_) = session.sql(f"EXPLAIN {sql}").collect()
    if first.plan.lstrip().lower().startswith("error"):
        raise EngineError("unsupported")
