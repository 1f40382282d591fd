"""Which output columns are a measured number itself, and of which group.

A number that only passes through - filtered, joined, sorted, renamed, but not computed with - keeps the error it was
measured with. `trace` finds those columns by their way down to a `Measured` leaf; `thread` lets the number of the
group's row travel along that way, so that an error which depends on the row can be found after HAVING or LIMIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from privql.check.relations import (
    CheckedQuery,
    Compute,
    Joined,
    Measured,
    Rel,
    Shared,
    Sorted,
    Subquery,
    Where,
    Windowed,
)
from privql.kernel.scalars import INT, Field


@dataclass(frozen=True, slots=True)
class Origin:
    """Aggregate number `aggregate` of a block. `row` 0: its only group's; None: of the group that is threaded."""

    block: int
    aggregate: int
    row: int | None = None


def trace(query: CheckedQuery) -> tuple[Origin | None, ...]:
    """For each output column where it was measured; None if it was computed, grouped by, or is not noisy."""
    way = _Way(query)
    return tuple(way.origin(query.rel, column.id) for column in query.columns)


def row_id(id: str) -> str:
    """The column that holds the number of the group a threaded column's value was measured for."""
    return f"{id}#"


def thread(query: CheckedQuery, ids: Sequence[str]) -> CheckedQuery:
    """The same query, its relation having the further columns `row_id(id)`; each id must have an origin.

    A `Measured` leaf that has more columns than its block means the number of the row, from 0, by those.
    """
    shared = dict(query.shared)
    rel = query.rel
    for id in ids:
        rel = _carried(rel, id, shared)
    return replace(query, rel=rel, shared=tuple(shared.items()))


class _Way:
    def __init__(self, query: CheckedQuery) -> None:
        self.keys = [len(block.keys) for block in query.blocks]
        self.shared = dict(query.shared)
        self.subqueries = dict(query.subqueries)

    def origin(self, rel: Rel, id: str) -> Origin | None:
        match rel:
            case Measured(block=block, columns=columns):
                place = _place(columns, id)
                keys = self.keys[block]
                return None if place is None or place < keys else Origin(block, place - keys, None if keys else 0)
            case Compute(input=below, columns=columns):
                term = dict(columns).get(id)
                return self._passed(below, term.name) if isinstance(term, Field) else None
            case Shared(name=name, columns=renamed):
                there = next((there for here, there, _ in renamed if here == id), None)
                return None if there is None else self.origin(self.shared[name], there)
            case Where(input=below) | Sorted(input=below) | Windowed(input=below):
                return self.origin(below, id)
            case Joined(left=left, right=right):
                return self.origin(left, id) or self.origin(right, id)
            case _:
                return None

    def _passed(self, below: Rel, name: str) -> Origin | None:
        """A column of the input, or a subquery whose one value was measured without groups."""
        match self.subqueries.get(name):
            case Subquery(kind="scalar", rel=rel, column=str(column)):
                origin = self.origin(rel, column)
                return origin if origin is not None and origin.row is not None else None
            case _:
                return self.origin(below, name)


def _place(columns: Sequence[tuple[str, object]], id: str) -> int | None:
    return next((at for at, (known, _) in enumerate(columns) if known == id), None)


def _carried(rel: Rel, id: str, shared: dict[str, Rel]) -> Rel:
    """`rel` with `row_id(id)` beside `id`; as it is if `id` does not come from it, or if it is carried already."""
    row = row_id(id)
    match rel:
        case Measured(columns=measured) if _place(measured, id) is not None:
            return rel if _place(measured, row) is not None else replace(rel, columns=(*measured, (row, INT)))
        case Compute(input=below, columns=computed):
            term = dict(computed).get(id)
            if not isinstance(term, Field) or row in dict(computed):
                return rel
            return Compute(_carried(below, term.name, shared), (*computed, (row, Field(row_id(term.name), INT))))
        case Shared(name=name, columns=renamed):
            names = {here: there for here, there, _ in renamed}
            if id not in names or row in names:
                return rel
            shared[name] = _carried(shared[name], names[id], shared)
            return replace(rel, columns=(*renamed, (row, row_id(names[id]), INT)))
        case Where(input=below) | Sorted(input=below) | Windowed(input=below):
            return replace(rel, input=_carried(below, id, shared))
        case Joined(left=left, right=right):
            return replace(rel, left=_carried(left, id, shared), right=_carried(right, id, shared))
        case _:
            return rel
