"""One SELECT: its clauses in the order in which SQL gives them meaning, and the cut where it measures private rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from privql.check.arguments import sort_key
from privql.check.calls import aggregates_in, windows_in
from privql.check.expressions import coerce, condition, known_from, not_yet, readable, storable, typed
from privql.check.grouping import Collector, Key
from privql.check.named import position, private
from privql.check.relations import (
    Attribute,
    Block,
    Compute,
    Distinct,
    Grouped,
    GroupingKey,
    Label,
    Measured,
    PrivateScan,
    Rel,
    Sorted,
    SortKey,
    Where,
    Windowed,
)
from privql.check.scope import Scope, unknown_name
from privql.check.sources import sources
from privql.check.typed import Context, Place, Typed
from privql.diagnostics import Span, refuse
from privql.domains import Domain, finite
from privql.kernel.scalars import TEXT, Const, Field, Scalar, Value, fields
from privql.policy.catalog import fold
from privql.syntax import ast, quote, unparse

Columns = tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Tail:
    """ORDER BY, LIMIT and OFFSET of the query whose body a SELECT is."""

    order: tuple[ast.OrderItem, ...] = ()
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class _Item:
    """One output column: its name, its value above the grouping, and the input column that it is, if it is one."""

    name: str
    value: Typed
    column: Attribute | None
    span: Span


def select(node: ast.Select, tail: Tail, context: Context, outer: Scope) -> tuple[Rel, Columns]:
    if node.options is not None:
        raise not_yet("SELECT WITH DIFFERENTIAL_PRIVACY", node.span, "write SPEND EPSILON e at the end of the query")
    rel, scope = sources(node.relations, context, outer)
    windows = {fold(name): window for name, window in node.windows}
    scope = replace(scope, windows=windows)
    place = Place(context, scope)
    facts: Mapping[str, Domain] = {}
    secret = private(rel)
    if node.where is not None:
        test = condition(node.where, replace(place, clause="WHERE"))
        rel = Where(rel, _row_function(test, context).term if secret else test.term)
        facts = known_from(test, place)
        context.domains.update({id: d for id, d in facts.items() if id not in _outer_ids(scope)})
    place = replace(place, facts=facts)
    grouped = bool(
        node.group
        or node.group_all
        or node.having is not None
        or any(aggregates_in((node.items, node.qualify, tail.order)))
    )
    collector = Collector(context, place, secret, grouped)
    sets = _every_key(node, collector) if node.group_all else _keys(node, collector)
    _finish_keys(collector, sets)
    above = replace(place, collector=collector, clause="SELECT")
    items = _items(node, above, collector, rel)
    aliases = {fold(item.name): item.value for item in reversed(items)}
    later = replace(above, aliases=aliases)
    tests: dict[str, Scalar] = {}
    for clause, written in (("HAVING", node.having), ("QUALIFY", node.qualify)):
        if written is not None:
            tests[clause] = collector.above(condition(written, replace(later, clause=clause))).term
    order = _order(node, tail, items, replace(later, clause="ORDER BY", alias_rule="first"), collector)

    if secret and not grouped:
        return _rows(node, tail, rel, items, collector, context)
    if secret:
        rel = _cut(rel, node, collector, sets, context)
    elif grouped:
        rel = Grouped(
            rel,
            tuple((key.id, key.value.term) for key in collector.keys),
            tuple((id, call) for call, id in collector.exact.items()),
            sets,
            tuple((id, at) for at, id in collector.groupings.items()),
        )
    if "HAVING" in tests:
        rel = Where(rel, tests["HAVING"])
    if collector.windows:
        rel = Windowed(rel, tuple((id, call) for call, id in collector.windows.items()))
    if "QUALIFY" in tests:
        rel = Where(rel, tests["QUALIFY"])
    return _output(node, tail, rel, items, order, context)


# ---------------------------------------------------------------- the select list


def _items(node: ast.Select, place: Place, collector: Collector, rel: Rel) -> list[_Item]:
    out: list[_Item] = []
    for item in node.items:
        if isinstance(item.expr, ast.Star):
            out += _star(item.expr, place, collector)
        elif (column := _passed(item.expr, place, rel, collector)) is not None:
            value = Typed(Field(column.id, column.type), place.domain(column.id), item.span)
            out.append(_Item(item.alias or column.name, value, column, item.span))
        else:
            value = collector.above(typed(item.expr, place))
            source = place.context.attributes.get(value.term.name) if isinstance(value.term, Field) else None
            out.append(_Item(item.alias or _name(item.expr, place.scope), value, source, item.span))
    return out


def _passed(expr: ast.Expr, place: Place, rel: Rel, collector: Collector) -> Attribute | None:
    """A unit's identifier may be passed along inside a subquery that stays private; never computed with."""
    if not isinstance(expr, ast.Column) or collector.grouped or not collector.private:
        return None
    attribute, _ = place.scope.resolve(expr.path, expr.span)
    return attribute if attribute.unit is not None else None


