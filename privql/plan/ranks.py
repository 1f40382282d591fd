"""Which rank is wanted, of steps how fine, and what the kernel proves of drawing a value by it."""

from __future__ import annotations

import math
from fractions import Fraction

from privql.check.relations import Aggregate
from privql.functions.aggregate.within import RANKED
from privql.kernel import ranks
from privql.kernel.features import Steps
from privql.kernel.ranks import Placed, Rank
from privql.kernel.scalars import Const
from privql.kernel.sums import Balance
from privql.kernel.terms import Unit
from privql.plan.bounds import coarsened
from privql.plan.lower import Lowered

_MOST = 2**20  # different values that may have to be told apart
_LONGEST = 10**9
_MISS = Fraction(1, 20)


def ranked(aggregate: Aggregate) -> bool:
    return aggregate.function in RANKED


def placed(aggregate: Aggregate, unit: Unit, lowered: Lowered, epsilon: Fraction) -> Placed:
    """Where ε is so small that more values than a query should hold would be told apart, fewer are: in wider steps."""
    (within,) = lowered.contributions
    assert isinstance(within, Balance) and lowered.stable.rows is not None
    share = _share(aggregate)
    exponent = epsilon / (2 * ranks.moved(unit, lowered.stable.rows, lowered.grouped, Rank(share)))
    steps = within.steps
    if 2 * ranks.clipped(steps, exponent) > _MOST * share.denominator:
        steps = coarsened(steps, _MOST)
    offset = 0
    if aggregate.function != "quantile":
        away = math.ceil(reach(steps, exponent))
        offset = away if aggregate.function == "min" else -away
    return ranks.by_rank(lowered.stable, lowered.keys, steps, within.where, Rank(share, offset), epsilon)


def reach(steps: Steps, exponent: Fraction) -> float:
    """A loss that is exceeded once in twenty times at most, however the values lie - if any of them has none."""
    return (math.log(steps.high + 1 - steps.low) - math.log(_MISS)) / float(exponent)


def _share(aggregate: Aggregate) -> Fraction:
    if aggregate.function != "quantile":
        return Fraction(aggregate.function == "max")
    ((term, _),) = aggregate.others
    assert isinstance(term, Const) and isinstance(term.value, float)
    return Fraction(term.value).limit_denominator(_LONGEST)
