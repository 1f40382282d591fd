"""Aggregates of private rows: what is measured, within which bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from privql.check import constants
from privql.check import expressions as ex
from privql.check.arguments import arguments, renamed, unordered
from privql.check.conditions import also, present
from privql.check.made_of import counted_if, one_decides
from privql.check.operations import not_yet
from privql.check.relations import Aggregate
from privql.check.resolved import identifier
from privql.check.typed import Place, Typed
from privql.diagnostics import Fix, refuse
from privql.domains import NUMERIC, Domain, interval, number_text
from privql.kernel.scalars import BOOL, FLOAT, INT, Scalar, Value, ValueType, decimal
from privql.names import fold
from privql.syntax import ast, unparse

_MEASURED = frozenset({"count", "sum", "avg"})


def measured(node: ast.Call, name: str, place: Place) -> Typed:
    collector = place.collector
    assert collector is not None
    if name in ("count_if", "countif"):
        node, name = counted_if(node), "count"
    name = "avg" if name == "mean" else name
    if name not in _MEASURED:
        help = "COUNT, SUM, AVG, variances, correlations, quantiles, MODE and HISTOGRAM can be measured"
        raise one_decides(node) or not_yet(f"`{name.upper()}` of private rows", node.span, help)
    if node.order or node.within_group:
        raise unordered(node)
    nodes, inner, where, star = arguments(node, place)
    if (star and (name != "count" or node.distinct)) or (not star and len(nodes) != 1):
        raise refuse("PQL0303", f"`{name.upper()}` takes one argument", node.span, help=f"write {name.upper()}(x)")
    if name == "count":
        unit = None if star else identifier(nodes[0], inner)
        return _count(node, None if star else unit if unit is not None else ex.typed(nodes[0], inner), where, place)
    argument = number(node, 0, inner, place)
    result = FLOAT if name == "avg" else _sum_type(argument.type)
    answer = Domain(None, None, None, False, None if result == FLOAT else argument.domain.grid)
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
        renamed(node, node.name),  # in capitals, so that a certificate reads the same however it was asked for
        node.span,
        node.privacy,
        node.distinct,
    )
    key = (name, argument.term, where, node.privacy, node.distinct)
    return Typed(collector.release(key, aggregate, answer), answer, node.span)


def number(node: ast.Call, at: int, inner: Place, place: Place, why: str = "") -> Typed:
    """An argument that is a number within known bounds, or whose bounds are to be found. `why`: there must be any."""
    written, name = node.args[at], node.name.upper()
    argument = ex.typed(written, inner)
    if argument.free and isinstance(written, ast.Param):
        raise constants.unbound(written, "what is summed")
    if argument.text is not None or argument.type.kind not in NUMERIC:
        help, fixes = "aggregate a number, or COUNT it", list[Fix]()
        if argument.type == BOOL:
            as_number = f"CAST({unparse(written)} AS INT)"
            help, fixes = f"write `{as_number}`, which is 1 or 0", [Fix(written.span, as_number)]
        raise refuse(
            "PQL0301",
            f"`{name}` needs a number, and this is {argument.type}",
            argument.span,
            help=help,
            fixes=tuple(fixes),
        )
    if node.privacy is None or not node.privacy.bounds_auto:
        known = argument.domain
        found = place.context.beside_public_values(argument, _between)
        if found is not known and known.values is None:
            argument = replace(argument, domain=known.within(found.low, found.high).with_null(known.nullable))
        _bounded(node, at, argument, why)
    return argument


def _count(node: ast.Call, argument: Typed | None, where: Scalar | None, place: Place) -> Typed:
    if node.privacy is not None and node.privacy.bounds_auto:
        raise refuse("PQL0408", "a count needs no bounds", node.privacy.span, help="leave out BOUNDS AUTO")
    value = None
    if argument is not None:
        value = argument.term if node.distinct else None
        where = also(where, present(argument.term)) if argument.domain.nullable else where
    return counted(node, value, where, place)


def counted(
    node: ast.Call, value: Scalar | None, where: Scalar | None, place: Place, bins: tuple[Scalar, int] | None = None
) -> Typed:
    """How many rows there are, or different values of them: in each of several bins, if there are any."""
    collector = place.collector
    assert collector is not None
    domain = Domain(None, None, None, False, Fraction(1))
    aggregate = Aggregate(
        place.context.fresh(),
        "count",
        value,
        interval(0, 1, False, Fraction(1)),
        None,
        where,
        INT,
        renamed(node, node.name),
        node.span,
        node.privacy,
        value is not None,
        bins=bins,
    )
    return Typed(collector.release(("count", value, where, node.privacy, bins), aggregate, domain), domain, node.span)


def _between(held: Sequence[Value], known: Domain) -> Domain | None:
    numbers = [Fraction(one) for one in held if isinstance(one, int | float | Fraction) and not isinstance(one, bool)]
    return interval(min(numbers), max(numbers), known.nullable, known.grid) if numbers else None


def _bounded(node: ast.Call, at: int, argument: Typed, why: str) -> None:
    domain, name = argument.domain, node.name
    if domain.bounded or domain.empty:
        return
    written = unparse(node.args[at])
    low = number_text(domain.low) if domain.low is not None else "0"
    high = number_text(domain.high) if domain.high is not None else "1000"
    fix = f"CLAMP({written}, {low}, {high})"
    clamped = [fix if place == at else unparse(arg) for place, arg in enumerate(node.args)]
    looking = ", or let `BOUNDS AUTO` look for some" if fold(name) in _MEASURED else ""
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
        why=why or f"sensitivity: |{written}| x rows per unit = ∞",
        help=f"write `{name.upper()}({', '.join(clamped)})` with bounds that you know{looking}",
        fixes=(Fix(node.args[at].span, fix),),
    )


def _sum_type(type: ValueType) -> ValueType:
    return decimal(38, type.scale) if type.kind == "DECIMAL" else type
