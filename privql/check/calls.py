"""Calls: scalar functions, aggregates - measured over private rows, exact over others - and windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass, replace
from fractions import Fraction

from privql.check import constants
from privql.check import expressions as ex  # expressions are made of calls, and calls of expressions
from privql.check.relations import (
    Aggregate,
    AggregateCall,
    FrameBound,
    SortKey,
    WindowCall,
)
from privql.check.scope import unknown_name
from privql.check.typed import Place, Typed
from privql.diagnostics import Fix, Span, refuse
from privql.domains import Domain, interval, number_text
from privql.functions.aggregate.public import (
    AGGREGATES,
    WINDOWS,
    aggregate_domain,
    resolve_aggregate,
    resolve_window,
)
from privql.functions.scalar import all_functions, by_sql_name, constant_args
from privql.kernel.scalars import BOOL, FLOAT, INT, Apply, Const, Field, Scalar, ValueType, decimal
from privql.policy.catalog import fold
from privql.syntax import ast, unparse

_VOLATILE = frozenset(
    {"random", "rand", "setseed", "now", "current_date", "current_time", "current_timestamp", "localtime"}
    | {"localtimestamp", "today", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday"}
    | {"gen_random_uuid", "uuid", "nextval"}
)
_MEASURED = frozenset({"count", "sum", "avg"})
_NUMBERS = frozenset({"INT", "FLOAT", "DECIMAL"})
_ONE = Fraction(1)


def call(node: ast.Call, place: Place) -> Typed:
    name = node.name.lower()
    if node.over is not None:
        return _window(node, name, place)
    if name in AGGREGATES:
        return _aggregate(node, name, place)
    if name in WINDOWS:
        raise refuse(
            "PQL0305", f"`{node.name}` needs a window", node.span, help=f"write `{unparse(node)} OVER (ORDER BY …)`"
        )
    if name == "grouping":
        return _grouping(node, place)
    return _scalar(node, name, place)


def _scalar(node: ast.Call, name: str, place: Place) -> Typed:
    op = by_sql_name(name)
    if op is None:
        if name in _VOLATILE:
            raise refuse(
                "PQL0410",
                f"`{node.name}` gives another answer each time",
                node.span,
                why="a query's cost and its replay rest on its text alone",
                help="write the value, or bind a parameter",
            )
        names = [n.lower() for f in all_functions() for n in f.sql_names] + sorted(AGGREGATES | WINDOWS)
        raise unknown_name("PQL0204", "function", node.name, node.span, names, lambda near: _renamed(node, near))
    extra = (node.distinct, node.order, node.limit, node.nulls, node.privacy, node.within_group, node.filter)
    if any(extra):
        raise refuse(
            "PQL0305", f"`{node.name}` is not an aggregate", node.span, help="leave out what only aggregates have"
        )
    args: list[Typed] = []
    for arg in node.args:
        args.append(ex.typed(arg, place))
    if op == "if" and len(args) == 3:
        args[1] = ex.typed(node.args[1], place.knowing(ex.known_from(args[0], place)))
        args[2] = ex.typed(node.args[2], place.knowing(ex.known_from(args[0], place, holds=False, or_null=True)))
    for at in constant_args(op):
        if at < len(args):
            args[at] = _constant(args[at], node, unit=op in ("extract", "date_trunc"))
    return ex.apply(op, args, node.span, name=node.name.upper())


def _constant(value: Typed, node: ast.Call, unit: bool) -> Typed:
    """An argument that fixes what the function does; the name of a calendar unit is written in any case."""
    if value.free or not value.constant:
        raise refuse(
            "PQL0308",
            f"this argument of `{node.name.upper()}` must be constant",
            value.span,
            why="what a function does cannot depend on the row",
            help="write a literal, or bind its parameter",
        )
    return constants.string(value.text.upper(), value.span) if unit and value.text is not None else value


# ---------------------------------------------------------------- aggregates


def _aggregate(node: ast.Call, name: str, place: Place) -> Typed:
    collector = place.collector
    if collector is None:
        help = "put it into HAVING" if place.clause == "WHERE" else "compute it in a subquery, and use its result"
        raise refuse("PQL0305", f"an aggregate cannot stand in {place.clause}", node.span, help=help)
    if node.nulls is not None or node.limit is not None:
        raise _not_yet("LIMIT and IGNORE NULLS inside an aggregate", node.span)
    for arg in node.args:
        inner = next((c for c in aggregates_in(arg)), None)
        if inner is not None:
            raise refuse(
                "PQL0305",
                "an aggregate of an aggregate",
                inner.span,
                why="the inner one has one value per group",
                help="compute the inner one in a subquery: `SELECT … FROM (SELECT … GROUP BY …)`",
            )
    return _measured(node, name, place) if collector.private else _exact(node, name, place)


def _arguments(node: ast.Call, place: Place) -> tuple[list[ast.Expr], Place, Scalar | None, bool]:
    """The arguments, the place they are checked in (knowing the FILTER holds), the FILTER, and whether `*`."""
    collector = place.collector
    assert collector is not None
    inner = collector.input
    where = None
    if node.filter is not None:
        test = ex.condition(node.filter, Place(inner.context, inner.scope, inner.facts, None, "FILTER"))
        inner, where = inner.knowing(ex.known_from(test, inner)), test.term
    star = len(node.args) == 1 and isinstance(node.args[0], ast.Star)
    inner = Place(inner.context, inner.scope, inner.facts, None, f"the argument of {node.name.upper()}")
    return ([] if star else list(node.args)), inner, where, star


def _measured(node: ast.Call, name: str, place: Place) -> Typed:
    collector = place.collector
    assert collector is not None
    text = _renamed(node, node.name)  # in capitals, so that a certificate reads the same however it was asked for
    if name not in _MEASURED:
        raise _not_yet(f"`{name.upper()}` of private rows", node.span, "COUNT, SUM and AVG can be measured")
    if node.distinct:
        raise _not_yet(f"{name.upper()}(DISTINCT …) of private rows", node.span, "leave DISTINCT out")
    if node.order or node.within_group:
        raise refuse(
            "PQL0305", f"the order of rows does not matter to {name.upper()}", node.span, help="leave out ORDER BY"
        )
    nodes, inner, where, star = _arguments(node, place)
    if (star and name != "count") or (not star and len(nodes) != 1):
        raise refuse("PQL0303", f"`{name.upper()}` takes one argument", node.span, help=f"write {name.upper()}(x)")
    argument: Typed | None = None
    if not star:
        unit = _unit_column(nodes[0], inner)
        argument = unit if unit is not None and name == "count" else ex.typed(nodes[0], inner)
    if name == "count":
        return _count(node, argument, where, text, collector_place=place)
    assert argument is not None
    if argument.free and isinstance(nodes[0], ast.Param):
        raise constants.unbound(nodes[0], "what is summed")
    if argument.text is not None or argument.type.kind not in _NUMBERS:
        raise refuse(
            "PQL0301",
            f"`{name.upper()}` needs a number, and this is {argument.type}",
            argument.span,
            help="aggregate a number, or COUNT it",
        )
    _bounded(node.name, argument, nodes[0])
    result = FLOAT if name == "avg" else _sum_type(argument.type)
    grid = None if result == FLOAT else argument.domain.grid
    answer = argument.domain.with_null() if name == "avg" else Domain(None, None, None, False, grid)
    if name == "avg":
        answer = interval(argument.domain.low, argument.domain.high, True, None)
    aggregate = Aggregate(
        place.context.fresh(),
        "sum" if name == "sum" else "avg",
        argument.term,
        argument.domain,
        argument.type,
        where,
        result,
        text,
        node.span,
        node.privacy,
    )
    key = (name, argument.term, where, node.privacy)
    return Typed(collector.release(key, aggregate, answer), answer, node.span)


def _count(node: ast.Call, argument: Typed | None, where: Scalar | None, text: str, collector_place: Place) -> Typed:
    collector = collector_place.collector
    assert collector is not None
    if argument is not None and argument.domain.nullable:
        present = Apply("not", (Apply("is_null", (argument.term,), BOOL),), BOOL)
        where = present if where is None else Apply("and", (where, present), BOOL)
    domain = Domain(None, None, None, False, _ONE)
    aggregate = Aggregate(
        collector_place.context.fresh(),
        "count",
        None,
        interval(0, 1, False, _ONE),
        None,
        where,
        INT,
        text,
        node.span,
        node.privacy,
    )
    return Typed(collector.release(("count", None, where, node.privacy), aggregate, domain), domain, node.span)


def _unit_column(node: ast.Expr, place: Place) -> Typed | None:
    """A unit's identifier may be counted, whatever else is forbidden to it."""
    if not isinstance(node, ast.Column):
        return None
    attribute, _ = place.scope.resolve(node.path, node.span)
    if attribute.unit is None or attribute.hidden:
        return None
    return Typed(Field(attribute.id, attribute.type), place.domain(attribute.id), node.span)


