"""WITH RECURSIVE over public and released rows: a query that starts, and a step that is taken until it adds nothing."""

from __future__ import annotations

from dataclasses import replace

from privql.check.named import counted, private, relabel
from privql.check.operations import coerce, not_yet
from privql.check.relations import Attribute, Columns, Compute, Joined, Recursive, Rel, Where, Working
from privql.check.scope import Bound, Scope
from privql.check.typed import Context, Typed
from privql.diagnostics import Span, refuse
from privql.domains import whole
from privql.frozen import inside
from privql.functions.scalar import resolve
from privql.kernel.scalars import Field
from privql.names import fold
from privql.syntax import ast


def recurs(cte: ast.Cte) -> bool:
    """Whether a named query reads itself."""
    todo: list[object] = [cte.query]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.TableRef) and len(node.path) == 1 and fold(node.path[0]) == fold(cte.name):
            return True
        todo.extend(inside(node))
    return False


def recursive(cte: ast.Cte, context: Context, scope: Scope) -> tuple[Rel, Columns]:
    from privql.check.query import query  # queries are made of named queries, and named queries of queries

    union = _union(cte)
    context.recursions.append(cte.span)
    start, first = query(ast.Query(union.left, span=union.left.span), context, scope)
    _free(start, union.left.span)
    first = relabel(first, cte.columns, cte.span, context)
    name = f"step {context.fresh()}"
    columns = _anew(first, context)
    working = Working(name, tuple((column.id, column.type) for column in columns))
    within = Scope(parent=scope, ctes={fold(cte.name): Bound(working, columns, None)})
    step, second = query(ast.Query(union.right, span=union.right.span), context, within)
    _free(step, union.right.span)
    if _times(name, step, context) != 1 or not _reached(step, name):
        raise refuse(
            "PQL0408",
            f"`{cte.name}` is read in a way that cannot be repeated",
            union.right.span,
            why="a step may filter, compute and join the rows of the step before, and read them once",
            help="aggregate, sort or compare with a subquery outside, over the finished rows",
        )
    step, second = _typed_as(first, step, second, cte, union.right.span, context)
    label = max(column.label for column in (*first, *second))
    made = tuple(context.add(replace(column, label=label)) for column in columns)
    out = Recursive(
        name,
        union.all,
        start,
        tuple(column.id for column in first),
        step,
        tuple(column.id for column in second),
        working.columns,
    )
    return out, made


def alone(context: Context) -> None:
    """A recursion may end for some noise and not for other: none is drawn, and nothing paid, in the same statement."""
    if context.recursions and context.blocks:
        raise not_yet(
            "WITH RECURSIVE beside an aggregate of private rows",
            context.recursions[0],
            "keep the aggregates by CREATE RELEASE first, and read that",
        )


def _union(cte: ast.Cte) -> ast.SetOperation:
    query = cte.query
    tail = query.order or query.limit is not None or query.offset is not None or query.privacy is not None or query.ctes
    if not isinstance(query.body, ast.SetOperation) or query.body.op != "UNION" or tail:
        raise refuse(
            "PQL0408",
            f"`{cte.name}` reads itself and is no UNION",
            cte.span,
            why="a recursion is a query that starts, and a step over the rows of the step before",
            help=f"write `{cte.name} AS (SELECT … UNION ALL SELECT … FROM {cte.name} WHERE …)`",
        )
    return query.body


def _free(rel: Rel, span: Span) -> None:
    if private(rel):
        raise not_yet("WITH RECURSIVE over private rows", span, "aggregate them by CREATE RELEASE, and read that")


def _anew(columns: Columns, context: Context) -> Columns:
    """Columns of which only the type is known: a step may make anything of what was there."""
    return tuple(
        context.add(Attribute(context.fresh(), c.name, c.type, whole(c.type), c.label, span=c.span)) for c in columns
    )


def _typed_as(
    first: Columns, step: Rel, second: Columns, cte: ast.Cte, span: Span, context: Context
) -> tuple[Rel, Columns]:
    """The step's columns, of the types that the start has."""
    if len(first) != len(second):
        raise refuse(
            "PQL0307",
            f"`{cte.name}` starts with {counted(len(first), 'column')} and goes on with {len(second)}",
            span,
            help="select as many columns in both",
        )
    cast, made = [], []
    for a, b in zip(first, second, strict=True):
        common = resolve("coalesce", (a.type, b.type), (None, None))
        if common is None or common.result != a.type:
            raise refuse(
                "PQL0307",
                f"`{a.name}` starts as {a.type} and goes on as {b.type}",
                b.span,
                help=f"cast one of them: `CAST(… AS {a.type})` here, or `CAST(… AS {b.type})` at the start",
            )
        value = coerce(Typed(Field(b.id, b.type), context.column_domain(b.id), b.span), a.type)
        column = context.add(replace(b, id=context.fresh(), type=a.type, domain=value.domain))
        cast.append((column.id, value.term))
        made.append(column)
    return Compute(step, tuple(cast)), tuple(made)


def _times(name: str, step: Rel, context: Context) -> int:
    """How often the rows of the step before are read, in queries beside it and inside its expressions too."""
    count = 0
    todo: list[object] = [step, *(rel for _, rel in context.shared), *context.subqueries.values()]
    while todo:
        node = todo.pop()
        count += isinstance(node, Working) and node.name == name
        todo.extend(inside(node))
    return count


def _reached(rel: Rel, name: str) -> bool:
    """Whether each row of the step comes from one row of the step before."""
    match rel:
        case Working():
            return rel.name == name
        case Where(input=below) | Compute(input=below):
            return _reached(below, name)
        case Joined(kind=kind, left=left, right=right, lateral=lateral):
            here = kind in ("INNER", "CROSS", "LEFT") and _reached(left, name)
            return here or (kind in ("INNER", "CROSS", "RIGHT") and not lateral and _reached(right, name))
        case _:
            return False
