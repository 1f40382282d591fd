"""Windows: over public and released rows, or over the private rows of one unit."""

from __future__ import annotations

from dataclasses import replace

from privql.check import expressions as ex
from privql.check.arguments import not_taken, renamed, sort_keys
from privql.check.features import settled
from privql.check.operations import coerce, not_yet
from privql.check.relations import AggregateCall, FrameBound, WindowCall
from privql.check.resolved import identifier
from privql.check.scope import unknown_name
from privql.check.typed import Place, Typed
from privql.diagnostics import refuse
from privql.domains import NUMERIC
from privql.functions.aggregate.public import (
    AGGREGATES,
    WINDOWS,
    aggregate_domain,
    resolve_aggregate,
    resolve_window,
)
from privql.functions.aggregate.within import domain_within
from privql.kernel.scalars import INT, INTERVAL, Const, Field
from privql.names import fold
from privql.syntax import ast, unparse


def window(node: ast.Call, name: str, place: Place) -> Typed:
    collector = place.collector
    if collector is None or place.clause not in ("SELECT", "ORDER BY", "QUALIFY"):
        raise refuse(
            "PQL0305", f"a window cannot stand in {place.clause}", node.span, help="compute it in a subquery first"
        )
    secret = collector.private and (collector.gathered or not collector.grouped)
    if node.privacy is not None or node.within_group or node.order or node.limit is not None:
        raise not_yet("this clause inside a window call", node.span)
    if node.distinct:
        raise not_yet("DISTINCT inside a window call", node.span)
    star = len(node.args) == 1 and isinstance(node.args[0], ast.Star)
    args = [collector.above(ex.typed(a, place)) for a in node.args] if not star else []
    types = tuple(a.type for a in args)
    known = resolve_window(name, types) if name in WINDOWS else resolve_aggregate(name, types, False)
    if known is None:
        if name not in WINDOWS and name not in AGGREGATES:
            names = sorted(AGGREGATES | WINDOWS)
            raise unknown_name(
                "PQL0204", "window function", node.name, node.span, names, lambda near: renamed(node, near)
            )
        raise not_taken(node, args, star)
    function, arg_types, result = known
    if node.filter is not None and name in WINDOWS:
        raise refuse("PQL0305", f"`{name.upper()}` takes no FILTER", node.filter.span, help="filter rows in a subquery")
    cast = [coerce(a, t) for a, t in zip(args, arg_types, strict=True)]
    if secret:
        cast = settled(node, function, cast, args)
    where = collector.above(ex.condition(node.filter, place)).term if node.filter is not None else None
    window = node.over if isinstance(node.over, ast.Window) else ast.Window(base=node.over, span=node.span)
    window = _resolve_window(window, place, node)
    if window.frame is not None:
        _possible(window, place, secret)
    domains = tuple(a.domain for a in cast)
    domain = (
        domain_within(function, domains, _rows_of(window.frame, name, place))
        if secret
        else aggregate_domain(function, domains)
    )
    parts = tuple(collector.above(identifier(p, place) or ex.typed(p, place)) for p in window.partition)
    if secret:
        _of_one_unit(node, parts, place)
        _told_apart(node, function, cast)
    made = WindowCall(
        AggregateCall(function, tuple(a.term for a in cast), result, False, (), where),
        tuple(part.term for part in parts),
        sort_keys(window.order, place),
        window.frame.unit if window.frame else None,
        _edge(window.frame.start, window.frame, place) if window.frame else None,
        _edge(window.frame.end, window.frame, place) if window.frame and window.frame.end else None,
        node.nulls == "IGNORE",
        domains if secret else (),
    )
    return Typed(collector.window(made, domain), domain, node.span)


_SKIP_NULLS = frozenset({"first_value", "last_value", "nth_value"})


def _of_one_unit(node: ast.Call, parts: tuple[Typed, ...], place: Place) -> None:
    """Over private rows, a window is within one unit."""
    context = place.context
    located = any(
        isinstance(part.term, Field)
        and context.attributes[part.term.name].locates is not None
        and not context.column_domain(part.term.name).nullable
        for part in parts
    )
    if not located:
        own = next((f"`{column.name}`" for column in place.scope.everything() if column.unit), "the unit's column")
        raise refuse(
            "PQL0407",
            "a window over the private rows of many units",
            node.span,
            why="one row's rank or neighbour depends on all the others, so one person can change every row",
            help=f"PARTITION BY {own}, or aggregate first: windows over released groups are free",
        )


def _told_apart(node: ast.Call, function: str, args: list[Typed]) -> None:
    """Which row is meant cannot hang on the row itself; and what is beside a row may be NULL."""
    if node.nulls == "IGNORE" and function not in _SKIP_NULLS:
        raise not_yet(f"IGNORE NULLS of `{node.name.upper()}` over private rows", node.span)
    if function not in ("lag", "lead", "nth_value") or len(args) < 2:
        return
    distance = args[1].term
    if not isinstance(distance, Const):
        raise not_yet("a distance that is no constant, over private rows", args[1].span, "write a number")
    if function == "nth_value" and not (isinstance(distance.value, int) and distance.value > 0):
        raise refuse("PQL0302", "the rows of a frame are counted from 1", args[1].span, help="write 1 for the first")


