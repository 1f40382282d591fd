"""Calls: scalar functions, aggregates - measured over private rows, exact over others - and windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from privql.check import constants
from privql.check import expressions as ex
from privql.check.arguments import own_clause, renamed
from privql.check.exact import exact, grouping
from privql.check.features import feature
from privql.check.made_of import of_pairs
from privql.check.measured import measured
from privql.check.moments import UNIT_FIRST, unit, unit_first
from privql.check.operations import VOLATILE, apply, branches, not_yet, volatile
from privql.check.picked import mode
from privql.check.ranked import placed, ranked
from privql.check.scope import unknown_name
from privql.check.several import alone, several
from privql.check.spelled import SPELLED
from privql.check.spread import meant, spread
from privql.check.told import TOLD, told
from privql.check.typed import Place, Typed
from privql.check.windows import window
from privql.diagnostics import refuse
from privql.frozen import inside
from privql.functions.aggregate.public import (
    AGGREGATES,
    PAIRED,
    WINDOWS,
)
from privql.functions.scalar import all_functions, by_sql_name, constant_args, given
from privql.syntax import ast, unparse


def call(node: ast.Call, place: Place) -> Typed:
    name = node.name.lower()
    if name in PAIRED:
        return ex.typed(of_pairs(node), place)
    if node.over is not None:
        return window(node, name, place)
    if name in AGGREGATES:
        return _aggregate(node, name, place)
    if name in WINDOWS:
        raise refuse(
            "PQL0305", f"`{node.name}` needs a window", node.span, help=f"write `{unparse(node)} OVER (ORDER BY …)`"
        )
    if name == "grouping":
        return grouping(node, place)
    if name in TOLD:
        return told(node, place)
    return _scalar(node, name, place)


def _scalar(node: ast.Call, name: str, place: Place) -> Typed:
    op = by_sql_name(name)
    if op is None:
        if name in VOLATILE:
            raise volatile(node.name, node.span)
        if name in SPELLED:
            raise refuse("PQL0204", f"no function named `{node.name}`", node.span, help=f"write {SPELLED[name]}")
        names = [n.lower() for f in all_functions() for n in f.sql_names] + sorted(AGGREGATES | WINDOWS)
        raise unknown_name("PQL0204", "function", node.name, node.span, names, lambda near: renamed(node, near))
    extra = (node.distinct, node.order, node.limit, node.nulls, node.privacy, node.within_group, node.filter)
    if any(extra):
        raise refuse(
            "PQL0305", f"`{node.name}` is not an aggregate", node.span, help="leave out what only aggregates have"
        )
    args: list[Typed] = []
    by_name = given(name)
    for arg in unit_first(node, op).args:
        first = not args and by_name is None and op in UNIT_FIRST
        args.append(unit(arg, place) if first else ex.typed(arg, place))
    if by_name is not None:
        args.insert(by_name[0], constants.string(by_name[1], node.span))
    if op == "if" and len(args) == 3:
        args[0], then, otherwise = branches(args[0], place)
        args[1:] = ex.typed(node.args[1], then), ex.typed(node.args[2], otherwise)
    if op == "substring" and len(args) == 2 and args[1].type.kind == "TEXT":
        op = "regexp_part"
    for at in constant_args(op):
        if at < len(args):
            args[at] = _constant(args[at], node)
    return apply(op, args, node.span, name=node.name.upper())


def _constant(value: Typed, node: ast.Call) -> Typed:
    """An argument that fixes what the function does."""
    if value.free or not value.constant:
        raise refuse(
            "PQL0308",
            f"this argument of `{node.name.upper()}` must be constant",
            value.span,
            why="what a function does cannot depend on the row",
            help="write a literal, or bind its parameter",
        )
    return value


# ---------------------------------------------------------------- aggregates


def _aggregate(node: ast.Call, name: str, place: Place) -> Typed:
    collector = place.collector
    if several(node):
        raise alone(node)
    if collector is None:
        help = "put it into HAVING" if place.clause == "WHERE" else "compute it in a subquery, and use its result"
        raise refuse("PQL0305", f"an aggregate cannot stand in {place.clause}", node.span, help=help)
    if node.nulls is not None or node.limit is not None:
        raise not_yet("LIMIT and IGNORE NULLS inside an aggregate", node.span)
    for arg in node.args:
        inner = next((c for c in aggregates_in(arg)), None)
        if inner is not None:
            raise refuse(
                "PQL0305",
                "an aggregate of an aggregate",
                inner.span,
                why="the inner one has one value per group",
                help="compute the inner one in a subquery: `SELECT … FROM (SELECT … GROUP BY …)`",
            )
    if collector.private:
        if collector.gathered:
            return feature(node, name, place)
        own_clause(node, name == "mode")
        if name == "mode":
            return mode(node, place)
        if (function := meant(name)) is not None:
            return spread(node, function, place)
        if (function := placed(name)) is not None:
            return ranked(node, function, place)
        return measured(node, name, place)
    return exact(node, name, place)


# ---------------------------------------------------------------- what a tree contains


def aggregates_in(node: object) -> Iterator[ast.Call]:
    """The aggregate calls of this SELECT's expressions: not those of subqueries, nor of window calls themselves."""
    return _calls_in(node, lambda call: call.over is None and call.name.lower() in AGGREGATES)


def windows_in(node: object) -> Iterator[ast.Call]:
    return _calls_in(node, lambda call: call.over is not None)


def _calls_in(node: object, wanted: Callable[[ast.Call], bool]) -> Iterator[ast.Call]:
    todo = [node]
    while todo:
        at = todo.pop()
        if isinstance(at, ast.Call) and wanted(at):
            yield at
        elif isinstance(at, tuple | ast.Node) and not isinstance(at, ast.Query):
            todo.extend(inside(at))
