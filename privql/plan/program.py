"""The plan of a checked query: what each block measures, with how much noise, and what the kernel proves it to cost."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from privql.check.env import Env
from privql.check.relations import Aggregate, Block, CheckedQuery
from privql.diagnostics import refuse
from privql.frozen import frozen
from privql.kernel import measure
from privql.kernel.measure import Measured, Sensitivity
from privql.kernel.tails import halfwidth
from privql.kernel.terms import Balance, Contribution, Tally, Unit
from privql.plan.amounts import ZERO, Amount, known
from privql.plan.bounds import contribution
from privql.plan.lower import Lowered, PublicRows, lower
from privql.plan.spend import Wanted, split
from privql.policy.findings import listing
from privql.syntax import ast


@frozen
class Measurement:
    """One aggregate of one block: its reach, its noise and its price. `scale` is in steps of `grid`."""

    aggregate: Aggregate
    block: int
    unit: Unit
    rows: int
    contribution: Contribution
    sensitivity: Sensitivity
    grid: Fraction
    epsilon: Amount

    @property
    def scale(self) -> Fraction | None:
        """None while ε has a parameter without a value."""
        return self.sensitivity.l1 / self.epsilon.constant if self.epsilon.known else None

    def halfwidth(self, confidence: Fraction) -> Fraction | None:
        """How far off the answer may be, where that does not depend on the data."""
        if self.scale is None or isinstance(self.contribution, Balance):
            return None
        return halfwidth(self.scale, confidence) * self.grid


@frozen
class BlockPlan:
    block: Block
    lowered: Lowered
    measurements: tuple[Measurement, ...]
    measured: Measured | None  # None while a parameter of its price has no value

    @property
    def publics(self) -> tuple[PublicRows, ...]:
        return self.lowered.publics


@frozen
class Plan:
    blocks: tuple[BlockPlan, ...]

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(one for block in self.blocks for one in block.measurements)

    @property
    def epsilon(self) -> Amount:
        return sum((one.epsilon for one in self.measurements), ZERO)

    @property
    def by_unit(self) -> dict[str, Amount]:
        out: dict[str, Amount] = {}
        for one in self.measurements:
            out[one.unit.name] = out.get(one.unit.name, ZERO) + one.epsilon
        return out


Clauses = Sequence[tuple[ast.Privacy | None, tuple[int, ...]]]


def plan(query: CheckedQuery, clauses: Clauses, manners: Clauses, env: Env) -> Plan:
    """`clauses` pay for their blocks; `manners` say no more than how theirs are measured."""
    limits: dict[int, int] = {}
    for clause, indices in (*clauses, *manners):
        rows = _rows(clause, env)
        if rows is not None:
            limits |= {index: min(rows, limits.get(index, rows)) for index in indices}
    wanted: dict[int, list[Wanted]] = {}
    lowered: dict[int, Lowered] = {}
    for block in query.blocks:
        contributions = tuple(contribution(aggregate) for aggregate in block.aggregates)
        lowered[block.index] = lower(block, contributions, limits.get(block.index), env, query)
        wanted[block.index] = [
            _wanted(*pair, block, lowered[block.index]) for pair in zip(block.aggregates, contributions, strict=True)
        ]
    spent: dict[int, list[Amount]] = {}
    for clause, indices in clauses:
        for group in _payers(clause, indices, query):
            default = env.settings.epsilon or env.default_epsilon.get(query.blocks[group[0]].unit.name)
            covered = [one for index in group for one in wanted[index]]
            prices = iter(split(clause, covered, default, env.params, env.confidence, query.blocks[group[0]].span))
            for index in group:
                spent[index] = [next(prices) for _ in wanted[index]]
    return Plan(
        tuple(_block(block, lowered[block.index], wanted[block.index], spent[block.index]) for block in query.blocks)
    )


def _payers(clause: ast.Privacy | None, indices: tuple[int, ...], query: CheckedQuery) -> list[list[int]]:
    """A stated total covers all of its blocks; defaults are each unit's own."""
    if clause is not None and (clause.epsilon is not None or clause.within is not None):
        return [list(indices)] if indices else []
    units: dict[str, list[int]] = {}
    for index in indices:
        units.setdefault(query.blocks[index].unit.name, []).append(index)
    return list(units.values())


def _rows(clause: ast.Privacy | None, env: Env) -> int | None:
    if clause is None:
        return None
    if clause.groups is not None:
        raise refuse(
            "PQL0408", "AT MOST n GROUPS cannot be used yet", clause.span, help="write AT MOST n ROWS PER UNIT"
        )
    if clause.mechanism not in (None, "LAPLACE", "AUTO"):
        raise refuse(
            "PQL0408",
            f"USING {clause.mechanism} cannot be used yet",
            clause.span,
            help="leave it out: the mechanism is Laplace",
        )
    if clause.delta is not None:
        raise refuse(
            "PQL0408", "SPEND DELTA cannot be used yet", clause.span, help="leave it out: nothing here needs δ"
        )
    if clause.rows is None:
        return None
    rows = _whole(clause.rows, env)
    if rows.denominator != 1 or rows < 1:
        raise refuse(
            "PQL0308", "AT MOST needs a whole number of rows", clause.span, help="write AT MOST 20 ROWS PER UNIT"
        )
    return int(rows)


def _wanted(aggregate: Aggregate, made: Contribution, block: Block, lowered: Lowered) -> Wanted:
    rows = lowered.stable.rows
    if rows is None:
        raise refuse(
            "PQL0407",
            f"one {block.unit.name} may own any number of rows of {listing(block.tables)}",
            aggregate.span,
            why="sensitivity: one row's reach x rows per unit = ∞",
            help="end the query with `AT MOST 10 ROWS PER UNIT`, or ask the owner to declare it",
        )
    groups = prod(len(key.members) for key in lowered.keys)
    moved = measure.sensitivity(block.unit, rows, groups > 1, made)
    grid = Fraction(1) if isinstance(made, Tally) else made.steps.grid
    return Wanted(aggregate, made, moved, grid)


def _block(block: Block, lowered: Lowered, wanted: list[Wanted], spent: list[Amount]) -> BlockPlan:
    rows = lowered.stable.rows
    assert rows is not None
    measurements = tuple(
        Measurement(one.aggregate, block.index, block.unit, rows, one.contribution, one.sensitivity, one.grid, epsilon)
        for one, epsilon in zip(wanted, spent, strict=True)
    )
    scales = [one.scale for one in measurements]
    measured = None
    if all(scale is not None for scale in scales):
        measured = measure.laplace(
            lowered.stable,
            lowered.keys,
            tuple(one.contribution for one in wanted),
            tuple(s for s in scales if s is not None),
        )
        planned = sum((epsilon.constant for epsilon in spent), Fraction(0))
        if measured.cost.epsilon != planned:
            raise refuse(
                "PQL0901",
                "the price and the proof disagree",
                block.span,
                why=f"planned ε = {planned}, proved ε = {measured.cost.epsilon}",
                help="report this query: it was not run",
            )
    return BlockPlan(block, lowered, measurements, measured)


def _whole(node: ast.Expr, env: Env) -> Fraction:
    """A number of rows is no amount of budget: it has no upper limit."""
    if isinstance(node, ast.Number) and node.text.isdigit():
        return Fraction(int(node.text))
    return known(node, env.params, "AT MOST")
