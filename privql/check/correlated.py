"""Which queries beside private rows are answered for each of them: those that no join on their ties alone can say."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from privql.check.calls import windows_in
from privql.check.conditions import conjuncts
from privql.check.inside import read_inside
from privql.check.scope import Scope
from privql.check.tail import Tail
from privql.check.typed import Context, Correlation, Typed
from privql.frozen import inside
from privql.functions.aggregate.public import AGGREGATES
from privql.kernel.scalars import Apply, Field, Scalar, fields
from privql.syntax import ast


def by_form(node: ast.Select, tail: Tail, scope: Scope, grouped: bool, frame: Correlation) -> bool:
    """Whether a query beside private rows names them so that no join on conditions of its WHERE says the same.

    Public rows may stand between, and be named like any others: what depends on them alone is public as well."""
    told = {how for how, _ in _named(node, tail, scope, frame.private)} if frame.private else set()
    queries = any(isinstance(one, ast.Query) for one in _walked((node.items, node.having, node.where or ())))
    return bool(told) and bool(
        frame.lateral
        or told & {"nested", "elsewhere"}
        or node.distinct
        or node.group
        or node.group_all
        or node.qualify is not None
        or (grouped and node.having is not None and _may_hold_of_none(node.having))
        or tail.written
        or any(windows_in(node.items))
        or (grouped and queries)
    )


def by_number(
    formed: bool, where: Typed | None, secret: bool, grouped: bool, frame: Correlation, context: Context
) -> bool:
    """Whether a query is answered for each of the private rows around it."""
    tied = [part for part in conjuncts(where.term if where else None) if read_inside(part, context) & frame.private]
    if grouped and secret and not frame.lateral and not any(_of_one_unit(part, frame, context) for part in tied):
        return False  # it is of many units: a release
    return formed or (grouped and not all(_equality(part, frame) for part in tied))


def _named(node: ast.Select, tail: Tail, scope: Scope, private: set[str]) -> Iterator[tuple[str, ast.Column]]:
    """The private columns around that a query names - or may, where a query inside hides names - and where."""

    def outside(column: ast.Column) -> bool:
        if scope.find(column.path) or (len(column.path) > 1 and scope.of(column.path[-2]) is not None):
            return False
        nearest = next(filter(None, (level.find(column.path) for level in scope.around())), [])
        return any(found.id in private for found in nearest)

    def walk(part: Any, how: str) -> Iterator[tuple[str, ast.Column]]:
        for one in inside(part):
            if isinstance(one, ast.Column) and outside(one):
                yield how, one
            yield from walk(one, "nested" if isinstance(one, ast.Query) else how)

    yield from walk((node.where,) if node.where is not None else (), "where")
    yield from walk(replace(node, where=None), "elsewhere")
    yield from walk(tail.order, "elsewhere")


def _walked(part: Any) -> Iterator[Any]:
    for one in inside(part):
        yield one
        yield from _walked(one)


def _of_one_unit(part: Scalar, frame: Correlation, context: Context) -> bool:
    match part:
        case Apply(op="eq", args=(Field(name=one), Field(name=other))) if len({one, other} & frame.private) == 1:
            place = context.attributes[one].locates
            return place is not None and place == context.attributes[other].locates
        case _:
            return False


def _equality(part: Scalar, frame: Correlation) -> bool:
    return (
        isinstance(part, Apply)
        and part.op == "eq"
        and any(
            fields(one) <= frame.private and not fields(other) & frame.private
            for one, other in (part.args, part.args[::-1])
        )
    )


_COMPARISONS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _may_hold_of_none(having: ast.Expr) -> bool:
    """Whether a HAVING may hold where no row matches, as far as its words tell."""
    match having:
        case ast.Binary(op="AND", left=left, right=right):
            return _may_hold_of_none(left) and _may_hold_of_none(right)
        case ast.Binary(op=op, left=left, right=right) if op in _COMPARISONS:
            one, other = _of_none(left), _of_none(right)
            if one is None or other is None:
                return True
            return not (math.isnan(one) or math.isnan(other)) and bool(_COMPARISONS[op](one, other))
        case _:
            return True


def _of_none(value: ast.Expr) -> float | None:
    """Counts are 0, and other aggregates NULL, which is NaN here; None where more would have to be known."""
    match value:
        case ast.Number(text=text):
            return float(text)
        case ast.Call(name=name) if name.lower() in AGGREGATES:
            return 0 if "count" in name.lower() else math.nan
        case _:
            return None
