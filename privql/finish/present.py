"""From a query's answer and the noisy cells behind it to the `Release` that is handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from privql.check.relations import CheckedQuery
from privql.finish.accuracy import Cells
from privql.finish.origins import Earlier, Origin, alone, row_id, trace, traced
from privql.finish.recipe import Law, Recipe
from privql.finish.result import Column, Release
from privql.finish.table import Table
from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.scalars import Value


@frozen
class MeasuredBlock:
    """How the aggregates of one block were measured, and what came out: for each group, its noisy integers."""

    recipes: Sequence[Recipe]
    cells: Sequence[Sequence[int]]


def threaded_ids(query: CheckedQuery, recipes: Sequence[Sequence[Recipe]]) -> tuple[str, ...]:
    """The output columns that `thread` must carry row numbers for: means, whose error is each group's own."""
    wanted: dict[str, None] = {}
    for column, origin in zip(query.columns, trace(query), strict=True):
        law = recipes[origin.block][origin.aggregate].law if origin is not None and origin.row is None else None
        if law is not None and law.kind == "mean":
            wanted[column.id] = None
    return tuple(wanted)


def present(
    query: CheckedQuery,
    measured: Sequence[MeasuredBlock],
    answer: Table,
    *,
    cost: Cost,
    release_id: str | None = None,
    certificate: Mapping[str, Any] | None = None,
    dummy: bool = False,
    earlier: Mapping[str, Sequence[Column]] | None = None,
) -> Release:
    """`answer` has the columns of `query` first, in order, and then those that were threaded; `earlier`: those of the
    named releases that it reads."""
    width = len(query.columns)
    columns = []
    for column, origins in zip(query.columns, traced(query), strict=True):
        origin = alone(origins)
        law: Law | None = None
        cells: tuple[Cells | None, ...] = ()
        if origin is not None:
            recipe = measured[origin.block].recipes[origin.aggregate]
            law = recipe.law
            if law is not None and law.kind == "mean":
                groups = _groups(answer, column.id, origin)
                cells = tuple(_cells(measured[origin.block].cells, recipe.cell, group) for group in groups)
        else:
            law = _shared([_law(one, measured, earlier or {}) for one in origins])
        columns.append(Column(column.name, column.type, column.domain, column.label, law, cells))
    rows = tuple(row[:width] for row in answer.rows) if len(answer.columns) > width else answer.rows
    return Release(tuple(columns), rows, cost, release_id, certificate or {}, dummy)


def _law(
    origin: Origin | Earlier, measured: Sequence[MeasuredBlock], earlier: Mapping[str, Sequence[Column]]
) -> Law | None:
    match origin:
        case Earlier(release=name, column=column):
            return next(known.law for known in earlier[name] if known.name == column)
        case Origin(block=block, aggregate=aggregate):
            return measured[block].recipes[aggregate].law


def _shared(laws: Sequence[Law | None]) -> Law | None:
    """What is known of all rows of a column; the error of a mean is each row's own, and stands in its own answer."""
    law = laws[0] if laws else None
    return law if law is not None and law.kind != "mean" and all(other == law for other in laws) else None


def _groups(answer: Table, id: str, origin: Origin) -> list[Value]:
    if origin.row is not None:
        return [origin.row] * len(answer.rows)
    at = answer.position(row_id(id))
    return [row[at] for row in answer.rows]


def _cells(cells: Sequence[Sequence[int]], first: int, group: Value) -> Cells | None:
    """The two cells that a mean came from; None where a join found no group."""
    if not isinstance(group, int):
        return None
    found = cells[group]
    return int(found[first]), int(found[first + 1])
