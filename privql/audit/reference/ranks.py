"""The values of each group near a rank, counted one by one."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right

from privql.audit.reference.relations import member, rows
from privql.audit.reference.values import Publics, Tables, holds, in_steps
from privql.kernel.ranks import Ranked, Ranks
from privql.kernel.scalars import Value


def ranked(ranks: Ranks, tables: Tables, salt: bytes, publics: Publics | None = None) -> list[Ranked]:
    groups: dict[tuple[Value | tuple[Value, ...], ...], list[int]]
    groups = {group: [] for group in itertools.product(*(key.members for key in ranks.keys))}
    for _, row in rows(ranks.input, tables, salt, publics or {}):
        group = groups.get(tuple(member(key, row) for key in ranks.keys))
        step = in_steps(ranks.steps, row)
        if group is not None and step is not None and holds(ranks.where, row):
            group.append(step)
    return [near_of(ranks, sorted(group)) for group in groups.values()]


def near_of(ranks: Ranks, values: list[int]) -> Ranked:
    met, count, ordered = [], len(values), sorted(values)
    places = [rank.share * count + rank.offset for rank in ranks.ranks]
    ends = [(math.ceil(place - ranks.far), math.floor(place + ranks.far)) for place in places]
    for step in sorted(set(values)):
        below, at_most = bisect_left(ordered, step), bisect_right(ordered, step)
        if any(below <= last and first <= at_most for first, last in ends):
            met.append((step, below, at_most))
    return (count, met) if met else (0, [])
