"""GROUP BY: keys by column, alias or position, and the sets that they form."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from privql.check.calls import aggregates_in, windows_in
from privql.check.env import Env
from privql.check.expressions import stored, typed
from privql.check.grouping import Collector, Key
from privql.check.items import name_of, star
from privql.check.named import position
from privql.check.opaque import readable
from privql.check.operations import coerce
from privql.check.relations import Attribute
from privql.check.resolved import identifier
from privql.check.scope import Scope
from privql.check.typed import Context, Place, Typed, const
from privql.diagnostics import PrivQLError, Span, refuse
from privql.domains import finite
from privql.functions.scalar.declare import converts
from privql.kernel.scalars import Const, Field, Scalar, Value
from privql.names import fold
from privql.syntax import ast, unparse

AROUND = "the row around"  # of a correlated query, by its number


def grouping_sets(node: ast.Select, collector: Collector) -> tuple[tuple[int, ...], ...]:
    """The keys of every grouping, and the sets that they form together."""
    parts: list[list[tuple[int, ...]]] = []
    for grouping in node.group:
        parts.append(_sets(grouping, node, collector))
    return tuple(tuple(dict.fromkeys(at for part in choice for at in part)) for choice in product(*parts)) or ((),)


def _sets(grouping: ast.Grouping, node: ast.Select, collector: Collector) -> list[tuple[int, ...]]:
    match grouping:
        case ast.GroupKey(expr=expr, keys=keys):
            return [(_key(expr, keys, node, collector),)]
        case ast.GroupSet(exprs=exprs):
            return [tuple(_key(e, None, node, collector) for e in exprs)]
        case ast.Rollup(exprs=exprs):
            ids = [_key(e, None, node, collector) for e in exprs]
            return [tuple(ids[:n]) for n in range(len(ids), -1, -1)]
        case ast.Cube(exprs=exprs):
            if len(exprs) > 12:
                raise refuse(
                    "PQL0404",
                    f"CUBE of {len(exprs)} keys",
                    grouping.span,
                    why="it has 2^n grouping sets",
                    help="name the sets that you need in GROUPING SETS",
                )
            ids = [_key(e, None, node, collector) for e in exprs]
            return [
                tuple(k for b, k in enumerate(ids) if mask >> (len(ids) - 1 - b) & 1)
                for mask in range(2 ** len(ids) - 1, -1, -1)
            ]
        case ast.GroupingSets(sets=sets):
            return [one for inner in sets for one in _sets(inner, node, collector)]


def _key(expr: ast.Expr, stated: object, node: ast.Select, collector: Collector) -> int:
    """An input column, else a select item by alias, else by position."""
    scope, written = collector.input.scope, expr
    if isinstance(expr, ast.Number) and expr.text.isdigit():
        at = position(expr, len(node.items))
        assert at is not None
        written = node.items[at].expr
    elif isinstance(expr, ast.Column) and len(expr.path) == 1 and not scope.find(expr.path):
        named = next((i.expr for i in node.items if i.alias and fold(i.alias) == fold(expr.path[0])), None)
        written = named if named is not None else expr
    return _keyed(written, expr.span, stated, collector)


def _keyed(written: ast.Expr, span: Span, stated: object, collector: Collector) -> int:
    place = replace(collector.input, clause="GROUP BY")
    if any(aggregates_in(written)):
        raise refuse(
            "PQL0305", "a group key cannot be an aggregate", span, help="group by what the rows themselves have"
        )
    value = (identifier(written, place) if collector.private and stated is None else None) or typed(written, place)
    if stated is not None:
        value = _stated(value, stated, place)
    name = name_of(written, place.scope) if isinstance(written, ast.Column) else unparse(written)
    if stated is not None and any(key.value.term == value.term for key in collector.keys):
        raise refuse(
            "PQL0308",
            f"`{name}` is a key already",
            span,
            why="its groups cannot be both those and these",
            help="write KEYS where it stands first",
        )
    return _add_key(value, name, collector)


def tied_key(term: Scalar, span: Span, collector: Collector) -> Field:
    """A key that a correlated query has from its WHERE."""
    context = collector.context
    name = context.attributes[term.name].name if isinstance(term, Field) else "what the row around asks for"
    at = _add_key(Typed(term, context.domain_of(term, collector.input.facts), span), name or AROUND, collector)
    return Field(collector.keys[at].id, term.type)


def _add_key(value: Typed, name: str, collector: Collector) -> int:
    """Its number among the keys; the same expression twice is one key."""
    value = stored(value)
    for at, key in enumerate(collector.keys):
        if key.value.term == value.term:
            return at
    collector.keys.append(Key(collector.context.fresh(), value, name))
    return len(collector.keys) - 1


def _stated(value: Typed, stated: object, place: Place) -> Typed:
    """`KEYS ('a', 'b')`: these groups, whatever the domain."""
    if isinstance(stated, ast.Query):
        return _stated_by(value, stated, place)
    assert isinstance(stated, tuple)
    members: list[Value] = []
    for expr in stated:
        given = typed(expr, place)
        if not (given.text is not None or given.free or converts(given.type, value.type)):
            raise refuse(
                "PQL0301",
                f"a key of {given.type} for groups of {value.type}",
                expr.span,
                help=f"write {value.type} constants",
            )
        member = coerce(given, value.type)
        if isinstance(member.term, Const) and member.term.type == value.type and not member.free:
            members.append(member.term.value)
        else:
            raise refuse("PQL0308", "KEYS takes constants", expr.span, help=f"write {value.type} constants")
    return replace(value, domain=finite(members, None in members, value.domain.grid))


def _stated_by(value: Typed, query: ast.Query, place: Place) -> Typed:
    """`KEYS (SELECT …)`: the groups that a query over public tables lists, or over answers that are there already."""
    from privql.check.query import query as checked  # queries are made of expressions, and expressions of queries

    env = place.context.env
    try:
        alone = Context(Env(env.catalog, public=env.public, releases=env.releases))
        alone.payers.append([])
        _, columns = checked(query, alone, Scope())
        listed = env.public.query(query) if env.public is not None and not alone.blocks else None
    except PrivQLError as error:
        raise error if place.context.source is None else error.in_source(place.context.source) from None
    if listed is None:  # as it is of more columns than one
        raise refuse(
            "PQL0308",
            "KEYS (SELECT …) takes one column of public tables or releases",
            query.span,
            why="the groups must be known before any private row is read, or an earlier line of the text has run",
            help="select one column of a public table that can be read here or of a release that is there already, or "
            "list the keys: KEYS ('a', 'b')",
        )
    if not converts(columns[0].type, value.type):
        raise refuse(
            "PQL0301",
            f"keys of {columns[0].type} for groups of {value.type}",
            query.span,
            help=f"cast in the query: `SELECT CAST({columns[0].name} AS {value.type})`",
        )
    cast = (coerce(const(one, columns[0].type, query.span), value.type).term for one in listed)
    members = [one.value for one in cast if isinstance(one, Const)]
    return replace(value, domain=finite(members, False, value.domain.grid))


def every_key(node: ast.Select, collector: Collector) -> tuple[tuple[int, ...], ...]:
    """GROUP BY ALL: whatever is selected and is neither an aggregate nor a window."""
    ids: list[int] = []
    for item in node.items:
        if isinstance(item.expr, ast.Star):
            rows = replace(collector, grouped=False)
            for one in star(item.expr, replace(collector.input, collector=rows), rows):
                if one.column is not None:
                    readable(one.column, item.span)
                ids.append(_add_key(one.value, one.name, collector))
        elif not any(aggregates_in(item.expr)) and not any(windows_in(item.expr)):
            ids.append(_keyed(item.expr, item.span, None, collector))
    return (tuple(dict.fromkeys(ids)),)


def finish_keys(collector: Collector, sets: tuple[tuple[int, ...], ...]) -> None:
    """The columns that stand for keys. One that some grouping set leaves out is NULL in that set's groups."""
    label = collector.label
    for at, key in enumerate(collector.keys):
        rolled_up = any(at not in chosen for chosen in sets)
        collector.rolled_up = collector.rolled_up or rolled_up
        domain = key.value.domain.with_null() if rolled_up else key.value.domain
        made = Attribute(key.id, key.name, key.value.type, domain, label, span=key.value.span)
        term = key.value.term
        if collector.gathered and isinstance(term, Field):
            source = collector.context.attributes[term.name]
            made = replace(made, unit=source.unit, locates=source.locates, table=source.table, visible=source.visible)
        collector.context.add(made)


def tell_the_unit(collector: Collector) -> bool:
    """Whether each group is of one unit: some key is the unit, or a row that has one."""
    context = collector.context
    return any(
        isinstance(key.value.term, Field)
        and context.attributes[key.value.term.name].locates is not None
        and not context.column_domain(key.value.term.name).nullable
        for key in collector.keys
    )
