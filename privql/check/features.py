"""Aggregates of one unit's own rows: exact, because they stay private. They are features of that unit."""

from __future__ import annotations

from collections.abc import Sequence

from privql.check import expressions as ex
from privql.check.arguments import arguments, fixed, not_taken, one_order, renamed, sort_keys, unordered
from privql.check.conditions import also
from privql.check.operations import coerce
from privql.check.relations import Aggregate
from privql.check.resolved import identifier
from privql.check.typed import Place, Typed
from privql.diagnostics import Fix, refuse
from privql.domains import Domain
from privql.functions.aggregate.public import constant_argument, resolve_aggregate
from privql.functions.aggregate.within import MOMENTS, domain_within
from privql.syntax import ast, unparse

_SAME_OF_DIFFERENT = frozenset({"min", "max", "any_value", "bool_and", "bool_or", "bit_and", "bit_or"})
_OF_AN_ORDER = frozenset({"string_agg", "mode", "quantile_cont", "quantile_disc"})


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
    nodes, inner, where, star = arguments(node, place)
    args = [(identifier(arg, inner) if name == "count" else None) or ex.typed(arg, inner) for arg in nodes]
    spliced = (resolve_aggregate(name, tuple(a.type for a in args), node.distinct) or [""])[0] == "string_agg"
    if node.within_group and not spliced:
        args = [ex.typed(node.within_group[0].expr, inner), *args]
    resolved = (
        resolve_aggregate(name, tuple(a.type for a in args), node.distinct) if not star or name == "count" else None
    )
    if resolved is None:
        raise not_taken(node, args, star)
    function, types, result = resolved
    order = node.order or node.within_group
    if order and (function not in _OF_AN_ORDER or (node.order and not spliced)):
        raise unordered(node)
    cast = settled(node, function, [coerce(a, t) for a, t in zip(args, types, strict=True)], args)
    keys = sort_keys(order, inner) if spliced else ()
    one_order(node, cast, keys)
    argument: Typed | None = cast[0] if cast else None
    if function == "count_if":
        function, where, argument = "count", also(where, cast[0].term), None
    aggregate = Aggregate(
        place.context.fresh(),
        function,
        argument.term if argument is not None else None,
        argument.domain if argument is not None else Domain(),
        argument.type if argument is not None else None,
        where,
        result,
        renamed(node, node.name),
        node.span,
        distinct=node.distinct and function not in _SAME_OF_DIFFERENT,
        others=tuple((other.term, other.domain) for other in cast[1:]),
        order=keys,
    )
    key = (function, aggregate.argument, aggregate.others, where, aggregate.distinct, keys)
    found = domain_within(function, tuple(a.domain for a in cast), collector.rows_per_unit, aggregate.distinct)
    return Typed(collector.feature(key, aggregate, found), found, node.span)


def settled(node: ast.Call, function: str, cast: Sequence[Typed], given: Sequence[Typed]) -> list[Typed]:
    """Arguments as they are computed with: a constant where there must be one, numbers of a known range where sums need
    one. Products are of whole steps, so a DECIMAL stays what it is."""
    out, at = list(cast), constant_argument(function)
    if at is not None and at < len(out):
        out[at] = fixed(out[at], node)
    if function in MOMENTS:
        out = [was if was.type.kind in ("INT", "DECIMAL") else now for was, now in zip(given, cast, strict=True)]
    bounded(node, function, out)
    return out


def bounded(node: ast.Call, function: str, args: Sequence[Typed]) -> None:
    """Doubles add up to another number in another order of rows, which would move everybody's sums: steps do not."""
    if function in MOMENTS:
        why = "sums of products are exact in whole steps of a known range alone"
    elif function in ("sum", "avg") and args[0].type.kind == "FLOAT":
        why = "sums of doubles depend on the order of rows; whole steps of a known range do not"
    else:
        return
    open_ = next((arg for arg in args if not (arg.domain.bounded or arg.domain.empty)), None)
    if open_ is None:
        return
    written = node.args[args.index(open_)]
    fix = f"CLAMP({unparse(written)}, 0, 1000)"
    clamped = [fix if arg is written else unparse(arg) for arg in node.args]
    raise refuse(
        "PQL0402",
        f"`{node.name}` of {open_.type} needs a bounded argument",
        open_.span,
        label="no bounds known",
        why=why,
        help=f"write `{node.name.upper()}({', '.join(clamped)})`",
        fixes=(Fix(written.span, fix),),
    )
