"""From a permit and a proof to noisy integers: the only place where exact sums and noise meet.

Trusted. The permit says what was charged; what the kernel proved the measurements to cost must fit in it, unit by
unit and all steps together. A step's noisy numbers are in the ledger before anybody sees them, and what is there is
never drawn again. The exact sums live in this file alone and are never shown, stored or logged.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from privql.engines.interface import NO_PUBLICS, Computing, EngineError, OwnerLog, Publics
from privql.finish.table import value_from_json, value_to_json
from privql.kernel.bounds import Chosen
from privql.kernel.events import Events, Losing, among, events, read_within
from privql.kernel.measure import Measured, Together
from privql.kernel.picks import Picked, Way
from privql.kernel.places import Runs, chosen
from privql.kernel.ranks import FARTHEST, Placed, Ranked
from privql.kernel.scalars import INT
from privql.kernel.selection import Count, Keep, Selected
from privql.kernel.sums import cells
from privql.ledger import Draw, Ledger, Permit, inside
from privql.names import fold
from privql.noise.exponential import exponential
from privql.noise.gaussian import rounded_gaussian
from privql.noise.laplace import discrete_laplace
from privql.noise.minimum import noisy_minimum
from privql.noise.picks import picked
from privql.noise.selection import counted, kept

Rows = list[tuple[Any, ...]]  # a group's noisy cells each, or the keys of one that was kept, or one level
Wanted = Losing


class Samplers:
    """What draws: exactly, from the operating system's randomness. `release` takes no others; who audits a claim may
    hand in worse ones to `drawn`, which pays for nothing and keeps nothing, and see that it notices."""

    def laplace(self, scale: Fraction, size: int) -> Any:
        return discrete_laplace(scale, size)

    def gaussian(self, sigma: Fraction, size: int) -> Any:
        return rounded_gaussian(sigma, size)

    def exponential(self, runs: Runs, exponent: Fraction) -> int:
        return exponential(runs, exponent)

    def minimum(self, scores: Sequence[int], scale: Fraction) -> int:
        return noisy_minimum(scores, scale)

    def picked(self, counts: Sequence[int], picks: int, way: Way, exponent: Fraction) -> list[int]:
        return picked(counts, picks, way, exponent)

    def kept(self, units: Sequence[int], law: Keep) -> Sequence[bool]:
        return kept(units, law)

    def counted(self, units: Sequence[int], law: Count) -> Sequence[int | None]:
        return counted(units, law)


EXACT = Samplers()


class Unpaid(Exception):
    """A measurement that its permit does not cover: a fault of the plan, never of the data."""


def release(
    permit: Permit,
    step: int,
    wanted: Sequence[Wanted],
    engine: Computing,
    ledger: Ledger,
    unmoved: Callable[[], bool],
    publics: Publics = NO_PUBLICS,
    owner_log: OwnerLog = lambda _: None,
) -> list[Rows]:
    """What step number `step` of a charge measures: for each group its noisy cells, which groups are kept, a level.

    Kept before anything is made of it: an answer that fails, or is interrupted, because of what it is must not buy
    another draw. Files that changed under the query (`unmoved`) were not those that were verified. What goes wrong,
    here or in an engine, is one failure: its words are handed to `owner_log` alone.
    """
    if type(permit) is not Permit:
        raise Unpaid("a measurement needs a permit")
    if not all(type(one) in (Measured, Together, Selected, Chosen, Placed, Picked) for one in wanted):
        raise Unpaid("only what the kernel proved can be measured")
    before = ledger.drawn(permit)
    if step < len(before):
        noisy = before[step].noisy
    else:
        met = _covered(permit, before, wanted)
        made: bytes | None = None
        try:
            numbers = json.dumps([drawn(one, engine, publics) for one in wanted]).encode()
            made = numbers if unmoved() else None
        except Exception as fault:  # whatever it is: the charge is made, and what was met are rows
            if not isinstance(fault, EngineError):  # of which the engine has told the owner
                owner_log(fault)
        if made is None:  # outside: else the fault is its context
            raise EngineError("failed")
        noisy = ledger.draw(permit, step, met, made)
    return [read(one, rows) for one, rows in zip(wanted, json.loads(noisy), strict=True)]


def _covered(permit: Permit, drawn: Sequence[Draw], wanted: Sequence[Wanted]) -> dict[str, Events]:
    """What each unit meets by this step: with the steps before, nothing that was not charged."""
    met: dict[str, Events] = {}
    for one in wanted:
        met[fold(one.unit.name)] = met.get(fold(one.unit.name), ()) + events(one)
    before = {unit: sum((one.spent.get(unit, ()) for one in drawn), ()) for unit in met}
    paid = {fold(line.unit): line.events for line in permit.charges}
    if not among({unit: before[unit] + new for unit, new in met.items()}, paid):
        raise Unpaid("the measurements cost more than was charged")
    for line in permit.charges:
        of_unit = [one for one in wanted if fold(one.unit.name) == fold(line.unit)]
        if line.where is not None and of_unit and not inside(read_within(of_unit), line.where):
            raise Unpaid("the measurements read parts that were not charged")
    return met


def drawn(one: Wanted, engine: Computing, publics: Publics, samplers: Samplers = EXACT) -> list[list[Any]]:
    """What is drawn of one measurement. It is paid for by whoever hands it out."""
    match one:
        case Measured():
            return _noisy(one, engine, publics, samplers)
        case Together():
            return [row for each in one.of for row in _noisy(each, engine, publics, samplers)]
        case Selected():
            return _selected(one, engine, publics, samplers)
        case Chosen():
            return _chosen(one, engine, publics, samplers)
        case Placed():
            return _placed(one, engine, publics, samplers)
        case Picked():
            return _picked(one, engine, publics, samplers)


def _noisy(measured: Measured, engine: Computing, publics: Publics, samplers: Samplers) -> list[list[int]]:
    term = measured.term
    exact = engine.run(term, secrets.token_bytes(16), publics)
    columns: list[Any] = []
    at = 0
    for part in measured.parts:
        width = cells(part.contribution)
        draw = samplers.gaussian if part.noise == "gaussian" else samplers.laplace
        noise = draw(part.scale, term.groups * width)
        columns.append(
            np.asarray(exact, dtype=object)[:, at : at + width] + noise.astype(object).reshape(term.groups, width)
        )
        at += width
    return [list(row) for row in np.concatenate(columns, axis=1)]


def _selected(selected: Selected, engine: Computing, publics: Publics, samplers: Samplers) -> list[list[Any]]:
    """Each group by itself, and a noisy number of its units if that is wanted; how many it has is forgotten."""
    groups = engine.groups(selected.term, secrets.token_bytes(16), publics)
    units = [number for _, number in groups]
    if isinstance(selected.keep, Count):
        noisy = zip(groups, samplers.counted(units, selected.keep), strict=True)
        return [[*map(value_to_json, group), number] for (group, _), number in noisy if number is not None]
    coins = zip(groups, samplers.kept(units, selected.keep), strict=True)
    return [[value_to_json(value) for value in group] for (group, _), coin in coins if coin]


def _chosen(chosen: Chosen, engine: Computing, publics: Publics, samplers: Samplers) -> list[list[int]]:
    """Its number; how many units are of each level is forgotten."""
    units = engine.run(chosen.term, secrets.token_bytes(16), publics)
    return [[samplers.minimum(chosen.scores([int(count) for count in units[:, 0]]), chosen.scale)]]


def _placed(placed: Placed, engine: Computing, publics: Publics, samplers: Samplers) -> list[list[int]]:
    """A step for each rank in each group; which values were near is forgotten. A draw that went astray needs all."""
    salt = secrets.token_bytes(16)
    every = cache(lambda: engine.ranks(replace(placed.term, far=FARTHEST), salt, publics))
    groups = engine.ranks(placed.term, salt, publics)

    def all_of(at: int) -> Callable[[], Ranked]:
        return lambda: every()[at]

    return [chosen(placed, group, all_of(at), samplers.exponential) for at, group in enumerate(groups)]


def _picked(made: Picked, engine: Computing, publics: Publics, samplers: Samplers) -> list[list[int]]:
    """The numbers of the candidates for each group; how many rows each has is forgotten."""
    counts = engine.run(made.term, secrets.token_bytes(16), publics).reshape(-1, len(made.candidates.members)).tolist()
    return [samplers.picked(group, made.picks, made.way, made.exponent) for group in counts]


def read(one: Wanted, rows: list[list[Any]]) -> Rows:
    if not isinstance(one, Selected):
        return [tuple(row) for row in rows]
    types = [type for _, type in one.term.columns] + [INT] * isinstance(one.keep, Count)
    return [tuple(map(value_from_json, row, types)) for row in rows]
