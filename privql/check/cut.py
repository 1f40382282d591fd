"""The cut: below it private rows, above it the groups and numbers that are measured of them."""

from __future__ import annotations

from math import prod

from privql.check.apart import Groupings, Sets, blocks, listed
from privql.check.env import MOST_GROUPS
from privql.check.grouping import Collector, Key
from privql.check.inside import around
from privql.check.named import one_place, private_tables
from privql.check.operations import not_yet
from privql.check.relations import Aggregate, GroupingKey, Label, Rel, Rows
from privql.check.typed import Context, Typed
from privql.diagnostics import Diagnostic, Span, refuse
from privql.domains import finite
from privql.kernel.scalars import fields
from privql.syntax import ast


def row_function(value: Typed, context: Context) -> Typed:
    """Over private rows an expression reads its own row, and what queries inside it find for that row."""
    for id in fields(value.term):
        inside = context.subqueries.get(id)
        if inside is not None and any(
            context.attributes[c].label is Label.PRIVATE for c in around(inside.rel, context)
        ):
            raise not_yet("this correlated query over private rows", value.span, "join, and aggregate with GROUP BY")
    return value


def _listed(keys: tuple[GroupingKey, ...], span: Span, context: Context) -> Rows:
    """Which values there are would show who is there; which there may be, anybody may know."""
    context.notes.append(
        Diagnostic(
            "PQL0409",
            "this lists every value that the columns may have, and costs nothing",
            span,
            severity="note",
            why="which of them occur is not looked at",
            help="to learn how often they occur, GROUP BY them and count",
        )
    )
    return listed(keys)


def cut(rel: Rel, node: ast.Select, collector: Collector, context: Context) -> Rel:
    return released(rel, node, members_of(collector, context), tuple(collector.measured.values()), context)


def members_of(collector: Collector, context: Context) -> tuple[GroupingKey, ...]:
    return tuple(group_members(key, context) for key in collector.keys)


def released(
    rel: Rel,
    node: ast.Select,
    keys: tuple[GroupingKey, ...],
    aggregates: tuple[Aggregate, ...],
    context: Context,
    sets: Sets = (),
    groupings: Groupings = (),
) -> Rel:
    tables = private_tables(rel, context)
    table = context.env.catalog.table(tables[0])
    assert table is not None and table.unit is not None
    computed = (*(key.value for key in keys), *(term for aggregate in aggregates for term in aggregate.reads))
    read = [tables, *(private_tables(term, context) for term in computed)]
    one_place([context.env.catalog.table(name) for names in read for name in names], node.span)
    listed = [key.members for key in keys if key.members is not None]
    groups = prod(map(len, listed))
    span = node.group[0].span.to(node.group[-1].span) if node.group else node.span
    if groups > MOST_GROUPS:
        sizes = " x ".join(str(len(members)) for members in listed)
        raise refuse(
            "PQL0404",
            f"{groups} groups are more than {MOST_GROUPS}",
            span,
            why=f"the keys have {sizes} values",
            help="group more coarsely, or drop a key",
        )
    if groups == 0:
        raise refuse(
            "PQL0404", "no group can exist", span, why="WHERE excludes every value of the key", help="correct WHERE"
        )
    for aggregate in aggregates:
        _counted_in(aggregate, groups, context)
        for term in aggregate.reads:
            row_function(Typed(term, aggregate.domain, aggregate.span), context)
    if not aggregates and len(listed) == len(keys):
        return _listed(keys, node.span, context)
    return blocks(rel, tables, table.unit, keys, aggregates, node.span, context, sets, groupings)


def _counted_in(one: Aggregate, groups: int, context: Context) -> None:
    """Bins are groups, too."""
    if one.bins is not None and groups * one.bins[1] > MOST_GROUPS:
        raise refuse(
            "PQL0404",
            f"{groups * one.bins[1]} counts are more than {MOST_GROUPS}",
            one.span,
            why=f"each of {groups} groups has {one.bins[1]} bins",
            help="ask for fewer bins, or group more coarsely",
        )


def group_members(key: Key, context: Context) -> GroupingKey:
    domain = key.value.domain
    row_function(key.value, context)
    members = domain.members(MOST_GROUPS)
    if members is None:
        domain = context.beside_public_values(key.value, lambda held, known: finite(held, known.nullable, known.grid))
        members = domain.members(MOST_GROUPS)
    unknown = ""
    if members is None:
        vast = domain.bounded and domain.grid is not None
        unknown = "more than a million values" if vast else "no finite list of values is known"
    else:
        members = (*members, None) if domain.nullable else members
        domain = finite(members, domain.nullable, domain.grid)
    context.domains[key.id] = domain
    return GroupingKey(key.id, key.value.term, key.value.type, members, key.name, key.value.span, unknown)
