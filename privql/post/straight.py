"""Answers that need no engine: the measured groups as they are, columns picked and renamed."""

from __future__ import annotations

from collections.abc import Sequence

from privql.check.relations import CheckedQuery, Compute, Measured, Rel
from privql.finish.table import Table
from privql.kernel.scalars import Field, Value, ValueType


def straight(
    query: CheckedQuery, blocks: Sequence[Table], outputs: Sequence[tuple[str, ValueType]]
) -> tuple[tuple[Value, ...], ...] | None:
    """The rows of the answer, or None if something has to be computed."""
    found = _leaf(query.rel, [id for id, _ in outputs])
    if found is None:
        return None
    leaf, names = found
    rows = blocks[leaf.block].rows
    places = {id: at for at, (id, _) in enumerate(leaf.columns)}
    width = len(blocks[leaf.block].columns)
    picked = [places[name] for name in names]
    if any(place >= width for place in picked):  # those columns number the rows
        return tuple(tuple(row[p] if p < width else at for p in picked) for at, row in enumerate(rows))
    return tuple(tuple(row[p] for p in picked) for row in rows)


def _leaf(rel: Rel, names: list[str]) -> tuple[Measured, list[str]] | None:
    while isinstance(rel, Compute):
        terms = dict(rel.columns)
        below = []
        for name in names:
            term = terms.get(name)
            if not isinstance(term, Field):
                return None
            below.append(term.name)
        rel, names = rel.input, below
    if not isinstance(rel, Measured) or not {id for id, _ in rel.columns}.issuperset(names):
        return None  # a name from elsewhere is a subquery's
    return rel, names
