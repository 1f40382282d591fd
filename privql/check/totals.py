"""One unit's totals in each group, as a query below the one that measures them.

`SELECT k, SUM(x) … GROUP BY k` over rows of which a unit may own many is then, with each total between 0 and 9,
`SELECT k, SUM(CLAMP(t, 0, 9)) FROM (SELECT k, SUM(x) AS t … GROUP BY unit, k) GROUP BY k`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from privql.check.items import name_of
from privql.check.named import position
from privql.check.operations import not_yet
from privql.check.scope import Scope
from privql.frozen import rebuilt
from privql.functions.aggregate.public import AGGREGATES
from privql.names import fold
from privql.syntax import ast

# From an aggregate and the column that its total becomes, to the total and to what is measured of the totals.
Total = Callable[[ast.Call, ast.Column], tuple[ast.Call, ast.Call]]


def in_totals(node: ast.Query, unit: ast.Column, scope: Scope, total: Total) -> ast.Query:
    """The query over the totals of each unit; `scope` is what its FROM brings."""
    select = node.body
    assert isinstance(select, ast.Select)
    keys = _keys(select, scope)
    names = {key.expr: ast.Column((_name(key.expr, at),), span=key.expr.span) for at, key in enumerate(keys, 1)}
    inner: dict[ast.Call, tuple[ast.Call, ast.Call, str]] = {}

    def above(part: Any) -> Any:
        match part:
            case ast.Query():
                return part
            case ast.Call(name=name, over=None) if name.lower() in AGGREGATES:
                if part not in inner:
                    column = f"total {len(inner) + 1}"
                    inner[part] = (*total(part, ast.Column((column,), span=_argument(part).span)), column)
                return replace(inner[part][1], span=part.span)
            case ast.Column():
                same = (
                    key for key in names if isinstance(key, ast.Column) and fold(key.path[-1]) == fold(part.path[-1])
                )
                key = next(same, None)
                return part if key is None else replace(names[key], span=part.span)
            case _ if isinstance(part, ast.Node) and part in names:
                return names[part]
            case _:
                return None

    items = tuple(_item(item, scope, above) for item in select.items)
    having, windows, qualify, order = rebuilt((select.having, select.windows, select.qualify, node.order), above)
    below = ast.Select(
        tuple(
            [ast.SelectItem(key, name.path[-1], span=key.span) for key, name in names.items()]
            + [ast.SelectItem(call, column, span=call.span) for call, _, column in inner.values()]
        ),
        relations=select.relations,
        where=select.where,
        group=(ast.GroupKey(unit, span=unit.span), *(ast.GroupKey(key, span=key.span) for key in names)),
        span=select.span,
    )
    over = ast.Derived(ast.Query(below, span=select.span), span=select.span)
    body = replace(
        select,
        items=items,
        relations=(over,),
        where=None,
        group=tuple(replace(key, expr=names[key.expr]) for key in keys),
        having=having,
        windows=windows,
        qualify=qualify,
    )
    return replace(node, body=body, order=order)


def _keys(select: ast.Select, scope: Scope) -> list[ast.GroupKey]:
    """Each key as it reads over the rows: a column, else a select item by alias, else by position."""
    if select.group_all:
        raise not_yet("GROUP BY ALL of totals per unit", select.span, "name the keys in GROUP BY")
    out = []
    for key in select.group:
        if not isinstance(key, ast.GroupKey):
            raise not_yet("GROUPING SETS, CUBE and ROLLUP of totals per unit", key.span, "group by the keys themselves")
        at = position(key.expr, len(select.items))
        expr = key.expr
        if at is not None:
            expr = select.items[at].expr
        elif isinstance(expr, ast.Column) and len(expr.path) == 1 and not scope.find(expr.path):
            alias = fold(expr.path[0])
            expr = next((i.expr for i in select.items if i.alias and fold(i.alias) == alias), expr)
        out.append(replace(key, expr=expr))
    return out


def _name(expr: ast.Expr, at: int) -> str:
    return expr.path[-1] if isinstance(expr, ast.Column) else f"key {at}"


def _argument(call: ast.Call) -> ast.Node:
    return call.args[0] if call.args else call


def _item(item: ast.SelectItem, scope: Scope, above: Callable[[Any], Any]) -> ast.SelectItem:
    """It is called what it would be called without the totals."""
    if isinstance(item.expr, ast.Star):
        raise not_yet("`*` over totals per unit", item.span, "name the group keys")
    named = item.alias or name_of(item.expr, scope)
    return replace(item, expr=rebuilt(item.expr, above), alias=named)
