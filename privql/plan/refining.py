"""What makes a release as accurate as is asked, for the difference.

A measurement that had Gaussian noise of deviation σ₁ and should have σ is taken once more, with 1/σ₂² = 1/σ² - 1/σ₁²,
and the two are merged by precision. As μ² is Δ2²/σ², what is paid now and what was paid add up to what one measurement
of deviation σ costs. All of a block is paid for together, with the δ of its first answer; what is near enough is not
measured again. How near is decided by the noise of what is merged, or of the one answer that there is.

Cells can be merged where the groups and bounds of both are the same, whatever was drawn: listed and stated ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from privql.diagnostics import PrivQLError, Span, refuse
from privql.kernel import measure, merged
from privql.kernel.cost import Cost
from privql.kernel.gaussian import least_epsilon, least_mu
from privql.kernel.measure import Measured
from privql.kernel.noises import Left
from privql.kernel.sums import Hats, cells
from privql.plan.amounts import ZERO
from privql.plan.measurements import Measurement
from privql.plan.noises import least_epsilons, parts
from privql.plan.program import BlockPlan, Plan
from privql.plan.promises import sigma_promised, sureness
from privql.plan.spend import Shares, Wanted, split
from privql.syntax import ast

NOTHING = Fraction(0)


def refined(
    plan: Plan,
    deltas: Mapping[int, Fraction],
    clause: ast.Privacy,
    params: Mapping[str, object],
    name: str,
) -> Plan:
    """The plan of what `clause` needs beyond a plan that was answered. `deltas`: of each block's first answer."""
    for block in plan.blocks:
        check(block, name, clause.span)
    plan = Plan(tuple(_here(block, clause.span) for block in plan.blocks))
    sure = sureness(clause, params)
    lacks = [[_lacking(one, clause, params, sure) for one in block.measurements] for block in plan.blocks]
    if not any(map(any, lacks)):
        raise refuse(
            "PQL0513",
            f"`{name}` is as accurate as that already",
            clause.span,
            why="there is nothing to measure, and nothing to pay",
            help="read it, or ask for a smaller error",
        )
    pairs = list(zip(plan.blocks, lacks, strict=True))
    wanted = [one for block, lack in pairs for one in _wanted(block, lack, deltas[block.block.index])]
    amounts, _ = split(clause, wanted, None, params, clause.span, Shares(1, 0))
    left = iter([amount.constant for amount in amounts])
    return Plan(tuple(_again(block, lack, deltas[block.block.index], left) for block, lack in pairs))


def anew(
    plan: Plan,
    deltas: Mapping[int, Fraction],
    clause: ast.Privacy,
    params: Mapping[str, object],
) -> Cost:
    """Of asking for as much from the start, with the same δ."""
    sure = sureness(clause, params)
    total = Cost()
    for block in plan.blocks:
        delta = deltas[block.block.index]
        needs = [one.sensitivity.l2_squared / _greatest(one, clause, params, sure) ** 2 for one in block.measurements]
        total += Cost(least_epsilon(least_mu(sum(needs, NOTHING)), delta), delta) if needs else Cost()
    return total


def check(block: BlockPlan, name: str, span: Span) -> None:
    """Refused: what cannot be merged cell by cell."""
    if block.selection is not None or block.block.groups_of is not None:
        raise _cannot(name, span, "its groups were found, and would be others", "state them with KEYS, and ask anew")
    if block.searches or any(isinstance(one.contribution, Hats) for one in block.measurements):
        raise _cannot(name, span, "its bounds were found, and would be others", "state them with CLAMP, and ask anew")
    if block.marginals:
        raise _cannot(name, span, "its totals were made one with their parts", "ask anew, each grouping by itself")
    if not isinstance(block.measured, Measured) and not all(one.before for one in block.measurements):
        raise _cannot(name, span, "what was chosen or drawn has no noise to lessen", "ask anew, with more ε")
    if any(one.noise != "gaussian" for one in block.measurements):
        why = "its noise is Laplace, of which two answers cost more than one that is as near as both"
        raise _cannot(name, span, why, "ask with `USING GAUSSIAN`: that can be refined")


