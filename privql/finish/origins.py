"""Which output columns are a measured number itself, and of which group.

A number that only passes through - filtered, joined, sorted, renamed, but not computed with - keeps the error it was
measured with. `trace` finds those columns by their way down to a `Measured` leaf; `thread` lets the number of the
group's row travel along that way, so that an error which depends on the row can be found after HAVING or LIMIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privql.check.relations import (
    CheckedQuery,
    Combined,
    Compute,
    Joined,
    Measured,
    Rel,
    ReleasedScan,
    Shared,
    Sorted,
    Subquery,
    Where,
    Windowed,
)
from privql.frozen import frozen
from privql.kernel.scalars import INT, Field


@frozen
class Origin:
    """Aggregate number `aggregate` of a block. `row` 0: its only group's; None: of the group that is threaded."""

    block: int
    aggregate: int
    row: int | None = None


@frozen
class Earlier:
    """A column of a named release, which knows its own error."""

    release: str
    column: str


Origins = tuple[Origin | Earlier, ...]


def traced(query: CheckedQuery) -> tuple[Origins, ...]:
    """For each output column where all of its rows come from; nothing if any was computed, grouped by, or is exact."""
    way = _Way(query)
    return tuple(way.origins(query.rel, column.id) for column in query.columns)


def trace(query: CheckedQuery) -> tuple[Origin | None, ...]:
    """For each output column where it was measured, if that is one place of this query."""
    return tuple(alone(origins) for origins in traced(query))


def alone(origins: Origins) -> Origin | None:
    return origins[0] if len(origins) == 1 and isinstance(origins[0], Origin) else None


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
        self.rolled = {block.index for block in query.blocks if block.sets}  # whose rows are made of each other's cells
        self.shared = dict(query.shared)
        self.subqueries = dict(query.subqueries)
        self.known: dict[tuple[str, str], Origins] = {}  # of what is computed once, and may be read often

    def origins(self, rel: Rel, id: str) -> Origins:
        match rel:
            case Measured(block=block, columns=columns):
                place = _place(columns, id)
                if block >= len(self.keys):  # numbers that were looked up
                    return ()
                keys = self.keys[block]
                return (
                    ()
                    if place is None or place < keys or block in self.rolled
                    else (Origin(block, place - keys, None if keys else 0),)
                )
            case ReleasedScan(release=release, columns=scanned):
                return tuple(Earlier(release, column) for known, column, _ in scanned if known == id)
            case Compute(input=below, columns=columns):
                term = dict(columns).get(id)
                return self._passed(below, term.name) if isinstance(term, Field) else ()
            case Shared(name=name, columns=renamed):
                there = next((there for here, there, _ in renamed if here == id), None)
                if there is None:
                    return ()
                if (name, there) not in self.known:
                    self.known[name, there] = self.origins(self.shared[name], there)
                return self.known[name, there]
            case Where(input=below) | Sorted(input=below) | Windowed(input=below):
                return self.origins(below, id)
            case Joined(left=left, right=right):
                return self.origins(left, id) or self.origins(right, id)
            case Combined(op="UNION", all=True, left=left, right=right):
                at = _place(rel.columns, id)
                if at is None:  # a column of the other side of a join
                    return ()
                one, other = self.origins(left, rel.left_columns[at]), self.origins(right, rel.right_columns[at])
                found = tuple(dict.fromkeys((*one, *other))) if one and other else ()
                return found * 2 if len(found) == 1 else found  # twice the same rows: no row tells its group any more
            case _:
                return ()

    def _passed(self, below: Rel, name: str) -> Origins:
        """A column of the input, or a subquery whose one value was measured without groups."""
        match self.subqueries.get(name):
            case Subquery(kind="scalar", rel=rel, column=str(column)):
                origin = alone(self.origins(rel, column))
                return () if origin is None or origin.row is None else (origin,)
            case _:
                return self.origins(below, name)


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
