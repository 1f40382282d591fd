"""An audit of a text: each statement that measures anything by itself, each of its steps by itself, and the text as a
whole with the noise held still."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from privql.audit import databases
from privql.audit.black_box import black_box, telling
from privql.audit.brute import Brute, Trying
from privql.audit.databases import bag
from privql.audit.exact import terms_of
from privql.audit.faults import NO_FAULT, Fault
from privql.audit.pools import compared
from privql.audit.reference.values import Row, Tables
from privql.audit.replay import Asked, replay
from privql.audit.report import Report, Statement, Tried
from privql.audit.scratch import Scratch, public_values
from privql.audit.steps import Step, steps_of
from privql.audit.world import Bag, Database, World, element, reached
from privql.diagnostics import PrivQLError
from privql.engines.interface import scans
from privql.frozen import frozen
from privql.kernel.cost import Cost
from privql.kernel.events import cost_of
from privql.kernel.selection import Selected
from privql.pipeline.certificate import values_of
from privql.pipeline.parameters import bound
from privql.pipeline.report import StatementCheck
from privql.release import Wanted

_CROWD = 3000  # units, at most
_BAGS = 12  # that these have
Tick = Callable[[float], None]


@frozen
class Given:
    """How much is tried. `seed`: of the invented rows; noise has none."""

    draws: int = 10_000
    databases: int = 2000
    seed: int = 1
    replays: int = 6  # pairs of neighbours with the noise held still
    watched: int = 8  # pairs of which a few answers are drawn
    fault: Fault = NO_FAULT


class NotThere(Exception):
    """There is nothing in this query that the fault could spoil."""


def audit(asked: Asked, given: Given, tick: Tick = lambda part: None) -> Report:
    """`tick` hears how much of it is done, from 0 to 1."""
    choice = random.Random(given.seed)
    with asked.scratch({}, NO_FAULT) as empty:
        crowd = _crowd(empty, choice)
    with asked.scratch(crowd, NO_FAULT) as scratch:
        checked = scratch.till.check(asked.source, asked.params)
        if not checked.ok:
            raise PrivQLError(checked.diagnostics)
        for one in checked.statements:
            bound(one)
        for _ in scratch.till.run_each(checked.statements, partial=False):
            pass  # what is named is there for the lines below
        paying = [one for one in checked.statements if one.plan is not None and one.plan.blocks]
        taken = [_taken(one, scratch, asked, crowd, choice) for one in paying]
        wanted = [made for steps in taken for step in steps for made in step.wanted]
        if given.fault.name and not given.fault.where(wanted):
            raise NotThere(given.fault.name)
        many = sum(map(len, taken)) + 1
        done = 0
        statements: list[Statement] = []
        found: list[tuple[World, Brute]] = []
        for one, steps in zip(paying, taken, strict=True):
            tried = []
            for step in steps:
                tried.append(_tried(step, scratch, given, choice, _within(tick, done, many)))
                found.append((_world(step.wanted, step, scratch), tried[-1].brute))
                done += 1
            statements.append(Statement(one.line, one.kind, _claimed(one), _parts(one), tuple(tried)))
        pairs = list(_pairs(crowd, found, scratch, given.replays, choice))
        replayed = replay(asked, pairs, given.fault, _within(tick, done, many))
        absent = tuple(
            table.name
            for table, kept in zip(asked.catalog.tables, scratch.catalog.tables, strict=True)
            if not table.private and not kept.files
        )
    return Report(tuple(statements), replayed, given.fault, absent)


def _within(tick: Tick, done: int, many: int) -> Tick:
    """Of so many pieces of work, the next one's part."""
    return lambda part: tick((done + part) / many)


def _claimed(one: StatementCheck) -> dict[str, Cost]:
    assert one.plan is not None
    return {unit: cost_of(met) for unit, met in one.plan.events_by_unit.items() if met}


def _parts(one: StatementCheck) -> dict[str, list[str]]:
    assert one.plan is not None
    return {unit: values_of(parts) for unit, parts in one.plan.parts_by_unit.items()}


