"""HISTOGRAM: how many values lie in each of several bins.

A value is in a bin where it is no less than the lower edge and less than the upper one; the last bin has its upper
edge, too. What is measured are the rows grouped by the number of their bin: all bins have the price of one count.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from privql.check import expressions as ex
from privql.check.arguments import arguments, unordered
from privql.check.conditions import also
from privql.check.lists import MOST, Fields, column, how_many, numbered, of_one_type
from privql.check.measured import counted, number
from privql.check.operations import apply, coerce
from privql.check.relations import AggregateCall
from privql.check.typed import Place, Typed, const
from privql.diagnostics import refuse
from privql.domains import ORDERED, Domain
from privql.kernel.scalars import BOOL, FLOAT, INT, NULL, Apply, Const, Scalar, ValueType
from privql.syntax import ast


def histogram(node: ast.Call, place: Place) -> Fields:
    """The edges of each bin, and how many values it has."""
    name = node.name.upper()
    if node.order or node.within_group:
        raise unordered(node)
    nodes, inner, where, star = arguments(node, place)
    if star or len(nodes) != 2:
        raise refuse("PQL0303", f"`{name}` takes a value and its bins", node.span, help=f"write {name}(x, 10)")
    if node.privacy is not None and node.privacy.bounds_auto:
        raise refuse("PQL0408", "a count needs no bounds", node.privacy.span, help="state the edges of the bins")
    if isinstance(nodes[1], ast.ListOf):
        value = ex.typed(nodes[0], inner)
        if value.type.kind not in ORDERED:
            raise refuse(
                "PQL0301",
                f"`{name}` needs a number or a day, and this is {value.type}",
                value.span,
                help="group by the value, and count",
            )
        edges = _written(nodes[1], value, inner, name)
        bin = _between(value, edges)
    else:
        value = number(node, 0, inner, place, "its bins divide the range of the argument")
        edges = _equal(value, how_many(nodes[1], inner, name, MOST - 1, ", or a list of edges"), node)
        bin = _counted(value, edges)
    count = len(edges) - 1
    numbered(count, node, place)
    lows, highs = column(edges[:-1], node, place), column(edges[1:], node, place)
    return ("low", lows), ("high", highs), ("n", _counts(node, value, bin, count, where, place))


def _counts(node: ast.Call, value: Typed, bin: Typed, count: int, where: Scalar | None, place: Place) -> Typed:
    collector = place.collector
    assert collector is not None
    domain = Domain(None, None, None, False, Fraction(1))
    if not collector.private:
        each = []
        for at in range(1, count + 1):
            inside: Scalar = Apply("eq", (bin.term, Const(at, INT)), BOOL)
            inside = also(where, inside)
            call = AggregateCall("count", (value.term,), INT, node.distinct, (), inside)  # no NULL is in a bin
            each.append(Typed(collector.aggregate(call, domain), domain, node.span))
        return column(each, node, place)
    return counted(node, value.term if node.distinct else None, where, place, (bin.term, count))


# ---------------------------------------------------------------- edges


def _written(node: ast.ListOf, value: Typed, inner: Place, name: str) -> list[Typed]:
    edges = []
    for item in node.items:
        edge = ex.typed(item, inner)
        edge = coerce(edge, value.type) if edge.text is not None or edge.free else edge
        if edge.free or not isinstance(edge.term, Const) or edge.term.value is None:
            raise refuse("PQL0308", "an edge of a bin must be constant", edge.span, help="write a literal")
        edges.append(edge)
    if len(edges) < 2:
        raise refuse("PQL0302", "a bin lies between two edges", node.span, help=f"write `{name}(x, [0, 10, 20])`")
    for low, high in pairwise(edges):
        if apply("lt", [low, high], high.span).term != Const(True, BOOL):
            raise refuse("PQL0302", "edges of bins go up", high.span, help="write each but once, from low to high")
    return of_one_type(edges, node)


def _equal(value: Typed, count: int, node: ast.Call) -> list[Typed]:
    """Of the type of the value where each is one, else FLOAT."""
    low, high = value.domain.low or Fraction(0), value.domain.high or Fraction(0)
    if value.domain.empty or low == high:  # of one value, or none, they need a width all the same
        low, high = Fraction(low), low + 1
    edges = [low + (high - low) * at / count for at in range(count + 1)]
    type = value.type if all(_of(edge, value.type) for edge in edges) else FLOAT
    if type == FLOAT and len({float(edge) for edge in edges}) <= count:
        raise refuse("PQL0302", "so many bins cannot be told apart", node.args[1].span, help="ask for fewer")
    as_value = {"FLOAT": float, "INT": int}.get(type.kind, Fraction)
    return [const(as_value(edge), type, node.span) for edge in edges]


def _of(edge: Fraction, type: ValueType) -> bool:
    match type.kind:
        case "INT":
            return edge.denominator == 1
        case "DECIMAL":
            return Fraction(edge * 10**type.scale).denominator == 1
        case _:
            return False


# ---------------------------------------------------------------- in which bin a value is


def _counted(value: Typed, edges: Sequence[Typed]) -> Typed:
    """Whatever it is, in one of them."""
    missing = apply("is_null", [value], value.span)
    return apply("case", [missing, const(None, NULL, value.span), _halved(value, edges, 1, len(edges) - 1)], value.span)


def _between(value: Typed, edges: Sequence[Typed]) -> Typed:
    """What lies beyond the outer edges is in none."""
    nowhere = const(None, NULL, value.span)
    inside = apply("le", [value, edges[-1]], value.span)
    below = apply("lt", [value, edges[0]], value.span)
    return apply("case", [below, nowhere, inside, _halved(value, edges, 1, len(edges) - 1), nowhere], value.span)


def _halved(value: Typed, edges: Sequence[Typed], first: int, last: int) -> Typed:
    """Which of the bins from `first` to `last`, by as few comparisons as it takes."""
    if first == last:
        return const(first, INT, value.span)
    middle = (first + last) // 2
    below = apply("lt", [value, edges[middle]], value.span)
    sides = _halved(value, edges, first, middle), _halved(value, edges, middle + 1, last)
    return apply("case", [below, *sides], value.span)