def _bounded(name: str, argument: Typed, node: ast.Expr) -> None:
    domain = argument.domain
    if domain.bounded or domain.empty:
        return
    written = unparse(node)
    low = number_text(domain.low) if domain.low is not None else "0"
    high = number_text(domain.high) if domain.high is not None else "1000"
    fix = f"CLAMP({written}, {low}, {high})"
    missing = (
        "no bounds known"
        if domain.low is None and domain.high is None
        else ("no upper bound known" if domain.high is None else "no lower bound known")
    )
    raise refuse(
        "PQL0402",
        f"`{name}` needs a bounded argument",
        argument.span,
        label=missing,
        why=f"sensitivity: |{written}| x rows per unit = ∞",
        help=f"write `{name.upper()}({fix})`",
        fixes=(Fix(node.span, fix),),
    )


def _sum_type(type: ValueType) -> ValueType:
    return decimal(38, type.scale) if type.kind == "DECIMAL" else type


def _exact(node: ast.Call, name: str, place: Place) -> Typed:
    """An aggregate of public or released rows: computed as it is, at no cost."""
    collector = place.collector
    assert collector is not None
    if node.privacy is not None:
        raise refuse(
            "PQL0409",
            "this aggregate costs nothing",
            node.privacy.span,
            why="its rows are public or released",
            help="leave out its privacy clause",
        )
    nodes, inner, where, star = _arguments(node, place)
    args = [ex.typed(arg, inner) for arg in nodes]
    order = _sort_keys(node.order or node.within_group, inner)
    if node.within_group:
        args = [ex.typed(node.within_group[0].expr, inner), *args]
        order = ()
    resolved = (
        resolve_aggregate(name, tuple(a.type for a in args), node.distinct) if not star or name == "count" else None
    )
    if resolved is None:
        given = "*" if star else ", ".join(str(a.type) for a in args)
        raise refuse(
            "PQL0301", f"`{name.upper()}` does not take ({given})", node.span, help="cast the argument, or correct it"
        )
    function, arg_types, result = resolved
    cast = tuple(ex.coerce(a, t) for a, t in zip(args, arg_types, strict=True))
    domain = aggregate_domain(function, tuple(a.domain for a in cast))
    made = AggregateCall(function, tuple(a.term for a in cast), result, node.distinct, order, where)
    return Typed(collector.aggregate(made, domain), domain, node.span)