def _tried(step: Step, scratch: Scratch, given: Given, choice: random.Random, tick: Tick) -> Tried:
    world = _world(step.wanted, step, scratch)
    trying = Trying(step, world, given.fault, step.wanted[0].unit.change_one)
    found = trying.run(given.databases, choice, lambda part: tick(part / 2))
    some = telling(step, found, choice)[: given.watched]
    seen = black_box(step, world, some, given.fault, given.draws, lambda part: tick((1 + part) / 2))
    return Tried(step, found, seen)


def _world(wanted: Sequence[Wanted], step: Step, scratch: Scratch) -> World:
    """The tables that are read, with what they are compared with."""
    terms = terms_of(wanted)
    read = [scan for term in terms for scan in scans(term.input)]
    publics = [
        (type, [row[at] for row in table.rows])
        for table in step.publics.values()
        for at, (_, type) in enumerate(table.columns)
    ]
    return World(
        scratch.catalog,
        reached(scratch.catalog, (scan.table for scan in read)),
        compared(terms, publics),
        public_values(scratch.places),
        frozenset((scan.table, column) for scan in read for column, _ in scan.columns),
    )


# ---------------------------------------------------------------- crowds


def _taken(check: StatementCheck, scratch: Scratch, asked: Asked, crowd: Tables, choice: random.Random) -> list[Step]:
    """The steps to an answer; where groups are looked for, among so many units that some are found."""
    steps = steps_of(check, scratch, scratch.places.engine(()))
    selected = [(step, one) for step in steps for one in step.wanted if isinstance(one, Selected)]
    if not selected:
        return steps
    many = min(max(one.keep.certain for _, one in selected), _CROWD // 4)
    tables: dict[str, list[Row]] = {}
    for step, _ in selected:
        world = _world(step.wanted, step, scratch)
        told = Trying(step, world, NO_FAULT, False).telling(choice)
        for name, rows in world.holding(tuple(one for one in told[:4] for _ in range(many))).items():
            tables.setdefault(name, []).extend(rows)
    with asked.scratch({**crowd, **tables}, NO_FAULT) as other:
        return steps_of(check, scratch, other.places.engine(()))


def _worlds(scratch: Scratch) -> Iterator[World]:
    """The tables of each kind of unit, all of their columns."""
    catalog = scratch.catalog
    for unit in catalog.units:
        tables = tuple(table for table in catalog.tables if table.unit is not None and table.unit.name == unit.name)
        if tables:
            yield World(catalog, tables, {}, public_values(scratch.places))


def _crowd(scratch: Scratch, choice: random.Random) -> Tables:
    """Some units of each kind, each with some rows, most of them as the owner means them."""
    out: dict[str, list[Row]] = {}
    for world in _worlds(scratch):
        bags = [bag(world, choice, 2, databases.likely if at % 4 else element) for at in range(_BAGS)]
        out.update(world.holding(tuple(bags * 3), bags[0][:1]))
    return out


def _pairs(
    crowd: Tables, found: Sequence[tuple[World, Brute]], scratch: Scratch, many: int, choice: random.Random
) -> Iterator[tuple[Tables, Tables]]:
    """Neighbours of all columns: those that were told apart best, one unit against none, and some in a crowd."""
    best = [(world, pair) for world, brute in found for far in brute.farthest for pair in far[:1]]
    for world, pair in best[: many // 2]:
        yield {**crowd, **world.holding(pair.one)}, {**crowd, **world.holding(pair.other)}
    worlds = [world for world, _ in found] or list(_worlds(scratch))
    for at in range(many - min(len(best), many // 2)):
        world = replace(worlds[at % len(worlds)], read=None)
        others: Database = () if at == 0 else tuple(bag(world, choice, 2) for _ in range(3 * at))
        one: Bag = bag(world, choice, choice.choice((1, 2, 3)))
        yield {**crowd, **world.holding(others)}, {**crowd, **world.holding((*others, one))}
