"""Windows over one unit's own rows, as the kernel's ranks, neighbours, places and features of frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from privql.check.relations import Aggregate, FrameBound, WindowCall
from privql.diagnostics import NOWHERE
from privql.domains import Domain
from privql.kernel import rules
from privql.kernel.features import STEP_LIMIT, Feature, Frame, Neighbour, Nth, Order, Over, Rank, Tally
from privql.kernel.features import WindowCall as KernelCall
from privql.kernel.scalars import FLOAT, INT, Apply, Const, Field, Scalar, ValueType
from privql.kernel.stable import Stable
from privql.plan import held
from privql.plan.declared import applied
from privql.plan.features import value_of

Calls = Sequence[tuple[str, WindowCall]]
_RANKS = {"row_number": Rank("ROW_NUMBER"), "rank": Rank("RANK"), "dense_rank": Rank("DENSE_RANK")}
_ONE = Const(1, INT)
_ALL = Over(Tally(), None)
_SO_FAR = Frame("GROUPS", None, 0)  # all up to the present row, and what ties with it


def read_by(calls: Calls) -> list[Scalar]:
    return [
        term
        for _, call in calls
        for term in (*call.call.args, *call.partition, *(key.value for key in call.order), call.call.where)
        if term is not None
    ]


def windowed(below: Stable, calls: Calls, units: frozenset[str], types: Mapping[str, ValueType]) -> Stable:
    """All columns, and one for each call. Windows are within a unit anyway, so to partition by it adds nothing."""
    needed: list[dict[str, KernelCall]] = [{} for _ in calls]
    values = [_value(id, call, made) for (id, call), made in zip(calls, needed, strict=True)]
    below = held.of_windows(below, [made.values() for made in needed])
    for (id, call), value, made in zip(calls, values, needed, strict=True):
        before = sorted(below.columns)
        partition = tuple(p for p in call.partition if not (isinstance(p, Field) and p.name in units))
        order = tuple(Order(key.value, key.descending, key.nulls_first) for key in call.order)
        below = rules.window(below, partition, order, tuple(made.items()))
        below = rules.compute(below, (*((name, Field(name, types[name])) for name in before), (id, value)))
    return below


def _value(id: str, call: WindowCall, made: dict[str, KernelCall]) -> Scalar:
    function, args, type = call.call.function, call.call.args, call.call.type

    def added(suffix: str, one: KernelCall, type: ValueType = INT) -> Field:
        made[f"{id}_{suffix}"] = one
        return Field(f"{id}_{suffix}", type)

    match function:
        case "row_number" | "rank" | "dense_rank":
            return added("rank", _RANKS[function])
        case "percent_rank":
            before = _double(applied("sub", added("rank", _RANKS["rank"]), _ONE))
            others = applied("sub", added("rows", _ALL), _ONE)
            share = applied("div", before, _double(others))
            return Apply("case", (applied("gt", others, Const(0, INT)), share, Const(0.0, FLOAT)), FLOAT)
        case "cume_dist":
            far = added("far", Over(Tally(), _SO_FAR))
            return applied("div", _double(far), _double(added("rows", _ALL)))
        case "ntile":
            before = applied("sub", added("place", _RANKS["row_number"]), _ONE)
            return _tile(args[0], before, added("rows", _ALL))
        case "lag" | "lead":
            by = args[1].value if len(args) > 1 and isinstance(args[1], Const) else 1
            assert isinstance(by, int)
            default = args[2] if len(args) > 2 else Const(None, type)
            return added("near", Neighbour(args[0], by if function == "lag" else -by, default), type)
        case "first_value" | "last_value" | "nth_value":
            place = args[1].value if function == "nth_value" and isinstance(args[1], Const) else 1
            assert isinstance(place, int)
            nth = Nth(args[0], -1 if function == "last_value" else place, _frame(call), call.ignore_nulls)
            return added("there", nth, type)
        case _:
            features: dict[str, Feature] = {}
            value = value_of(_aggregate(id, call), features)
            made.update({name: Over(feature, _frame(call)) for name, feature in features.items()})
            return value


def _tile(tiles: Scalar, place: Scalar, rows: Scalar) -> Scalar:
    """Tiles of equal size, the first ones with one row more where that does not come out even; `place` is from 0."""
    least, over = applied("int_div", rows, tiles), applied("mod", rows, tiles)
    larger = applied("add", least, _ONE)
    ends = applied("mul", over, larger)  # of the larger ones
    early = applied("int_div", place, larger)
    late = applied("add", over, applied("int_div", applied("sub", place, ends), least))
    tile = Apply("case", (applied("lt", place, ends), early, late), INT)
    some = applied("gt", tiles, Const(0, INT))
    return Apply("case", (some, applied("add", tile, _ONE), Const(None, INT)), INT)


def _aggregate(id: str, call: WindowCall) -> Aggregate:
    args = list(zip(call.call.args, call.domains, strict=True))
    return Aggregate(
        id,
        call.call.function,
        args[0][0] if args else None,
        args[0][1] if args else Domain(),
        args[0][0].type if args else None,
        call.call.where,
        call.call.type,
        call.call.function,
        NOWHERE,
        others=tuple(args[1:]),
        order=call.order if call.call.function == "string_agg" else (),
    )


def _frame(call: WindowCall) -> Frame | None:
    """RANGE up to a row is up to those that tie with it; rows that are not in order all tie."""
    start, end = call.frame_start, call.frame_end
    if start is None:
        return _SO_FAR if call.order else None
    by: Literal["ROWS", "GROUPS"] = "ROWS" if call.frame_unit == "ROWS" else "GROUPS"
    frame = Frame(by, _places(start), 0 if end is None else _places(end))
    open_ = {frame.start, frame.end} <= ({None} if call.order or by == "ROWS" else {None, 0})
    return None if open_ else frame


def _places(bound: FrameBound) -> int | None:
    if bound.kind.startswith("UNBOUNDED"):
        return None
    size = bound.size.value if isinstance(bound.size, Const) else 0
    assert isinstance(size, int)
    size = min(size, STEP_LIMIT)  # no unit has as many rows
    return -size if bound.kind == "PRECEDING" else size


def _double(value: Scalar) -> Scalar:
    return Apply("cast", (value,), FLOAT)