def _grouping(node: ast.Call, place: Place) -> Typed:
    collector = place.collector
    if collector is None or not collector.grouped or collector.private:
        raise refuse("PQL0305", "GROUPING() needs GROUPING SETS", node.span, help="leave it out")
    terms = [ex.typed(arg, collector.input).term for arg in node.args]
    indices = tuple(next((i for i, key in enumerate(collector.keys) if key.value.term == t), -1) for t in terms)
    if -1 in indices or not indices:
        raise refuse("PQL0306", "GROUPING() takes group keys", node.span, help="name keys of GROUP BY")
    id = collector.groupings.get(indices)
    if id is None:
        id = collector._column("grouping", INT, interval(0, 2 ** len(indices) - 1, False, _ONE))
        collector.groupings[indices] = id
    return Typed(Field(id, INT), place.domain(id), node.span)


# ---------------------------------------------------------------- windows


def _window(node: ast.Call, name: str, place: Place) -> Typed:
    collector = place.collector
    if collector is None or place.clause not in ("SELECT", "ORDER BY", "QUALIFY"):
        raise refuse(
            "PQL0305", f"a window cannot stand in {place.clause}", node.span, help="compute it in a subquery first"
        )
    if collector.private and not collector.grouped:
        raise refuse(
            "PQL0407",
            "a window over private rows",
            node.span,
            why="one row's rank or neighbour depends on all the others, so one person can change every row",
            help="aggregate first: windows over released groups are free",
        )
    if node.privacy is not None or node.within_group or node.order or node.limit is not None:
        raise _not_yet("this clause inside a window call", node.span)
    if node.distinct:
        raise _not_yet("DISTINCT inside a window call", node.span)
    star = len(node.args) == 1 and isinstance(node.args[0], ast.Star)
    args = [collector.above(ex.typed(a, place)) for a in node.args] if not star else []
    types = tuple(a.type for a in args)
    known = resolve_window(name, types) if name in WINDOWS else resolve_aggregate(name, types, False)
    if known is None:
        if name not in WINDOWS and name not in AGGREGATES:
            names = sorted(AGGREGATES | WINDOWS)
            raise unknown_name(
                "PQL0204", "window function", node.name, node.span, names, lambda near: _renamed(node, near)
            )
        given = "*" if star else ", ".join(map(str, types))
        raise refuse(
            "PQL0301", f"`{name.upper()}` does not take ({given})", node.span, help="cast the argument, or correct it"
        )
    function, arg_types, result = known
    cast = tuple(ex.coerce(a, t) for a, t in zip(args, arg_types, strict=True))
    where = collector.above(ex.condition(node.filter, place)).term if node.filter is not None else None
    window = node.over if isinstance(node.over, ast.Window) else ast.Window(base=node.over, span=node.span)
    window = _resolve_window(window, place, node)
    domain = aggregate_domain(function, tuple(a.domain for a in cast)).with_null()
    made = WindowCall(
        AggregateCall(function, tuple(a.term for a in cast), result, False, (), where),
        tuple(collector.above(ex.typed(p, place)).term for p in window.partition),
        _sort_keys(window.order, place),
        window.frame.unit if window.frame else None,
        _edge(window.frame.start, place) if window.frame else None,
        _edge(window.frame.end, place) if window.frame and window.frame.end else None,
        node.nulls == "IGNORE",
    )
    return Typed(collector.window(made, domain), domain, node.span)


