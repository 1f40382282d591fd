"""Aggregates of public and released rows: exact, and free."""

from __future__ import annotations

from fractions import Fraction

from privql.check import expressions as ex
from privql.check.arguments import arguments, fixed, not_taken, one_order, sort_keys
from privql.check.operations import coerce
from privql.check.relations import AggregateCall
from privql.check.typed import Place, Typed
from privql.diagnostics import refuse
from privql.domains import interval
from privql.functions.aggregate.public import aggregate_domain, constant_argument, resolve_aggregate
from privql.kernel.scalars import INT, Field
from privql.syntax import ast


def exact(node: ast.Call, name: str, place: Place) -> Typed:
    """An aggregate of public or released rows: computed as it is, at no cost."""
    collector = place.collector
    assert collector is not None
    if node.privacy is not None:
        raise refuse(
            "PQL0409",
            "this aggregate costs nothing",
            node.privacy.span,
            why="its rows are public or released",
            help="leave out its privacy clause",
        )
    nodes, inner, where, star = arguments(node, place)
    args = [ex.typed(arg, inner) for arg in nodes]
    order = sort_keys(node.order or node.within_group, inner)
    if node.within_group:
        args = [ex.typed(node.within_group[0].expr, inner), *args]
        order = ()
    resolved = (
        resolve_aggregate(name, tuple(a.type for a in args), node.distinct) if not star or name == "count" else None
    )
    if resolved is None:
        raise not_taken(node, args, star)
    function, arg_types, result = resolved
    cast = [coerce(a, t) for a, t in zip(args, arg_types, strict=True)]
    at = constant_argument(function)
    if at is not None and at < len(cast):
        cast[at] = fixed(cast[at], node)
    one_order(node, cast, order)
    domain = aggregate_domain(function, tuple(a.domain for a in cast))
    made = AggregateCall(function, tuple(a.term for a in cast), result, node.distinct, order, where)
    return Typed(collector.aggregate(made, domain), domain, node.span)


def grouping(node: ast.Call, place: Place) -> Typed:
    collector = place.collector
    if collector is None or not collector.grouped or (collector.private and not collector.rolled_up):
        raise refuse("PQL0305", "GROUPING() needs GROUPING SETS", node.span, help="leave it out")
    terms = [ex.typed(arg, collector.input).term for arg in node.args]
    indices = tuple(next((i for i, key in enumerate(collector.keys) if key.value.term == t), -1) for t in terms)
    if -1 in indices or not indices:
        raise refuse("PQL0306", "GROUPING() takes group keys", node.span, help="name keys of GROUP BY")
    id = collector.groupings.get(indices)
    if id is None:
        id = collector.column("grouping", INT, interval(0, 2 ** len(indices) - 1, False, Fraction(1)))
        collector.groupings[indices] = id
    return Typed(Field(id, INT), place.domain(id), node.span)
