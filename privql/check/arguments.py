"""What aggregates and windows are given: arguments, FILTER and ORDER BY."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from privql.check import expressions as ex
from privql.check.operations import known_from
from privql.check.relations import SortKey
from privql.check.typed import Place
from privql.kernel.scalars import Scalar
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
    return unparse(replace(node, name=name.upper()))
