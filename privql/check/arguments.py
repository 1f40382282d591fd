"""What aggregates and windows are given: arguments, FILTER and ORDER BY, and what of that they refuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from privql.check import expressions as ex
from privql.check.operations import known_from, not_yet
from privql.check.relations import SortKey
from privql.check.typed import Place, Typed, const
from privql.diagnostics import PrivQLError, refuse
from privql.kernel.scalars import Const, Scalar
from privql.syntax import ast, unparse


def arguments(node: ast.Call, place: Place) -> tuple[list[ast.Expr], Place, Scalar | None, bool]:
    """The arguments, the place they are checked in (knowing the FILTER holds), the FILTER, and whether `*`."""
    collector = place.collector
    assert collector is not None
    inner = collector.input
    where = None
    if node.filter is not None:
        test = ex.condition(node.filter, Place(inner.context, inner.scope, inner.facts, None, "FILTER"))
        inner, where = inner.knowing(known_from(test, inner)), test.term
    star = len(node.args) == 1 and isinstance(node.args[0], ast.Star)
    inner = Place(inner.context, inner.scope, inner.facts, None, f"the argument of {node.name.upper()}")
    return ([] if star else list(node.args)), inner, where, star


def not_taken(node: ast.Call, args: Sequence[Typed], star: bool) -> PrivQLError:
    given = "*" if star else ", ".join(str(arg.type) for arg in args)
    return refuse(
        "PQL0301",
        f"`{node.name.upper()}` does not take ({given})",
        node.span,
        help="cast the argument, or correct it",
    )


def own_clause(node: ast.Call, chooses: bool) -> None:
    """Of what a clause says, δ is for the whole query; so is its noise, unless the aggregate has none."""
    clause = node.privacy
    if clause is not None and (clause.delta is not None or (clause.mechanism is not None and not chooses)):
        said = "DELTA" if clause.delta is not None else "USING"
        raise not_yet(f"{said} inside `{node.name.upper()}`", clause.span, "put it at the end of the query")


def unordered(node: ast.Call) -> PrivQLError:
    message = f"the order of rows does not matter to {node.name.upper()}"
    return refuse("PQL0305", message, node.span, help="leave out ORDER BY")


def fixed(value: Typed, node: ast.Call) -> Typed:
    """A separator, or a share between 0 and 1: from the top, where the order descends."""
    term, descending = value.term, bool(node.within_group) and node.within_group[0].descending
    if value.free or not isinstance(term, Const):
        raise refuse(
            "PQL0308",
            f"this argument of `{node.name.upper()}` must be constant",
            value.span,
            help="write a literal, or bind its parameter",
        )
    if term.value is None:
        raise refuse("PQL0302", f"this argument of `{node.name.upper()}` is NULL", value.span, help="write a value")
    if not isinstance(term.value, float):
        return value
    if not 0 <= term.value <= 1:
        raise refuse("PQL0302", "a quantile lies between 0 and 1", value.span, help="write 0.5 for the median")
    return const(1.0 - term.value, term.type, value.span) if descending else value


def one_order(node: ast.Call, args: Sequence[Typed], order: Iterable[SortKey]) -> None:
    """Of values without their like, ORDER BY can say no more than which of them comes first."""
    if node.distinct and any(key.value != args[0].term for key in order):
        raise refuse(
            "PQL0306",
            "ORDER BY of DISTINCT values can only be those values",
            (node.order or node.within_group)[0].span,
            why="one value stands for many rows, which differ in what they would be ordered by",
            help=f"order by `{unparse(node.args[0])}`, or leave DISTINCT out",
        )


def sort_key(item: ast.OrderItem, value: Scalar) -> SortKey:
    """PostgreSQL's rule: NULL is larger than everything."""
    first = item.nulls_first if item.nulls_first is not None else item.descending
    return SortKey(value, item.descending, first)


def sort_keys(items: Iterable[ast.OrderItem], place: Place) -> tuple[SortKey, ...]:
    collector = place.collector
    out = []
    for item in items:
        value = ex.typed(item.expr, place)
        out.append(sort_key(item, (collector.above(value) if collector is not None else value).term))
    return tuple(out)


def renamed(node: ast.Call, name: str) -> str:
    return unparse(node if node.name == name.upper() else replace(node, name=name.upper()))
