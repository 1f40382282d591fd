"""The select list: what each item is called and what it is."""

from __future__ import annotations

from dataclasses import replace

from privql.check.expressions import typed
from privql.check.grouping import Collector
from privql.check.relations import Attribute
from privql.check.scope import Scope, unknown_name
from privql.check.several import labels, several, unpacked
from privql.check.typed import Place, Typed
from privql.diagnostics import Span, refuse
from privql.frozen import frozen
from privql.kernel.scalars import Field
from privql.names import fold
from privql.syntax import ast, unparse


@frozen
class Item:
    """One output column: its name, its value above the grouping, and the input column that it is, if it is one."""

    name: str
    value: Typed
    column: Attribute | None
    span: Span


def items_of(node: ast.Select, place: Place, collector: Collector) -> list[Item]:
    out: list[Item] = []
    for item in node.items:
        if isinstance(item.expr, ast.Star):
            out += star(item.expr, place, collector)
        elif isinstance(item.expr, ast.Call) and collector.grouped and (several(item.expr) or labels(item.expr)):
            out += _fields(item.expr, item.alias, place, collector)
        elif (column := _passed(item.expr, place, collector)) is not None:
            value = collector.above(Typed(Field(column.id, column.type), place.domain(column.id), item.span))
            assert isinstance(value.term, Field)
            kept = place.context.attributes[value.term.name]
            out.append(Item(item.alias or column.name, value, kept, item.span))
        else:
            value = collector.above(typed(item.expr, place))
            source = place.context.attributes.get(value.term.name) if isinstance(value.term, Field) else None
            out.append(Item(item.alias or name_of(item.expr, place.scope), value, source, item.span))
    return out


def _fields(node: ast.Call, alias: str | None, place: Place, collector: Collector) -> list[Item]:
    """Of an answer of several rows: it is called as any other, and of several fields each by its own name."""
    out = []
    for name, value in unpacked(node, place):
        prefix = f"{alias}_" if alias else ""
        called = prefix + name if name else alias or name_of(node, place.scope)
        out.append(Item(called, collector.above(value), None, node.span))
    return out


def _passed(expr: ast.Expr, place: Place, collector: Collector) -> Attribute | None:
    """A unit's identifier may be passed along inside a subquery that stays private; never computed with."""
    if not isinstance(expr, ast.Column) or not collector.private or (collector.grouped and not collector.gathered):
        return None
    attribute = place.scope.resolve(expr.path, expr.span)
    return attribute if attribute.unit is not None else None


def star(node: ast.Star, place: Place, collector: Collector) -> list[Item]:
    scope = place.scope
    if node.qualifier:
        columns = list(scope.of(node.qualifier[-1]) or ())
        if scope.of(node.qualifier[-1]) is None:
            raise unknown_name(
                "PQL0201",
                "table",
                node.qualifier[-1],
                node.span,
                [i.alias for i in scope.items],
                lambda near: unparse(replace(node, qualifier=(near,))),
            )
    else:
        columns = scope.everything()
    if not scope.items:
        raise refuse("PQL0202", "there is no table to take `*` from", node.span, help="add FROM")
    names = {fold(column.name) for column in columns}
    for name in (*node.exclude, *(name for _, name in node.replace)):
        if fold(name) not in names:
            raise unknown_name(
                "PQL0202",
                "column",
                name,
                node.span,
                [c.name for c in columns],
                lambda near, name=name: unparse(_star_of(node, name, near)),  # type: ignore[misc]
            )
    gone = {fold(name) for name in node.exclude}
    new = {fold(name): expr for expr, name in node.replace}
    out = []
    for column in columns:
        if fold(column.name) in gone or column.hidden:
            continue  # what is hidden takes no part in what `*` brings: not even in DISTINCT, ORDER BY or EXCEPT
        if fold(column.name) in new:
            value = collector.above(typed(new[fold(column.name)], place))
            out.append(Item(column.name, value, None, node.span))
            continue
        place.context.used[column.id] = node.span
        value = Typed(Field(column.id, column.type), place.domain(column.id), node.span)
        out.append(Item(column.name, collector.above(value), column, node.span))
    return out


def _star_of(node: ast.Star, name: str, near: str) -> ast.Star:
    """The star with another column excluded or replaced."""
    exclude = tuple(near if one == name else one for one in node.exclude)
    return replace(node, exclude=exclude, replace=tuple((e, near if one == name else one) for e, one in node.replace))


def name_of(expr: ast.Expr, scope: Scope) -> str:
    """What an output column is called that was given no name: a column as it was declared, a call by its function."""
    match expr:
        case ast.Column(path=path, span=span):
            return scope.resolve(path, span).name
        case ast.Call(name=name):
            return name.lower()
        case ast.Cast(operand=operand):
            return name_of(operand, scope)
        case ast.Extract():
            return "extract"
        case ast.Case():
            return "case"
        case ast.Exists():
            return "exists"
        case _:
            return "column"


def names(items: list[Item]) -> list[str]:
    """Each output column once: a second `count` is `count_2`."""
    taken: set[str] = set()
    out = []
    for item in items:
        name, number = item.name, 1
        while fold(name) in taken:
            number += 1
            name = f"{item.name}_{number}"
        taken.add(fold(name))
        out.append(name)
    return out