def _star(node: ast.Star, place: Place, collector: Collector) -> list[_Item]:
    scope = place.scope
    if node.qualifier:
        columns = list(scope.of(node.qualifier[-1]) or ())
        if scope.of(node.qualifier[-1]) is None:
            raise unknown_name(
                "PQL0201",
                "table",
                node.qualifier[-1],
                node.span,
                [i.alias for i in scope.items],
                lambda near: unparse(replace(node, qualifier=(near,))),
            )
    else:
        columns = scope.everything()
    if not scope.items:
        raise refuse("PQL0202", "there is no table to take `*` from", node.span, help="add FROM")
    names = {fold(column.name) for column in columns}
    for name in (*node.exclude, *(name for _, name in node.replace)):
        if fold(name) not in names:
            raise unknown_name(
                "PQL0202",
                "column",
                name,
                node.span,
                [c.name for c in columns],
                lambda near, name=name: unparse(_star_of(node, name, near)),  # type: ignore[misc]
            )
    gone = {fold(name) for name in node.exclude}
    new = {fold(name): expr for expr, name in node.replace}
    out = []
    for column in columns:
        if fold(column.name) in gone:
            continue
        if fold(column.name) in new:
            value = collector.above(typed(new[fold(column.name)], place))
            out.append(_Item(column.name, value, None, node.span))
            continue
        place.context.used[column.id] = node.span
        value = Typed(Field(column.id, column.type), place.domain(column.id), node.span)
        if column.hidden and not collector.private:
            continue
        out.append(_Item(column.name, collector.above(value), column, node.span))
    return out


def _star_of(node: ast.Star, name: str, near: str) -> ast.Star:
    """The star with another column excluded or replaced."""
    exclude = tuple(near if one == name else one for one in node.exclude)
    return replace(node, exclude=exclude, replace=tuple((e, near if one == name else one) for e, one in node.replace))


def _name(expr: ast.Expr, scope: Scope) -> str:
    """What an output column is called that was given no name: a column as it was declared, a call by its function."""
    match expr:
        case ast.Column(path=path, span=span):
            return scope.resolve(path, span)[0].name
        case ast.Call(name=name):
            return name.lower()
        case ast.Cast(operand=operand):
            return _name(operand, scope)
        case ast.Extract():
            return "extract"
        case ast.Case():
            return "case"
        case ast.Exists():
            return "exists"
        case _:
            return "column"


def _names(items: list[_Item]) -> list[str]:
    """Each output column once: a second `count` is `count_2`."""
    taken: set[str] = set()
    out = []
    for item in items:
        name, number = item.name, 1
        while fold(name) in taken:
            number += 1
            name = f"{item.name}_{number}"
        taken.add(fold(name))
        out.append(name)
    return out


# ---------------------------------------------------------------- grouping


def _keys(node: ast.Select, collector: Collector) -> tuple[tuple[int, ...], ...]:
    """The keys of every grouping, and the sets that they form together."""
    parts: list[list[tuple[int, ...]]] = []
    for grouping in node.group:
        parts.append(_sets(grouping, node, collector))
    return tuple(tuple(dict.fromkeys(at for part in choice for at in part)) for choice in product(*parts)) or ((),)


def _sets(grouping: ast.Grouping, node: ast.Select, collector: Collector) -> list[tuple[int, ...]]:
    if not isinstance(grouping, ast.GroupKey) and collector.private:
        raise not_yet("GROUPING SETS, CUBE and ROLLUP of private rows", grouping.span, "group by the keys themselves")
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
    if collector.private and isinstance(written, ast.Column):
        attribute, _ = place.scope.resolve(written.path, written.span)
        if attribute.unit is not None and not attribute.visible:
            raise not_yet("GROUP BY a unit's identifier", span, "aggregate the rows themselves")
    value = typed(written, place)
    if value.text is not None or value.type.kind == "NULL":
        value = coerce(value, value.type)
    if stated is not None:
        value = _stated(value, stated, place)
    name = _name(written, place.scope) if isinstance(written, ast.Column) else unparse(written)
    return _add_key(value, name, collector)


