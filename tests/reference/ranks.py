"""The values of each group near a rank, counted one by one."""

from __future__ import annotations

import itertools

from privql.kernel.ranks import Ranked, Ranks
from privql.kernel.scalars import Value
from tests.reference.relations import member, rows
from tests.reference.values import Publics, Tables, holds, in_steps


def ranked(ranks: Ranks, tables: Tables, salt: bytes, publics: Publics | None = None) -> list[Ranked]:
    groups: dict[tuple[Value | tuple[Value, ...], ...], list[int]]
    groups = {group: [] for group in itertools.product(*(key.members for key in ranks.keys))}
    for _, row in rows(ranks.input, tables, salt, publics or {}):
        group = groups.get(tuple(member(key, row) for key in ranks.keys))
        step = in_steps(ranks.steps, row)
        if group is not None and step is not None and holds(ranks.where, row):
            group.append(step)
    return [_near(ranks, sorted(group)) for group in groups.values()]


def _near(ranks: Ranks, values: list[int]) -> Ranked:
    met = []
    for step in sorted(set(values)):
        below, at_most = sum(v < step for v in values), sum(v <= step for v in values)
        for rank in ranks.ranks:
            place = rank.share * len(values) + rank.offset
            if max(below - place, place - at_most) <= ranks.far and (step, below, at_most) not in met:
                met.append((step, below, at_most))
    return (len(values), met) if met else (0, [])