def _here(block: BlockPlan, span: Span) -> BlockPlan:
    """Its numbers are asked for where they are refined, whatever text asked for them first."""
    made = tuple(
        replace(one, aggregate=replace(one.aggregate, span=span), also=tuple(replace(o, span=span) for o in one.also))
        for one in block.measurements
    )
    return replace(block, measurements=made)


def drawn(block: BlockPlan) -> tuple[Fraction | None, ...]:
    """The deviation that this answer's own noise has in each cell; None where it has none."""
    return tuple(one.drawn for one in block.measurements for _ in range(cells(one.contribution)))


def _cannot(name: str, span: Span, why: str, help: str) -> PrivQLError:
    return refuse("PQL0513", f"`{name}` cannot be made more accurate", span, why=why, help=help)


def _known(one: Measurement) -> tuple[Fraction, ...]:
    return one.before if one.drawn is None else (*one.before, one.drawn)


def _greatest(
    one: Measurement,
    clause: ast.Privacy,
    params: Mapping[str, object],
    sure: Fraction,
    noise: Left = "gaussian",
) -> Fraction:
    """The greatest deviation that keeps what is asked, of all that is read off it."""
    shape = (one.contribution, one.grid, clause, params, sure, noise)
    return min(sigma_promised(replace(each, privacy=None), *shape) for each in (one.aggregate, *one.also))


def _lacking(one: Measurement, clause: ast.Privacy, params: Mapping[str, object], sure: Fraction) -> Fraction:
    """What precision it lacks."""
    known = _known(one)
    if len(known) == 1 and known[0] <= _greatest(one, clause, params, sure):
        return NOTHING
    return max(1 / _greatest(one, clause, params, sure, "merged") ** 2 - merged.precision(known), NOTHING)


def _wanted(block: BlockPlan, lack: Sequence[Fraction], delta: Fraction) -> Iterator[Wanted]:
    """What is measured again, at its part of the price."""
    again = [(one, need) for one, need in zip(block.measurements, lack, strict=True) if need]
    prices = least_epsilons([one.sensitivity.l2_squared * need for one, need in again], delta) if again else []
    for (one, _), price in zip(again, prices, strict=True):
        aggregate = replace(one.aggregate, privacy=None)
        yield Wanted(aggregate, one.contribution, one.sensitivity, one.grid, one.also, noise="gaussian", promised=price)


def _again(block: BlockPlan, lack: Sequence[Fraction], delta: Fraction, prices: Iterator[Fraction]) -> BlockPlan:
    """The same block, with the noise of what is measured again, and nothing of what is not."""
    made = []
    for one, need in zip(block.measurements, lack, strict=True):
        made.append(replace(one, before=_known(one), epsilon=ZERO, delta=NOTHING, mu_squared=NOTHING))
        if need:
            made[-1] = replace(made[-1], epsilon=replace(ZERO, constant=next(prices)))
    again = [at for at, need in enumerate(lack) if need]
    if not again:
        return replace(block, measurements=tuple(made), measured=None)
    bought = parts([made[at].epsilon for at in again], delta)
    for at, (own, square) in zip(again, bought, strict=True):
        made[at] = replace(made[at], delta=own, mu_squared=square)
    lowered, scales = block.lowered, [made[at].drawn for at in again]
    cost = Cost(sum((made[at].epsilon.constant for at in again), NOTHING), delta)
    contributions = tuple(lowered.contributions[at] for at in again)
    known = tuple(scale for scale in scales if scale is not None)
    proved = measure.gaussian(lowered.stable, lowered.keys, contributions, known, cost)
    return replace(block, measurements=tuple(made), measured=proved)
