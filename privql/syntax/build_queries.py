"""The trees of queries: one function for each rule of the grammar, called with its span and its children."""

from __future__ import annotations

from typing import Any

from privql.diagnostics import Span
from privql.syntax.ast import (
    Body,
    Cte,
    Cube,
    Expr,
    Grouping,
    GroupingSets,
    GroupKey,
    GroupSet,
    Limit,
    Named,
    Number,
    Query,
    Relation,
    Rollup,
    Row,
    Select,
    SelectItem,
    SetOperation,
    Star,
    Values,
    Window,
)
from privql.syntax.build_parts import PRIVACY, Part, gathered, privacy, split

# ---------------------------------------------------------------- the whole


def query(span: Span, *children: Any) -> Query:
    (body,), parts = split(children)
    said = gathered(parts)
    recursive, ctes = said.get("with", (False, ()))
    return Query(body, ctes, recursive, **said.get("tail", {}), span=span)


def with_clause(span: Span, *ctes: Cte) -> Part:
    return Part("with", (False, ctes), span, "WITH")


def with_recursive(span: Span, *ctes: Cte) -> Part:
    return Part("with", (True, ctes), span, "WITH")


def cte(span: Span, name: str, *rest: Any) -> Cte:
    *columns, query = rest
    return Cte(name, columns[0] if columns else (), query, span=span)


def columns(span: Span, *names: str) -> tuple[str, ...]:
    return names


def set_operation(span: Span, left: Body, op: Any, *rest: Any) -> SetOperation:
    (right,), quantifiers = split(rest)
    keeps_all = any(part.value == "ALL" for part in quantifiers)
    return SetOperation(op.upper(), keeps_all, left, right, span=span)


def values(span: Span, *rows: tuple[Expr, ...]) -> Values:
    return Values(rows, span=span)


def value_row(span: Span, items: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return items


def tail(span: Span, *parts: Part) -> Part:
    said = gathered(part for part in parts if part.field not in PRIVACY)
    said["privacy"] = privacy([part for part in parts if part.field in PRIVACY])
    return Part("tail", said, span, "ORDER BY")


def limit(span: Span, *given: Any) -> Part:
    counts, parts = split(given)
    unit = parts[0].value if parts else None
    count = counts[0] if counts else None
    return Part("limit", Limit(count, bool(parts), unit, span=span), span, "LIMIT")


def fetch(span: Span, count: Expr | None = None) -> Part:
    """FETCH FIRST ROW ONLY is one row."""
    return Part("limit", Limit(count or Number("1", span=span), span=span), span, "FETCH")


def offset(span: Span, count: Expr) -> Part:
    return Part("offset", count, span, "OFFSET")


# ---------------------------------------------------------------- SELECT


def select(span: Span, *parts: Part) -> Select:
    said = gathered(parts)
    group = said.get("group", ())
    return Select(
        said["items"],
        distinct=said.get("quantifier") == "DISTINCT",
        relations=said.get("relations", ()),
        where=said.get("where"),
        group=() if group == "ALL" else group,
        group_all=group == "ALL",
        having=said.get("having"),
        windows=said.get("windows", ()),
        qualify=said.get("qualify"),
        options=said.get("options"),
        span=span,
    )


def options(span: Span, *given: Named) -> Part:
    return Part("options", given, span, "OPTIONS")


def option(span: Span, name: str, value: Expr) -> Named:
    return Named(name, value, span=span)


def select_list(span: Span, *items: SelectItem) -> Part:
    return Part("items", items, span, "SELECT")


def select_item(span: Span, expr: Expr, alias: str | None = None) -> SelectItem:
    return SelectItem(expr, alias, span=span)


def select_star(span: Span, star: Star) -> SelectItem:
    return SelectItem(star, span=span)


def star(span: Span, *given: Any) -> Star:
    qualifier, parts = split(given)
    return Star(tuple(qualifier), **gathered(parts), span=span)


def exclude(span: Span, names: str | tuple[str, ...]) -> Part:
    return Part("exclude", (names,) if isinstance(names, str) else names, span, "EXCLUDE")


def replace(span: Span, *replacements: tuple[Expr, str]) -> Part:
    return Part("replace", replacements, span, "REPLACE")


def replacement(span: Span, expr: Expr, name: str) -> tuple[Expr, str]:
    return expr, name


def from_clause(span: Span, *relations: Relation) -> Part:
    return Part("relations", relations, span, "FROM")


def where_clause(span: Span, condition: Expr) -> Part:
    return Part("where", condition, span, "WHERE")


def having_clause(span: Span, condition: Expr) -> Part:
    return Part("having", condition, span, "HAVING")


def qualify_clause(span: Span, condition: Expr) -> Part:
    return Part("qualify", condition, span, "QUALIFY")


def window_clause(span: Span, *windows: tuple[str, Window]) -> Part:
    return Part("windows", windows, span, "WINDOW")


def named_window(span: Span, name: str, window: Window) -> tuple[str, Window]:
    return name, window


# ---------------------------------------------------------------- GROUP BY


def group_clause(span: Span, *groupings: Grouping) -> Part:
    """`GROUP BY (a, b)` is `GROUP BY a, b`."""
    flat: list[Grouping] = []
    for grouping in groupings:
        match grouping:
            case GroupKey(Row(items), None):
                flat += [GroupKey(item, span=item.span) for item in items]
            case _:
                flat.append(grouping)
    return Part("group", tuple(flat), span, "GROUP BY")


def group_all(span: Span) -> Part:
    return Part("group", "ALL", span, "GROUP BY")


def group_key(span: Span, expr: Expr, keys: Part | None = None) -> GroupKey:
    return GroupKey(expr, keys.value if keys else None, span=span)


def keys(span: Span, items: tuple[Expr, ...]) -> Part:
    return Part("keys", items, span, "KEYS")


def keys_query(span: Span, query: Query) -> Part:
    return Part("keys", query, span, "KEYS")


def empty_set(span: Span) -> GroupSet:
    return GroupSet((), span=span)


def group_set(span: Span, expr: Expr) -> Grouping:
    """A set of one key is that key."""
    match expr:
        case Row((item,)):
            return GroupKey(item, span=span)
        case Row(items):
            return GroupSet(items, span=span)
        case _:
            return GroupKey(expr, span=span)


def cube(span: Span, items: tuple[Expr, ...]) -> Cube:
    return Cube(items, span=span)


def rollup(span: Span, items: tuple[Expr, ...]) -> Rollup:
    return Rollup(items, span=span)


def grouping_sets(span: Span, *sets: Grouping) -> GroupingSets:
    return GroupingSets(sets, span=span)
