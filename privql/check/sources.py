"""FROM: tables, views, releases, named queries, derived tables and joins, as relations with columns in sight."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from privql.check.beside import arranged, one_unit, outer_join
from privql.check.cut import row_function
from privql.check.expressions import condition
from privql.check.named import bind, locates, private, relabel, renamed
from privql.check.opaque import alike, readable
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
from privql.check.table_functions import table_function
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
        rel, scope = _join("CROSS", (rel, scope), (right, right_scope), node.span, outer, _lateral(node), context)
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
            rel, columns = table_function(node, context, outer)
            return rel, _in_sight(node.alias or node.name, columns, node, context, outer)
        case ast.Join():
            return _joined(node, context, outer, left)


def _in_sight(
    alias: str,
    columns: Columns,
    node: ast.TableRef | ast.Derived | ast.TableFunction,
    context: Context,
    outer: Scope,
) -> Scope:
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
    columns = []
    for declared in table.columns:
        if node.dummy and declared.hidden:
            continue
        unit = declared.unit if secret and declared.unit is not None else None
        label = Label.PRIVATE if secret else Label.PUBLIC
        located = locates(declared, table) if secret else None
        domain = held(declared.domain, declared.type)
        attribute = Attribute(
            context.fresh(),
            declared.name,
            declared.type,
            domain.with_null(False) if located is not None else domain,
            label,
            unit,
            located,
            table.name,
            declared.hidden and secret,
            declared.visible,
            node.span,
        )
        columns.append(context.add(attribute))
        if declared.values_from is not None:
            context.members_from[attribute.id] = declared.values_from
        if not secret and not node.dummy:
            context.public_columns[attribute.id] = table.name, declared.name
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
    rel, scope = _join(node.kind, left, right, node.span, outer, lateral, context)
    if node.on is not None:
        on = condition(node.on, Place(context, scope, clause="ON"))
        assert isinstance(rel, Joined)
        rel = replace(rel, on=row_function(on, context).term if private(rel) else on.term)
    _null_extended(node.kind, left[1], right[1], context)
    return _settled(rel, node, scope, context), scope


def _settled(rel: Rel, node: ast.Join, scope: Scope, context: Context) -> Rel:
    """An outer join of private rows says by its ON alone how they meet; others wait for WHERE."""
    if not isinstance(rel, Joined) or node.kind in ("INNER", "CROSS") or not private(rel):
        return rel
    left, right = (arranged(side, None, node, scope, context) for side in (rel.left, rel.right))
    return outer_join(replace(rel, left=left, right=right), node, scope, context)


def _join(
    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS"],
    left: tuple[Rel, Scope],
    right: tuple[Rel, Scope],
    span: Span,
    outer: Scope,
    lateral: bool,
    context: Context,
) -> tuple[Rel, Scope]:
    if private(left[0]) or private(right[0]):
        if lateral:
            raise not_yet("LATERAL beside private rows", span, "write the correlated query in the select list")
        one_unit(left[0], right[0], span, context)
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
        node.kind if node.kind != "CROSS" else "INNER", left, right, node.span, outer, _lateral(node.right), context
    )
    tests: list[Scalar] = []
    merged: list[Attribute] = []
    extra: list[tuple[str, Scalar]] = []
    _null_extended(node.kind, left[1], right[1], context)
    for name in names:
        a, b = (_side(side[1], name, node.span, context) for side in (left, right))
        one, other = (context.attributes[side.term.name] for side in (a, b) if isinstance(side.term, Field))
        for side in (one, other):
            if side.hidden:
                readable(side, node.span)
        alike(one, other, node.span)
        tests.append(apply("eq", [a, b], node.span).term)
        if node.kind == "FULL":
            both = apply("coalesce", [a, b], node.span)
            id = context.fresh()
            extra.append((id, both.term))
            merged.append(
                context.add(
                    Attribute(
                        id,
                        name,
                        both.type,
                        both.domain,
                        _worst(a, b, context),
                        one.unit if one.unit == other.unit else None,
                        visible=one.visible and other.visible,
                        span=node.span,
                    )
                )
            )
        else:
            chosen = b if node.kind == "RIGHT" else a
            assert isinstance(chosen.term, Field)
            merged.append(replace(context.attributes[chosen.term.name], name=name))
    assert isinstance(rel, Joined)
    rel = _settled(
        replace(rel, on=tests[0] if len(tests) == 1 else Apply("and", tuple(tests), BOOL)), node, scope, context
    )
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
        for column in side.every_column():
            context.domains[column.id] = context.column_domain(column.id).with_null()
