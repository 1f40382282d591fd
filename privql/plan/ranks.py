"""Which ranks are wanted, of steps how fine, and what the kernel proves of drawing values by them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from privql.check.relations import Aggregate
from privql.functions.aggregate.within import RANKED
from privql.kernel import ranks
from privql.kernel.features import Steps
from privql.kernel.ranks import Draw, Placed, Rank
from privql.kernel.scalars import Const
from privql.kernel.sums import Balance
from privql.plan.bounds import coarsened
from privql.plan.lower import Lowered

_MOST = 2**20  # different values that may have to be told apart
_LONGEST = 10**9
_MISS = Fraction(1, 20)


def ranked(aggregate: Aggregate) -> bool:
    return aggregate.function in RANKED


def placed(aggregates: Sequence[Aggregate], lowered: Lowered, epsilon: Fraction) -> Placed:
    """Where ε is so small that more values than a query should hold would be told apart, fewer are: in wider steps.

    A least or greatest value stands as far from the end as it is drawn off its place: beyond the end all are alike.
    """
    (within,) = lowered.contributions
    assert isinstance(within, Balance) and lowered.stable.rows is not None
    shares = sorted({_share(one) for one in aggregates})

    def made(steps: Steps, offsets: Sequence[int]) -> Placed:
        wanted = tuple(map(Rank, shares, offsets))
        return ranks.by_rank(lowered.stable, lowered.keys, steps, within.where, wanted, epsilon)

    steps, plain = within.steps, [0] * len(shares)
    first = made(steps, plain)
    if 2 * first.term.far * len(shares) > _MOST:
        steps = coarsened(steps, _MOST)
        first = made(steps, plain)
    offsets = [
        ((shares[draw.at] == 0) - (shares[draw.at] == 1)) * math.ceil(reach(steps, draw.exponent))
        for draw in first.draw.all()
    ]
    return made(steps, offsets) if any(offsets) else first


def cell(aggregate: Aggregate, drawn: Placed) -> int:
    """Which of the values that are drawn together is its own."""
    return [rank.share for rank in drawn.term.ranks].index(_share(aggregate))


def reach(steps: Steps, exponent: Fraction) -> float:
    """A loss that is exceeded once in twenty times at most, however the values lie - if any of them has none."""
    return (math.log(steps.high + 1 - steps.low) - math.log(_MISS)) / float(exponent)


def off(draw: Draw, steps: Steps) -> Fraction:
    """The same in ranks."""
    return Fraction(reach(steps, draw.exponent)) / draw.rank.share.denominator


def _share(aggregate: Aggregate) -> Fraction:
    if aggregate.function != "quantile":
        return Fraction(aggregate.function == "max")
    ((term, _),) = aggregate.others
    assert isinstance(term, Const) and isinstance(term.value, float)
    return Fraction(term.value).limit_denominator(_LONGEST)
