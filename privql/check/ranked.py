"""Medians, quantiles, least and greatest values of private rows: each is drawn by its rank, in a block of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privql.check import expressions as ex
from privql.check.arguments import arguments, fixed, renamed, unordered
from privql.check.measured import number
from privql.check.operations import apply, coerce, not_yet
from privql.check.relations import Aggregate
from privql.check.typed import Place, Typed, const
from privql.diagnostics import refuse
from privql.domains import Domain
from privql.functions.aggregate.public import resolve_aggregate
from privql.kernel.scalars import DATE, FLOAT, Const
from privql.syntax import ast, unparse

_BETWEEN = frozenset({"median", "quantile_cont"})  # of an even number of values, SQL's would be between two of them
_ALONE = frozenset({"median", "min", "max"})
_FUNCTIONS = frozenset({"min", "max", "quantile_disc"}) | _BETWEEN

Wanted = tuple[str, ast.Expr | float | None]  # which of them, and its share


def placed(name: str) -> str | None:
    """Which of them a name means, if any."""
    found = resolve_aggregate(name, (FLOAT,), False) or resolve_aggregate(name, (FLOAT, FLOAT), False)
    return found[0] if found is not None and found[0] in _FUNCTIONS else None


def ranked(node: ast.Call, function: str, place: Place) -> Typed:
    (one,) = drawn(node, place, [(function, None)])
    return one


def drawn(node: ast.Call, place: Place, wanted: Sequence[Wanted]) -> list[Typed]:
    """Several values of one argument, measured together. A share that is not given is written in the call."""
    collector = place.collector
    assert collector is not None
    name, text = node.name.upper(), renamed(node, node.name)
    of_share = (placed(node.name.lower()) or "").startswith("quantile")
    if node.order or (node.within_group and not of_share):
        raise unordered(node)
    if collector.rolled_up:
        raise not_yet(f"`{name}` in CUBE, ROLLUP and GROUPING SETS", node.span, "COUNT, SUM and AVG can be")
    if node.privacy is not None and node.privacy.bounds_auto:
        raise not_yet(f"BOUNDS AUTO of `{name}`", node.privacy.span, "state the bounds with CLAMP")
    written = node.within_group
    plain = replace(node, args=(*(item.expr for item in written), *node.args), within_group=())
    nodes, inner, where, star = arguments(plain, place)
    takes = 1 if placed(node.name.lower()) in _ALONE else 2
    if star or len(nodes) != takes:
        shape = f"{name}(x, 0.9)" if takes == 2 else f"{name}(x)"
        arguments_ = "a value and a share" if takes == 2 else "one argument"
        raise refuse("PQL0303", f"`{name}` takes {arguments_}", node.span, help=f"write {shape}")
    between = any(function in _BETWEEN for function, _ in wanted)
    argument = _argument(plain, between, inner, place)
    shares = tuple((function, _share(function, share, nodes, node, inner)) for function, share in wanted)
    result = FLOAT if between else argument.type
    grid = None if argument.type == FLOAT else argument.domain.grid
    known = argument.domain
    answer = Domain(known.low, known.high, None, False, grid) if not known.empty else Domain()
    together = place.context.fresh() if len(shares) > 1 else ""
    out = []
    for function, share in shares:
        aggregate = Aggregate(
            place.context.fresh(),
            "quantile" if share is not None else function,
            _counted(argument).term,
            argument.domain,
            argument.type,
            where,
            result,
            text,
            node.span,
            node.privacy,
            node.distinct and (share is not None or bool(together)),
            () if share is None else ((share, Domain()),),
            together=together,
        )
        key = (shares, share, function, argument.term, where, node.privacy, aggregate.distinct, result)
        out.append(Typed(collector.release(key, aggregate, answer), answer, node.span))
    return out


def _share(
    function: str, share: ast.Expr | float | None, nodes: Sequence[ast.Expr], node: ast.Call, inner: Place
) -> Const | None:
    if function in ("min", "max"):
        return None
    if function == "median":
        return Const(0.5, FLOAT)
    if isinstance(share, float):
        return Const(share, FLOAT)
    found = fixed(coerce(ex.typed(nodes[1] if share is None else share, inner), FLOAT), node).term
    assert isinstance(found, Const)
    return found


def _argument(node: ast.Call, between: bool, inner: Place, place: Place) -> Typed:
    why = "the answer is drawn from all values that there may be"
    argument = ex.typed(node.args[0], inner) if not between else None
    if argument is None or argument.type != DATE:
        return number(node, 0, inner, place, why)
    if not argument.domain.bounded:
        days = "BETWEEN DATE '2000-01-01' AND DATE '2030-12-31'"
        raise refuse(
            "PQL0402",
            f"`{node.name.upper()}` needs a bounded argument",
            argument.span,
            label="no bounds known",
            why=why,
            help=f"say between which days: `WHERE {unparse(node.args[0])} {days}`",
        )
    return argument


def _counted(argument: Typed) -> Typed:
    """A day by its number."""
    if argument.type != DATE:
        return argument
    return apply("sub", [argument, const(0, DATE, argument.span)], argument.span)
