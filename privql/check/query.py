"""Queries: CTEs, set operations, VALUES, and the clause that pays for the blocks inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privql.check import bigquery, constants, recursion
from privql.check.arguments import sort_key
from privql.check.around import untouched
from privql.check.beside import one_unit
from privql.check.cut import across_units, no_unit, tells_the_unit
from privql.check.expressions import storable, typed
from privql.check.named import bind, position, private, relabel
from privql.check.needed import needed
from privql.check.opaque import alike
from privql.check.operations import agree, coerce
from privql.check.relations import (
    Attribute,
    CheckedQuery,
    Columns,
    Combined,
    Compute,
    Label,
    Rel,
    Rows,
    Sorted,
    SortKey,
)
from privql.check.scope import Bound, InSight, Scope
from privql.check.select import select
from privql.check.tail import Tail
from privql.check.typed import Context, Place, Typed
from privql.diagnostics import Diagnostic, Fix, Span, refuse
from privql.functions.scalar import resolve
from privql.kernel.scalars import NULL, Const, Field, ValueType
from privql.names import fold
from privql.syntax import ast, unparse


def checked(node: ast.Query, context: Context) -> CheckedQuery:
    """A whole statement's query: what stays private in it has no way out."""
    context.payers.append([])
    rel, columns = query(node, context, Scope())
    recursion.alone(context)
    unpaid = context.payers.pop()
    if unpaid:
        context.clauses.append((None, tuple(unpaid)))
    if private(rel):
        raise _private_output(node)
    made = CheckedQuery(rel, columns, tuple(context.blocks), tuple(context.shared), tuple(context.subqueries.items()))
    return needed(made, context)


def query(node: ast.Query, context: Context, outer: Scope) -> tuple[Rel, Columns]:
    if node.privacy is not None or bigquery.written(node):
        context.payers.append([])
    scope = Scope(parent=outer, ctes=_ctes(node, context, outer)) if node.ctes else outer
    if bigquery.written(node):
        node = bigquery.native(node, context, scope)
    clause = node.privacy
    per_unit = node.limit is not None and node.limit.per_unit
    tail = Tail(node.order, _rows(node, context), _count(node.offset, context, "OFFSET") or 0, per_unit)
    if isinstance(node.body, ast.Select):
        rel, columns = select(node.body, tail, context, scope)
    else:
        rel, columns = _body(node.body, context, scope)
        rel = _ordered(rel, columns, tail, context, scope, node.span)
    if clause is not None:
        paid = context.payers.pop()
        if clause.rows is not None and private(rel):
            raise _kept_private(node, clause, clause.rows)
        if not paid:
            context.notes.append(
                Diagnostic(
                    "PQL0409",
                    "there is nothing to pay for",
                    clause.span,
                    severity="note",
                    why="this query reads no private rows that an outer clause does not pay for",
                )
            )
        if clause.epsilon is None and clause.within is None:
            context.payers[-1].extend(paid)  # it says how to measure, not what to spend: the clause around it pays
            context.manners.append((clause, tuple(paid)))
        else:
            context.clauses.append((clause, tuple(paid)))
    return rel, columns


def _kept_private(node: ast.Query, clause: ast.Privacy, rows: ast.Expr) -> Exception:
    limit = f"LIMIT {unparse(rows)} PER UNIT"
    alone = replace(clause, rows=None, per_unit=None) == ast.Privacy()
    return refuse(
        "PQL0408",
        "AT MOST in a query whose rows stay private cannot be used yet",
        clause.span,
        why="it says how many rows are measured, and here none are",
        help=f"write `{limit}`, or AT MOST at the end of the query that aggregates",
        fixes=(Fix(clause.span, limit),) if alone and node.limit is None and node.offset is None else (),
    )


def _private_output(node: ast.Query) -> Exception:
    span = node.body.items[0].span.to(node.body.items[-1].span) if isinstance(node.body, ast.Select) else node.span
    return refuse(
        "PQL0401",
        "private rows cannot be output",
        span,
        why="each row is one person's; only aggregates can be noised",
        help="aggregate them, for example `SELECT COUNT(*) FROM …`; `FROM DUMMY t` shows invented rows, for their form",
    )


