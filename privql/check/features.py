"""Aggregates of one unit's own rows: exact, because they stay private. They are features of that unit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from privql.check import expressions as ex
from privql.check.arguments import arguments, renamed
from privql.check.operations import coerce, not_yet
from privql.check.relations import Aggregate
from privql.check.typed import Place, Typed
from privql.diagnostics import Fix, refuse
from privql.domains import Domain, interval
from privql.functions.aggregate.public import aggregate_domain, resolve_aggregate
from privql.syntax import ast, unparse

_FEATURES = {
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "min": "min",
    "max": "max",
    "bool_and": "min",
    "every": "min",
    "bool_or": "max",
}


def feature(node: ast.Call, name: str, place: Place) -> Typed:
    collector = place.collector
    assert collector is not None
    if node.privacy is not None:
        raise refuse(
            "PQL0409",
            "this aggregate costs nothing",
            node.privacy.span,
            why="it is of one unit's own rows, and stays private",
            help="leave out its privacy clause; what is aggregated over all units is paid for",
        )
    if name not in _FEATURES:
        raise not_yet(
            f"`{name.upper()}` of one unit's rows", node.span, "COUNT, SUM, AVG, MIN, MAX, BOOL_AND and BOOL_OR can be"
        )
    if node.distinct and name not in ("count", "min", "max"):
        raise not_yet(f"{name.upper()}(DISTINCT …) of one unit's rows", node.span, "take them from a SELECT DISTINCT")
    if node.order or node.within_group:
        raise refuse(
            "PQL0305", f"the order of rows does not matter to {name.upper()}", node.span, help="leave out ORDER BY"
        )
    nodes, inner, where, star = arguments(node, place)
    args = [(ex.identifier(arg, inner) if name == "count" else None) or ex.typed(arg, inner) for arg in nodes]
    resolved = (
        resolve_aggregate(name, tuple(a.type for a in args), node.distinct) if not star or name == "count" else None
    )
    if resolved is None or len(args) > 1:
        given = "*" if star else ", ".join(str(a.type) for a in args)
        raise refuse(
            "PQL0301", f"`{name.upper()}` does not take ({given})", node.span, help="cast the argument, or correct it"
        )
    function, types, result = resolved
    cast = [coerce(a, t) for a, t in zip(args, types, strict=True)]
    argument = cast[0] if cast else None
    bounded_if_float(node, name, cast)
    aggregate = Aggregate(
        place.context.fresh(),
        _FEATURES[name],  # type: ignore[arg-type]
        argument.term if argument is not None else None,
        argument.domain if argument is not None else interval(0, 1, False, Fraction(1)),
        argument.type if argument is not None else None,
        where,
        result,
        renamed(node, node.name),
        node.span,
        distinct=node.distinct,
    )
    found = aggregate_domain(function, tuple(a.domain for a in cast))
    key = (_FEATURES[name], aggregate.argument, where, node.distinct)
    most = collector.rows_per_unit
    if most is not None and name in ("count", "sum"):
        found = _of_at_most(most, name, argument, found)
    return Typed(collector.feature(key, aggregate, found), found, node.span)


def _of_at_most(rows: int, name: str, argument: Typed | None, found: Domain) -> Domain:
    """What so many rows can come to, by the owner's declaration."""
    if name == "count":
        return interval(found.low or 0, rows, False, Fraction(1))
    assert argument is not None
    low, high = argument.domain.low, argument.domain.high
    if low is None or high is None:
        return found
    return interval(min(low, low * rows), max(high, high * rows), True, argument.domain.grid)


def bounded_if_float(node: ast.Call, name: str, args: Sequence[Typed]) -> None:
    """Doubles add up to another number in another order of rows, which would move everybody's sums: steps do not."""
    if name not in ("sum", "avg") or args[0].type.kind != "FLOAT" or args[0].domain.bounded or args[0].domain.empty:
        return
    fix = f"CLAMP({unparse(node.args[0])}, 0, 1000)"
    raise refuse(
        "PQL0402",
        f"`{node.name}` of FLOAT needs a bounded argument",
        args[0].span,
        label="no bounds known",
        why="sums of doubles depend on the order of rows; whole steps of a known range do not",
        help=f"write `{node.name.upper()}({fix})`",
        fixes=(Fix(node.args[0].span, fix),),
    )