def _renamed(node: ast.Call, name: str) -> str:
    return unparse(replace(node, name=name.upper()))


def _over(call: ast.Call, name: str) -> str:
    over = call.over if isinstance(call.over, ast.Window) else None
    return unparse(replace(call, over=name if over is None else replace(over, base=name)))


def _resolve_window(window: ast.Window, place: Place, call: ast.Call) -> ast.Window:
    seen: set[str] = set()
    while window.base is not None:
        named = place.scope.windows.get(fold(window.base))
        if window.base.lower() in seen:
            raise refuse(
                "PQL0209",
                f"the window `{window.base}` is made of itself",
                call.span,
                help="leave its own name out of its definition",
            )
        if named is None:
            known = [] if seen else list(place.scope.windows)
            raise unknown_name("PQL0209", "window", window.base, call.span, known, lambda near: _over(call, near))
        seen.add(window.base.lower())
        window = ast.Window(
            named.base,
            window.partition or named.partition,
            window.order or named.order,
            window.frame or named.frame,
            span=window.span,
        )
    return window


def _edge(edge: ast.FrameEdge, place: Place) -> FrameBound:
    if edge.size is None:
        return FrameBound(edge.kind)
    size = ex.typed(edge.size, place)
    if (
        not isinstance(size.term, Const)
        or size.free
        or not (size.type.kind == "INTERVAL" or (isinstance(size.term.value, int) and size.term.value >= 0))
    ):
        raise refuse("PQL0308", "a frame's size must be a constant", edge.size.span, help="write a whole number")
    return FrameBound(edge.kind, size.term)


def sort_key(item: ast.OrderItem, value: Scalar) -> SortKey:
    """PostgreSQL's rule: NULL is larger than everything."""
    first = item.nulls_first if item.nulls_first is not None else item.descending
    return SortKey(value, item.descending, first)


def _sort_keys(items: Iterable[ast.OrderItem], place: Place) -> tuple[SortKey, ...]:
    collector = place.collector
    out = []
    for item in items:
        value = ex.typed(item.expr, place)
        out.append(sort_key(item, (collector.above(value) if collector is not None else value).term))
    return tuple(out)


# ---------------------------------------------------------------- what a tree contains


def aggregates_in(node: object) -> Iterator[ast.Call]:
    """The aggregate calls of this SELECT's expressions: not those of subqueries, nor of window calls themselves."""
    return _calls_in(node, lambda call: call.over is None and call.name.lower() in AGGREGATES)


def windows_in(node: object) -> Iterator[ast.Call]:
    return _calls_in(node, lambda call: call.over is not None)


def _calls_in(node: object, wanted: Callable[[ast.Call], bool]) -> Iterator[ast.Call]:
    todo = [node]
    while todo:
        at = todo.pop()
        if isinstance(at, ast.Query):
            continue
        if isinstance(at, ast.Call) and wanted(at):
            yield at
        elif isinstance(at, tuple):
            todo.extend(at)
        elif isinstance(at, ast.Node) and is_dataclass(at):
            todo.extend(getattr(at, f.name) for f in dataclass_fields(at) if f.name != "span")


def _not_yet(what: str, span: Span, help: str = "") -> Exception:
    return ex.not_yet(what, span, help)
