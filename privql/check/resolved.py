"""A name in an expression to the column that it stands for, and whose rows that may tell."""

from __future__ import annotations

from dataclasses import replace

from privql.check.opaque import readable
from privql.check.operations import VOLATILE, apply, volatile
from privql.check.relations import Attribute
from privql.check.typed import Place, Typed
from privql.diagnostics import Fix, PrivQLError, refuse
from privql.kernel.scalars import Field
from privql.names import fold
from privql.syntax import ast, unparse


def column(node: ast.Column, place: Place) -> Typed:
    alias = place.aliases.get(fold(node.path[0])) if len(node.path) == 1 else None
    if alias is not None and (place.alias_rule == "first" or not place.scope.find(node.path)):
        return replace(alias, span=node.span)
    if len(node.path) == 1 and fold(node.path[0]) in VOLATILE and not place.scope.find(node.path):
        raise volatile(node.path[0], node.span)
    attribute = _resolved(node, place)
    readable(attribute, node.span)
    place.context.used[attribute.id] = node.span
    return Typed(Field(attribute.id, attribute.type), place.domain(attribute.id), node.span)


def _resolved(node: ast.Column, place: Place) -> Attribute:
    try:
        return place.scope.resolve(node.path, node.span)
    except PrivQLError as unknown:
        made = place.not_yet.get(fold(node.path[0])) if len(node.path) == 1 else None
        (found,) = unknown.diagnostics
        if made is not None and found.code == "PQL0202":
            raise _of_the_output(node, made) from None
        if not found.fixes:
            _meant_as_text(node, place)
        raise


def _of_the_output(node: ast.Column, made: ast.Expr) -> PrivQLError:
    """WHERE age_group = 3, where the select list makes it."""
    from privql.check.calls import aggregates_in, windows_in  # calls are made of names

    name = node.path[0]
    clause = "HAVING" if any(aggregates_in(made)) else "QUALIFY" if any(windows_in(made)) else None
    whole = isinstance(made, ast.Column | ast.Call | ast.Case | ast.Cast)
    written = unparse(made) if whole else f"({unparse(made)})"
    return refuse(
        "PQL0202",
        f"no column named `{name}` in WHERE",
        node.span,
        why=f"WHERE sees the columns of FROM, and `{name}` is one of the output",
        help=f"ask that in {clause}" if clause else f"repeat what it is, `{written}`",
        fixes=() if clause else (Fix(node.span, written),),
    )


def _meant_as_text(node: ast.Column, place: Place) -> None:
    """`region = "north"`: in SQL, double quotes make a name."""
    source = place.context.source
    if len(node.path) == 1 and source is not None and source.at(node.span).startswith('"'):
        text = "'" + node.path[0].replace("'", "''") + "'"
        raise refuse(
            "PQL0202",
            f"no column named `{node.path[0]}`",
            node.span,
            why="double quotes make a name, single quotes a text",
            help=f"if you mean the text, write `{text}`",
            fixes=(Fix(node.span, text),),
        ) from None


def identifier(node: ast.Expr, place: Place) -> Typed | None:
    """A unit's identifier, where it may be counted, grouped by or compared with its like: all else is forbidden."""
    if not isinstance(node, ast.Column) or (len(node.path) == 1 and not place.scope.find(node.path) and place.aliases):
        return None
    attribute = _resolved(node, place)
    if attribute.unit is None or attribute.hidden:
        return None
    place.context.used[attribute.id] = node.span
    return Typed(Field(attribute.id, attribute.type), place.domain(attribute.id), node.span)


def identifiers(node: ast.Binary, place: Place) -> Typed | None:
    """Two identifiers of the same unit may be compared: that tells nothing but whose rows they are."""
    left, right = identifier(node.left, place), identifier(node.right, place)
    if left is None or right is None:
        return None
    units = {place.context.attributes[side.term.name].unit for side in (left, right) if isinstance(side.term, Field)}
    return apply("eq", [left, right], node.span) if len(units) == 1 else None
