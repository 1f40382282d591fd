"""FROM: tables, views, releases, named queries, derived tables and joins, as relations with columns in sight."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from privql.check.expressions import condition
from privql.check.named import bind, private, relabel, renamed
from privql.check.operations import apply, not_yet
from privql.check.relations import (
    Attribute,
    Columns,
    Compute,
    Joined,
    Label,
    PrivateScan,
    PublicScan,
    Rel,
    ReleasedScan,
    Rows,
)
from privql.check.scope import Bound, InSight, Scope, unknown_name
from privql.check.typed import Context, Place, Typed
from privql.diagnostics import PrivQLError, Span, refuse
from privql.domains import held
from privql.kernel.scalars import BOOL, Apply, Field, Scalar
from privql.names import fold
from privql.policy.catalog import Table, View
from privql.syntax import ast
from privql.syntax.unparse_queries import relation


def sources(nodes: tuple[ast.Relation, ...], context: Context, outer: Scope) -> tuple[Rel, Scope]:
    """The FROM clause; without one, a single row of no columns."""
    if not nodes:
        return Rows((), ((),)), Scope(parent=outer)
    rel, scope = _relation(nodes[0], context, outer, None)
    for node in nodes[1:]:
        right, right_scope = _relation(node, context, outer, scope)
        rel, scope = _join("CROSS", (rel, scope), (right, right_scope), node.span, outer, _lateral(node))
    return rel, scope


def _relation(node: ast.Relation, context: Context, outer: Scope, left: Scope | None) -> tuple[Rel, Scope]:
    """`left`: the items before this one, which a LATERAL may read."""
    match node:
        case ast.TableRef():
            rel, columns = _named(node, context, outer)
            return rel, _in_sight(node.alias or node.path[-1], columns, node, context, outer)
        case ast.Derived():
            from privql.check.query import query

            around = replace(left, parent=outer) if node.lateral and left is not None else outer
            rel, columns = query(node.query, context, around)
            return rel, _in_sight(node.alias or "", columns, node, context, outer)
        case ast.TableFunction():
            raise not_yet(f"`{node.name}` as a table", node.span, "write VALUES, or a public table")
        case ast.Join():
            return _joined(node, context, outer, left)


def _in_sight(alias: str, columns: Columns, node: ast.TableRef | ast.Derived, context: Context, outer: Scope) -> Scope:
    return Scope((InSight(alias, relabel(columns, node.columns, node.span, context)),), parent=outer)


def _lateral(node: ast.Relation) -> bool:
    return isinstance(node, ast.Derived) and node.lateral


# ---------------------------------------------------------------- names


def _named(node: ast.TableRef, context: Context, scope: Scope) -> tuple[Rel, Columns]:
    catalog, name = context.env.catalog, node.path[-1]
    if len(node.path) == 1 and not node.dummy:
        bound = scope.cte(name)
        if bound is not None:
            return renamed(bound, context)
    table = catalog.table(".".join(node.path))
    if table is not None:
        return _table(table, node, context)
    if node.dummy:
        raise _unknown(node, [t.name for t in catalog.tables])
    view = catalog.view(".".join(node.path))
    if view is not None:
        return renamed(_view(view, node, context), context)
    release = context.env.release(".".join(node.path))
    if release is not None:
        if release.poisoned:
            raise PrivQLError(())  # its own statement has said why
        columns = tuple(
            context.add(
                Attribute(context.fresh(), c.name, c.type, c.domain, Label.RELEASED, table=release.name, span=node.span)
            )
            for c in release.columns
        )
        scan = tuple((a.id, c.name, c.type) for a, c in zip(columns, release.columns, strict=True))
        return ReleasedScan(release.name, scan), columns
    known = [*(t.name for t in catalog.tables), *(v.name for v in catalog.views)]
    raise _unknown(node, [*known, *(r.name for r in context.env.releases.values())])


def _unknown(node: ast.TableRef, known: list[str]) -> PrivQLError:
    return unknown_name(
        "PQL0201", "table", ".".join(node.path), node.span, known, lambda near: relation(replace(node, path=(near,)))
    )


def _table(table: Table, node: ast.TableRef, context: Context) -> tuple[Rel, Columns]:
    secret = table.private and not node.dummy
    if secret and table.via:
        raise not_yet(
            f"`{table.name}`, whose unit is reached along a reference,",
            node.span,
            "query a table that names the unit itself",
        )
    columns = []
    for declared in table.columns:
        if node.dummy and declared.hidden:
            continue
        unit = declared.unit if secret and declared.unit is not None else None
        label = Label.PRIVATE if secret else Label.PUBLIC
        attribute = Attribute(
            context.fresh(),
            declared.name,
            declared.type,
            held(declared.domain, declared.type),
            label,
            unit,
            table.name,
            declared.hidden and secret,
            declared.visible,
            node.span,
        )
        columns.append(context.add(attribute))
        if declared.values_from is not None:
            context.members_from[attribute.id] = declared.values_from
    named = {fold(c.name): c for c in table.columns}
    scanned = tuple((a.id, named[fold(a.name)].name, a.type) for a in columns)
    if secret:
        return PrivateScan(table.name, scanned), tuple(columns)
    return PublicScan(table.name, scanned, node.dummy), tuple(columns)


def _view(view: View, node: ast.TableRef, context: Context) -> Bound:
    from privql.check.query import query

    known = context.views.get(fold(view.name))
    if known is None:
        try:
            rel, columns = query(view.query, context, Scope())
            known = bind(rel, relabel(columns, view.columns, view.span, context), context)
        except PrivQLError as error:
            reason = error.diagnostics[0].message if error.diagnostics else "it is broken"
            raise refuse(
                "PQL0207",
                f"the view `{view.name}` cannot be used",
                node.span,
                why=reason,
                help="ask the owner to correct it, or query its table",
            ) from None
        context.views[fold(view.name)] = known
    return known


# ---------------------------------------------------------------- joins


def _joined(node: ast.Join, context: Context, outer: Scope, before: Scope | None) -> tuple[Rel, Scope]:
    left = _relation(node.left, context, outer, before)
    seen = left[1]
    if before is not None:
        seen = replace(seen, items=(*before.items, *seen.items))
    right = _relation(node.right, context, outer, seen)
    lateral = _lateral(node.right)
    names = node.using
    if node.natural:
        theirs = {fold(c.name) for c in right[1].everything()}
        names = tuple(c.name for c in left[1].everything() if fold(c.name) in theirs)
    if names:
        return _using(node, names, left, right, context, outer)
    rel, scope = _join(node.kind, left, right, node.span, outer, lateral)
    if node.on is not None:
        on = condition(node.on, Place(context, scope, clause="ON"))
        assert isinstance(rel, Joined)
        rel = replace(rel, on=on.term)
    _null_extended(node.kind, left[1], right[1], context)
    return rel, scope


def _join(
    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS"],
    left: tuple[Rel, Scope],
    right: tuple[Rel, Scope],
    span: Span,
    outer: Scope,
    lateral: bool,
) -> tuple[Rel, Scope]:
    if private(left[0]) or private(right[0]):
        raise not_yet(
            "a join of private rows", span, "query one private table; released answers may be joined with anything"
        )
    taken = {fold(item.alias) for item in left[1].items if item.alias}
    for item in right[1].items:
        if fold(item.alias) in taken:
            raise refuse(
                "PQL0205", f"two tables named `{item.alias}`", span, help=f"give one an alias: `{item.alias} AS b`"
            )
    scope = Scope((*left[1].items, *right[1].items), (*left[1].merged, *right[1].merged), outer)
    return Joined(kind, left[0], right[0], None, lateral), scope


def _using(
    node: ast.Join,
    names: tuple[str, ...],
    left: tuple[Rel, Scope],
    right: tuple[Rel, Scope],
    context: Context,
    outer: Scope,
) -> tuple[Rel, Scope]:
    """USING and NATURAL: equal columns, shown once; of a FULL join, whichever side has it."""
    rel, scope = _join(
        node.kind if node.kind != "CROSS" else "INNER", left, right, node.span, outer, _lateral(node.right)
    )
    tests: list[Scalar] = []
    merged: list[Attribute] = []
    extra: list[tuple[str, Scalar]] = []
    _null_extended(node.kind, left[1], right[1], context)
    for name in names:
        a, b = (_side(side[1], name, node.span, context) for side in (left, right))
        tests.append(apply("eq", [a, b], node.span).term)
        if node.kind == "FULL":
            both = apply("coalesce", [a, b], node.span)
            id = context.fresh()
            extra.append((id, both.term))
            merged.append(
                context.add(Attribute(id, name, both.type, both.domain, _worst(a, b, context), span=node.span))
            )
        else:
            chosen = b if node.kind == "RIGHT" else a
            assert isinstance(chosen.term, Field)
            merged.append(replace(context.attributes[chosen.term.name], name=name))
    assert isinstance(rel, Joined)
    rel = replace(rel, on=tests[0] if len(tests) == 1 else Apply("and", tuple(tests), BOOL))
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


def _null_extended(kind: str, left: Scope, right: Scope, context: Context) -> None:
    """A row without a partner has NULLs in its place."""
    sides = {"LEFT": [right], "RIGHT": [left], "FULL": [left, right]}.get(kind, [])
    for side in sides:
        for column in side.everything():
            context.domains[column.id] = context.column_domain(column.id).with_null()
