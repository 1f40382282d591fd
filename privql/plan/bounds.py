"""From an aggregate and the domain of its argument to integers with a known reach."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from privql.check.relations import Aggregate
from privql.domains import Domain
from privql.functions.aggregate.within import RANKED
from privql.kernel.features import STEP_LIMIT, Steps, Tally, Total
from privql.kernel.scalars import Scalar
from privql.kernel.sums import Balance, Contribution, Powers

_FINENESS = 40  # a FLOAT is summed in about 2^40 steps of its range
_LEAST_DOUBLE = Fraction(2) ** -1022  # the least number of full precision
_ROOM = 62  # bits that a row's cells of powers may hold
_DOUBLE = 52  # below this, a step is finer than the numbers themselves

# How often each argument is multiplied in what an aggregate is made of
DEGREES: dict[str, tuple[int, ...]] = {
    "var_pop": (2,),
    "var_samp": (2,),
    "covar_pop": (1, 1),
    "covar_samp": (1, 1),
    "corr": (2, 2),
    "regr_slope": (1, 2),
    "regr_intercept": (1, 2),
}


def contribution(aggregate: Aggregate) -> Contribution:
    if aggregate.argument is None or aggregate.choice is not None:
        return Tally(aggregate.where)
    if aggregate.function in DEGREES:
        degrees = DEGREES[aggregate.function]
        values = ((aggregate.argument, aggregate.domain), *aggregate.others)
        bits = min(_FINENESS, _ROOM // sum(degrees))
        factors = (coarsened(steps_of(*value, spread=True), 2**bits) for value in values)
        return Powers(tuple(zip(factors, degrees, strict=True)), aggregate.where)
    if aggregate.function == "avg" or aggregate.function in RANKED:  # a value by its rank takes rows as a mean does
        return Balance(steps_of(aggregate.argument, aggregate.domain, spread=True), aggregate.where)
    return Total(steps_of(aggregate.argument, aggregate.domain, spread=False), aggregate.where)


def steps_of(value: Scalar, domain: Domain, spread: bool) -> Steps:
    """A bounded number in whole steps. `spread`: noise will follow the width of its range, not its distance from 0."""
    ends = (None, None) if domain.empty else (domain.low, domain.high)
    low, high = (end or Fraction(0) for end in ends)
    far = max(abs(low), abs(high))
    if domain.grid is not None and value.type.kind != "FLOAT":
        grid = domain.grid
    elif domain.grid is not None:
        # engines scale a double exactly by powers of two alone
        grid = Fraction(domain.grid.numerator & -domain.grid.numerator, domain.grid.denominator)
    else:
        fine = _power_of_two((high - low if spread else far) or far or Fraction(1), _FINENESS)
        grid = max(fine, _power_of_two(far or Fraction(1), _DOUBLE))
    if value.type.kind == "FLOAT":
        grid = max(grid, _LEAST_DOUBLE)
    while far / grid > STEP_LIMIT - 1:
        grid *= 2
    first, last = _nearest(low / grid), _nearest(high / grid)
    if first == last and (spread or first == 0):
        last += 1  # a constant still needs a range to be measured in
    return Steps(value, grid, first, last)


def coarsened(steps: Steps, most: int) -> Steps:
    """In no more steps than that, and over the same range or a little more, so that their products fit."""
    wider = 1
    while -(-steps.high // wider) - steps.low // wider > most:
        wider *= 2
    if wider == 1:
        return steps
    return replace(steps, grid=steps.grid * wider, low=steps.low // wider, high=-(-steps.high // wider))


def _power_of_two(size: Fraction, bits: int) -> Fraction:
    """The power of two next below size / 2^bits."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length() - 1 - bits
    return Fraction(2) ** exponent


def _nearest(steps: Fraction) -> int:
    return math.floor(steps + Fraction(1, 2))
