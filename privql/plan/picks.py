"""How candidates are chosen by their counts, and what the kernel proves of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from math import prod

from privql.check.relations import Aggregate
from privql.diagnostics import refuse
from privql.kernel import picks
from privql.kernel.picks import Picked, Way
from privql.kernel.sums import Key, Listed
from privql.plan.lower import Lowered

_MOST = 10**6  # counts
_MISS = Fraction(1, 20)


def picked(aggregate: Aggregate) -> bool:
    return aggregate.choice is not None


def chosen(aggregate: Aggregate, lowered: Lowered, keys: Sequence[Key | Listed], epsilon: Fraction) -> Picked:
    """The same mechanism and the same price, whatever groups were found."""
    choice, value = aggregate.choice, aggregate.argument
    assert choice is not None and value is not None
    candidates = Key(value, choice.candidates)
    counts = prod(len(key.members) for key in (*keys, candidates))
    if counts > _MOST:
        raise refuse(
            "PQL0404",
            f"{counts} counts are more than {_MOST}",
            aggregate.span,
            why=f"each of {counts // len(choice.candidates)} groups has {len(choice.candidates)} values to choose among",
            help="choose among fewer, or group more coarsely",
        )
    way = choice.way or best(lowered, candidates, choice.count)
    return picks.most_frequent(lowered.stable, tuple(keys), candidates, aggregate.where, choice.count, way, epsilon)


def best(lowered: Lowered, candidates: Key, count: int) -> Way:
    """One after the other, as long as that needs no more noise than to blur all counts at once: then it is the less
    noisy, since the noise of a coin is one-sided."""
    far, all_ = (picks.moved(lowered.stable, lowered.keys, candidates, way) for way in ("FLIP", "HISTOGRAM"))
    return "FLIP" if count * far <= all_ else "HISTOGRAM"


def short(made: Picked) -> float:
    """So many rows fewer than one that is left has any that is chosen at most, but once in twenty times: by coins each of
    which falls heads so far behind with probability e^-exponent·rows, or by noises, two of which may add up."""
    draws = made.candidates * (1 if made.way == "HISTOGRAM" else made.picks)
    times = 1 if made.way in ("FLIP", "EXPONENTIAL") else 2
    return times * (math.log(draws) - math.log(_MISS)) / float(made.exponent)
