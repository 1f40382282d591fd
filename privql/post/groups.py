"""GROUP BY and windows: their arguments are computed in a SELECT below them, and their results finished in one above.

So a function of the engine only ever meets columns and constants, and may be one part of what is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from privql.check.relations import AggregateCall, FrameBound, Grouped, WindowCall, Windowed
from privql.engines.sql.expressions import name as quoted
from privql.functions.aggregate.public import constant_argument
from privql.kernel.scalars import Const, Field, Scalar
from privql.post.calls import order_matters, parts, ranks, row_wise, skips_nulls
from privql.post.pieces import Emitted, Emitter, last, sort_key


def grouped(emitter: Emitter, rel: Grouped, ordered: bool) -> Emitted:
    below = emitter.rel(rel.input, any(order_matters(call.function) for _, call in rel.aggregates))
    inner = Level(emitter, below)
    keys = [inner.added(term) for _, term in rel.keys]
    raws: list[str] = []
    outer = [f"{key} AS {quoted(id)}" for (id, _), key in zip(rel.keys, keys, strict=True)]
    for id, call in rel.aggregates:
        outer.append(f"{_call(emitter, call, inner, raws, below.order)} AS {quoted(id)}")
    for id, indices in rel.grouping:
        mask = emitter.fresh()
        raws.append(f"{_mask([keys[at] for at in indices])} AS {mask}")
        outer.append(f"{mask} AS {quoted(id)}")
    order: list[str] = []
    if ordered:
        order = [emitter.fresh() for _ in (*keys, None)]
        outer += [f"{key} AS {place}" for key, place in zip((*keys, order[-1]), order, strict=True)]
        raws.append(f"{_mask(keys)} AS {order[-1]}")
    if not keys:  # perhaps nothing else is asked of the one group
        raws.append(f"count(*) AS {emitter.fresh()}")
    sets = ", ".join(f"({', '.join(keys[at] for at in chosen)})" for chosen in rel.sets)
    by = f" GROUP BY GROUPING SETS ({sets})" if keys or len(rel.sets) > 1 else ""
    sql = f"SELECT {', '.join([*keys, *raws])} FROM ({inner.around()}){by}"
    ids = (*(id for id, _ in rel.keys), *(id for id, _ in rel.aggregates), *(id for id, _ in rel.grouping))
    return Emitted(f"SELECT {', '.join(outer) or '*'} FROM ({sql})", ids, tuple(order))


def _mask(keys: Sequence[str]) -> str:
    return f"grouping({', '.join(keys)})" if keys else "0"


def windowed(emitter: Emitter, rel: Windowed, ordered: bool) -> Emitted:
    apart = any(_tells_apart(call) or order_matters(call.call.function) for _, call in rel.calls)
    below = emitter.rel(rel.input, ordered or apart)
    inner = Level(emitter, below)
    raws: list[str] = []
    outer = list(below.everything)
    for id, call in rel.calls:
        finished = _call(emitter, call.call, inner, raws, below.order, call)
        outer.append(f"{finished} AS {quoted(id)}")
    sql = f"SELECT *, {', '.join(raws)} FROM ({inner.around()})" if raws else inner.around()
    ids = (*below.ids, *(id for id, _ in rel.calls))
    return Emitted(f"SELECT {', '.join(outer) or '*'} FROM ({sql})", ids, below.order)


def _call(
    emitter: Emitter,
    call: AggregateCall,
    inner: Level,
    raws: list[str],
    order: Sequence[str],
    window: WindowCall | None = None,
) -> str:
    """The expression over the columns that are added to `raws`."""
    literal = constant_argument(call.function)
    args = [emitter.value(arg) if at == literal else inner.column(arg) for at, arg in enumerate(call.args)]
    found = parts(call, args)
    within = (call.order or (window.order if window is not None else ())) if order_matters(call.function) else ()
    by = [sort_key(inner.column(key.value), key) for key in within]
    if order_matters(call.function) and not call.distinct:
        by += map(last, order)
    elif order_matters(call.function) and not by:
        by = [inner.column(call.args[0])]
    after = f" FILTER (WHERE {inner.column(call.where)})" if call.where is not None else ""
    after += _window(emitter, window, inner, order) if window is not None else ""
    names = []
    for function, given in found.raw:
        inside = ("DISTINCT " if call.distinct else "") + ", ".join(given)
        inside += f" ORDER BY {', '.join(by)}" if by else ""
        inside += " IGNORE NULLS" if window is not None and window.ignore_nulls and skips_nulls(function) else ""
        names.append(emitter.fresh())
        raws.append(f"{function}({inside}){after} AS {names[-1]}")
    return found.final.format(*names)


def _window(emitter: Emitter, call: WindowCall, inner: Level, order: Sequence[str]) -> str:
    said = []
    if call.partition:
        said.append(f"PARTITION BY {', '.join(inner.column(term) for term in call.partition)}")
    distance = (
        call.frame_unit == "RANGE"
        and not ranks(call.call.function)
        and any(bound is not None and bound.size is not None for bound in (call.frame_start, call.frame_end))
    )
    keys = []
    for key in call.order:
        column = inner.column(key.value)
        if distance and key.value.type.kind == "INT":
            column = f"CAST({column} AS HUGEINT)"  # a distance from the ends of the 64 bits would overflow them
        keys.append(sort_key(column, key))
    if _tells_apart(call):
        keys += map(last, order)
    if keys:
        said.append(f"ORDER BY {', '.join(keys)}")
    if call.frame_unit is not None and call.frame_start is not None and not ranks(call.call.function):
        frame = _bound(emitter, call.frame_start)
        if call.frame_end is not None:
            frame = f"BETWEEN {frame} AND {_bound(emitter, call.frame_end)}"
        said.append(f"{call.frame_unit} {frame}")
    return f" OVER ({' '.join(said)})"


def _bound(emitter: Emitter, bound: FrameBound) -> str:
    match bound.size:
        case None:
            return bound.kind
        case Const(value=(months, days, microseconds)):
            return f"INTERVAL '{months} months {days} days {microseconds} microseconds' {bound.kind}"
        case size:
            return f"{emitter.value(size)} {bound.kind}"


class Level:
    """A SELECT below groups, windows or an order, that computes what they read."""

    def __init__(self, emitter: Emitter, below: Emitted) -> None:
        self.emitter = emitter
        self.below = below
        self.computed: list[tuple[str, Scalar]] = []
        self.known: dict[Scalar, str] = {}

    def column(self, term: Scalar) -> str:
        """A column of the relation itself - an aggregate of an outer column would belong to the query around."""
        if isinstance(term, Field) and term.name in self.below.ids:
            return self.emitter.value(term)
        found = self.known.get(term)
        if found is None:
            found = self.known[term] = self.added(term)
        return found

    def added(self, term: Scalar) -> str:
        """A column of its own: GROUP BY takes a constant for a position, and equal keys for one."""
        name = self.emitter.fresh()
        self.computed.append((name, term))
        return name

    def around(self) -> str:
        if not self.computed:
            return self.below.sql
        listed = [f"{self.emitter.value(term)} AS {name}" for name, term in self.computed]
        return f"SELECT *, {', '.join(listed)} FROM ({self.below.sql})"


def _tells_apart(call: WindowCall) -> bool:
    """Whether rows that ORDER BY holds equal must still have an order."""
    return row_wise(call.call.function) or (call.frame_unit == "ROWS" and not ranks(call.call.function))
