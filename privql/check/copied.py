"""How large a query becomes by what it reads again and again.

A query in an expression is written out in the engine's statement wherever it is read: by its alias in HAVING, by the
conditions that are made of it. Where it reads others so in turn, a short text comes to a statement without end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privql.check.inside import terms_in
from privql.check.relations import CheckedQuery
from privql.diagnostics import Span, refuse
from privql.kernel.scalars import Apply, Field, Scalar

COPIES = 500  # beside one of each: the engine takes a second or two for so many


def not_copied_too_often(query: CheckedQuery, span: Span) -> None:
    queries = dict(query.subqueries)
    written: dict[str, int] = {}

    def within(node: Any) -> int:
        return sum(map(of, (name for term in terms_in(node) for name in _read(term) if name in queries)))

    def of(name: str) -> int:
        if name not in written:
            written[name] = 1 + within(queries[name])
        return written[name]

    copies = sum(map(within, (query.rel, query.blocks, query.shared))) - len(written)
    if copies > COPIES:
        raise refuse(
            "PQL0104",
            "a query inside this one is read too often",
            span,
            why="wherever its name stands it is computed anew, and so is all that it reads:"
            f" {copies:,} times in all, and {COPIES} may be",
            help="name it in WITH, `WITH q AS (SELECT …)`, or in FROM, `FROM (SELECT …, (SELECT …) AS x FROM t)`, and"
            " read it from there",
        )


def _read(term: Scalar) -> Iterator[str]:
    """Names that stand in an expression, each as often as it stands there."""
    todo = [term]
    while todo:
        match todo.pop():
            case Field(name=name):
                yield name
            case Apply(args=args):
                todo.extend(args)
            case _:
                pass
