"""Windows over one unit's own rows, as the kernel's ranks, neighbours and running features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privql.check.relations import Aggregate, WindowCall
from privql.diagnostics import NOWHERE
from privql.domains import Domain
from privql.kernel import rules
from privql.kernel.rules import Stable
from privql.kernel.scalars import Const, Field, Scalar, ValueType, fields
from privql.kernel.terms import Feature, Frame, Neighbour, Order, Over, Rank, Window
from privql.plan.features import value_of

Calls = Sequence[tuple[str, WindowCall]]


def read_by(calls: Calls) -> frozenset[str]:
    terms = [
        term
        for _, call in calls
        for term in (*call.call.args, *call.partition, *(key.value for key in call.order), call.call.where)
    ]
    return frozenset(name for term in terms if term is not None for name in fields(term))


def windowed(below: Stable, calls: Calls, units: frozenset[str], types: Mapping[str, ValueType]) -> Stable:
    """All columns, and one for each call. Windows are within a unit anyway, so to partition by it adds nothing."""
    for id, call in calls:
        before = sorted(below.columns)
        made: dict[str, Rank | Neighbour | Over] = {}
        value = _value(id, call, made)
        partition = tuple(p for p in call.partition if not (isinstance(p, Field) and p.name in units))
        order = tuple(Order(key.value, key.descending, key.nulls_first) for key in call.order)
        below = rules.window(below, Window(below.term, partition, order, tuple(made.items())))
        below = rules.compute(below, (*((name, Field(name, types[name])) for name in before), (id, value)))
    return below


def _value(id: str, call: WindowCall, made: dict[str, Rank | Neighbour | Over]) -> Scalar:
    function, args, type = call.call.function, call.call.args, call.call.type
    match function:
        case "row_number" | "rank" | "dense_rank":
            kinds: dict[str, Rank] = {
                "row_number": Rank("ROW_NUMBER"),
                "rank": Rank("RANK"),
                "dense_rank": Rank("DENSE_RANK"),
            }
            made[f"{id}_rank"] = kinds[function]
            return Field(f"{id}_rank", type)
        case "lag" | "lead":
            by = args[1].value if len(args) > 1 and isinstance(args[1], Const) else 1
            assert isinstance(by, int)
            default = args[2] if len(args) > 2 else Const(None, type)
            made[f"{id}_near"] = Neighbour(args[0], by if function == "lag" else -by, default)
            return Field(f"{id}_near", type)
        case "count" | "sum" | "avg" | "min" | "max":
            features: dict[str, Feature] = {}
            one = Aggregate(
                id,
                function,
                args[0] if args else None,
                call.domains[0] if call.domains else Domain(),
                args[0].type if args else None,
                call.call.where,
                type,
                function,
                NOWHERE,
            )
            value = value_of(one, features)
            whole = call.frame_end is not None and call.frame_end.kind == "UNBOUNDED FOLLOWING"
            frame = Frame("GROUPS", None, 0) if call.order and not whole else None
            made.update({name: Over(feature, frame) for name, feature in features.items()})
            return value
        case _:
            raise rules.Unproved(f"no window within a unit computes {function}")
