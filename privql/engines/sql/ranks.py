"""From a `Ranks` to SQL, and from its results to the values near the wanted rank of each group.

Where steps are few, one statement counts and ranks the different ones; only those leave the engine that take a place
near a wanted one, so how much is held does not follow the number of rows. Where steps are many, most rows are told from
a histogram to be too far away, and what is left is looked at more finely: 10M different values are not grouped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from privql.engines.sql.aggregates import Aggregates
from privql.engines.sql.dialect import Dialect, Of
from privql.engines.sql.emit import by_groups
from privql.engines.sql.members import Arrays
from privql.engines.sql.relations import Draft, Layer, ReadScan
from privql.engines.sql.rows import rows
from privql.frozen import frozen
from privql.kernel.ranks import FARTHEST, Met, Rank, Ranked, Ranks, place
from privql.kernel.scalars import INT
from privql.kernel.terms import Public

Found = Mapping[str, Any]  # a statement's columns
Column = npt.NDArray[np.int64]

_BUCKETS = 2**14  # of all groups together
_GROUPS = 2**6  # with more, a histogram of each is too coarse
_FEW_STEPS = 2**14
_FEW_ROWS = 2**15  # for each rank in each group
_MANY_ROWS = 2**20
_MANY_STEPS = 1 << 62  # from one end to the other they may overflow 64 bits


@frozen
class RankStatement:
    sql: str
    arrays: Mapping[str, Arrays]
    publics: Mapping[Public, str]


def emit_ranks(ranks: Ranks, read: ReadScan, salt: bytes, dialect: Dialect) -> RankStatement:
    """All in one."""
    draft = Draft(dialect, read, salt)
    layer = Aggregates(rows(ranks.input, draft), draft.names)
    measure = layer.measure(ranks.steps, grouped=True)
    step, made = layer.measures.setdefault(measure.sql, draft.names.new("s")), draft.names.new("s")
    counted = layer.count("*", Of(layer.where(ranks.where)))
    groups, arrays = by_groups(ranks.keys, layer, Layer({made: step}))
    up_to = f"sum({counted}) OVER (PARTITION BY group_at ORDER BY {made} ROWS UNBOUNDED PRECEDING)"
    every = f"sum({counted}) OVER (PARTITION BY group_at)"
    present = f"{made} IS NOT NULL AND {counted} > 0"
    as_step = f"CAST({dialect.whole(made, measure.scale)} AS BIGINT)"
    ranked = f"SELECT group_at, {as_step} AS step, {counted} AS alike, {up_to} AS up_to, {every} AS n"
    ranked += f" FROM {dialect.derived(groups)} WHERE {present}"
    near = " OR ".join(f"({_near(rank, ranks.far, dialect)})" for rank in ranks.ranks)
    listed = ", ".join(f"CAST({sql} AS BIGINT) AS {name}" for name, sql in _COLUMNS.items())
    sql = f"SELECT {listed} FROM {dialect.derived(ranked)} WHERE {near} ORDER BY group_at, step"
    return RankStatement(sql, arrays, draft.publics)


def _near(rank: Rank, far: int, dialect: Dialect) -> str:
    huge = dialect.wide
    share, times = rank.share.numerator, rank.share.denominator
    target = f"({huge(share)} * n + {huge(times * rank.offset)})"
    below = f"{huge(times)} * (up_to - alike) - {target} <= {huge(times * far)}"
    return f"{below} AND {target} - {huge(times)} * up_to <= {huge(times * far)}"


_COLUMNS = {"group_at": "group_at", "step": "step", "below": "up_to - alike", "at_most": "up_to", "n": "n"}


def near_values(ranks: Ranks, found: Found) -> list[Ranked]:
    columns = (found[name].tolist() for name in _COLUMNS)
    return _by_group(ranks, zip(*columns, strict=True))


def _by_group(ranks: Ranks, found: Iterable[tuple[int, int, int, int, int]]) -> list[Ranked]:
    """A group without values near its rank is as one without values: all of its losses are the same."""
    groups: list[tuple[int, list[Met]]] = [(0, []) for _ in range(ranks.groups)]
    for group, step, below, at_most, n in found:
        if not groups[group][1]:
            groups[group] = (n, [])
        groups[group][1].append((step, below, at_most))
    return list(groups)


# ---- coarsely first


@frozen
class Buckets:
    """2^shift steps each, counted from the lowest; of those that are told by name, alone."""

    shift: int
    among: tuple[int, Sequence[int]] | None = None  # buckets of another shift


def emit_histogram(
    ranks: Ranks, read: ReadScan, salt: bytes, buckets: Buckets, dialect: Dialect
) -> RankStatement | None:
    """How many values are in each bucket; None where steps are not whole yet."""
    draft = Draft(dialect, read, salt)
    layer = Aggregates(rows(ranks.input, draft), draft.names)
    measure = layer.measure(ranks.steps, grouped=True)
    if measure.scale:
        return None
    step, bucket = layer.measures.setdefault(measure.sql, draft.names.new("s")), draft.names.new("s")
    counted = layer.count("*", Of(layer.where(ranks.where)))
    above = f"({step} - {dialect.literal(ranks.steps.low, INT)})"
    kept = f" WHERE {step} IS NOT NULL"
    if buckets.among is not None:
        shift, numbers = buckets.among
        listed = ", ".join(str(dialect.literal(number, INT)) for number in numbers)
        kept = f" WHERE {dialect.shifted(above, shift)} IN ({listed})"
    groups, arrays = by_groups(ranks.keys, layer, Layer({bucket: dialect.shifted(above, buckets.shift)}, kept))
    listed = f"group_at, CAST({bucket} AS BIGINT) AS bucket, CAST({counted} AS BIGINT) AS alike"
    sql = f"SELECT {listed} FROM {dialect.derived(groups)} WHERE {counted} > 0 ORDER BY group_at, bucket"
    return RankStatement(sql, arrays, draft.publics)


def narrowed(ranks: Ranks, ask: Callable[[Buckets], Found | None]) -> list[Ranked] | None:
    """By histograms alone; None where these do not lead to few rows. What `ask` counts stays the same meanwhile."""
    width = ranks.steps.high - ranks.steps.low
    if not _FEW_STEPS < width < _MANY_STEPS or ranks.groups > _GROUPS:
        return None
    most, few = _BUCKETS * len(ranks.ranks) // ranks.groups, _FEW_ROWS * len(ranks.ranks) * ranks.groups
    buckets, before, windows = Buckets(max(0, width.bit_length() - most.bit_length() + 1)), None, None
    while True:
        found = ask(buckets)
        if found is None:
            return None
        group, bucket, alike = (np.asarray(found[name], dtype=np.int64) for name in ("group_at", "bucket", "alike"))
        if windows is None:
            windows = Windows(ranks, np.bincount(group, alike, ranks.groups).astype(np.int64))
        up_to = _up_to(group, bucket, alike, buckets, before)
        near = windows.near(group, up_to - alike, up_to)
        if not buckets.shift or not near.any():
            steps = bucket + ranks.steps.low
            columns = (group, steps, up_to - alike, up_to, windows.counts[group])
            return _by_group(ranks, zip(*(column[near].tolist() for column in columns), strict=True))
        numbers = np.unique(bucket[near])
        inside = np.isin(bucket, numbers)
        finer = most.bit_length() - len(numbers).bit_length()
        if int(alike[inside].sum()) <= min(few, _MANY_ROWS):
            finer = buckets.shift
        elif finer < 1:
            return None
        before = group[inside], bucket[inside], (up_to - alike)[inside]
        buckets = Buckets(max(0, buckets.shift - finer), (buckets.shift, numbers.tolist()))


class Windows:
    """The places of each group that are near one of the ranks."""

    def __init__(self, ranks: Ranks, counts: Column) -> None:
        self.counts = counts
        self._ends = []
        for rank in ranks.ranks:
            places = [place(rank, count) for count in counts.tolist()]
            ends = [(math.ceil(at - ranks.far), math.floor(at + ranks.far)) for at in places]
            self._ends.append(np.clip(np.array(ends, dtype=object), -FARTHEST, FARTHEST).astype(np.int64))

    def near(self, group: Column, below: Column, at_most: Column) -> npt.NDArray[np.bool_]:
        out = np.zeros(len(group), dtype=bool)
        for ends in self._ends:
            out |= (at_most >= ends[group, 0]) & (below <= ends[group, 1])
        return out


def _up_to(
    group: Column, bucket: Column, alike: Column, buckets: Buckets, before: tuple[Column, Column, Column] | None
) -> Column:
    """Of each bucket, how many of its group's values are in it or below: those outside were counted `before`."""
    added = np.cumsum(alike)
    wider = bucket * 0 if buckets.among is None else bucket >> (buckets.among[0] - buckets.shift)
    if not len(group):
        return added
    first = np.flatnonzero(np.r_[True, (np.diff(group) != 0) | (np.diff(wider) != 0)])
    start = (added - alike)[first]
    if before is not None:
        known = {(g, b): below for g, b, below in zip(*(column.tolist() for column in before), strict=True)}
        start = start - [known[pair] for pair in zip(group[first].tolist(), wider[first].tolist(), strict=True)]
    return added - np.repeat(start, np.diff(np.r_[first, len(group)]))