def _add_key(value: Typed, name: str, collector: Collector) -> int:
    """Its number among the keys; the same expression twice is one key."""
    storable(value)
    for at, key in enumerate(collector.keys):
        if key.value.term == value.term:
            return at
    collector.keys.append(Key(collector.context.fresh(), value, name))
    return len(collector.keys) - 1


def _stated(value: Typed, stated: object, place: Place) -> Typed:
    """`KEYS ('a', 'b')`: these groups, whatever the domain."""
    if not isinstance(stated, tuple):
        raise not_yet("KEYS (SELECT …)", value.span, "list the keys: KEYS ('a', 'b')")
    members: list[Value] = []
    for expr in stated:
        member = coerce(typed(expr, place), value.type)
        if isinstance(member.term, Const) and member.term.type == value.type and not member.free:
            members.append(member.term.value)
        else:
            raise refuse("PQL0308", "KEYS takes constants", expr.span, help=f"write {value.type} constants")
    return replace(value, domain=finite(members, None in members, value.domain.grid))


def _every_key(node: ast.Select, collector: Collector) -> tuple[tuple[int, ...], ...]:
    """GROUP BY ALL: whatever is selected and is neither an aggregate nor a window."""
    ids: list[int] = []
    for item in node.items:
        if isinstance(item.expr, ast.Star):
            rows = replace(collector, grouped=False)
            for one in _star(item.expr, replace(collector.input, collector=rows), rows):
                if one.column is not None:
                    readable(one.column, item.span)
                ids.append(_add_key(one.value, one.name, collector))
        elif not any(aggregates_in(item.expr)) and not any(windows_in(item.expr)):
            ids.append(_keyed(item.expr, item.span, None, collector))
    return (tuple(dict.fromkeys(ids)),)


def _finish_keys(collector: Collector, sets: tuple[tuple[int, ...], ...]) -> None:
    """The columns that stand for keys. One that some grouping set leaves out is NULL in that set's groups."""
    label = collector.label
    for at, key in enumerate(collector.keys):
        rolled_up = any(at not in chosen for chosen in sets)
        collector.rolled_up = collector.rolled_up or rolled_up
        domain = key.value.domain.with_null() if rolled_up else key.value.domain
        collector.context.add(Attribute(key.id, key.name, key.value.type, domain, label, span=key.value.span))


# ---------------------------------------------------------------- private rows


def _row_function(value: Typed, context: Context) -> Typed:
    """Over private rows an expression may read its own row, and nothing else."""
    for id in fields(value.term):
        if id in context.subqueries:
            raise not_yet(
                "a subquery in an expression over private rows", value.span, "write its value, or bind a parameter"
            )
        if context.attributes[id].label is not Label.PRIVATE:
            raise not_yet("a correlated subquery over private rows", value.span, "aggregate with GROUP BY, then join")
    return value


def _rows(
    node: ast.Select, tail: Tail, rel: Rel, items: list[_Item], collector: Collector, context: Context
) -> tuple[Rel, Columns]:
    """A SELECT of private rows that stays private: inside FROM, WITH or a view."""
    if node.distinct:
        raise not_yet("DISTINCT over private rows", node.span, "GROUP BY the columns, and count")
    if tail.order or tail.limit is not None or tail.offset:
        raise refuse(
            "PQL0407",
            "ORDER BY and LIMIT across private rows",
            tail.order[0].span if tail.order else node.span,
            why="which rows stay would depend on everybody's rows, so one person could change all of them",
            help="aggregate first; AT MOST n ROWS PER UNIT limits what one unit contributes",
        )
    computed, columns = [], []
    for item, name in zip(items, _names(items), strict=True):
        _row_function(storable(item.value), context)
        kept = item.column
        attribute = Attribute(
            context.fresh(),
            name,
            item.value.type,
            item.value.domain,
            Label.PRIVATE,
            kept.unit if kept else None,
            kept.table if kept else None,
            kept.hidden if kept else False,
            kept.visible if kept else False,
            item.span,
        )
        columns.append(context.add(attribute))
        context.domains[attribute.id] = item.value.domain
        computed.append((attribute.id, item.value.term))
    return Compute(rel, tuple(computed)), tuple(columns)


