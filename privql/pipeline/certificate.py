"""What is measured and how, as JSON: beside a check, and in the certificate of an answer."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privql.diagnostics import Source, Span
from privql.kernel.parts import Parts
from privql.kernel.ranks import Draw, Placed
from privql.kernel.selection import Count
from privql.kernel.sums import Balance, Hats, Powers
from privql.plan.automatic import Search
from privql.plan.measurements import Measurement
from privql.plan.picks import WAYS
from privql.plan.program import BlockPlan, Plan
from privql.plan.ranks import ranked
from privql.plan.selection import Selection

_RELEASES = {Balance: "two_cell_mean", Powers: "cells_of_powers", Hats: "cells_at_knots"}


def certificate(plan: Plan) -> dict[str, Any]:
    """What was measured and how: the same text for the same query, whoever asks and wherever it stood in a file."""
    parts = parts_json(plan)
    return {"measurements": measurements_json(plan, None)} | ({"parts": parts} if parts else {})


def parts_json(plan: Plan) -> dict[str, Any]:
    """By unit, the parts that have all rows which are measured, where these are not all that there are."""
    return {
        unit: {"table": one.partition.input.table, "column": one.partition.column, "values": values_of(one)}
        for unit, one in plan.parts_by_unit.items()
    }


def values_of(parts: Parts) -> list[str]:
    return sorted(map(str, parts.values))


def measurements_json(plan: Plan, source: Source | None) -> list[dict[str, Any]]:
    """Block by block, the searches for its groups and bounds first."""
    out = []
    for block in plan.blocks:
        out += [_selection(block.selection, source)] if block.selection is not None else []
        levels = block.levels or (None,) * len(block.searches)
        out += [_search(one, level, source) for one, level in zip(block.searches, levels, strict=True)]
        for at, one in enumerate(block.measurements):
            out += _marginals(block, at, source) if one.split else [_how(one)(one, source)]
    return out


def _marginals(block: BlockPlan, at: int, source: Source | None) -> list[dict[str, Any]]:
    """Of an aggregate in several grouping sets: `by` which keys each measurement is grouped."""
    parts = block.parts(at)
    return [_measurement(part, source) | {"by": [key.name for key in keys]} for keys, part in parts]


def _said(text: str, span: Span, source: Source | None) -> dict[str, Any]:
    """As the query says it, and where."""
    if source is None:
        return {"text": text}
    line, column = source.position(span.start)
    return {"text": text, "line": line, "column": column}


def _selection(one: Selection, source: Source | None) -> dict[str, Any]:
    """The numbers of units of all groups are moved by `l1` together; `even`: so many make it even that one is kept.
    `also`: counts that are these numbers, released with noise of `scale` and of at most `reach`."""
    out = _said(one.text, one.span, source)
    law = one.selected.keep if one.selected is not None else None
    if one.counts:
        out["also"] = [count.text for count in one.counts]
        out["scale"] = str(one.moved / one.epsilon.constant) if law is not None else f"{one.moved}/({one.epsilon})"
        out["reach"] = law.reach if isinstance(law, Count) else None
    return out | {
        "block": one.block,
        "unit": one.unit.name,
        "groups_per_unit": str(one.most),
        "l1": str(one.moved),
        "l2_squared": str(one.moved),
        "mechanism": "truncated_geometric",
        "release": "groups_and_counts" if one.counts else "groups",
        "even": law.even if law is not None else None,
        "grid": "1",
        "epsilon": str(one.epsilon),
        "delta": str(one.delta),
    }


def _search(one: Search, level: int | None, source: Source | None) -> dict[str, Any]:
    """Numbers of units beyond nested bounds are moved by 1, all the same way. `found`: the bounds, once they are."""
    out = _said(one.text, one.aggregate.span, source)
    found = one.intervals[level] if level is not None else None
    return out | {
        "block": one.block,
        "unit": one.unit.name,
        "of": "totals" if one.totals else "rows",
        "candidates": len(one.intervals),
        "l1": "1",
        "mechanism": "noisy_minimum",
        "release": "bounds",
        "found": [str(end) for end in found] if found is not None else None,
        "scale": str(one.chosen.scale) if one.chosen is not None else f"1/({one.epsilon})",
        "grid": "1",
        "epsilon": str(one.epsilon),
        "delta": "0",
    }


def _how(one: Measurement) -> Callable[[Measurement, Source | None], dict[str, Any]]:
    if one.aggregate.choice is not None:
        return _picked
    return _placed if ranked(one.aggregate) else _measurement


def _picked(one: Measurement, source: Source | None) -> dict[str, Any]:
    """So many are chosen for each group, by counts of the `candidates`. `l1`: how far a unit moves the counts that tell
    two of them apart - of a histogram, all counts - in all groups together; `scale`: of the coins, or of the noise."""
    out = _said(one.aggregate.text, one.aggregate.span, source)
    made, choice = one.picked, one.aggregate.choice
    assert choice is not None and choice.way is not None
    return out | {
        "block": one.block,
        "unit": one.unit.name,
        "rows_per_unit": str(one.rows),
        "candidates": len(choice.candidates),
        "chosen": choice.count,
        "l1": str(made.moved) if made is not None else None,
        "mechanism": WAYS[choice.way].replace(" ", "_"),
        "release": "values_by_frequency",
        "scale": str(1 / made.exponent) if made is not None else None,
        "grid": "1",
        "epsilon": str(one.epsilon),
        "delta": str(one.delta),
    }


def _placed(one: Measurement, source: Source | None) -> dict[str, Any]:
    """Among the steps from `low` to `high`; of several that are drawn together, each by itself in `draws`."""
    out = _said(one.aggregate.text, one.aggregate.span, source)
    drawn = one.placed
    draws = [] if drawn is None else [_draw(draw, drawn) for draw in drawn.draw.all()]
    also = [each.text for each in one.also if each.text != one.aggregate.text]
    if also:
        out["also"] = also
    return out | {
        "block": one.block,
        "unit": one.unit.name,
        "rows_per_unit": str(one.rows),
        "mechanism": "exponential",
        "release": "values_by_rank" if one.also else "value_by_rank",
        **({"draws": draws} if one.also else draws[0] if draws else dict.fromkeys(_DRAW)),
        "grid": str(one.grid) if drawn is not None else None,
        "low": str(drawn.term.steps.low) if drawn is not None else None,
        "high": str(drawn.term.steps.high) if drawn is not None else None,
        "epsilon": str(one.epsilon),
        "delta": "0",
    }


_DRAW = ("share", "offset", "l1", "scale", "clip")


def _draw(draw: Draw, drawn: Placed) -> dict[str, Any]:
    """Of n values that at place share·n + offset. `l1` and `scale` in places: what one unit moves, and what makes a
    step e times less likely; its part of ε is 2·l1/scale. Beyond `clip` places no step is less likely."""
    rank, times = drawn.term.ranks[draw.at], draw.rank.share.denominator
    moved, scale = Fraction(draw.moved, times), 1 / (draw.exponent * times)
    return dict(zip(_DRAW, map(str, (rank.share, rank.offset, moved, scale, Fraction(draw.clip, times))), strict=True))


def _measurement(one: Measurement, source: Source | None) -> dict[str, Any]:
    """Sensitivities and the scale in the units of the answer: one step of a sum is worth its grid. They are not there
    before the bounds that they follow from are found. `also`: what is read off the same cells. The `scale` of a
    Gaussian is its deviation. Those of a block are paid for together, with what their ε and δ add up to. Of what is
    measured at knots they are in rows, one of which adds 1 to all cells together; `reached` is the last knot whose
    cell was taken as it is. `merged`: the deviations of earlier answers, and what they and this one leave together."""
    scale, grid = one.drawn, one.grid
    out = _said(one.aggregate.text, one.aggregate.span, source)
    gaussian = one.noise == "gaussian"
    unknown = None if gaussian else str(one.sensitivity.l1 * grid) + f"/({one.epsilon})"
    noise = str(scale * grid) if scale is not None else unknown
    if gaussian:
        out["mu_squared"] = str(one.mu_squared) if one.mu_squared is not None else None
    if one.before:
        merged = [str(sigma * grid) for sigma in one.before]
        out["merged"] = {"with": merged, "scale": str(one.scale * grid) if one.scale is not None else None}
    if one.also:
        out["also"] = [other.text for other in one.also]
    if one.reached is not None:
        out["reached"] = str(one.reached)
    return out | {
        "block": one.block,
        "unit": one.unit.name,
        "rows_per_unit": str(one.rows),
        "l1": str(one.sensitivity.l1 * grid) if not one.open else None,
        "l2_squared": str(one.sensitivity.l2_squared * grid**2) if not one.open else None,
        "mechanism": "rounded_gaussian" if gaussian else "discrete_laplace",
        "release": _RELEASES.get(type(one.contribution), "sum"),
        "scale": noise if not one.open else None,
        "grid": str(grid) if not one.open else None,
        "epsilon": str(one.epsilon),
        "delta": str(one.delta),
    }
