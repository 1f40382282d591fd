"""What would cost less: the query written in another way, checked and priced again like any query.

A function proposes rewrites of one kind. A proposal is shown only if it passes the checker, measures as many numbers,
none of them less exactly, and spends no more: what is printed is the difference of the two plans. Most ask for less
than the query does - fewer rows of a unit, a narrower range - and say so: the analyst knows whether that will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privql.frozen import frozen, rebuilt
from privql.kernel.scalars import ValueType
from privql.pipeline.check import check_statement
from privql.pipeline.gains import difference, gained
from privql.pipeline.narrower import narrower
from privql.pipeline.report import StatementCheck
from privql.pipeline.whether import only_whether
from privql.syntax import ast
from privql.syntax.unparse_queries import privacy

_SHOWN = 3


@frozen
class Hint:
    """`query`: the whole of it, rewritten. `gain`: by how much the error shrinks, or ε."""

    what: str
    query: ast.Query
    price: str
    gain: Fraction


Proposal = tuple[str, ast.Query]


def cheaper(check: StatementCheck) -> list[Hint]:
    """The best of what is cheaper, the cheapest first."""
    query = _asked(check.statement)
    if query is None or check.replay or check.plan is None or not check.plan.blocks or not check.plan.epsilon.known:
        return []
    if check.plan.searches:  # what the noise will be, depends on the bounds that are found
        return []
    found = []
    for propose in (listed_keys, fewer_rows, only_whether, narrower):
        for what, rewritten in propose(query, check):
            again, _ = check_statement(rewritten, check.span, check.source, check.env)
            if again.plan is None or _names(again) != _names(check):
                continue
            gain = gained(check.plan, again.plan)
            if gain is not None and (said := difference(check.plan, again.plan)):
                found.append(Hint(what, rewritten, said, gain))
    return sorted(found, key=lambda hint: -hint.gain)[:_SHOWN]


def _names(check: StatementCheck) -> list[str]:
    return [column.name for column in check.query.columns] if check.query is not None else []


def _asked(statement: ast.Statement | None) -> ast.Query | None:
    match statement:
        case ast.Query():
            return statement
        case ast.CreateRelease(query=query):
            return query
        case ast.Explain(statement=inner):
            return _asked(inner)
        case _:
            return None


# ---------------------------------------------------------------- the rewrites


def listed_keys(query: ast.Query, check: StatementCheck) -> Iterator[Proposal]:
    """Groups that are stated need no search: no δ, and no half of ε. How many are stated changes no price."""
    assert check.plan is not None
    looked = [key for selection in check.plan.selections for key in selection.keys]
    unlisted = {key.span: example for key in looked if (example := _example(key.type)) is not None}
    if not unlisted or len(unlisted) < len(looked):
        return

    def change(node: Any) -> Any:
        if isinstance(node, ast.GroupKey) and node.keys is None and node.expr.span in unlisted:
            return replace(node, keys=(unlisted[node.expr.span],))
        if isinstance(node, ast.Privacy):
            return replace(node, delta=None, groups=None, per_unit=node.per_unit if node.rows else None)
        return None

    names = " and ".join(f"`{key.name} KEYS (…)`" for key in looked)
    yield f"state the groups that you know, {names}", rebuilt(query, change)


def _example(type: ValueType) -> ast.Expr | None:
    match type.kind:
        case "TEXT":
            return ast.String("…")
        case "INT" | "DECIMAL" | "FLOAT":
            return ast.Number("1")
        case "DATE":
            return ast.Typed("DATE", "2024-01-01")
        case _:
            return None


def fewer_rows(query: ast.Query, check: StatementCheck) -> Iterator[Proposal]:
    """Half as many rows of a unit."""
    assert check.plan is not None
    most, block = max(((plan.lowered.rows or 1, plan.block) for plan in check.plan.blocks), key=lambda pair: pair[0])
    if most < 2:
        return
    half = ast.Number(str(most // 2))
    clause = replace(query.privacy or ast.Privacy(span=check.span), rows=half)
    rows = "1 row" if most // 2 == 1 else f"{most // 2} rows"
    limits = ast.Privacy(rows=half, groups=clause.groups, per_unit=clause.per_unit, span=clause.span)
    what = f"`{privacy(limits)}`, if {rows} of each {block.unit.name} will do"
    yield what, replace(query, privacy=clause)