def _cut(rel: Rel, node: ast.Select, collector: Collector, sets: tuple[tuple[int, ...], ...], context: Context) -> Rel:
    """The release: below it private rows, above it the noisy groups."""
    base = rel
    while not isinstance(base, PrivateScan):
        assert isinstance(base, (Where, Compute))
        base = base.input
    table = context.env.catalog.table(base.table)
    assert table is not None and table.unit is not None
    keys = tuple(_members(key, context) for key in collector.keys)
    groups = prod(len(key.members) for key in keys)
    span = node.group[0].span.to(node.group[-1].span) if node.group else node.span
    if groups > context.env.group_limit:
        sizes = " x ".join(str(len(key.members)) for key in keys)
        raise refuse(
            "PQL0404",
            f"{groups} groups are more than {context.env.group_limit}",
            span,
            why=f"the keys have {sizes} values",
            help="group more coarsely, or drop a key",
        )
    if groups == 0:
        raise refuse(
            "PQL0404", "no group can exist", span, why="WHERE excludes every value of the key", help="correct WHERE"
        )
    for aggregate in collector.measured.values():
        for term in (aggregate.argument, aggregate.where):
            if term is not None:
                _row_function(Typed(term, aggregate.domain, aggregate.span), context)
    if not collector.measured:
        raise not_yet("groups of private rows without an aggregate", node.span, "add COUNT(*)")
    block = Block(len(context.blocks), rel, table.name, table.unit, keys, tuple(collector.measured.values()), node.span)
    context.blocks.append(block)
    context.payers[-1].append(block.index)
    columns = [(key.id, key.type) for key in keys] + [(a.id, a.type) for a in block.aggregates]
    return Measured(block.index, tuple(columns))


def _members(key: Key, context: Context) -> GroupingKey:
    domain = key.value.domain
    _row_function(key.value, context)
    members = domain.members(context.env.group_limit)
    if members is None:
        written = key.name
        size = (
            "more than a million values"
            if domain.bounded and domain.grid is not None
            else "no finite list of values is known"
        )
        raise refuse(
            "PQL0403",
            f"the groups of `{written}` are not known",
            key.value.span,
            label=size,
            why="a group that appears because one person is in it would show that person",
            help=f"state them: `GROUP BY {quote(written) if written.isidentifier() else written} KEYS (…)`",
        )
    if domain.nullable:
        members = (*members, None)
    context.domains[key.id] = finite(members, domain.nullable, domain.grid)
    return GroupingKey(key.id, key.value.term, key.value.type, members, key.name, key.value.span)


# ---------------------------------------------------------------- output


def _order(
    node: ast.Select, tail: Tail, items: list[_Item], place: Place, collector: Collector
) -> list[tuple[ast.OrderItem, Scalar]]:
    out: list[tuple[ast.OrderItem, Scalar]] = []
    for item in tail.order:
        at = position(item.expr, len(items))
        value = items[at].value if at is not None else collector.above(typed(item.expr, place))
        out.append((item, value.term))
    return out


def _output(
    node: ast.Select,
    tail: Tail,
    rel: Rel,
    items: list[_Item],
    order: list[tuple[ast.OrderItem, Scalar]],
    context: Context,
) -> tuple[Rel, Columns]:
    """The select list over the rows, DISTINCT, ORDER BY and LIMIT."""
    columns: list[Attribute] = []
    computed: list[tuple[str, Scalar]] = []
    known: dict[Scalar, Field] = {}
    for item, name in zip(items, _names(items), strict=True):
        value = storable(item.value)
        if value.free or value.type.kind == "NULL":
            value = coerce(value, TEXT)
        label = context.label(value.term)
        attribute = Attribute(context.fresh(), name, value.type, value.domain, label, span=item.span)
        columns.append(context.add(attribute))
        context.domains[attribute.id] = value.domain
        computed.append((attribute.id, value.term))
        for term in (value.term, item.value.term):
            known.setdefault(term, Field(attribute.id, attribute.type))
    keys: list[SortKey] = []
    extra: list[tuple[str, Scalar]] = []
    for written, term in order:
        field = known.get(term)
        if field is None:
            if node.distinct:
                raise refuse(
                    "PQL0306",
                    "ORDER BY of a DISTINCT query takes its output columns",
                    written.span,
                    help="select what you order by",
                )
            field = Field(context.fresh(), term.type)
            extra.append((field.name, term))
        keys.append(sort_key(written, field))
    rel = Compute(rel, (*computed, *extra))
    if node.distinct:
        rel = Distinct(rel)
    if keys or tail.limit is not None or tail.offset:
        rel = Sorted(rel, tuple(keys), tail.limit, tail.offset)
    if extra:
        rel = Compute(rel, tuple((c.id, Field(c.id, c.type)) for c in columns))
    return rel, tuple(columns)


def _outer_ids(scope: Scope) -> set[str]:
    out: set[str] = set()
    around = scope.parent
    while around is not None:
        out |= {column.id for column in around.everything()}
        around = around.parent
    return out
