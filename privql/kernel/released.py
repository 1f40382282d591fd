"""What is released, as steps of a derivation: how far a unit moves what is measured, the noise on it, its cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, assert_never

from privql.kernel.bounds import Chosen
from privql.kernel.derivation import Derivation
from privql.kernel.events import Event, Losing, events
from privql.kernel.features import Tally, Total
from privql.kernel.measure import Measured, Together, moved
from privql.kernel.numbering import groups
from privql.kernel.picks import Picked
from privql.kernel.proved import Proved, Unproved
from privql.kernel.ranks import Draw, Placed
from privql.kernel.selection import Count, Selected
from privql.kernel.stable import Stable
from privql.kernel.sums import Balance, Contribution, Hats, Key, Listed, Powers
from privql.kernel.terms import Gather, KeepRows, Project, Unit
from privql.kernel.zcdp import best_order

Json = dict[str, Any]


def add_loss(one: Losing, to: Derivation) -> None:
    """Each of its losses is a step to which no other leads."""
    met = events(one)
    match one:
        case Measured() if one.mu_squared is None:
            for each, part, event in zip(_sums(one, to), one.parts, met, strict=True):
                _noise(to, one.unit, [each], "LAPLACE", part.scale, 1, event)
        case Measured() | Together():
            of = (one,) if isinstance(one, Measured) else one.of
            sums = [step for each in of for step in _sums(each, to)]
            deviations = [str(part.scale) for each in of for part in each.parts]
            (event,) = met
            _lost(to, one.unit, "gaussian", sums, {"deviations": deviations, **_price(event)}, event)
        case Chosen():
            levels = to.step("levels", [to.add(_input(one))], {}, _moved(to, one.unit, "levels", 1, 1))
            _noise(to, one.unit, [levels], "NOISY_MINIMUM", one.scale, 1, *met)
        case Picked():
            _picked(one, to, *met)
        case Placed():
            says: Json = {"groups": groups(one.term.keys), "draws": list(_draws(one.draw, 0))}
            _lost(to, one.unit, "by_rank", [to.add(_input(one))], says, *met)
        case Selected():
            _lost(to, one.unit, "truncated_geometric", [to.add(_input(one))], _selected(one, to, *met), *met)
        case _:
            assert_never(one)


def _input(one: Proved) -> Stable:
    (given,) = one.why[1]
    if not isinstance(given, Stable):
        raise Unproved("what is measured are rows")
    return given


def _moved(to: Derivation, unit: Unit, what: str, l1: int, l2_squared: int) -> Json:
    return {"unit": to.numbering.unit(unit), "what": what, "l1": l1, "l2_squared": l2_squared}


def _lost(to: Derivation, unit: Unit, rule: str, of: list[int], says: Json, event: Event) -> None:
    met = [event.kind, str(event.cost.epsilon), str(event.cost.delta)]
    to.step(rule, of, says, {"unit": to.numbering.unit(unit), "event": met})


def _noise(to: Derivation, unit: Unit, of: list[int], way: str, scale: Fraction, times: int, event: Event) -> None:
    _lost(to, unit, "noise", of, {"way": way, "scale": str(scale), "times": times}, event)


def _price(event: Event) -> Json:
    return {"epsilon": str(event.cost.epsilon), "delta": str(event.cost.delta)}


def _sums(one: Measured, to: Derivation) -> list[int]:
    return [
        _sum(to, _input(one), one.term.keys, part.contribution, part.sensitivity.l1, part.sensitivity.l2_squared)
        for part in one.parts
    ]


def _sum(
    to: Derivation, rows: Stable, keys: tuple[Key | Listed, ...], added: Contribution, l1: int, l2_squared: int
) -> int:
    """What one row adds, and how far one unit moves that."""
    cells, steps = _added(added)
    says = {"groups": groups(keys), "by": to.numbering.by(keys), "cells": cells, "steps": steps}
    return to.step("sums", [to.add(rows)], says, _moved(to, rows.unit, "sums", l1, l2_squared))


def _added(contribution: Contribution) -> tuple[bool, list[list[int]]]:
    match contribution:
        case Tally():
            return False, [[0, 1, 1]]
        case Total(steps=steps):
            return False, [[steps.low, steps.high, 1]]
        case Balance(steps=steps) | Hats(steps=steps):
            return True, [[steps.low, steps.high, 1]]
        case Powers(factors=factors):
            return True, [[steps.low, steps.high, degree] for steps, degree in factors]
        case _:
            assert_never(contribution)


def _picked(one: Picked, to: Derivation, event: Event) -> None:
    rows, scale = _input(one), 1 / one.exponent
    if one.way == "HISTOGRAM":
        (tally,) = one.term.contributions
        sensitivity = moved(rows, one.term.keys, tally)
        sums = _sum(to, rows, one.term.keys, tally, sensitivity.l1, sensitivity.l2_squared)
        _noise(to, one.unit, [sums], "LAPLACE", scale, 1, event)
        return
    says: Json = {"groups": groups(one.term.keys[:-1]), "by": to.numbering.by(one.term.keys, nulls=False)}
    counts = to.step("counts", [to.add(rows)], says, _moved(to, one.unit, "counts", one.moved, one.moved**2))
    if one.way == "GUMBEL":
        order = str(best_order(event.cost.epsilon, event.cost.delta))
        says = {"scale": str(scale), "times": one.picks, "order": order, **_price(event)}
        _lost(to, one.unit, "gumbel", [counts], says, event)
    else:
        _noise(to, one.unit, [counts], one.way, scale, one.picks, event)


def _draws(draw: Draw | None, depth: int) -> list[list[Any]]:
    """In the order of their ranks, each with how many cuts are before it."""
    if draw is None:
        return []
    here = [str(draw.rank.share), str(1 / draw.exponent), depth]
    return [*_draws(draw.before, depth + 1), here, *_draws(draw.after, depth + 1)]


def _selected(one: Selected, to: Derivation, event: Event) -> Json:
    kept = one.term.input
    rows = kept.input if isinstance(kept, KeepRows) else kept
    if not isinstance(rows, Gather | Project):
        raise Unproved("a selection is among gathered groups")
    named = rows.keys if isinstance(rows, Gather) else rows.columns
    reach = one.keep.reach if isinstance(one.keep, Count) else None
    keys = to.numbering.reads(tuple(value for _, value in named))
    return {"keys": keys, "most": kept.limit if isinstance(kept, KeepRows) else None, "reach": reach, **_price(event)}
