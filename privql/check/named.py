"""Queries that have a name - CTEs and views - and columns that have a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from privql.check.relations import Around, Columns, Compute, PrivateScan, Rel, Shared
from privql.check.scope import Bound
from privql.check.typed import Context
from privql.diagnostics import Span, refuse
from privql.frozen import inside
from privql.kernel.scalars import Apply, Field, Scalar
from privql.names import fold
from privql.policy.catalog import Column, Table
from privql.syntax import ast


def private(rel: Rel) -> bool:
    """Whether these are rows of persons: read from a private table, and not measured since."""
    todo = [rel]
    while todo:
        at = todo.pop()
        if isinstance(at, PrivateScan | Around):
            return True
        todo.extend(getattr(at, side) for side in ("input", "left", "right") if hasattr(at, side))
    return False


def private_tables(rel: Rel | Scalar, context: Context) -> tuple[str, ...]:
    """The private tables that a relation, or what is computed of it, reads, those included through which their units
    are reached."""
    out: dict[str, None] = {}
    seen: set[str] = set()
    todo: list[object] = [rel]
    while todo:
        match todo.pop():
            case PrivateScan(table=name):
                out[name] = None
                out |= dict.fromkeys(context.env.catalog.reached(name))
            case Field(name=name) if name in context.subqueries:
                if name not in seen:
                    seen.add(name)
                    todo.append(context.subqueries[name])
            case Apply() if not context.subqueries:
                pass
            case node:
                todo.extend(inside(node))
    return tuple(out)


def one_place(tables: Iterable[Table | None], span: Span) -> None:
    """What is measured together is measured by one engine, where the rows are: they are never brought together here."""
    first: Table | None = None
    for table in tables:
        first = first or table
        if table is not None and first is not None and table.place != first.place:
            raise refuse(
                "PQL0414",
                f"the rows of `{first.name}` and of `{table.name}` are in different places",
                span,
                why="private rows are joined where they are, and no engine has both",
                help=f"measure one of them first: its answer may be joined with anything. Or ask the owner to put"
                f" `{table.name}` where `{first.name}` is",
            )


STEPS, LEVELS = 60_000, 150  # of what named queries come to, written out: whoever walks it may recurse


def renamed(bound: Bound, span: Span, context: Context) -> tuple[Rel, Columns]:
    """A reference to a named query, with columns of its own."""
    steps, levels = _written_out(bound.rel, context.sizes)
    context.written += steps
    if context.written > STEPS or levels > LEVELS:
        most, what = (LEVELS, "levels") if levels > LEVELS else (STEPS, "steps")
        raise refuse(
            "PQL0104",
            "what this name stands for is too large",
            span,
            why=f"a named query counts as if it were written wherever it is read, and more than {most} {what} are not",
            help="release what is read again and again, and read the release",
        )
    columns = []
    for column in bound.columns:
        id = context.fresh()
        context.domains[id] = context.column_domain(column.id)
        if column.id in context.public_columns:
            context.public_columns[id] = context.public_columns[column.id]
        columns.append(context.add(replace(column, id=id)))
    pairs = list(zip(columns, bound.columns, strict=True))
    if bound.shared is not None:
        return Shared(bound.shared, tuple((new.id, old.id, old.type) for new, old in pairs)), tuple(columns)
    return Compute(bound.rel, tuple((new.id, Field(old.id, old.type)) for new, old in pairs)), tuple(columns)


def _written_out(rel: object, known: dict[int, tuple[object, int, int]]) -> tuple[int, int]:
    """Of how many records it is made, and how deep. What is in several places is looked at once, and kept meanwhile."""
    if id(rel) not in known:
        below = [_written_out(each, known) for each in inside(rel)]
        steps, levels = 1 + sum(steps for steps, _ in below), 1 + max((levels for _, levels in below), default=0)
        known[id(rel)] = rel, steps, levels
    return known[id(rel)][1:]


def bind(rel: Rel, columns: Columns, context: Context) -> Bound:
    """Name a query: over released or public rows it is computed once; private rows are measured where they are used."""
    if private(rel):
        return Bound(rel, columns, None)
    name = f"q{len(context.shared) + 1}"
    context.shared.append((name, rel))
    return Bound(rel, columns, name)


def relabel(columns: Columns, names: tuple[str, ...], span: Span, context: Context) -> Columns:
    """`AS t (a, b)`."""
    if not names:
        return columns
    if len(names) != len(columns):
        raise refuse(
            "PQL0303", f"{len(names)} names for {counted(len(columns), 'column')}", span, help="name each column once"
        )
    return tuple(context.add(replace(c, name=n)) for c, n in zip(columns, names, strict=True))


def counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def position(node: ast.Expr, count: int) -> int | None:
    """`ORDER BY 2`: which output column, from zero."""
    if not isinstance(node, ast.Number) or not node.text.isdigit():
        return None
    at = int(node.text)
    if not 1 <= at <= count:
        raise refuse(
            "PQL0206",
            f"there is no output column number {at}",
            node.span,
            help=f"write {'1' if count == 1 else f'1 to {count}'}, or a name",
        )
    return at - 1


def locates(column: Column, table: Table) -> str | None:
    """What a column tells of a private row: its unit, or which row of a table it is or refers to, and so its unit."""
    if column.unit is not None:
        return f"unit {fold(column.unit)}"
    if column.references is not None and column.name in table.via:
        return ".".join(map(fold, column.references))
    return f"{fold(table.name)}.{fold(column.name)}" if (column.name,) in table.keys else None
