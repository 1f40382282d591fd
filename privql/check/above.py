"""What stands above the groups of a SELECT: HAVING, windows, QUALIFY, the select list, DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privql.check.arguments import sort_key
from privql.check.expressions import stored
from privql.check.grouping import Collector
from privql.check.items import Item, names
from privql.check.lists import expanded
from privql.check.private_rows import undistinct
from privql.check.relations import Attribute, Columns, Compute, Distinct, Rel, Sorted, SortKey, Where, Windowed
from privql.check.tail import Tail
from privql.check.typed import Context
from privql.kernel.scalars import Field, Scalar
from privql.syntax import ast


def above(
    node: ast.Select,
    tail: Tail,
    rel: Rel,
    items: list[Item],
    order: list[tuple[ast.OrderItem, Scalar]],
    tests: Mapping[str, Scalar],
    collector: Collector,
    context: Context,
) -> tuple[Rel, Columns]:
    """What SQL does to rows that anybody may know: HAVING, windows, QUALIFY, the select list and its order."""
    if "HAVING" in tests:
        rel = Where(rel, tests["HAVING"])
    rel = expanded(windowed(rel, tests, collector), collector, context)
    return _output(node, tail, rel, items, order, context)


def windowed(rel: Rel, tests: Mapping[str, Scalar], collector: Collector, row: Field | None = None) -> Rel:
    """`row`: that around, where there are rows for each."""
    if collector.windows:
        within = () if row is None else (row,)
        rel = Windowed(
            rel,
            tuple((id, replace(call, partition=(*call.partition, *within))) for call, id in collector.windows.items()),
        )
    return Where(rel, tests["QUALIFY"]) if "QUALIFY" in tests else rel


def _output(
    node: ast.Select,
    tail: Tail,
    rel: Rel,
    items: list[Item],
    order: list[tuple[ast.OrderItem, Scalar]],
    context: Context,
) -> tuple[Rel, Columns]:
    """The select list over the rows, DISTINCT, ORDER BY and LIMIT."""
    columns: list[Attribute] = []
    computed: list[tuple[str, Scalar]] = []
    known: dict[Scalar, Field] = {}
    for item, name in zip(items, names(items), strict=True):
        value = stored(item.value)
        label = context.label(value.term)
        attribute = Attribute(context.fresh(), name, value.type, value.domain, label, span=item.span)
        columns.append(context.add(attribute))
        context.domains[attribute.id] = value.domain
        if isinstance(value.term, Field) and value.term.name in context.public_columns:
            context.public_columns[attribute.id] = context.public_columns[value.term.name]
        computed.append((attribute.id, value.term))
        for term in (value.term, item.value.term):
            known.setdefault(term, Field(attribute.id, attribute.type))
    keys: list[SortKey] = []
    extra: list[tuple[str, Scalar]] = []
    for written, term in order:
        field = known.get(term)
        if field is None:
            if node.distinct:
                raise undistinct(written)
            field = Field(context.fresh(), term.type)
            extra.append((field.name, term))
        keys.append(sort_key(written, field))
    rel = Compute(rel, (*computed, *extra))
    if node.distinct:
        rel = Distinct(rel)
    if tail.written:
        rel = Sorted(rel, tuple(keys), tail.limit, tail.offset)
    if extra:
        rel = Compute(rel, tuple((c.id, Field(c.id, c.type)) for c in columns))
    return rel, tuple(columns)
