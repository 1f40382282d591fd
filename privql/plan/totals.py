"""Per-unit totals: where a unit is in one group, what it adds is bounded after it is added up, not row by row.

Cutting a unit to k rows throws away what the others say, and must order rows by a hash. Its total clamped to what k
rows can come to has the same sensitivity, keeps every unit that stays within it as it is, and is a plain GROUP BY.
One group is where nothing is grouped, where the unit determines the keys, or where the query says so. Of more than
one, each could come to as much: then rows are cut, which bounds all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from privql.kernel import rules
from privql.kernel.features import STEP_LIMIT, Feature, Steps, Tally, Total
from privql.kernel.scalars import INT, Field
from privql.kernel.stable import Stable
from privql.kernel.sums import Balance, Contribution, Hats, Powers
from privql.plan.bounding import Bounds

MOST_OPEN = 2**61

Totals = tuple[Stable, tuple[Contribution, ...]]


def of_units(
    stable: Stable, bounds: Bounds, contributions: tuple[Contribution, ...], open_: Sequence[bool]
) -> Totals | None:
    """One row a unit, with its group, and what it contributes; None where a mean needs its rows one by one.

    `open_`: which have bounds that are still to be found, for the totals themselves. Those of a FLOAT decide its
    steps, so it cannot be added up before.
    """
    rows = bounds.rows
    if rows is None:
        return None
    features: list[tuple[str, Feature]] = []
    made: list[Contribution] = []
    for at, one in enumerate(contributions):
        name = f"total{at}"
        match one:
            case Tally():
                features.append((name, one))
                low, high = 0, rows
            case Total(steps=steps):
                features.append((name, one))
                low, high = min(rows * steps.low, 0), max(rows * steps.high, 0)
                if open_[at] and steps.value.type.kind == "FLOAT":
                    return None
                if open_[at]:
                    low, high = max(low, -MOST_OPEN), min(high, MOST_OPEN)
            case Balance() | Powers() | Hats():
                return None
        if not -STEP_LIMIT <= low <= high <= STEP_LIMIT:
            return None
        made.append(Total(Steps(Field(name, INT), Fraction(1), low, high)))
    gathered = rules.gather(stable, bounds.keys, tuple(features), bounds.listed)
    if bounds.groups is not None:
        gathered = rules.keep_rows(gathered, bounds.groups)
    return (gathered, tuple(made)) if gathered.rows == 1 else None
