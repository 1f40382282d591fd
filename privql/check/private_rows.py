"""A SELECT of private rows that stays private: what of it may depend on other rows, and within what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from privql.check.arguments import sort_key
from privql.check.around import answered, first_of_each
from privql.check.cut import group_members, released, row_function
from privql.check.expressions import stored
from privql.check.grouping import Key
from privql.check.items import Item, names
from privql.check.operations import not_yet
from privql.check.relations import (
    WORTH_TESTING,
    Attribute,
    Columns,
    Compute,
    Distinct,
    Label,
    Members,
    Rel,
    Rows,
    Sorted,
    SortKey,
)
from privql.check.tail import Tail
from privql.check.typed import Context
from privql.diagnostics import PrivQLError, Span, refuse
from privql.kernel.scalars import Field, Scalar, Value
from privql.syntax import ast


def private_rows(
    node: ast.Select,
    tail: Tail,
    rel: Rel,
    items: list[Item],
    order: list[tuple[ast.OrderItem, Scalar]],
    context: Context,
    row: Field | None = None,
) -> tuple[Rel, Columns]:
    """A SELECT of private rows that stays private: inside FROM, WITH, a view or a query of one unit's rows. `row`: it
    is answered for each row around, by its number."""
    computed, columns = [], []
    for item, name in zip(items, names(items), strict=True):
        value = stored(item.value)
        row_function(value, context)
        kept = item.column
        attribute = Attribute(
            context.fresh(),
            name,
            value.type,
            value.domain,
            Label.PRIVATE,
            kept.unit if kept else None,
            kept.locates if kept else None,
            kept.table if kept else None,
            kept.hidden if kept else False,
            kept.visible if kept else False,
            item.span,
        )
        columns.append(context.add(attribute))
        context.domains[attribute.id] = value.domain
        if kept is not None and kept.id in context.public_columns:
            context.public_columns[attribute.id] = context.public_columns[kept.id]
        computed.append((attribute.id, value.term))
    if row is not None:
        return _for_each(node, tail, rel, computed, order, row, context), tuple(columns)
    own = tells_the_unit(columns, context)
    if node.distinct and not own:
        if tail.per_unit:
            raise no_unit(node.span)
        groups, public = _different(rel, node, items, columns, context)
        return _in_order(groups, tail, _by_output(order, _fields(items, public))), public
    if tail.written and not tail.of_each_unit:
        raise across_units(tail, node.span)
    made: Rel = Compute(rel, tuple(computed))
    if node.distinct:
        made = Distinct(made, values_of([c for c in columns if c.unit is None], context))
        if tail.per_unit:
            made = _in_order(made, tail, _by_output(order, _fields(items, columns)))
    elif tail.per_unit:
        keys = tuple(sort_key(item, term) for item, term in order)
        made = Compute(Sorted(rel, keys, tail.limit, per_unit=True), tuple(computed))
    return made, tuple(columns)


def _for_each(
    node: ast.Select,
    tail: Tail,
    rel: Rel,
    computed: list[tuple[str, Scalar]],
    order: list[tuple[ast.OrderItem, Scalar]],
    row: Field,
    context: Context,
) -> Rel:
    if not node.distinct:
        rel = first_of_each(rel, [sort_key(item, term) for item, term in order], tail, row, context)
        return answered(Compute(rel, tuple(computed)), row, context)
    made = answered(Compute(rel, tuple(computed)), row, context)
    keys = _by_output(order, {term: Field(id, term.type) for id, term in computed})
    last, _ = made.columns[-1]
    return first_of_each(Distinct(made), keys, tail, Field(last, row.type), context)


def across_units(tail: Tail, span: Span) -> Exception:
    if tail.per_unit:
        return not_yet("LIMIT n PER UNIT with OFFSET or n = 0", span, "number the rows of each unit with ROW_NUMBER")
    what = " and ".join(["ORDER BY"] * bool(tail.order) + ["LIMIT"] * tail.cuts)
    return refuse(
        "PQL0407",
        f"{what} across private rows",
        tail.order[0].span if tail.order else span,
        why="which rows stay would depend on everybody's rows, so one person could change all of them"
        if tail.cuts
        else "where a row stands would depend on everybody's rows, so one person could change all of them",
        help="aggregate first; ORDER BY … LIMIT n PER UNIT keeps the first rows of each unit, "
        "and `FROM DUMMY t` shows invented rows, for their form",
    )


def tells_the_unit(columns: Iterable[Attribute], context: Context) -> bool:
    return any(c.locates is not None and not context.column_domain(c.id).nullable for c in columns)


def values_of(columns: Iterable[Attribute], context: Context) -> Members:
    """What each of the columns can be, NULL too; nothing if some column's values are not listed, or are too many."""
    out: list[tuple[str, tuple[Value, ...]]] = []
    for column in columns:
        domain = context.column_domain(column.id)
        members = domain.members(WORTH_TESTING)
        if members is None or not (members or domain.nullable):
            return ()
        out.append((column.id, (*members, None) if domain.nullable else members))
    return tuple(out) if prod(len(values) for _, values in out) <= WORTH_TESTING else ()


def _different(
    rel: Rel, node: ast.Select, items: list[Item], columns: list[Attribute], context: Context
) -> tuple[Rel, Columns]:
    """SELECT DISTINCT of columns that do not tell the unit: the groups that there are by them."""
    named = zip(items, columns, strict=True)
    keys = tuple(group_members(Key(column.id, item.value, column.name), context) for item, column in named)
    made = released(rel, node, keys, (), context)
    label = Label.PUBLIC if isinstance(made, Rows) else Label.RELEASED
    return made, tuple(context.add(replace(c, label=label, unit=None, locates=None)) for c in columns)


def _in_order(rel: Rel, tail: Tail, keys: Sequence[SortKey]) -> Rel:
    return Sorted(rel, tuple(keys), tail.limit, tail.offset, tail.per_unit) if tail.written else rel


def _by_output(order: Sequence[tuple[ast.OrderItem, Scalar]], columns: Mapping[Scalar, Field]) -> list[SortKey]:
    """ORDER BY of different rows: by what they have."""
    for item, term in order:
        if term not in columns:
            raise undistinct(item)
    return [sort_key(item, columns[term]) for item, term in order]


def _fields(items: Sequence[Item], columns: Sequence[Attribute]) -> dict[Scalar, Field]:
    """What is selected, by the column that it becomes."""
    return {item.value.term: Field(made.id, made.type) for item, made in zip(items, columns, strict=True)}


def undistinct(item: ast.OrderItem) -> PrivQLError:
    return refuse(
        "PQL0306", "ORDER BY of a DISTINCT query takes its output columns", item.span, help="select what you order by"
    )


def no_unit(span: Span) -> PrivQLError:
    return refuse(
        "PQL0409",
        "these rows are nobody's",
        span,
        why="PER UNIT limits the private rows of each unit",
        help="write LIMIT without PER UNIT",
    )
