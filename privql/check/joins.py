"""Two sides of a join: what is in sight of both, USING and NATURAL, and rows that meet none."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from privql.check.around import read_around
from privql.check.beside import arranged, one_unit, outer_join
from privql.check.columns import produced
from privql.check.conditions import both
from privql.check.named import private
from privql.check.opaque import alike, readable
from privql.check.operations import apply, not_yet
from privql.check.relations import (
    Attribute,
    Compute,
    Each,
    Joined,
    Label,
    Rel,
)
from privql.check.scope import Scope
from privql.check.typed import Context, Typed
from privql.diagnostics import Span, refuse
from privql.kernel.scalars import Field, Scalar
from privql.names import fold
from privql.syntax import ast


def is_lateral(node: ast.Relation) -> bool:
    return isinstance(node, ast.Derived) and node.lateral


def settled(rel: Rel, node: ast.Join, scope: Scope, context: Context) -> Rel:
    """An outer join of private rows says by its ON alone how they meet; others wait for WHERE."""
    if not isinstance(rel, Joined) or node.kind in ("INNER", "CROSS") or not private(rel):
        return rel
    left, right = (arranged(side, None, node, scope, context) for side in (rel.left, rel.right))
    return outer_join(replace(rel, left=left, right=right), node, scope, context)


def joined(
    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS"],
    left: tuple[Rel, Scope],
    right: tuple[Rel, Scope],
    span: Span,
    outer: Scope,
    lateral: bool,
    context: Context,
) -> tuple[Rel, Scope]:
    if private(left[0]) or private(right[0]):
        lateral = isinstance(right[0], Each)
        if isinstance(right[0], Each) and not read_around(right[0]) <= produced(left[0]).keys():
            raise not_yet(
                "LATERAL that reads more than the rows joined with it", span, "join them before, by JOIN … ON"
            )
        one_unit(left[0], right[0], span, context)
    taken = {fold(item.alias) for item in left[1].items if item.alias}
    for item in right[1].items:
        if fold(item.alias) in taken:
            raise refuse(
                "PQL0205", f"two tables named `{item.alias}`", span, help=f"give one an alias: `{item.alias} AS b`"
            )
    scope = Scope((*left[1].items, *right[1].items), (*left[1].merged, *right[1].merged), outer)
    return Joined(kind, left[0], right[0], None, lateral), scope


def using(
    node: ast.Join,
    names: tuple[str, ...],
    left: tuple[Rel, Scope],
    right: tuple[Rel, Scope],
    context: Context,
    outer: Scope,
) -> tuple[Rel, Scope]:
    """USING and NATURAL: equal columns, shown once; of a FULL join, whichever side has it."""
    rel, scope = joined(
        node.kind if node.kind != "CROSS" else "INNER",
        left,
        right,
        node.span,
        outer,
        is_lateral(node.right),
        context,
    )
    tests: list[Scalar] = []
    merged: list[Attribute] = []
    extra: list[tuple[str, Scalar]] = []
    sides = {name: [_side(side[1], name, node.span, context).domain for side in (left, right)] for name in names}
    null_extended(node.kind, left[1], right[1], context)
    for name in names:
        a, b = (_side(side[1], name, node.span, context) for side in (left, right))
        one, other = (context.attributes[side.term.name] for side in (a, b) if isinstance(side.term, Field))
        for side in (one, other):
            if side.hidden:
                readable(side, node.span)
        alike(one, other, node.span)
        tests.append(apply("eq", [a, b], node.span).term)
        if node.kind == "FULL":
            either = apply("coalesce", [a, b], node.span)
            if not any(domain.nullable for domain in sides[name]):  # each row is of one side at least
                either = replace(either, domain=replace(either.domain, nullable=False))
            id = context.fresh()
            extra.append((id, either.term))
            merged.append(
                context.add(
                    Attribute(
                        id,
                        name,
                        either.type,
                        either.domain,
                        _worst(a, b, context),
                        one.unit if one.unit == other.unit else None,
                        visible=one.visible and other.visible,
                        span=node.span,
                        locates=one.locates if one.locates == other.locates else None,
                    )
                )
            )
        else:
            chosen = b if node.kind == "RIGHT" else a
            assert isinstance(chosen.term, Field)
            merged.append(replace(context.attributes[chosen.term.name], name=name))
    assert isinstance(rel, Joined)
    rel = settled(replace(rel, on=both(tests)), node, scope, context)
    if extra:
        kept = [(c.id, Field(c.id, c.type)) for item in scope.items for c in item.columns]
        older = [(c.id, Field(c.id, c.type)) for c in scope.merged if c.id not in {id for id, _ in kept}]
        rel = Compute(rel, (*kept, *older, *extra))
    folded = {fold(name) for name in names}
    rest = tuple(column for column in scope.merged if fold(column.name) not in folded)
    return rel, replace(scope, merged=(*merged, *rest))


def _side(scope: Scope, name: str, span: Span, context: Context) -> Typed:
    attribute = replace(scope, parent=None).resolve((name,), span)
    return Typed(Field(attribute.id, attribute.type), context.column_domain(attribute.id), span)


def _worst(a: Typed, b: Typed, context: Context) -> Label:
    return max(context.label(a.term), context.label(b.term))


def null_extended(kind: str, left: Scope, right: Scope, context: Context) -> None:
    """A row without a partner has NULLs in its place."""
    sides = {"LEFT": [right], "RIGHT": [left], "FULL": [left, right]}.get(kind, [])
    for side in sides:
        for column in side.every_column():
            context.domains[column.id] = context.column_domain(column.id).with_null()
