"""Aggregates whose answer is several rows: which there are, and where they may stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from privql.check.arguments import own_clause
from privql.check.exact import exact
from privql.check.expressions import typed
from privql.check.histogram import histogram
from privql.check.lists import MOST, Fields, column, how_many, numbered, of_one_type
from privql.check.operations import not_yet
from privql.check.picked import top
from privql.check.ranked import drawn, placed
from privql.check.typed import Place
from privql.diagnostics import PrivQLError, refuse
from privql.syntax import ast


def several(node: ast.Expr) -> bool:
    """Whether it is an aggregate whose answer is several rows."""
    return (
        isinstance(node, ast.Call) and node.over is None and (node.name.lower() in _MADE or _shares(node) is not None)
    )


def labels(node: ast.Expr) -> bool:
    """What says beside such an answer what its rows are of."""
    return isinstance(node, ast.Call) and node.name.lower() == "unnest" and node.over is None


def unpacked(node: ast.Call, place: Place) -> Fields:
    """What one of them at the top of a SELECT item means."""
    collector = place.collector
    assert collector is not None
    if collector.gathered:
        raise not_yet(f"several rows of `{node.name.upper()}` for each unit", node.span, "ask for one of them")
    if collector.rolled_up:
        raise not_yet(f"`{node.name.upper()}` in CUBE, ROLLUP and GROUPING SETS", node.span, "group by the same keys")
    if place.context.correlations and place.context.correlations[-1].select is not None:
        raise not_yet(f"several rows of `{node.name.upper()}` in a query inside an expression", node.span)
    if node.nulls is not None or node.limit is not None:
        raise not_yet("LIMIT and IGNORE NULLS inside an aggregate", node.span)
    if collector.private:
        own_clause(node, node.name.lower() == "top")
    return _constants(node, place) if labels(node) else _MADE.get(node.name.lower(), _quantiles)(node, place)


def alone(node: ast.Call) -> PrivQLError:
    """Anywhere else its several rows have no meaning."""
    return refuse(
        "PQL0305",
        f"`{node.name.upper()}` has several rows here, and stands by itself in a SELECT list",
        node.span,
        why="an expression, HAVING or a window takes one value",
        help=f"name it in a subquery: `FROM (SELECT {node.name.upper()}(…) AS x FROM …)`, and compute with `x`",
    )


# ---------------------------------------------------------------- what there is


def _shares(node: ast.Call) -> ast.ListOf | None:
    if placed(node.name.lower()) not in ("quantile_cont", "quantile_disc"):
        return None
    at = 0 if node.within_group else 1
    found = node.args[at] if at < len(node.args) else None
    return found if isinstance(found, ast.ListOf) else None


def _quantiles(node: ast.Call, place: Place) -> Fields:
    """Several shares of the same values."""
    collector, shares = place.collector, _shares(node)
    assert collector is not None and shares is not None
    numbered(len(shares.items), node, place)
    if collector.private:
        function = placed(node.name.lower()) or ""
        return (("", column(drawn(node, place, [(function, share) for share in shares.items]), node, place)),)
    each = [replace(node, args=tuple(share if arg is shares else arg for arg in node.args)) for share in shares.items]
    return (("", column([exact(one, node.name.lower(), place) for one in each], node, place)),)


def _constants(node: ast.Call, place: Place) -> Fields:
    match node.args:
        case (ast.ListOf(items=items) as listed,) if items:
            values = [typed(item, place) for item in items]
            if all(value.constant for value in values):
                return (("", column(of_one_type(values, listed), node, place)),)
    raise refuse("PQL0308", "`UNNEST` takes a list of constants", node.span, help="write `UNNEST([1, 2, 3])`")


def _equal_parts(node: ast.Call, place: Place) -> Fields:
    """The least value, those between n parts of as many values each, and the greatest."""
    collector = place.collector
    assert collector is not None
    if len(node.args) != 2 or node.within_group:
        raise refuse("PQL0303", "`APPROX_QUANTILES` takes a value and a number", node.span, help="write it so: (x, 4)")
    parts = how_many(node.args[1], collector.input, "APPROX_QUANTILES", MOST - 1)
    numbered(parts + 1, node, place)
    shares = [at / parts for at in range(1, parts)]
    if collector.private:
        wanted = [("min", None), *(("quantile_disc", share) for share in shares), ("max", None)]
        return (("", column(drawn(node, place, wanted), node, place)),)
    alone, rest = replace(node, args=node.args[:1]), [ast.Number(repr(share), span=node.span) for share in shares]
    calls = [
        (alone, "min"),
        *((replace(node, args=(node.args[0], share)), "quantile_disc") for share in rest),
        (alone, "max"),
    ]
    return (("", column([exact(replace(one, name=name), name, place) for one, name in calls], node, place)),)


_MADE: Mapping[str, Callable[[ast.Call, Place], Fields]] = {
    "histogram": histogram,
    "top": top,
    "approx_quantiles": _equal_parts,
}
