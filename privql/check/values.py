"""VALUES: rows that are written, whose columns each have one type."""

from __future__ import annotations

from privql.check.expressions import storable, typed
from privql.check.operations import agree, coerce
from privql.check.relations import Attribute, Columns, Label, Rel, Rows
from privql.check.scope import Scope
from privql.check.typed import Context, Place, Typed
from privql.diagnostics import Span, refuse
from privql.functions.scalar import resolve
from privql.syntax import ast


def values(node: ast.Values, context: Context, scope: Scope) -> tuple[Rel, Columns]:
    width = len(node.rows[0])
    rows: list[list[Typed]] = []
    for written in node.rows:
        if len(written) != width:
            raise refuse(
                "PQL0307", "the rows of VALUES differ in length", node.span, help="write as many values in each row"
            )
        rows.append([storable(typed(value, Place(context, scope, clause="VALUES"))) for value in written])
    columns = [_column(at, rows, node.span, context) for at in range(width)]
    terms = tuple(tuple(value.term for value in row) for row in rows)
    return Rows(tuple((c.id, c.type) for c in columns), terms), tuple(columns)


def _column(at: int, rows: list[list[Typed]], span: Span, context: Context) -> Attribute:
    """One column of VALUES: the type that all of its values agree on."""
    for row, value in zip(rows, agree("coalesce", [row[at] for row in rows]), strict=True):
        row[at] = value
    type = rows[0][at].type
    for row in rows[1:]:
        common = resolve("coalesce", (type, row[at].type), (None, None))
        if common is None:
            raise refuse("PQL0307", f"{type} and {row[at].type} in one column", row[at].span, help="cast one of them")
        type = common.result
    for row in rows:
        row[at] = coerce(row[at], type)
    domain = rows[0][at].domain
    for row in rows[1:]:
        domain = domain.union(row[at].domain)
    return context.add(Attribute(context.fresh(), f"column{at + 1}", type, domain, Label.PUBLIC, span=span))
