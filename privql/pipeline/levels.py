"""What EXPLAIN says of several grouping sets: which marginals are measured, and how exact the rows of each set are."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction

from privql.check.relations import Block, GroupingKey
from privql.domains import number_text
from privql.kernel.features import Tally, Total
from privql.kernel.noises import variance
from privql.pipeline.figures import rough
from privql.plan.levels import variances
from privql.plan.measurements import Measurement
from privql.plan.program import BlockPlan

_SHOWN = 8  # sets


def levels(plan: BlockPlan, at: int) -> Iterator[str]:
    """Of measurement number `at`."""
    parts, one = plan.parts(at), plan.measurements[at]
    if parts:
        shares = zip(parts, plan.marginals, strict=True)
        said = [f"{number_text(100 * marginal.share)}% {_groups(keys)}" for (keys, _), marginal in shares]
        yield f"of that {', '.join(said[:-1])} and {said[-1]}: made one by least squares"
    if one.scale is None or one.open or plan.lowered.unlisted or not isinstance(one.contribution, Tally | Total):
        return
    block, sizes = plan.block, [len(key.members or ()) for key in plan.block.keys]
    measured = {frozenset(_places(keys, block)): _variance(part) for keys, part in parts}
    measured = measured or {frozenset(range(len(sizes))): _variance(one)}
    asked = list(dict.fromkeys(map(frozenset, block.sets)))
    spreads = zip(asked, variances(sizes, asked, measured), strict=True)
    rows = [
        f"{rough(Fraction(round(math.sqrt(v), 12)) * one.grid)} {_groups([block.keys[k] for k in sorted(of)])}"
        for of, v in spreads
    ]
    yield f"standard deviation: {', '.join(rows[:_SHOWN] + ['…'] * (len(rows) > _SHOWN))}"


def _groups(keys: Sequence[GroupingKey]) -> str:
    return f"by {', '.join(key.name for key in keys)}" if keys else "in all"


def _places(keys: Sequence[GroupingKey], block: Block) -> list[int]:
    return [block.keys.index(key) for key in keys]


def _variance(one: Measurement) -> float:
    assert one.scale is not None
    return max(variance(one.noise, one.scale), sys.float_info.min)
