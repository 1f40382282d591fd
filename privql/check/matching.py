"""Operators whose right side fixes what they do: patterns, and the fields of a JSON document."""

from __future__ import annotations

from privql.check import expressions as ex
from privql.check.operations import apply, negated
from privql.check.typed import Place, Typed, const
from privql.diagnostics import refuse
from privql.functions.scalar.documents import path, steps
from privql.kernel.scalars import TEXT, Const
from privql.syntax import ast, unparse

MATCHES = frozenset({"~", "~*", "!~", "!~*"})
ARROWS = frozenset({"->", "->>"})


def like(node: ast.Like, place: Place) -> Typed:
    parts = [ex.typed(node.operand, place), _fixed(ex.typed(node.pattern, place), "pattern", f"{node.kind} ")]
    if node.escape is not None:
        parts.append(_fixed(ex.typed(node.escape, place), "pattern", f"{node.kind} "))
    op = {"LIKE": "like", "ILIKE": "ilike", "SIMILAR TO": "similar"}[node.kind]
    return negated(apply(op, parts, node.span, node.kind), node.negated)


def regular(node: ast.Binary, place: Place) -> Typed:
    parts = [ex.typed(node.left, place), _fixed(ex.typed(node.right, place), "pattern")]
    if node.op.endswith("*"):
        parts.append(const("i", TEXT, node.span))
    return negated(apply("regexp_like", parts, node.span, node.op), node.op.startswith("!"))


def field(node: ast.Binary, place: Place) -> Typed:
    """`x -> 'a' ->> 'b'` is one way into one document: there is no JSON to hold what lies between."""
    if node.op == "->":
        raise refuse(
            "PQL0301",
            "`->` gives JSON, which is no type here",
            node.span,
            why="only a string, a number or a truth value can be taken out of a document, as text",
            help=f"write `{unparse(ast.Binary('->>', node.left, node.right, span=node.span))}`",
        )
    way: list[str] = []
    document: ast.Expr = node
    while isinstance(document, ast.Binary) and document.op in ARROWS and (document is node or document.op == "->"):
        way.append(_step(_fixed(ex.typed(document.right, place), "field's name")))
        document = document.left
    whole = const("$" + "".join(reversed(way)), TEXT, node.span)
    return apply("json_value", [ex.typed(document, place), whole], node.span, node.op)


def _step(given: Typed) -> str:
    """A field's name, an element's number, or a path of its own, as in MySQL and DuckDB."""
    assert isinstance(given.term, Const)
    match given.term.value:
        case int() as number if not isinstance(number, bool):
            return path((number,))[1:]
        case str() as name if name.startswith(("$.", "$[")) and steps(name) is not None:
            return name[1:]
        case str() as name:
            return path((name,))[1:]
        case _:
            raise refuse(
                "PQL0301", "a field has a name, and an element a number", given.span, help="write `->> 'field'`"
            )


def _fixed(part: Typed, what: str, kind: str = "") -> Typed:
    if part.free or not part.constant:
        raise refuse(
            "PQL0308",
            f"a {kind}{what} must be constant",
            part.span,
            why=f"a {what} made of data has no fixed cost",
            help=f"write the {what} as a string, or bind its parameter",
        )
    return part
