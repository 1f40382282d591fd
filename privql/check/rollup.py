"""CUBE, ROLLUP and GROUPING SETS of private rows: the finest groups are measured, and the coarser ones are their sums.

So a total is always the sum of its parts, and no set costs anything beside the finest.
"""

from __future__ import annotations

from dataclasses import replace

from privql.check.cut import members_of, released
from privql.check.grouping import Collector
from privql.check.operations import not_yet
from privql.check.relations import AggregateCall, Compute, Grouped, Rel
from privql.check.typed import Context
from privql.kernel.scalars import INT, Apply, Const, Field, Scalar
from privql.syntax import ast


def rolled_up(
    rel: Rel, node: ast.Select, collector: Collector, sets: tuple[tuple[int, ...], ...], context: Context
) -> Rel:
    aggregates = tuple(collector.measured.values())
    for one in aggregates:
        if one.distinct:
            raise not_yet("DISTINCT in CUBE, ROLLUP and GROUPING SETS", one.span, "group by the keys themselves")

    def finest(id: str) -> str:
        return context.add(replace(context.attributes[id], id=context.fresh())).id

    keys = tuple(replace(key, id=finest(key.id)) for key in members_of(collector, context))
    parts = tuple(replace(one, id=finest(one.id)) for one in aggregates)
    sums = {one.id: context.add(replace(context.attributes[one.id], id=context.fresh())).id for one in aggregates}
    groupings = tuple((id, at) for at, id in collector.groupings.items())
    coarser = Grouped(
        released(rel, node, keys, parts, context),
        tuple((key.id, Field(part.id, part.type)) for key, part in zip(collector.keys, keys, strict=True)),
        tuple(
            (sums[one.id], AggregateCall("sum", (Field(part.id, part.type),), one.type))
            for one, part in zip(aggregates, parts, strict=True)
        ),
        sets,
        groupings,
    )
    kept = [(key.id, key.value.type) for key in collector.keys] + [(id, INT) for id, _ in groupings]
    return Compute(  # where no group was found at all, a total of them is 0, as it is of groups without rows
        coarser,
        (
            *((id, Field(id, type)) for id, type in kept),
            *((one.id, _or_0(Field(sums[one.id], one.type))) for one in aggregates),
        ),
    )


def _or_0(total: Field) -> Scalar:
    return Apply("coalesce", (total, Const(0, total.type)), total.type)
