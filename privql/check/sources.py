"""FROM: tables, views, releases, named queries, derived tables and joins, as relations with columns in sight."""

from __future__ import annotations

from dataclasses import replace

from privql.check.around import each, own_columns_only, seen_from_inside, seen_from_outside, untouched
from privql.check.cut import row_function
from privql.check.expressions import condition
from privql.check.inside import around as names_around
from privql.check.joins import is_lateral, joined, null_extended, settled, using
from privql.check.named import bind, locates, private, relabel, renamed
from privql.check.operations import known_from, not_yet
from privql.check.relations import (
    Attribute,
    Columns,
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
from privql.check.typed import Context, Correlation, Place
from privql.diagnostics import PrivQLError, refuse
from privql.domains import held
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
        rel, scope = joined("CROSS", (rel, scope), (right, right_scope), node.span, outer, is_lateral(node), context)
    return rel, scope


def _relation(node: ast.Relation, context: Context, outer: Scope, left: Scope | None) -> tuple[Rel, Scope]:
    """`left`: the items before this one, which a LATERAL may read."""
    match node:
        case ast.TableRef():
            rel, columns = _named(node, context, outer)
            return rel, _in_sight(node.alias or node.path[-1], columns, node, context, outer)
        case ast.Derived():
            from privql.check.query import query

            if node.lateral and left is not None:
                rel, columns = _lateral(node, context, replace(left, parent=outer))
            else:
                rel, columns = query(node.query, context, outer)
                untouched(rel, node.span, context)
            return rel, _in_sight(node.alias or "", columns, node, context, outer)
        case ast.TableFunction():
            rel, columns = table_function(node, context, outer)
            return rel, _in_sight(node.alias or node.name, columns, node, context, outer)
        case ast.Join():
            return _joined(node, context, outer, left)


def _lateral(node: ast.Derived, context: Context, around: Scope) -> tuple[Rel, Columns]:
    from privql.check.query import query

    frame = Correlation(node.query.body, lateral=True)
    around = seen_from_inside(around, frame, context)
    if not frame.seen:
        return query(node.query, context, around)
    context.correlations.append(frame)
    rel, columns = query(node.query, context, around)
    if frame.on or frame.where:
        raise not_yet("LATERAL over private rows beside public ones", node.span, "join instead")
    if not names_around(rel, context) & frame.private:  # public rows beside each other, in a query that is not
        rel = seen_from_outside(rel, frame, context)
    untouched(rel, node.span, context)
    context.correlations.pop()
    return (rel if frame.row is None else each(rel, frame, context)), columns


def _in_sight(
    alias: str,
    columns: Columns,
    node: ast.TableRef | ast.Derived | ast.TableFunction,
    context: Context,
    outer: Scope,
) -> Scope:
    named = relabel(columns, node.columns, node.span, context)
    return Scope((InSight(alias, tuple(context.add(replace(c, alias=alias)) for c in named)),), parent=outer)


# ---------------------------------------------------------------- names


def _named(node: ast.TableRef, context: Context, scope: Scope) -> tuple[Rel, Columns]:
    catalog, name = context.env.catalog, node.path[-1]
    if len(node.path) == 1 and not node.dummy:
        bound = scope.cte(name)
        if bound is not None:
            return renamed(bound, node.span, context)
    table = catalog.table(".".join(node.path))
    if table is not None:
        return _table(table, node, context)
    if node.dummy:
        raise _unknown(node, [t.name for t in catalog.tables])
    view = catalog.view(".".join(node.path))
    if view is not None:
        return renamed(_view(view, node, context), node.span, context)
    release = context.env.release(".".join(node.path))
    if release is not None:
        if release.poisoned:
            raise PrivQLError(())  # its own statement has said why
        if release.gone:
            raise refuse("PQL0201", release.gone, node.span, help="ask the query that it answered again, for its price")
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
    lateral = is_lateral(node.right)
    names = node.using
    if node.natural:
        theirs = {fold(c.name) for c in right[1].everything()}
        names = tuple(c.name for c in left[1].everything() if fold(c.name) in theirs)
    if names:
        return using(node, names, left, right, context, outer)
    rel, scope = joined(node.kind, left, right, node.span, outer, lateral, context)
    if node.on is not None:
        on = condition(node.on, Place(context, scope, clause="ON"))
        assert isinstance(rel, Joined)
        inner = node.kind in ("INNER", "CROSS")
        own_columns_only(on, inner, context)
        if inner:
            inside, facts = {c.id for item in scope.items for c in item.columns}, known_from(on, Place(context, scope))
            context.domains.update({id: domain for id, domain in facts.items() if id in inside})
        rel = replace(rel, on=row_function(on, context).term if private(rel) else on.term)
    null_extended(node.kind, left[1], right[1], context)
    return settled(rel, node, scope, context), scope
