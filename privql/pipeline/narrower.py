"""A narrower range of an argument: half of it, or a tenth of a total's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from privql.check.relations import Aggregate, Block
from privql.domains import grid_of, number_text
from privql.frozen import rebuilt
from privql.kernel.scalars import Field
from privql.names import fold
from privql.pipeline.report import StatementCheck
from privql.pipeline.tree import features_of
from privql.syntax import ast, unparse

_TRIED = 6  # aggregates whose range is narrowed


def narrower(query: ast.Query, check: StatementCheck) -> Iterator[tuple[str, ast.Query]]:
    """Half of an argument's range; of a total over one unit's rows a tenth, as few units come near what all could."""
    assert check.plan is not None and check.query is not None
    measured = [(plan.block, one) for plan in check.plan.blocks for one in plan.measurements]
    tried: list[ast.Call] = []
    for block, measurement in measured:
        one, call = measurement.aggregate, _call(query, measurement.aggregate)
        if call is None or call in tried or len(tried) == _TRIED:
            continue
        tried.append(call)
        total = _is_total(block, one)
        bounds = _part(one, Fraction(1, 10) if total else Fraction(1, 2))
        if bounds is None:
            continue
        inner = call.args[0]
        if isinstance(inner, ast.Call) and inner.name.upper() == "CLAMP" and len(inner.args) == 3:
            inner = inner.args[0]
        clamp = ast.Call("CLAMP", (inner, *map(_number, bounds)))
        also = [other for other in map(partial(_call, query), measurement.also) if other is not None]
        new = {old: replace(old, args=(clamp,)) for old in (call, *also) if old.args == call.args}
        why = f"few come near {_far(one)}, which the rows of one {block.unit.name} might add up to"
        text = f"`{unparse(clamp)}`, if {why if total else 'most values lie there'}"
        yield text, rebuilt(query, partial(_swapped, new))


def _swapped(new: dict[ast.Call, ast.Call], node: Any) -> Any:
    return new.get(node) if isinstance(node, ast.Call) else None


def _call(query: ast.Query, one: Aggregate) -> ast.Call | None:
    """Where it is written, unless in a view."""
    found: list[ast.Call] = []

    def see(node: Any) -> Any:
        if isinstance(node, ast.Call) and node.span == one.span and fold(node.name) == one.function:
            found.append(node)
        return None

    rebuilt(query, see)
    plain = found and len(found[0].args) == 1 and not found[0].distinct and not isinstance(found[0].args[0], ast.Named)
    return found[0] if plain else None


def _is_total(block: Block, one: Aggregate) -> bool:
    """Whether its argument is a sum or a count of one unit's rows, that nothing has bounded since."""
    made = features_of(block.rel, one.argument) if isinstance(one.argument, Field) else []
    return any(feature.function in ("sum", "count") for feature in made)


def _far(one: Aggregate) -> str:
    return number_text(max(abs(one.domain.low or Fraction(0)), abs(one.domain.high or Fraction(0))))


def _part(one: Aggregate, part: Fraction) -> tuple[Fraction, Fraction] | None:
    """That part of the range, from its end that is nearest to 0."""
    low, high = one.domain.low, one.domain.high
    if one.argument_type is None or one.function not in ("sum", "avg") or low is None or high is None or low >= high:
        return None
    if one.function == "avg":
        high = low + (high - low) * part
    elif low >= 0:
        high = max(low, high * part)
    elif high <= 0:
        low = min(high, low * part)
    else:
        low, high = low * part, high * part
    unit = grid_of(one.argument_type)
    if unit is None:  # a FLOAT, as few digits as half a range needs
        low, high = (Fraction(f"{float(end):.6g}") for end in (low, high))
    else:
        low, high = (int(end / unit) * unit for end in (low, high))
    return (low, high) if low < high else None


def _number(value: Fraction) -> ast.Expr:
    number = ast.Number(number_text(abs(value)))
    return ast.Unary("-", number) if value < 0 else number
