"""Functions in FROM: `generate_series`, `range` and `unnest` of constants - rows that the query itself says."""

from __future__ import annotations

from dataclasses import replace

from privql.check import constants
from privql.check.expressions import typed
from privql.check.operations import agree
from privql.check.relations import Attribute, Columns, Label, Rel, Rows, Where
from privql.check.scope import Scope, unknown_name
from privql.check.typed import Context, Place, Typed
from privql.diagnostics import refuse
from privql.domains import grid_of, interval
from privql.functions.scalar import resolve
from privql.kernel.scalars import BOOL, INT, Const, ValueType
from privql.names import fold
from privql.syntax import ast
from privql.syntax.unparse_queries import relation

MOST_ROWS = 10_000
KNOWN = ("generate_series", "range", "unnest")


def table_function(node: ast.TableFunction, context: Context, outer: Scope) -> tuple[Rel, Columns]:
    name = fold(node.name)
    if name not in KNOWN:
        raise unknown_name(
            "PQL0204", "table function", node.name, node.span, KNOWN, lambda near: relation(replace(node, name=near))
        )
    column = fold(node.alias or node.name)
    if name == "unnest":
        return _listed(node, column, context, outer)
    return _counted(node, column, name == "generate_series", context, outer)


def _listed(node: ast.TableFunction, column: str, context: Context, outer: Scope) -> tuple[Rel, Columns]:
    from privql.check.query import query  # queries read tables, and this one is a query's VALUES

    match node.args:
        case (ast.ListOf(items=items),) if items:
            rows = tuple((item,) for item in items)
            rel, columns = query(ast.Query(ast.Values(rows, span=node.span), span=node.span), context, outer)
            return rel, tuple(context.add(replace(one, name=column)) for one in columns)
        case _:
            raise refuse("PQL0308", "`unnest` takes a list of values", node.span, help="write `unnest([1, 2, 3])`")


def _counted(node: ast.TableFunction, column: str, last: bool, context: Context, outer: Scope) -> tuple[Rel, Columns]:
    """From the first value up to the last - which `range` leaves out - in steps: numbers, or days."""
    args = [_constant(arg, node, context, outer) for arg in node.args]
    if len(args) == 1 and not last:
        args = [Typed(Const(0, INT), args[0].domain, node.span), *args]
    if not 2 <= len(args) <= 3:
        raise refuse(
            "PQL0303", f"`{node.name}` takes two or three arguments", node.span, help=f"write `{node.name}(1, 10)`"
        )
    ends = agree("greatest", args[:2])
    common = resolve("greatest", (ends[0].type, ends[1].type), (None, None))
    type = common.result if common is not None else ends[0].type
    start, stop = (_whole(value, type, node) for value in ends)
    step = _whole(args[2], INT, node) if len(args) == 3 else 1
    if step == 0:
        raise refuse("PQL0302", "a step of 0 leads nowhere", node.args[2].span, help="write 1")
    sign = 1 if step > 0 else -1
    values = range(start, stop + sign if last else stop, step)
    if values[MOST_ROWS:]:
        raise refuse(
            "PQL0308",
            f"`{node.name}` of more than {MOST_ROWS} rows",
            node.span,
            why="every row of it becomes a part of the query",
            help="take larger steps, or read a public table",
        )
    domain = interval(min(values, default=0), max(values, default=0), False, grid_of(type))
    attribute = Attribute(context.fresh(), column, type, domain, Label.PUBLIC, span=node.span)
    rows = tuple((Const(value, type),) for value in values) or ((Const(start, type),),)
    rel: Rel = Rows(((attribute.id, type),), rows)
    return (rel if values else Where(rel, Const(False, BOOL))), (context.add(attribute),)


def _constant(node: ast.Expr, call: ast.TableFunction, context: Context, outer: Scope) -> Typed:
    value = typed(node, Place(context, outer, clause=f"`{call.name}`"))
    if value.free and isinstance(node, ast.Param):
        raise constants.unbound(node, f"how many rows `{call.name}` has")
    if not value.constant:
        raise refuse(
            "PQL0308",
            f"`{call.name}` takes constants",
            node.span,
            help=f"write its rows out to the most that can be, and filter: `… WHERE {call.alias or call.name} <= …`",
        )
    return value


def _whole(value: Typed, type: ValueType, node: ast.TableFunction) -> int:
    if value.text is not None:
        value = constants.literal(value.text, type, value.span)
    if not isinstance(value.term, Const) or type.kind not in ("INT", "DATE") or value.type != type:
        raise refuse(
            "PQL0301",
            f"`{node.name}` takes whole numbers or dates",
            value.span,
            help=f"write `{node.name}(1, 10)`, or `{node.name}(DATE '2025-01-01', DATE '2025-01-31', 7)` for each week",
        )
    found = value.term.value
    if not isinstance(found, int):
        raise refuse("PQL0302", f"`{node.name}` does not take NULL", value.span, help=f"write a {type.kind}")
    return found
