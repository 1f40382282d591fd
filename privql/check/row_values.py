"""Row values: `(a, b) = (c, d)` and its like, as comparisons of their parts with SQL's meaning of NULL."""

from __future__ import annotations

from collections.abc import Sequence

from privql.check.typed import Place
from privql.diagnostics import Span, refuse
from privql.syntax import ast

_STRICT = {"<": "<", "<=": "<", ">": ">", ">=": ">"}


def by_parts(node: ast.Expr, place: Place) -> ast.Expr | None:
    """A comparison of rows without them; None if this is none."""
    match node:
        case ast.Binary(left=ast.Row() as left, op="=" | "<>" | "!=" | "<" | "<=" | ">" | ">=" as op, right=right):
            return _compared(op, left, right, node.span)
        case ast.IsDistinct(left=ast.Row() as left, right=right, negated=negated):
            tests = [
                ast.IsDistinct(one, other, negated, span=node.span) for one, other in _pairs(left, right, node.span)
            ]
            return _all("AND" if negated else "OR", tests, node.span)
        case ast.InList(operand=ast.Row() as operand, items=items, negated=negated):
            found = _all("OR", [_compared("=", operand, item, node.span) for item in items], node.span)
            return ast.Unary("NOT", found, span=node.span) if negated else found
        case ast.InQuery(operand=ast.Row() as operand, query=query, negated=negated):
            found = _among(operand, query, node.span)
            return ast.Unary("NOT", found, span=node.span) if negated else found
        case _:
            return None


def _pairs(left: ast.Row, right: ast.Expr, span: Span) -> list[tuple[ast.Expr, ast.Expr]]:
    if not isinstance(right, ast.Row) or len(right.items) != len(left.items):
        raise refuse(
            "PQL0301",
            "a row is compared with something else",
            span,
            help=f"compare it with a row of {len(left.items)} values, `(…, …)`",
        )
    return list(zip(left.items, right.items, strict=True))


def _compared(op: str, left: ast.Row, right: ast.Expr, span: Span) -> ast.Expr:
    """Rows are equal if all of their parts are; which is less, the first parts say that differ."""
    *before, last = _pairs(left, right, span)
    if op not in _STRICT:
        tests: list[ast.Expr] = [ast.Binary(op, one, other, span=span) for one, other in (*before, last)]
        return _all("AND" if op == "=" else "OR", tests, span)
    made: ast.Expr = ast.Binary(op, *last, span=span)
    for one, other in reversed(before):
        equal = ast.Binary("AND", ast.Binary("=", one, other, span=span), made, span=span)
        made = ast.Binary("OR", ast.Binary(_STRICT[op], one, other, span=span), equal, span=span)
    return made


def _among(operand: ast.Row, query: ast.Query, span: Span) -> ast.Expr:
    """TRUE if some row is equal; if none is, NULL if one may be."""
    names = tuple(f"part {at + 1}" for at in range(len(operand.items)))
    rows = ast.Derived(query, alias="rows compared", columns=names, span=query.span)
    equal = [
        ast.Binary("=", ast.Column(("rows compared", name), span=span), part, span=span)
        for name, part in zip(names, operand.items, strict=True)
    ]
    maybe = [ast.Binary("OR", test, ast.Is(test, "NULL", False, span=span), span=span) for test in equal]

    def some(tests: Sequence[ast.Expr]) -> ast.Expr:
        item = ast.SelectItem(ast.Number("1", span=span), span=span)
        body = ast.Select((item,), relations=(rows,), where=_all("AND", tests, span), span=span)
        return ast.Exists(ast.Query(body, span=span), span=span)

    found = (some(equal), ast.Boolean(True, span=span))
    unknown = (some(maybe), ast.Null(span=span))
    return ast.Case(None, (found, unknown), ast.Boolean(False, span=span), span=span)


def _all(op: str, tests: Sequence[ast.Expr], span: Span) -> ast.Expr:
    """Halved again and again: a list of a thousand rows is no tree of that depth."""
    if len(tests) == 1:
        return tests[0]
    middle = len(tests) // 2
    return ast.Binary(op, _all(op, tests[:middle], span), _all(op, tests[middle:], span), span=span)
