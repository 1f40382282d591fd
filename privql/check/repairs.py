"""What to write where private rows meet rows that are not their unit's, in the query's own names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from privql.check.named import locates
from privql.check.relations import Label
from privql.check.scope import Scope
from privql.check.typed import Context
from privql.diagnostics import Fix, PrivQLError, Span, refuse
from privql.policy.findings import listing
from privql.syntax import ast, unparse
from privql.syntax.unparse_queries import relation

# The alias of an item of FROM, a column of it, what that locates, and the table that it is a column of.
Named = tuple[str, str, str | None, str | None]


def off_the_unit(left: Iterable[str], right: Iterable[str], node: ast.Select | ast.Join, scope: Scope) -> PrivQLError:
    """Private rows of both sides, known by their columns, that no condition ties to one unit."""
    sides = [_named(scope, frozenset(ids)) for ids in (left, right)]
    one, other = (listing(list(dict.fromkeys(alias for alias, *_ in side))) for side in sides)
    tie = _tie(*sides)
    return refuse(
        "PQL0412",
        f"nothing says that these rows of {one} and of {other} are of the same unit",
        node.relations[0].span.to(node.relations[-1].span) if isinstance(node, ast.Select) else node.span,
        why="otherwise one person's row would meet the rows of everybody",
        help=f"join them on it: `{unparse(tie)}`" if tie else _unnamed(sides),
        fixes=_with(node, tie) if tie else (),
    )


def _named(scope: Scope, ids: frozenset[str] | None = None) -> list[Named]:
    return [
        (item.alias, column.name, column.locates, column.table)
        for item in scope.items
        for column in item.columns
        if column.label is Label.PRIVATE and (ids is None or column.id in ids)
    ]


def _tie(left: list[Named], right: list[Named]) -> ast.Binary | None:
    """An equality of two columns that locate the same unit's rows; of a table's own key, where each row would meet
    only itself, if there is no other."""
    ties = [
        (table == where and not place.startswith("unit "), (alias, name), (other, same))
        for alias, name, place, table in left
        for other, same, there, where in right
        if place is not None and place == there
    ]
    _, one, two = min(ties, key=lambda tie: tie[0], default=(False, (), ()))
    return ast.Binary("=", ast.Column(one), ast.Column(two)) if ties else None


def _unnamed(sides: list[list[Named]]) -> str:
    for side in sides:
        if side and all(place is None for _, _, place, _ in side):
            return f"select the unit's column in `{side[0][0]}`, too, and join on it"
    return "select the unit's column on both sides, and join on it"


def _with(node: ast.Select | ast.Join, tie: ast.Expr) -> tuple[Fix, ...]:
    """The condition, written into the clause that says how these rows meet."""
    said = node.where if isinstance(node, ast.Select) else node.on
    if said is not None:
        return (Fix(said.span, unparse(ast.Binary("AND", said, tie))),)
    if isinstance(node, ast.Select) and node.relations:
        end = node.relations[-1].span.end
        return (Fix(Span(end, end), f" WHERE {unparse(tie)}"),)
    return ()


def keeps_public_rows(node: ast.Join, left: bool) -> PrivQLError:
    """An outer join that would show which public rows nobody met. `left`: the private rows are on its left."""
    kind: Literal["INNER", "LEFT", "RIGHT"] = "INNER" if node.kind != "FULL" else "LEFT" if left else "RIGHT"
    written = relation(replace(node, kind=kind))
    return refuse(
        "PQL0412",
        f"a {node.kind} JOIN that keeps public rows",
        node.span,
        why="a public row that meets nobody would vanish, or appear, with one unit",
        help=f"write {kind} JOIN; groups of listed keys are output even where nobody is in them",
        fixes=(Fix(node.span, written),),
    )


def not_this_units(query: ast.Query, scope: Scope, span: Span, exists: bool, context: Context) -> PrivQLError:
    """A query over private rows inside an expression that nothing ties to the row around it."""
    around = _named(scope)
    body = query.body if isinstance(query.body, ast.Select) else None
    if not around:
        plain = body is not None and exists and not body.group and body.having is None
        return refuse(
            "PQL0412",
            "whether private rows match would show in rows that are nobody's",
            span,
            why="a row that stays, or goes, with one person's row would show that person",
            help="count them: `(SELECT COUNT(*) FROM … WHERE …) > 10` is a release, noisy and paid for",
            fixes=(Fix(span, f"{_count(body)} > 10"),) if plain and body is not None else (),
        )
    tie = _tie(_scanned(body, context), around) if body is not None else None
    return refuse(
        "PQL0412",
        "nothing ties this query to the unit of the row around it",
        span,
        why="otherwise one person's row would depend on the rows of everybody",
        help=(f"add `{unparse(tie)}` to its WHERE" if tie else "compare the unit's column inside it with that outside")
        + ", or aggregate in it: then it is a release",
        fixes=_with(body, tie) if tie is not None and body is not None else (),
    )


def _count(select: ast.Select) -> str:
    count = ast.SelectItem(ast.Call("COUNT", (ast.Star(),)))
    return unparse(ast.Scalar(ast.Query(replace(select, items=(count,), distinct=False))))


def _scanned(select: ast.Select, context: Context) -> list[Named]:
    out: list[Named] = []
    for node in select.relations:
        table = context.env.catalog.table(".".join(node.path)) if isinstance(node, ast.TableRef) else None
        if isinstance(node, ast.TableRef) and table is not None and table.private:
            alias = node.alias or node.path[-1]
            out += [(alias, column.name, locates(column, table), table.name) for column in table.columns]
    return out
