"""`SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…)`: BigQuery's form, rewritten into this language's own to be checked.

What is written there is kept, with its place: options become the clause at the end of the query, and an aggregate's
bounds become a CLAMP. Bounds per group are of one unit's total in a group: where a unit has one row that is the row's
value, elsewhere the totals are a query of their own (`totals`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from privql.check.calls import aggregates_in
from privql.check.contributions import PER_GROUP, PER_ROW, is_total, plain, total, twice, unknown
from privql.check.named import private
from privql.check.operations import not_yet
from privql.check.public_groups import public_groups
from privql.check.relations import Attribute, Compute, Label, PrivateScan, Rel, Where
from privql.check.scope import Scope, unknown_name
from privql.check.sources import sources
from privql.check.totals import in_totals
from privql.check.typed import Context
from privql.diagnostics import Fix, refuse
from privql.frozen import rebuilt
from privql.names import fold
from privql.syntax import ast, unparse

OPTIONS = (
    "epsilon",
    "delta",
    "max_groups_contributed",
    "max_rows_contributed",
    "privacy_unit_column",
    "group_selection_strategy",
)
PUBLIC_GROUPS = "PUBLIC_GROUPS"
STRATEGIES = ("LAPLACE_THRESHOLD", PUBLIC_GROUPS)
_OLDER = {"kappa": "max_groups_contributed", "k_threshold": "delta"}


def written(node: ast.Query) -> bool:
    return isinstance(node.body, ast.Select) and node.body.options is not None


def native(node: ast.Query, context: Context, outer: Scope) -> ast.Query:
    """The same query without the form."""
    select = node.body
    assert isinstance(select, ast.Select)
    options = _options(select)
    if _strategy(options) == PUBLIC_GROUPS:
        select = public_groups(select, lambda each: not private(_rows((each,), context, outer)[0]))
        node = replace(node, body=select)
    rel, scope = _rows(select.relations, context, outer)
    if not any(column.label is Label.PRIVATE for column in scope.everything()):
        raise refuse(
            "PQL0108",
            "there is nothing private in FROM",
            select.span,
            why="WITH DIFFERENTIAL_PRIVACY says how private rows are measured; public and released ones cost nothing",
            help="leave `WITH DIFFERENTIAL_PRIVACY OPTIONS (…)` out",
        )
    unit = _unit(options.get("privacy_unit_column"), scope)
    groups, rows = options.get("max_groups_contributed"), options.get("max_rows_contributed")
    bounded = [arg for call in _aggregates(node) for arg in call.args if isinstance(arg, ast.Named) and is_total(arg)]
    if rows is not None and (groups is not None or bounded):
        other = groups or bounded[0]
        raise refuse(
            "PQL0108",
            f"`max_rows_contributed` and `{other.name}` do not go together",
            other.span,
            why="one bounds what a row adds, the other what a unit adds to a group",
            help=f"write `max_groups_contributed` and `{PER_GROUP}`, or `max_rows_contributed` and `{PER_ROW}`",
        )
    clause = _clause(node, select, options, rows)
    if (groups is not None or bounded) and not _one_row(rel, context):
        node, clause = _in_totals(node, groups, bounded, unit, scope, clause)
    body, order = rebuilt((node.body, node.order), plain)
    return replace(node, body=replace(body, options=None), order=order, privacy=clause)


# ---------------------------------------------------------------- options


def _options(select: ast.Select) -> dict[str, ast.Named]:
    out: dict[str, ast.Named] = {}
    for option in select.options or ():
        name = fold(option.name)
        if name == "min_privacy_units_per_group":
            raise not_yet(f"the option `{option.name}`", option.span, "leave it out, and write HAVING COUNT(*) >= n")
        if name in _OLDER:
            raise refuse("PQL0209", f"no option named `{option.name}`", option.span, help=f"write `{_OLDER[name]}`")
        if name not in OPTIONS:
            raise unknown("option", option, OPTIONS, "=")
        if name in out:
            raise twice(option.name, option.span)
        out[name] = option
    for name in ("max_groups_contributed", "max_rows_contributed"):
        if name in out:
            _whole(out[name])
    return out


def _whole(option: ast.Named) -> None:
    """NULL leaves unbounded what one unit adds, and 0 leaves nothing."""
    if isinstance(option.value, ast.Null) or (isinstance(option.value, ast.Number) and not _positive(option.value)):
        raise refuse(
            "PQL0308",
            f"`{option.name}` needs a whole number of at least 1",
            option.value.span,
            help=f"write `{option.name} = 1`, or leave it out",
        )


def _positive(number: ast.Number) -> bool:
    value = Fraction(number.text)
    return value >= 1 and value.denominator == 1


def _strategy(options: dict[str, ast.Named]) -> str | None:
    chosen = options.get("group_selection_strategy")
    if chosen is None:
        return None
    text = _word(chosen.value)
    if text.upper() not in STRATEGIES:
        raise unknown_name("PQL0209", "group selection strategy", text, chosen.value.span, STRATEGIES, str)
    return text.upper()


def _word(value: ast.Expr) -> str:
    return value.value if isinstance(value, ast.String) else unparse(value)


def _clause(node: ast.Query, select: ast.Select, options: dict[str, ast.Named], rows: ast.Named | None) -> ast.Privacy:
    """The clause at the end of the query, and what the options say."""
    clause = node.privacy
    if clause is None:
        spans = [option.span for option in options.values()]
        clause = ast.Privacy(span=spans[0].to(spans[-1]) if spans else select.span)
    for field, option in (("epsilon", options.get("epsilon")), ("delta", options.get("delta")), ("rows", rows)):
        if option is not None:
            if getattr(clause, field) is not None or (field == "epsilon" and clause.within is not None):
                raise twice(option.name, option.span)
            said: dict[str, Any] = {field: option.value}
            clause = replace(clause, **said)
    return clause


# ---------------------------------------------------------------- whose rows these are


def _rows(relations: tuple[ast.Relation, ...], context: Context, outer: Scope) -> tuple[Rel, Scope]:
    """FROM, checked beforehand and apart: what it measures is not measured twice."""
    apart = {field.name: copy(getattr(context, field.name)) for field in fields(context)}
    return sources(relations, Context(**{**apart, "payers": [[]]}), outer)


def _unit(option: ast.Named | None, scope: Scope) -> ast.Column | None:
    """The column that tells the unit, if there is one in sight."""
    units = [column for column in scope.everything() if column.unit is not None]
    if option is None:
        return ast.Column((units[0].name,)) if len(units) == 1 else None
    found: list[Attribute] = []
    if isinstance(option.value, ast.Column):
        found = scope.find(option.value.path)
    if isinstance(option.value, ast.Column) and any(column.unit is not None for column in found):
        return option.value
    names = [column.name for column in units]
    raise refuse(
        "PQL0108",
        f"`{_word(option.value)}` does not tell whose a row is",
        option.value.span,
        why="the owner's policy says which column does",
        help=f"write `privacy_unit_column = {names[0]}`, or leave it out" if names else "leave it out",
        fixes=(Fix(option.value.span, unparse(ast.Column((names[0],)))),) if names else (),
    )


def _one_row(rel: Rel, context: Context) -> bool:
    while isinstance(rel, Where | Compute):
        rel = rel.input
    table = context.env.catalog.table(rel.table) if isinstance(rel, PrivateScan) else None
    return table is not None and table.one_row_per_unit


def _in_totals(
    node: ast.Query,
    groups: ast.Named | None,
    bounded: list[ast.Named],
    unit: ast.Column | None,
    scope: Scope,
    clause: ast.Privacy,
) -> tuple[ast.Query, ast.Privacy]:
    assert isinstance(node.body, ast.Select)
    at = groups.span if groups is not None else bounded[0].span
    if unit is None:
        raise refuse(
            "PQL0108",
            "nothing says which column tells the unit",
            at,
            help="write `privacy_unit_column = …`, the column that the policy declares UNIT",
        )
    if groups is None and node.body.group:
        raise refuse(
            "PQL0407",
            "one unit may be in any number of groups",
            at,
            why="sensitivity: a group's bound x groups per unit = ∞",
            help="add the option `max_groups_contributed = 1`",
        )
    for call in _aggregates(node):
        if not any(isinstance(arg, ast.Named) and is_total(arg) for arg in call.args):
            raise refuse(
                "PQL0402",
                f"`{call.name}` needs a bound for each group",
                call.span,
                why="one unit may own many rows, and so any total of a group",
                help=f"add the argument `{PER_GROUP} => (0, 10)`",
            )
    if clause.rows is not None or clause.groups is not None:
        raise twice("AT MOST", at)
    limit = groups.value if groups is not None else ast.Number("1", span=at)
    bare = replace(unit, span=at)
    return in_totals(node, bare, scope, total), replace(clause, rows=limit)


def _aggregates(node: ast.Query) -> list[ast.Call]:
    body = node.body
    assert isinstance(body, ast.Select)
    return list(aggregates_in((body.items, body.having, body.windows, body.qualify, node.order)))
