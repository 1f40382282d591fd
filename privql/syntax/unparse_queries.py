"""Queries back to text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from privql.syntax import ast, unparse_expressions
from privql.syntax.names import dummy, function, plain, quote


def query(node: ast.Query) -> str:
    said = []
    if node.ctes:
        ctes = (f"{quote(cte.name)}{names(cte.columns)} AS ({query(cte.query)})" for cte in node.ctes)
        said.append(f"WITH {'RECURSIVE ' if node.recursive else ''}{', '.join(ctes)}")
    said.append(_body(node.body))
    if node.order:
        said.append(unparse_expressions.order_by(node.order))
    if node.limit:
        count = unparse_expressions.amount(node.limit.count) if node.limit.count else "ALL"
        said.append(f"LIMIT {count}" + (_per_unit(node.limit.unit) if node.limit.per_unit else ""))
    if node.offset:
        said.append(f"OFFSET {unparse_expressions.amount(node.offset)}")
    if node.privacy:
        said.append(privacy(node.privacy))
    return " ".join(said)


def names(columns: tuple[str, ...]) -> str:
    return f" ({', '.join(map(quote, columns))})" if columns else ""


def privacy(node: ast.Privacy) -> str:
    amount = unparse_expressions.amount
    said = []
    limits = [(amount(limit), what) for limit, what in ((node.rows, "ROW"), (node.groups, "GROUP")) if limit]
    most = [f"{limit} {what}{'' if limit == '1' else 'S'}" for limit, what in limits]
    if most:
        said.append(f"AT MOST {' AND '.join(most)}{_per_unit(node.per_unit)}")
    if node.epsilon or node.delta:
        epsilon = f" EPSILON {amount(node.epsilon)}" if node.epsilon else ""
        said.append(f"SPEND{epsilon}" + (f" DELTA {amount(node.delta)}" if node.delta else ""))
    if node.within:
        said.append(f"WITHIN {amount(node.within)}" + (" %" if node.within_percent else ""))
    if node.confidence:
        said.append(f"AT {amount(node.confidence)}%")
    if node.max_epsilon:
        said.append(f"MAX EPSILON {amount(node.max_epsilon)}")
    if node.given:
        said.append(f"GIVEN COUNT >= {amount(node.given)}")
    if node.mechanism:
        said.append(f"USING {quote(node.mechanism)}")
    if node.share:
        said.append(f"SHARE {amount(node.share)}")
    if node.bounds_auto:
        said.append("BOUNDS AUTO")
    if node.schedule:
        said.append(f"{every(node.schedule.every)} FOR {amount(node.schedule.runs)} RUNS")
    return " ".join(said)


def every(node: ast.Every) -> str:
    return f"EVERY {node.period}" if node.count == 1 else f"EVERY {node.count} {node.period}S"


def _per_unit(unit: str | None) -> str:
    return " PER UNIT" + (f" {plain(unit)}" if unit else "")


def _body(node: ast.Body) -> str:
    match node:
        case ast.Select():
            return _select(node)
        case ast.Values(rows):
            return "VALUES " + ", ".join(f"({unparse_expressions.expressions(row)})" for row in rows)
        case ast.SetOperation(op, keeps_all, left, right):
            return f"{_arm(left, op, True)} {op}{' ALL' if keeps_all else ''} {_arm(right, op, False)}"
        case ast.Query():
            return f"({query(node)})"
        case _:
            assert_never(node)


def _arm(node: ast.Body, op: str, left: bool) -> str:
    """An arm of a set operation: INTERSECT binds tighter, and equals go from left to right."""
    text = _body(node)
    if isinstance(node, ast.SetOperation):
        tighter = (node.op == "INTERSECT") - (op == "INTERSECT")
        return text if tighter > 0 or (tighter == 0 and left) else f"({text})"
    return text


def _select(node: ast.Select) -> str:
    expression = unparse_expressions.expression
    said = ["SELECT"]
    if node.options is not None:
        given = ", ".join(f"{quote(one.name)} = {expression(one.value)}" for one in node.options)
        said.append(f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({given})")
    said += ["DISTINCT"] if node.distinct else []
    items = (expression(item.expr) + (f" AS {quote(item.alias)}" if item.alias else "") for item in node.items)
    said.append(", ".join(items))
    if node.relations:
        said.append(f"FROM {', '.join(map(relation, node.relations))}")
    if node.where:
        said.append(f"WHERE {expression(node.where)}")
    if node.group_all:
        said.append("GROUP BY ALL")
    if node.group:
        said.append(f"GROUP BY {', '.join(map(_grouping, node.group))}")
    if node.having:
        said.append(f"HAVING {expression(node.having)}")
    if node.windows:
        windows = (f"{quote(name)} AS ({unparse_expressions.window(window)})" for name, window in node.windows)
        said.append(f"WINDOW {', '.join(windows)}")
    if node.qualify:
        said.append(f"QUALIFY {expression(node.qualify)}")
    return " ".join(said)


def _grouping(node: ast.Grouping) -> str:
    expressions = unparse_expressions.expressions
    match node:
        case ast.GroupKey(expr, keys):
            said = unparse_expressions.expression(expr)
            if keys is None:
                return said
            return f"{said} KEYS ({query(keys) if isinstance(keys, ast.Query) else expressions(keys)})"
        case ast.GroupSet(exprs):
            return f"({expressions(exprs)})"
        case ast.Cube(exprs):
            return f"CUBE ({expressions(exprs)})"
        case ast.Rollup(exprs):
            return f"ROLLUP ({expressions(exprs)})"
        case ast.GroupingSets(sets):
            return f"GROUPING SETS ({', '.join(map(_grouping, sets))})"
        case _:
            assert_never(node)


def relation(node: ast.Relation) -> str:
    match node:
        case ast.TableRef(path, alias, columns, is_dummy):
            first = f"DUMMY {dummy(path[0])}" if is_dummy else quote(path[0])
            return ".".join([first, *map(quote, path[1:])]) + _alias(alias, columns)
        case ast.Derived(inner, alias, columns, lateral):
            return f"{'LATERAL ' if lateral else ''}({query(inner)}){_alias(alias, columns)}"
        case ast.TableFunction(name, args, alias, columns):
            return f"{function(name)}({unparse_expressions.expressions(args)}){_alias(alias, columns)}"
        case ast.Join(kind, left, right, on, using, natural):
            word = ("NATURAL " if natural else "") + ("JOIN" if kind == "INNER" else f"{kind} JOIN")
            other = f"({relation(right)})" if isinstance(right, ast.Join) else relation(right)
            said = f"{relation(left)} {word} {other}"
            if on:
                return f"{said} ON {unparse_expressions.expression(on)}"
            return said + (f" USING{names(using)}" if using else "")
        case _:
            assert_never(node)


def _alias(alias: str | None, columns: Iterable[str]) -> str:
    return f" AS {quote(alias)}{names(tuple(columns))}" if alias else ""
