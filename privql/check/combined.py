"""UNION, INTERSECT and EXCEPT: columns that agree by position, and private rows that stay within their unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privql.check.beside import one_unit
from privql.check.named import private
from privql.check.opaque import alike
from privql.check.operations import agree, coerce
from privql.check.private_rows import tells_the_unit
from privql.check.relations import Attribute, Columns, Combined, Compute, Rel
from privql.check.typed import Context, Typed
from privql.diagnostics import refuse
from privql.functions.scalar import resolve
from privql.kernel.scalars import NULL, Const, Field, ValueType
from privql.syntax import ast


def combined(
    node: ast.SetOperation, one: tuple[Rel, Columns], other: tuple[Rel, Columns], context: Context
) -> tuple[Rel, Columns]:
    (left, left_columns), (right, right_columns) = one, other
    if len(left_columns) != len(right_columns):
        raise refuse(
            "PQL0307",
            f"{node.op} of {len(left_columns)} and {len(right_columns)} columns",
            node.span,
            help="select as many columns on both sides",
        )
    types = []
    lefts, rights = _values_of(left, left_columns, context), _values_of(right, right_columns, context)
    for at, (a, b) in enumerate(zip(left_columns, right_columns, strict=True)):
        lefts[at], rights[at] = agree("coalesce", [lefts[at], rights[at]])
        common = resolve("coalesce", (lefts[at].type, rights[at].type), (None, None))
        if common is None:
            raise refuse(
                "PQL0307",
                f"{node.op} of {a.type} `{a.name}` and {b.type} `{b.name}`",
                node.span,
                help="cast one of them",
            )
        types.append(common.result)
    left, left_columns = _cast_columns(left, left_columns, lefts, types, context)
    right, right_columns = _cast_columns(right, right_columns, rights, types, context)
    columns = []
    for a, b in zip(left_columns, right_columns, strict=True):
        domain = context.column_domain(a.id).union(context.column_domain(b.id))
        label = max(a.label, b.label)
        made = Attribute(context.fresh(), a.name, a.type, domain, label, span=a.span)
        if all(context.column_domain(side.id).values != () for side in (a, b)):  # a side of NULLs is like any other
            alike(a, b, node.span)
        visible = all(side.visible for side in (a, b) if side.unit is not None)
        made = replace(made, unit=a.unit or b.unit, hidden=a.hidden or b.hidden, visible=visible)
        if a.locates == b.locates:
            made = replace(made, locates=a.locates)
        columns.append(context.add(made))
    if private(left) or private(right):
        _within_units(node, left, right, columns, context)
    out = Combined(
        node.op,
        node.all,
        left,
        tuple(c.id for c in left_columns),
        right,
        tuple(c.id for c in right_columns),
        tuple((c.id, c.type) for c in columns),
    )
    return out, tuple(columns)


def _within_units(
    node: ast.SetOperation, left: Rel, right: Rel, columns: Sequence[Attribute], context: Context
) -> None:
    """Private rows combine with private rows of the same unit: all of both, or row by row if the rows tell whose."""
    if not (private(left) and private(right)):
        side = node.right if private(left) else node.left
        raise refuse(
            "PQL0412",
            f"{node.op} of private rows with rows that are nobody's",
            side.span,
            why="a row of the result would belong to no unit",
            help="aggregate the private side, then combine the answers",
        )
    one_unit(left, right, node.span, context)
    if (node.op == "UNION" and node.all) or tells_the_unit(columns, context):
        return
    raise refuse(
        "PQL0412",
        f"{node.op}{' ALL' if node.all else ''} of private rows that do not tell their unit",
        node.span,
        why="whether one person's row stays would depend on the rows of everybody",
        help="select the unit's column on both sides" + (", or write UNION ALL" if node.op == "UNION" else ""),
    )


def _values_of(rel: Rel, columns: Columns, context: Context) -> list[Typed]:
    """Each column of a side; one that is a string or a NULL written there takes the other side's type."""
    written = dict(rel.columns) if isinstance(rel, Compute) else {}
    out = []
    for column in columns:
        match written.get(column.id):
            case Const(value=None):
                out.append(Typed(Const(None, NULL), context.column_domain(column.id), column.span))
            case Const(value=str() as text) as term:
                out.append(Typed(term, context.column_domain(column.id), column.span, text=text))
            case _:
                field = Field(column.id, column.type)
                out.append(Typed(field, context.column_domain(column.id), column.span))
    return out


def _cast_columns(
    rel: Rel, columns: Columns, values: list[Typed], types: list[ValueType], context: Context
) -> tuple[Rel, Columns]:
    if all(c.type == t for c, t in zip(columns, types, strict=True)):
        return rel, columns
    cast, out = [], []
    for column, given, type in zip(columns, values, types, strict=True):
        value = coerce(given, type)
        new = context.add(replace(column, id=context.fresh(), type=type, domain=value.domain))
        cast.append((new.id, value.term))
        out.append(new)
    return Compute(rel, tuple(cast)), tuple(out)
