"""Queries: CTEs, the order and the number of rows, and the clause that pays for the blocks inside."""

from __future__ import annotations

from dataclasses import replace

from privql.check import bigquery, constants, recursion
from privql.check.arguments import sort_key
from privql.check.around import untouched
from privql.check.combined import combined
from privql.check.copied import not_copied_too_often
from privql.check.exposed import measured_alone, nothing_around, nothing_private
from privql.check.expressions import typed
from privql.check.named import bind, position, private, relabel
from privql.check.needed import needed
from privql.check.private_rows import across_units, no_unit
from privql.check.relations import (
    CheckedQuery,
    Columns,
    Rel,
    Sorted,
    SortKey,
)
from privql.check.scope import Bound, InSight, Scope
from privql.check.select import select
from privql.check.tail import Tail
from privql.check.told import among_released_rows
from privql.check.typed import Context, Place
from privql.check.values import values
from privql.diagnostics import Diagnostic, Fix, Span, refuse
from privql.kernel.scalars import INT, Const, Field
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
    made = CheckedQuery(
        rel,
        columns,
        tuple(context.blocks),
        tuple(context.shared),
        tuple(context.subqueries.items()),
        tuple(context.told.items()),
    )
    if context.told:
        among_released_rows(made, context)
    made = needed(made, context)
    nothing_private(made.rel, made, node.span)
    nothing_around(made.rel, made, node.span)
    for block in made.blocks:
        measured_alone(block, made)
    not_copied_too_often(made, node.span)
    return made


def query(node: ast.Query, context: Context, outer: Scope) -> tuple[Rel, Columns]:
    if node.privacy is not None and node.privacy.schedule is not None:
        raise refuse(
            "PQL0512",
            "only a release with a name is made again and again",
            node.privacy.schedule.span,
            why="it is by its name that the next run is known",
            help="write `CREATE RELEASE daily AS SELECT … EVERY DAY FOR 90 RUNS SPEND EPSILON 1`",
        )
    if node.privacy is not None or bigquery.written(node):
        context.payers.append([])
    scope = Scope(parent=outer, ctes=_ctes(node, context, outer)) if node.ctes else outer
    if bigquery.written(node):
        node = bigquery.native(node, context, scope)
    limit = node.limit or ast.Limit(None)
    most, offset = _count(limit.count, context, "LIMIT"), _count(node.offset, context, "OFFSET")
    tail = Tail(node.order, most, offset or 0, limit.per_unit)
    if isinstance(node.body, ast.Select):
        rel, columns = select(node.body, tail, context, scope)
    else:
        rel, columns = _body(node.body, context, scope)
        rel = _ordered(rel, columns, tail, context, scope, node.span)
    if node.privacy is not None:
        if node.privacy.rows is not None and private(rel):
            raise _kept_private(node, node.privacy, node.privacy.rows)
        _pays(node.privacy, context)
    return rel, columns


def _pays(clause: ast.Privacy, context: Context) -> None:
    """For the blocks inside that no clause further inside pays for."""
    paid = context.payers.pop()
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
    select = node.body if isinstance(node.body, ast.Select) else None
    advice = "aggregate them, for example `SELECT COUNT(*) FROM …`; `FROM DUMMY t` shows invented rows, for their form"
    if select is not None and (select.group or select.group_all):
        example = "`SELECT AVG(CLAMP(n, 0, 9)) FROM (SELECT …, COUNT(*) AS n FROM … GROUP BY …) AS t`"
        advice = f"each group is one person's: aggregate over all of them, for example {example}"
    return refuse(
        "PQL0401",
        "private rows cannot be output",
        select.items[0].span.to(select.items[-1].span) if select is not None else node.span,
        why="each row is one person's; only aggregates can be noised",
        help=advice,
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
            return values(node, context, scope)
        case ast.SetOperation():
            return combined(node, _body(node.left, context, scope), _body(node.right, context, scope), context)


def _ordered(rel: Rel, columns: Columns, tail: Tail, context: Context, scope: Scope, span: Span) -> Rel:
    """ORDER BY of a set operation: by output columns."""
    if not tail.written:
        return rel
    if tail.per_unit and not private(rel):
        raise no_unit(span)
    if private(rel) and not tail.of_each_unit:
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


def _count(node: ast.Expr | None, context: Context, clause: str) -> int | None:
    if node is None:
        return None
    value = typed(node, Place(context, Scope(), clause=clause))
    if value.free and isinstance(node, ast.Param):
        raise constants.unbound(node, clause)
    if value.text is not None:
        value = constants.literal(value.text, INT, value.span)
    count = value.term.value if isinstance(value.term, Const) and value.type == INT else None
    if not isinstance(count, int) or count < 0:
        raise refuse("PQL0308", f"{clause} needs a constant whole number", node.span, help=f"write {clause} 10")
    return count
