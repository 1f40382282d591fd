"""CUBE, ROLLUP and GROUPING SETS of private rows: one block, whose answer has the groups of every set.

What of them is measured, and how the others are made of that, the plan decides. What is added up must be there once in
each set: a total is the sum of its parts.
"""

from __future__ import annotations

from dataclasses import replace

from privql.check.apart import stands_alone
from privql.check.cut import members_of, released
from privql.check.grouping import Collector
from privql.check.operations import not_yet
from privql.check.relations import Grouped, Rel
from privql.check.typed import Context
from privql.kernel.scalars import Field
from privql.syntax import ast


def rolled_up(
    rel: Rel, node: ast.Select, collector: Collector, sets: tuple[tuple[int, ...], ...], context: Context
) -> Rel:
    aggregates = tuple(collector.measured.values())
    for one in aggregates:
        if stands_alone(one):
            what = "DISTINCT" if one.distinct else f"`{one.function.upper()}`"
            raise not_yet(f"{what} in CUBE, ROLLUP and GROUPING SETS", one.span, "group by the keys themselves")
    groupings = tuple((id, at) for at, id in collector.groupings.items())
    keys = members_of(collector, context)
    for at, key in enumerate(keys):
        if any(at not in chosen for chosen in sets):
            context.domains[key.id] = context.domains[key.id].with_null()
    if aggregates:
        return released(rel, node, keys, aggregates, context, sets, groupings)
    finest = tuple(
        replace(key, id=context.add(replace(context.attributes[key.id], id=context.fresh())).id) for key in keys
    )
    fields = tuple((key.id, Field(one.id, one.type)) for key, one in zip(keys, finest, strict=True))
    return Grouped(released(rel, node, finest, (), context), fields, (), sets, groupings)
