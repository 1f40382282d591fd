"""SELECT over private rows: what may stay private, and the cut where it is measured."""

from __future__ import annotations

from math import prod

from privql.check.expressions import storable
from privql.check.grouping import Collector, Key
from privql.check.items import Item, names
from privql.check.operations import not_yet
from privql.check.relations import (
    Attribute,
    Block,
    Columns,
    Compute,
    GroupingKey,
    Label,
    Measured,
    PrivateScan,
    Rel,
    Where,
)
from privql.check.tail import Tail
from privql.check.typed import Context, Typed
from privql.diagnostics import refuse
from privql.domains import finite
from privql.kernel.scalars import fields
from privql.syntax import ast, quote


def row_function(value: Typed, context: Context) -> Typed:
    """Over private rows an expression may read its own row, and nothing else."""
    for id in fields(value.term):
        if id in context.subqueries:
            raise not_yet(
                "a subquery in an expression over private rows", value.span, "write its value, or bind a parameter"
            )
        if context.attributes[id].label is not Label.PRIVATE:
            raise not_yet("a correlated subquery over private rows", value.span, "aggregate with GROUP BY, then join")
    return value


def private_rows(node: ast.Select, tail: Tail, rel: Rel, items: list[Item], context: Context) -> tuple[Rel, Columns]:
    """A SELECT of private rows that stays private: inside FROM, WITH or a view."""
    if node.distinct:
        raise not_yet("DISTINCT over private rows", node.span, "GROUP BY the columns, and count")
    if tail.order or tail.limit is not None or tail.offset:
        raise refuse(
            "PQL0407",
            "ORDER BY and LIMIT across private rows",
            tail.order[0].span if tail.order else node.span,
            why="which rows stay would depend on everybody's rows, so one person could change all of them",
            help="aggregate first; AT MOST n ROWS PER UNIT limits what one unit contributes",
        )
    computed, columns = [], []
    for item, name in zip(items, names(items), strict=True):
        row_function(storable(item.value), context)
        kept = item.column
        attribute = Attribute(
            context.fresh(),
            name,
            item.value.type,
            item.value.domain,
            Label.PRIVATE,
            kept.unit if kept else None,
            kept.table if kept else None,
            kept.hidden if kept else False,
            kept.visible if kept else False,
            item.span,
        )
        columns.append(context.add(attribute))
        context.domains[attribute.id] = item.value.domain
        computed.append((attribute.id, item.value.term))
    return Compute(rel, tuple(computed)), tuple(columns)


def cut(rel: Rel, node: ast.Select, collector: Collector, context: Context) -> Rel:
    """The release: below it private rows, above it the noisy groups."""
    base = rel
    while not isinstance(base, PrivateScan):
        assert isinstance(base, (Where, Compute))
        base = base.input
    table = context.env.catalog.table(base.table)
    assert table is not None and table.unit is not None
    keys = tuple(_members(key, context) for key in collector.keys)
    groups = prod(len(key.members) for key in keys)
    span = node.group[0].span.to(node.group[-1].span) if node.group else node.span
    if groups > context.env.group_limit:
        sizes = " x ".join(str(len(key.members)) for key in keys)
        raise refuse(
            "PQL0404",
            f"{groups} groups are more than {context.env.group_limit}",
            span,
            why=f"the keys have {sizes} values",
            help="group more coarsely, or drop a key",
        )
    if groups == 0:
        raise refuse(
            "PQL0404", "no group can exist", span, why="WHERE excludes every value of the key", help="correct WHERE"
        )
    for aggregate in collector.measured.values():
        for term in (aggregate.argument, aggregate.where):
            if term is not None:
                row_function(Typed(term, aggregate.domain, aggregate.span), context)
    if not collector.measured:
        raise not_yet("groups of private rows without an aggregate", node.span, "add COUNT(*)")
    block = Block(len(context.blocks), rel, table.name, table.unit, keys, tuple(collector.measured.values()), node.span)
    context.blocks.append(block)
    context.payers[-1].append(block.index)
    columns = [(key.id, key.type) for key in keys] + [(a.id, a.type) for a in block.aggregates]
    return Measured(block.index, tuple(columns))


def _members(key: Key, context: Context) -> GroupingKey:
    domain = key.value.domain
    row_function(key.value, context)
    members = domain.members(context.env.group_limit)
    if members is None:
        written = key.name
        size = (
            "more than a million values"
            if domain.bounded and domain.grid is not None
            else "no finite list of values is known"
        )
        raise refuse(
            "PQL0403",
            f"the groups of `{written}` are not known",
            key.value.span,
            label=size,
            why="a group that appears because one person is in it would show that person",
            help=f"state them: `GROUP BY {quote(written) if written.isidentifier() else written} KEYS (…)`",
        )
    if domain.nullable:
        members = (*members, None)
    context.domains[key.id] = finite(members, domain.nullable, domain.grid)
    return GroupingKey(key.id, key.value.term, key.value.type, members, key.name, key.value.span)