def _over(call: ast.Call, name: str) -> str:
    over = call.over if isinstance(call.over, ast.Window) else None
    return unparse(replace(call, over=name if over is None else replace(over, base=name)))


def _resolve_window(window: ast.Window, place: Place, call: ast.Call) -> ast.Window:
    seen: set[str] = set()
    while window.base is not None:
        named = place.scope.windows.get(fold(window.base))
        if fold(window.base) in seen:
            raise refuse(
                "PQL0209",
                f"the window `{window.base}` is made of itself",
                call.span,
                help="leave its own name out of its definition",
            )
        if named is None:
            known = [] if seen else list(place.scope.windows)
            raise unknown_name("PQL0209", "window", window.base, call.span, known, lambda near: _over(call, near))
        seen.add(fold(window.base))
        window = ast.Window(
            named.base,
            window.partition or named.partition,
            window.order or named.order,
            window.frame or named.frame,
            span=window.span,
        )
    return window


_ORDER = ("UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING")


def _possible(window: ast.Window, place: Place, secret: bool) -> None:
    """A frame must start before it ends; a RANGE in values needs one thing to measure them by."""
    frame = window.frame
    assert frame is not None
    end = frame.end.kind if frame.end is not None else "CURRENT ROW"
    if _ORDER.index(frame.start.kind) > _ORDER.index(end) or frame.start.kind == _ORDER[4] or end == _ORDER[0]:
        raise refuse(
            "PQL0305",
            "this frame starts after its end",
            frame.span,
            help="write BETWEEN the earlier edge AND the later",
        )
    sized = [edge.size for edge in (frame.start, frame.end) if edge is not None and edge.size is not None]
    if frame.unit != "RANGE" or not sized:
        return
    if secret:
        raise not_yet(
            "RANGE with a distance over private rows", frame.span, "count rows by ROWS, or what ties by GROUPS"
        )
    kinds = [ex.typed(item.expr, place).type.kind for item in window.order]
    if len(kinds) != 1 or kinds[0] not in (*NUMERIC, "DATE", "TIMESTAMP"):
        raise refuse(
            "PQL0305",
            "RANGE with a distance needs one ORDER BY of a number, a date or a timestamp",
            frame.span,
            help="write ROWS, or order by one such value",
        )
    of_time = kinds[0] in ("DATE", "TIMESTAMP")
    if any((ex.typed(size, place).type == INTERVAL) != of_time for size in sized):
        key = "a date or a timestamp" if of_time else "a number"
        raise refuse(
            "PQL0301",
            f"RANGE by {key} is as far as {'an INTERVAL' if of_time else 'a number'} says",
            frame.span,
            help="write RANGE INTERVAL '7' DAY PRECEDING" if of_time else "write RANGE 7 PRECEDING",
        )


def _rows_of(frame: ast.Frame | None, name: str, place: Place) -> int | None:
    """How many rows of a unit a call is about at most, if that can be said: those of its frame, or all that it has."""
    assert place.collector is not None
    most = place.collector.rows_per_unit
    if frame is None or frame.unit != "ROWS" or name in WINDOWS:
        return most
    ends = []
    for edge in (frame.start, frame.end or ast.FrameEdge("CURRENT ROW", span=frame.span)):
        made = _edge(edge, frame, place)
        if made.kind.startswith("UNBOUNDED"):
            return most
        size = made.size.value if isinstance(made.size, Const) else 0
        assert isinstance(size, int)
        ends.append(-size if made.kind == "PRECEDING" else size)
    rows = max(0, ends[1] - ends[0] + 1)
    return rows if most is None else min(rows, most)


def _edge(edge: ast.FrameEdge, frame: ast.Frame, place: Place) -> FrameBound:
    if edge.size is None:
        return FrameBound(edge.kind)
    size = ex.typed(edge.size, place)
    match size.term:
        case Const(value=int(rows), type=type) if type == INT and rows >= 0:
            return FrameBound(edge.kind, size.term)
        case Const(value=tuple(parts)) if frame.unit == "RANGE" and min(parts) >= 0:
            return FrameBound(edge.kind, size.term)
        case _:
            message = (
                "a frame's size must be a constant that is not negative: a whole number of 64 bits, or an INTERVAL"
            )
            counted = "groups" if frame.unit == "GROUPS" else "rows"
            help = f"write the number of {counted}, or as in `RANGE INTERVAL '7' DAY PRECEDING`"
            raise refuse("PQL0308", message, edge.size.span, help=help)
