"""Shadows of what puts rows together: aggregates, windows, DISTINCT, UNION and LIMIT, in each replicate by itself.

A shadow is NULL where one of those that were put together is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from privql.check.columns import produced
from privql.check.relations import AggregateCall, Combined, Compute, Grouped, Rel, Sorted, Where, WindowCall, Windowed
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar, ValueType
from privql.post.shadow_terms import Lifted, Terms, only_if, passed, same, shadow

_LINEAR = frozenset({"sum", "avg"})
_AMONG = frozenset({"min", "max", "quantile_cont", "quantile_disc"})
_ONE_ROW = frozenset({"lag", "lead", "first_value", "last_value", "nth_value"})
_SPREADS = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp"})
_OF_PAIRS = frozenset({"covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept"})
_KNOWN = _LINEAR | _AMONG | _ONE_ROW | _SPREADS | _OF_PAIRS


def noisy_calls(
    calls: Sequence[tuple[str, AggregateCall]], terms: Terms, unknown: Collection[str] = ()
) -> dict[str, AggregateCall]:
    """Those that get a shadow, the `unknown` never."""
    out: dict[str, AggregateCall] = {}
    for id, call in calls:
        if call.function == "count" and not call.distinct:
            continue  # what is chosen stays chosen
        if call.function not in _KNOWN or call.distinct or id in unknown:
            if any(any(terms.reads(arg)) for arg in call.args):
                terms.lost.add(id)
        elif terms.learn(id, call.args, call.function in _LINEAR | _ONE_ROW | _AMONG):
            if call.function in _AMONG:
                terms.bounds.add(id)
            out[id] = call
    return out


def grouped(rel: Grouped, made: Rel, number: str, wanted: Mapping[str, AggregateCall], terms: Terms) -> Rel:
    """`made`: the rows below, those of each replicate; `wanted`: the noisy ones of its calls."""
    more: list[tuple[str, AggregateCall]] = []
    finished: list[tuple[str, Scalar]] = []
    for id, call in wanted.items():
        calls, value = _shadow(id, call, number, terms)
        more += calls
        finished.append((shadow(id), value))
    made = Grouped(
        made,
        (*rel.keys, (number, Field(number, INT))),
        (*rel.aggregates, *more),
        tuple((*chosen, len(rel.keys)) for chosen in rel.sets),
        rel.grouping,
    )
    return Compute(made, (*passed(produced(rel)), *finished, (number, Field(number, INT))))


def windowed(rel: Windowed, made: Rel, number: str, wanted: Mapping[str, AggregateCall], terms: Terms) -> Rel:
    """The same of windows."""
    below = produced(made)
    windows = {id: replace(window, partition=(*window.partition, Field(number, INT))) for id, window in rel.calls}
    more = dict(windows)
    finished: list[tuple[str, Scalar]] = []
    for id, call in wanted.items():
        calls, value = _shadow(id, call, number, terms)
        more |= {each: replace(windows[id], call=beside) for each, beside in calls}
        finished.append((shadow(id), value))
    return Compute(Windowed(made, tuple(more.items())), (*passed({**below, **produced(rel)}), *finished))


def distinct(rel: Rel, columns: Mapping[str, ValueType], number: str, terms: Terms) -> Rel:
    """A row that only one row became keeps its shadows."""
    rows = terms.fresh("rows")
    shadows = [(id, terms.fresh(id), type) for id, type in columns.items() if id in terms.noisy]
    picked = [(made, AggregateCall("max", (Field(shadow(id), type),), type)) for id, made, type in shadows]
    keys = (*passed(columns), (number, Field(number, INT)))
    grouped = Grouped(rel, keys, ((rows, AggregateCall("count", (), INT)), *picked), (tuple(range(len(keys))),))
    alone = Apply("eq", (Field(rows, INT), Const(1, INT)), BOOL)
    finished = [(shadow(id), only_if(alone, Field(made, type))) for id, made, type in shadows]
    return Compute(grouped, (*keys, *finished))


def noisy_columns(rel: Combined, terms: Terms) -> list[tuple[str, str, str]]:
    """Those that get a shadow where it is a UNION: the name of each, and that on either side."""
    pairs = list(zip(rel.columns, rel.left_columns, rel.right_columns, strict=True))
    for (id, _), *both in pairs:
        if rel.op == "UNION":
            terms.follows(id, both)
        elif not (terms.noisy | terms.lost).isdisjoint(both):
            terms.lost.add(id)
    return [(id, left, right) for (id, _), left, right in pairs if id in terms.noisy]


def union(
    rel: Combined, left: tuple[Rel, str], right: tuple[Rel, str], noisy: Sequence[tuple[str, str, str]], terms: Terms
) -> Lifted:
    """`left` and `right`: the rows of either side, and which of their columns numbers the replicate."""
    number, types = terms.fresh("replicate"), dict(rel.columns)
    lefts, rights = [old for _, old, _ in noisy], [new for _, _, new in noisy]
    made = Combined(
        "UNION",
        True,
        _with_shadows(left[0], lefts, terms),
        (*rel.left_columns, *map(shadow, lefts), left[1]),
        _with_shadows(right[0], rights, terms),
        (*rel.right_columns, *map(shadow, rights), right[1]),
        (*rel.columns, *((shadow(id), types[id]) for id, _, _ in noisy), (number, INT)),
    )
    return (made if rel.all else distinct(made, types, number, terms)), number


def _with_shadows(rel: Rel, ids: Sequence[str], terms: Terms) -> Rel:
    """What is exact on one side of a UNION is its own shadow."""
    have = produced(rel)
    lacking = {shadow(id): Field(id, have[id]) for id in ids if id not in terms.noisy}
    return Compute(rel, (*passed(have), *lacking.items())) if lacking else rel


def ordered(rel: Sorted, made: Rel, number: str, terms: Terms) -> Rel:
    """A LIMIT is one of each replicate."""
    if rel.limit is None and not rel.offset:
        return Sorted(made, rel.keys)
    place = terms.fresh("place")
    numbered = WindowCall(AggregateCall("row_number", (), INT), (Field(number, INT),), rel.keys)
    within: Scalar = Apply("gt", (Field(place, INT), Const(rel.offset, INT)), BOOL)
    if rel.limit is not None:
        last = Apply("le", (Field(place, INT), Const(rel.offset + rel.limit, INT)), BOOL)
        within = Apply("and", (within, last), BOOL)
    return Sorted(Where(Windowed(made, ((place, numbered),)), within), rel.keys)


# ---------------------------------------------------------------- one call


def _shadow(id: str, call: AggregateCall, number: str, terms: Terms) -> tuple[list[tuple[str, AggregateCall]], Scalar]:
    """What is to be called beside it, and the shadow that this makes."""
    whole = terms.fresh(id)
    calls = [(whole, _of_shadows(call, number, terms))]
    value = _off(id, call, whole, number)
    for arg in call.args if call.function not in _ONE_ROW else ():
        if terms.reads(arg)[0]:
            released, again = terms.fresh(id), terms.fresh(id)
            for name, counted in ((released, arg), (again, terms.shadow(arg, number))):
                calls.append((name, AggregateCall("count", (counted,), INT, where=call.where)))
            value = only_if(same(released, again), value)
    return calls, value


def _of_shadows(call: AggregateCall, number: str, terms: Terms) -> AggregateCall:
    """The same of the shadows; of one value among several, the farthest that any of them moved.

    A greatest value of noisy ones is above the greatest exact one more often than not, and that of replicates even
    more so; but it is off by no more than the one that is off most.
    """
    if call.function not in _AMONG:
        return replace(call, args=tuple(terms.shadow(arg, number) for arg in call.args))
    type = call.args[0].type
    moved = Apply("abs", (Apply("sub", (terms.shadow(call.args[0], number), call.args[0]), type),), type)
    return AggregateCall("max", (moved,), type, where=call.where)


def _off(id: str, call: AggregateCall, whole: str, number: str) -> Scalar:
    """One value among several is above the released one by that much in every second replicate, and below in others."""
    if call.function not in _AMONG:
        return Field(whole, call.type)
    up = Apply("eq", (Apply("mod", (Field(number, INT), Const(2, INT)), INT), Const(0, INT)), BOOL)
    moved: Scalar = Field(whole, call.args[0].type)
    moved = moved if moved.type == call.type else Apply("cast", (moved,), call.type)
    ends = (Apply(op, (Field(id, call.type), moved), call.type) for op in ("add", "sub"))
    return Apply("case", (up, *ends), call.type)