def _ctes(node: ast.Query, context: Context, outer: Scope) -> dict[str, Bound]:
    known: dict[str, Bound] = {}
    for cte in node.ctes:
        if fold(cte.name) in known:
            raise refuse("PQL0205", f"two queries named `{cte.name}`", cte.span, help="rename one")
        around = Scope(parent=outer, ctes=dict(known))
        if node.recursive and recursion.recurs(cte):
            known[fold(cte.name)] = bind(*recursion.recursive(cte, context, around), context)
            continue
        rel, columns = query(cte.query, context, around)
        untouched(rel, cte.span, context)
        known[fold(cte.name)] = bind(rel, relabel(columns, cte.columns, cte.span, context), context)
    return known


def _body(node: ast.Body, context: Context, scope: Scope) -> tuple[Rel, Columns]:
    match node:
        case ast.Select(options=None):
            return select(node, Tail(), context, scope)
        case ast.Select():
            return query(ast.Query(node, span=node.span), context, scope)
        case ast.Query():
            return query(node, context, scope)
        case ast.Values():
            return _values(node, context, scope)
        case ast.SetOperation():
            return _combined(node, context, scope)


def _combined(node: ast.SetOperation, context: Context, scope: Scope) -> tuple[Rel, Columns]:
    left, left_columns = _body(node.left, context, scope)
    right, right_columns = _body(node.right, context, scope)
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


def _values(node: ast.Values, context: Context, scope: Scope) -> tuple[Rel, Columns]:
    width = len(node.rows[0])
    rows: list[list[Typed]] = []
    for written in node.rows:
        if len(written) != width:
            raise refuse(
                "PQL0307", "the rows of VALUES differ in length", node.span, help="write as many values in each row"
            )
        rows.append([storable(typed(value, Place(context, scope, clause="VALUES"))) for value in written])
    columns = [_value_column(at, rows, node.span, context) for at in range(width)]
    terms = tuple(tuple(value.term for value in row) for row in rows)
    return Rows(tuple((c.id, c.type) for c in columns), terms), tuple(columns)


def _value_column(at: int, rows: list[list[Typed]], span: Span, context: Context) -> Attribute:
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


def _ordered(rel: Rel, columns: Columns, tail: Tail, context: Context, scope: Scope, span: Span) -> Rel:
    """ORDER BY of a set operation: by output columns."""
    if not tail.order and tail.limit is None and not tail.offset:
        return rel
    if tail.per_unit and not private(rel):
        raise no_unit(span)
    if private(rel) and (not tail.per_unit or tail.offset or not tail.limit):
        raise across_units(tail, span)
    here = Scope((InSight("", columns),), parent=scope)
    keys: list[SortKey] = []
    for item in tail.order:
        at = position(item.expr, len(columns))
        term = (
            Field(columns[at].id, columns[at].type) if at is not None else typed(item.expr, Place(context, here)).term
        )
        keys.append(sort_key(item, term))
    return Sorted(rel, tuple(keys), tail.limit, tail.offset, private(rel))


def _rows(node: ast.Query, context: Context) -> int | None:
    if node.limit is None:
        return None
    return _count(node.limit.count, context, "LIMIT")


def _count(node: ast.Expr | None, context: Context, clause: str) -> int | None:
    if node is None:
        return None
    value = typed(node, Place(context, Scope(), clause=clause))
    if value.free and isinstance(node, ast.Param):
        raise constants.unbound(node, clause)
    if value.text is not None:
        value = constants.literal(value.text, ValueType("INT"), value.span)
    if not isinstance(value.term, Const) or not isinstance(value.term.value, int) or value.term.value < 0:
        raise refuse("PQL0308", f"{clause} needs a constant whole number", node.span, help=f"write {clause} 10")
    return value.term.value
