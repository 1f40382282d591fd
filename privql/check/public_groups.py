"""`group_selection_strategy = PUBLIC_GROUPS`: the groups that an outer join with a public list keeps, as KEYS.

`… FROM t RIGHT JOIN (SELECT DISTINCT k FROM list) USING (k) GROUP BY k` shows every k of the list, whoever is in it. So
it is `… FROM t JOIN (SELECT DISTINCT k FROM list) USING (k) GROUP BY k KEYS (SELECT DISTINCT k FROM list)`: rows that
are nobody's are not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from privql.diagnostics import refuse
from privql.names import fold
from privql.syntax import ast

# Whether a relation of FROM has no private rows.
Public = Callable[[ast.Relation], bool]


def public_groups(select: ast.Select, public: Public) -> ast.Select:
    lists: dict[str, ast.Query] = {}
    relations = tuple(_met(relation, public, lists) for relation in select.relations)
    group = tuple(_known(key, lists, select) for key in select.group)
    return replace(select, relations=relations, group=group)


def _met(relation: ast.Relation, public: Public, lists: dict[str, ast.Query]) -> ast.Relation:
    """The joins that keep a public list, without what they keep; the lists by the name of their column."""
    if not isinstance(relation, ast.Join):
        return relation
    left, right = (_met(side, public, lists) for side in (relation.left, relation.right))
    kept = {"RIGHT": right, "LEFT": left}.get(relation.kind)
    if kept is None or not public(kept):
        return replace(relation, left=left, right=right)
    column = _listed(kept)
    if column is None or not isinstance(kept, ast.Derived):
        raise refuse(
            "PQL0108",
            "PUBLIC_GROUPS needs a list of one column",
            kept.span,
            why="each group is a value of the list, and is shown whoever is in it",
            help="join with `(SELECT DISTINCT k FROM …)`, or write INNER JOIN and `GROUP BY k KEYS (…)`",
        )
    lists[column] = kept.query
    return replace(relation, kind="INNER", left=left, right=right)


def _listed(relation: ast.Relation) -> str | None:
    """The column of `(SELECT DISTINCT k FROM …)`."""
    if not isinstance(relation, ast.Derived) or not isinstance(relation.query.body, ast.Select):
        return None
    body = relation.query.body
    if not body.distinct or len(body.items) != 1:
        return None
    (item,) = body.items  # of `*` nothing says what it is called
    named = item.expr.path[-1] if isinstance(item.expr, ast.Column) else None
    told = relation.columns[0] if relation.columns else item.alias or named
    return None if told is None else fold(told)


def _known(key: ast.Grouping, lists: dict[str, ast.Query], select: ast.Select) -> ast.Grouping:
    if not isinstance(key, ast.GroupKey) or key.keys is not None:
        return key
    expr = key.expr
    if isinstance(expr, ast.Number) and expr.text.isdigit() and 1 <= int(expr.text) <= len(select.items):
        expr = select.items[int(expr.text) - 1].expr
    if isinstance(expr, ast.Column) and fold(expr.path[-1]) in lists:
        return replace(key, keys=lists[fold(expr.path[-1])])
    return key
