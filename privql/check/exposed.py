"""What anybody may know holds no private row: nowhere in it, nor in the queries that it asks or names; and what is
computed by itself reads no row around it.

Rows of both kinds are told apart where a query is checked. Here the outcome is looked at once more, as the engine that
answers for what is public will take it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privql.check.columns import produced
from privql.check.operations import not_yet
from privql.check.relations import Around, Block, CheckedQuery, Each, Gathered, Once, PrivateScan, Rel, Shared
from privql.diagnostics import Span
from privql.frozen import inside
from privql.kernel.scalars import Apply, Field, fields


def nothing_private(rel: Rel, query: CheckedQuery, span: Span) -> None:
    if any(isinstance(one, PrivateScan | Around | Each | Gathered | Once) for one in records(rel, query)):
        raise not_yet("a query whose private rows stand among public ones", span, "join instead")


def nothing_around(rel: Rel, query: CheckedQuery, span: Span) -> None:
    """Nor does it read a column that it does not have: that of a private row around it."""
    if not _closed(rel, query):
        raise not_yet("a query of public rows that reads private ones around it", span, "join instead")


def measured_alone(block: Block, query: CheckedQuery) -> None:
    """A query of private rows is measured once, not for each row around it: so it reads nothing of such a row."""
    if not _closed((block.rel, block.keys, block.aggregates), query):
        help = "compare with them by = in the WHERE of the query that aggregates"
        raise not_yet("a query of private rows that reads public ones around it in this way", block.span, help)


def _closed(of: Any, query: CheckedQuery) -> bool:
    """Whether it reads only columns that it makes itself."""
    read, own = set[str](), {*dict(query.subqueries), *dict(query.told)}
    for one in records(of, query):
        if isinstance(one, Field | Apply):
            read |= fields(one)
        elif isinstance(one, Rel):
            own |= produced(one).keys() | ({one.number} if isinstance(one, Each) else set())
    return read <= own


def records(of: Any, query: CheckedQuery) -> Iterator[Any]:
    """Every record of what is given, and of the queries that it asks or names, each of these once."""
    shared, subqueries = dict(query.shared), dict(query.subqueries)
    seen: set[str] = set()
    todo: list[Any] = [of]
    while todo:
        at = todo.pop()
        yield at
        match at:
            case Field() | Apply():
                asked = (fields(at) & subqueries.keys()) - seen
                seen |= asked
                todo.extend(subqueries[name] for name in asked)
            case Shared(name=name) if name not in seen:
                seen.add(name)
                todo.append(shared[name])
            case _:
                todo.extend(inside(at))
