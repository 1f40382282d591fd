"""Variances, covariances and what is made of them, of private rows: each is one measurement."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from privql.check.arguments import arguments, renamed, unordered
from privql.check.measured import number
from privql.check.operations import apply, not_yet
from privql.check.relations import Aggregate
from privql.check.typed import Place, Typed
from privql.diagnostics import refuse
from privql.functions.aggregate.public import resolve_aggregate
from privql.functions.aggregate.within import MOMENTS, SPREADS, domain_within
from privql.kernel.scalars import FLOAT
from privql.syntax import ast


def meant(name: str) -> str | None:
    """Which of them a name means, if any."""
    found = resolve_aggregate(name, (FLOAT,), False) or resolve_aggregate(name, (FLOAT, FLOAT), False)
    return found[0] if found is not None and found[0] in MOMENTS else None


def spread(node: ast.Call, function: str, place: Place) -> Typed:
    collector = place.collector
    assert collector is not None
    name = node.name.upper()
    if node.order or node.within_group:
        raise unordered(node)
    nodes, inner, where, star = arguments(node, place)
    shape, wanted = ("one argument", "x") if function in SPREADS else ("two arguments", "y, x")
    if star or len(nodes) != len(wanted.split(", ")):
        raise refuse("PQL0303", f"`{name}` takes {shape}", node.span, help=f"write {name}({wanted})")
    if node.privacy is not None and node.privacy.bounds_auto:
        raise not_yet(f"BOUNDS AUTO of `{name}`", node.privacy.span, "state the bounds with CLAMP")
    first, *others = [number(node, at, inner, place) for at in range(len(nodes))]
    rooted = function.startswith("stddev")
    measured = function.replace("stddev", "var")
    answer = domain_within(measured, (first.domain, *(other.domain for other in others)), None)
    aggregate = Aggregate(
        place.context.fresh(),
        measured,
        first.term,
        first.domain,
        first.type,
        where,
        FLOAT,
        renamed(node, node.name),
        node.span,
        node.privacy,
        node.distinct,
        tuple((other.term, other.domain) for other in others),
        asked=("root" if rooted else "itself",),
    )
    key = (measured, first.term, aggregate.others, where, node.privacy, node.distinct)
    made = Typed(collector.release(key, aggregate, answer), answer, node.span)
    asked = collector.measured[key].asked
    as_what: Literal["itself", "root"] = "root" if rooted else "itself"
    if as_what not in asked:
        collector.measured[key] = replace(collector.measured[key], asked=(*asked, as_what))
    return apply("sqrt", [made], node.span) if rooted else made
