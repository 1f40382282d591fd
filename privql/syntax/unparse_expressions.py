"""Expressions back to text, with the parentheses that precedence asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from privql.syntax import ast, unparse_queries
from privql.syntax.names import function, plain, quote

# How tightly what an expression is binds, loosest first, as in the grammar.
OR, AND, NOT, IS, COMPARISON, MATCH, OPERATION, SUM, PRODUCT, POWER, UNARY, POSTFIX, ATOM = range(13)

_PHRASES = frozenset({"POSITION", "SUBSTRING", "TRIM", "GROUPING", "OVERLAY"})  # that no function of the name is
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_LEVELS = {
    "OR": OR,
    "AND": AND,
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "//": PRODUCT,
    "%": PRODUCT,
    "^": POWER,
}


def level(node: ast.Expr) -> int:
    match node:
        case ast.Binary(op):
            return COMPARISON if op in _COMPARISONS else _LEVELS.get(op, OPERATION)
        case ast.Unary(op):
            return NOT if op == "NOT" else UNARY
        case ast.Is() | ast.IsDistinct():
            return IS
        case ast.Quantified():
            return COMPARISON
        case ast.Like() | ast.Between() | ast.InList() | ast.InQuery():
            return MATCH
        case ast.Index():
            return POSTFIX
        case _:
            return ATOM


def at_least(node: ast.Expr, tightness: int) -> str:
    """The expression, in parentheses if it binds more loosely than its place asks for."""
    text = expression(node)
    return text if level(node) >= tightness else f"({text})"


def expressions(nodes: Iterable[ast.Expr]) -> str:
    return ", ".join(map(expression, nodes))


def string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def amount(node: ast.Expr) -> str:
    match node:
        case ast.Number() | ast.Param():
            return expression(node)
        case ast.Binary("/", ast.Number(top), ast.Number(bottom)):
            return f"{top}/{bottom}"
        case _:
            return f"({expression(node)})"


def expression(node: ast.Expr) -> str:
    match node:
        case ast.Column(path):
            return ".".join(map(quote, path))
        case ast.Number(text):
            return text
        case ast.String(value):
            return string(value)
        case ast.Boolean(value):
            return "TRUE" if value else "FALSE"
        case ast.Null():
            return "NULL"
        case ast.Typed(type, text):
            return f"{type} {string(text)}"
        case ast.Interval(size, unit):
            return f"INTERVAL {expression(size)}" + (f" {unit}" if unit else "")
        case ast.Param(name):
            return f"${name}"
        case ast.Unary("NOT", operand):
            return f"NOT {at_least(operand, NOT)}"
        case ast.Unary(op, operand):
            # `--` would begin a comment
            return f"{op}{at_least(operand, POSTFIX)}"
        case ast.Binary(op, left, right):
            own = level(node)
            leftmost = MATCH if own == COMPARISON else own
            return f"{at_least(left, leftmost)} {op} {at_least(right, own + 1)}"
        case ast.Is(operand, what, negated):
            return f"{at_least(operand, IS)} IS {'NOT ' if negated else ''}{what}"
        case ast.IsDistinct(left, right, negated):
            said = "IS NOT DISTINCT FROM" if negated else "IS DISTINCT FROM"
            return f"{at_least(left, IS)} {said} {at_least(right, COMPARISON)}"
        case ast.Like(operand, pattern, escape, kind, negated):
            said = f"NOT {kind}" if negated else kind
            ending = f" ESCAPE {at_least(escape, OPERATION)}" if escape else ""
            return f"{at_least(operand, OPERATION)} {said} {at_least(pattern, OPERATION)}{ending}"
        case ast.Between(operand, low, high, symmetric, negated):
            said = ("NOT " if negated else "") + "BETWEEN" + (" SYMMETRIC" if symmetric else "")
            bounds = f"{at_least(low, OPERATION)} AND {at_least(high, OPERATION)}"
            return f"{at_least(operand, OPERATION)} {said} {bounds}"
        case ast.InList(operand, items, negated):
            return f"{at_least(operand, OPERATION)} {'NOT ' if negated else ''}IN ({expressions(items)})"
        case ast.InQuery(operand, query, negated):
            return f"{at_least(operand, OPERATION)} {'NOT ' if negated else ''}IN {_nested(query)}"
        case ast.Quantified(op, left, quantifier, query):
            return f"{at_least(left, MATCH)} {op} {quantifier} {_nested(query)}"
        case ast.Exists(query):
            return f"EXISTS {_nested(query)}"
        case ast.Scalar(query):
            return _nested(query)
        case ast.Case(operand, whens, otherwise):
            parts = ["CASE", *([expression(operand)] if operand else [])]
            parts += [f"WHEN {expression(condition)} THEN {expression(value)}" for condition, value in whens]
            parts += [f"ELSE {expression(otherwise)}"] if otherwise else []
            return " ".join([*parts, "END"])
        case ast.Cast(operand, type):
            return f"CAST({expression(operand)} AS {type_name(type)})"
        case ast.Extract(field, operand):
            return f"EXTRACT({quote(field)} FROM {expression(operand)})"
        case ast.Row(items):
            return f"({expressions(items)})" if len(items) > 1 else f"ROW({expressions(items)})"
        case ast.ListOf(items):
            return f"[{expressions(items)}]"
        case ast.Index(operand, index):
            return f"{at_least(operand, POSTFIX)}[{expression(index)}]"
        case ast.Star(qualifier, exclude, replace):
            said = "".join(f"{quote(name)}." for name in qualifier) + "*"
            if exclude:
                said += f" EXCLUDE ({', '.join(map(quote, exclude))})"
            if replace:
                said += f" REPLACE ({', '.join(f'{expression(value)} AS {quote(name)}' for value, name in replace)})"
            return said
        case ast.Named(name, value):
            return f"{quote(name)} => {expression(value)}"
        case ast.Call():
            return _call(node)
        case _:
            assert_never(node)


def type_name(node: ast.TypeName) -> str:
    return node.name + (f"({', '.join(map(str, node.arguments))})" if node.arguments else "")


def order_by(items: Iterable[ast.OrderItem]) -> str:
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}
    said = (f"{expression(item.expr)}{' DESC' if item.descending else ''}{nulls[item.nulls_first]}" for item in items)
    return f"ORDER BY {', '.join(said)}"


def _nested(query: ast.Query) -> str:
    return f"({unparse_queries.query(query)})"


def _call(node: ast.Call) -> str:
    word = node.name.upper()
    if word in _PHRASES and node.args and node == ast.Call(node.name, node.args):
        plain_args = not any(isinstance(arg, ast.Star | ast.Named) for arg in node.args)
        if plain_args and word == "POSITION" and len(node.args) == 2:
            return f"{node.name}({' IN '.join(at_least(arg, OPERATION) for arg in node.args)})"
        if plain_args and word != "POSITION":
            return f"{node.name}({expressions(node.args)})"
    inside = [("DISTINCT " if node.distinct else "") + expressions(node.args)]
    inside += [order_by(node.order)] if node.order else []
    inside += [f"LIMIT {amount(node.limit)}"] if node.limit else []
    inside += [f"{node.nulls} NULLS"] if node.nulls else []
    inside += [unparse_queries.privacy(node.privacy)] if node.privacy else []
    said = f"{function(node.name)}({' '.join(part for part in inside if part)})"
    if node.within_group:
        said += f" WITHIN GROUP ({order_by(node.within_group)})"
    if node.filter:
        said += f" FILTER (WHERE {expression(node.filter)})"
    match node.over:
        case None:
            return said
        case ast.Window():
            return f"{said} OVER ({window(node.over)})"
        case name:
            return f"{said} OVER {quote(name)}"


def window(node: ast.Window) -> str:
    said = [plain(node.base)] if node.base else []
    said += [f"PARTITION BY {expressions(node.partition)}"] if node.partition else []
    said += [order_by(node.order)] if node.order else []
    if node.frame:
        start, end = _edge(node.frame.start), node.frame.end
        said += [f"{node.frame.unit} BETWEEN {start} AND {_edge(end)}" if end else f"{node.frame.unit} {start}"]
    return " ".join(said)


def _edge(node: ast.FrameEdge) -> str:
    if node.size is None:
        return node.kind
    return f"{expression(node.size) if isinstance(node.size, ast.Interval) else amount(node.size)} {node.kind}"
