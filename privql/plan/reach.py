"""How far one unit can move what an aggregate measures: what its noise must hide."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from privql.check.relations import Aggregate, Block
from privql.diagnostics import refuse
from privql.kernel import measure
from privql.kernel.features import Tally, Total
from privql.kernel.measure import Sensitivity
from privql.kernel.sums import Balance, Contribution, Hats, Key, Listed, Powers
from privql.plan.lower import Lowered
from privql.plan.spend import Wanted
from privql.policy.findings import listing


def wanted(aggregate: Aggregate, made: Contribution, measured: Contribution, block: Block, lowered: Lowered) -> Wanted:
    """`made`: of one row; `measured`: of what the kernel takes, a unit's total perhaps."""
    rows = lowered.stable.rows
    if rows is None or lowered.rows is None:  # what a join can come to at most is no number to make noise for
        groups = "" if lowered.bounds.groups is None else f"{lowered.bounds.groups} GROUPS AND "
        raise refuse(
            "PQL0407",
            f"one {block.unit.name} may own any number of rows of {listing(block.tables)}",
            aggregate.span,
            why="sensitivity: one row's reach x rows per unit = ∞",
            help=f"end the query with `AT MOST {groups}10 ROWS PER UNIT`, or ask the owner to declare it",
        )
    return Wanted(aggregate, made, moved(lowered, lowered.keys, measured), _grid(made))


def moved(lowered: Lowered, keys: Sequence[Key | Listed], contribution: Contribution) -> Sensitivity:
    """By one unit, in the groups of these keys."""
    return measure.moved(lowered.stable, keys, contribution)


def _grid(made: Contribution) -> Fraction:
    """What one step of a cell is worth, in the units of what was counted in steps."""
    match made:
        case Tally():
            return Fraction(1)
        case Powers(factors=factors):
            return prod((steps.grid**degree for steps, degree in factors), start=Fraction(1))
        case Total(steps=steps) | Balance(steps=steps):
            return steps.grid
        case Hats(far=far):  # what one row adds together is 1
            return Fraction(1, far)
