"""What is released, as a step of its derivation: its noise, exactly, and what that costs."""

from __future__ import annotations

import json
from typing import Any, assert_never

from privql.kernel.bounds import Chosen
from privql.kernel.cost import Cost
from privql.kernel.events import Losing, events, written
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.measure import Measured, Part, Together
from privql.kernel.numbering import Numbering
from privql.kernel.picks import Picked
from privql.kernel.ranks import Draw, Placed
from privql.kernel.selection import Count, Selected
from privql.kernel.sums import Balance, Contribution, Hats, Powers
from privql.kernel.zcdp import best_order

Json = dict[str, Any]
Released = Losing


def released(one: Losing, by: Numbering) -> tuple[Json, Json]:
    """What the rule was told, and what it proves."""
    match one:
        case Measured():
            told, found = _measured(one, by)
        case Together():
            told, found = _price(one.cost), {"mu_squared": str(sum(each.mu_squared or 0 for each in one.of))}
        case Selected():
            told, found = _selected(one, by)
        case Chosen():
            told = {
                "level": by.value(one.level),
                "where": by.reads(one.term.contributions),
                "levels": one.term.groups,
                "penalty": one.penalty,
                "epsilon": str(one.cost.epsilon),
            }
            found = {"scale": str(one.scale)}
        case Placed():
            told, found = _placed(one, by)
        case Picked():
            told, found = _picked(one, by)
        case _:
            assert_never(one)
    lost = json.loads(written(events(one)))
    return told, {"unit": by.unit(one.unit), **found, **_price(one.cost), "events": lost}


def _price(cost: Cost) -> Json:
    return {"epsilon": str(cost.epsilon), "delta": str(cost.delta)}


def _measured(one: Measured, by: Numbering) -> tuple[Json, Json]:
    told: Json = {"keys": by.keys(one.term.keys), "parts": [_part(part, by) for part in one.parts]}
    moved = [{"l1": part.sensitivity.l1, "l2_squared": part.sensitivity.l2_squared} for part in one.parts]
    if one.mu_squared is None:
        costs = [{**move, "epsilon": str(part.epsilon)} for move, part in zip(moved, one.parts, strict=True)]
        return told, {"parts": costs}
    costs = [{**move, "mu_squared": str(part.mu_squared)} for move, part in zip(moved, one.parts, strict=True)]
    return told | _price(one.cost), {"parts": costs, "mu_squared": str(one.mu_squared)}


def _part(part: Part, by: Numbering) -> Json:
    """What one row adds, and the noise on it: the `scale` of Gaussian noise is its deviation."""
    return {**_added(part.contribution), "reads": by.reads(part.contribution), "scale": str(part.scale)}


def _added(contribution: Contribution) -> Json:
    match contribution:
        case Tally():
            return {"adds": "tally", "steps": []}
        case Total(steps=steps):
            return {"adds": "total", "steps": [[steps.low, steps.high, 1]]}
        case Balance(steps=steps):
            return {"adds": "balance", "steps": [[steps.low, steps.high, 1]]}
        case Powers(factors=factors):
            return {"adds": "powers", "steps": [[steps.low, steps.high, degree] for steps, degree in factors]}
        case Hats(steps=steps):
            return {"adds": "hats", "steps": [[steps.low, steps.high, 1]]}
        case _:
            assert_never(contribution)


def _selected(one: Selected, by: Numbering) -> tuple[Json, Json]:
    law = one.keep
    told = {
        "keys": [by.column(name) for name, _ in one.term.columns],
        "counted": isinstance(law, Count),
        "reach": law.reach if isinstance(law, Count) else None,
        **_price(one.cost),
    }
    return told, {"groups": one.most, "epsilon_each": str(law.epsilon), "delta_each": str(law.delta)}


def _placed(one: Placed, by: Numbering) -> tuple[Json, Json]:
    steps: Steps = one.term.steps
    told = {
        "keys": by.keys(one.term.keys),
        "reads": by.reads(steps, one.term.where),
        "low": steps.low,
        "high": steps.high,
        "ranks": [[str(rank.share), rank.offset] for rank in one.term.ranks],
        "epsilon": str(one.cost.epsilon),
    }
    return told, {"draw": _draw(one.draw)}


def _draw(draw: Draw | None) -> Json | None:
    if draw is None:
        return None
    return {
        "at": draw.at,
        "epsilon": str(draw.epsilon),
        "moved": draw.moved,
        "exponent": str(draw.exponent),
        "clip": draw.clip,
        "before": _draw(draw.before),
        "after": _draw(draw.after),
    }


def _picked(one: Picked, by: Numbering) -> tuple[Json, Json]:
    cost, concentrated = one.cost, one.way == "GUMBEL"
    told = {
        "keys": by.keys(one.term.keys),
        "where": by.reads(one.term.contributions),
        "picks": one.picks,
        "way": one.way,
        "exponent": str(one.exponent),
        "order": str(best_order(cost.epsilon, cost.delta)) if concentrated else None,
        **_price(cost),
    }
    rho = str(one.rho) if concentrated else None
    return told, {"moved": one.moved, "rho": rho}
