"""From a `Ranks` to SQL, and from its results to the values near the wanted rank of each group.

Where steps are few, one statement counts and ranks the different ones; only those leave the engine whose loss is below
the clip, so how much is held does not follow the number of rows. Where steps are many, most rows are told from a
histogram to be too far away, and what is left is looked at more finely: 10M different values are not grouped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from privql.engines.duckdb.aggregates import Aggregates, whole
from privql.engines.duckdb.emit import by_groups
from privql.engines.duckdb.expressions import huge
from privql.engines.duckdb.members import Arrays
from privql.engines.duckdb.relations import Draft, Layer, ReadScan
from privql.engines.duckdb.rows import rows
from privql.kernel.ranks import Met, Ranked, Ranks
from privql.kernel.terms import Public

Found = Mapping[str, Any]  # a statement's columns

_BUCKETS = 2**14  # of all groups together
_GROUPS = 2**6  # with more, a histogram of each is too coarse
_FEW_STEPS = 2**14
_FEW_ROWS = 2**15
_MANY_STEPS = 2**62  # from one end to the other they may overflow 64 bits


@dataclass(frozen=True, slots=True)
class RankStatement:
    sql: str
    arrays: Mapping[str, Arrays]
    publics: Mapping[Public, str]


def emit_ranks(ranks: Ranks, read: ReadScan, salt: bytes) -> RankStatement:
    """All in one."""
    draft = Draft(read, salt)
    layer = Aggregates(rows(ranks.input, draft), draft.names)
    measure = layer.measure(ranks.steps, grouped=True)
    step, made = layer.measures.setdefault(measure.sql, draft.names.new("s")), draft.names.new("s")
    counted = layer.count("*", layer.where(ranks.where))
    groups, arrays = by_groups(ranks.keys, layer, Layer({made: step}))
    up_to = f"sum({counted}) OVER (PARTITION BY group_at ORDER BY {made} ROWS UNBOUNDED PRECEDING)"
    every = f"sum({counted}) OVER (PARTITION BY group_at)"
    present = f"{made} IS NOT NULL AND {counted} > 0"
    as_step = f"CAST({whole(made, measure.scale)} AS BIGINT)"
    ranked = f"SELECT group_at, {as_step} AS step, {counted} AS alike, {up_to} AS up_to, {every} AS n FROM ({groups})"
    share, times = ranks.rank.share.numerator, ranks.rank.share.denominator
    target = f"({huge(share)} * n + {huge(times * ranks.rank.offset)})"
    near = f"{huge(times)} * (up_to - alike) - {target} < {huge(ranks.clip)}"
    near += f" AND {target} - {huge(times)} * up_to < {huge(ranks.clip)}"
    listed = ", ".join(f"CAST({sql} AS BIGINT) AS {name}" for name, sql in _COLUMNS.items())
    sql = f"SELECT {listed} FROM ({ranked} WHERE {present}) WHERE {near} ORDER BY group_at, step"
    return RankStatement(sql, arrays, draft.publics)


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


def emit_histogram(
    ranks: Ranks, read: ReadScan, salt: bytes, first: int, last: int, shift: int
) -> RankStatement | None:
    """Of the steps from `first` to `last`, 2^shift of them in each bucket; None where steps are not whole yet."""
    draft = Draft(read, salt)
    layer = Aggregates(rows(ranks.input, draft), draft.names)
    measure = layer.measure(ranks.steps, grouped=True)
    if measure.scale:
        return None
    step, bucket = layer.measures.setdefault(measure.sql, draft.names.new("s")), draft.names.new("s")
    counted = layer.count("*", layer.where(ranks.where))
    start, end = f"CAST('{first}' AS BIGINT)", f"CAST('{last}' AS BIGINT)"
    buckets = Layer({bucket: f"({step} - {start}) >> {shift}"}, f" WHERE {step} BETWEEN {start} AND {end}")
    groups, arrays = by_groups(ranks.keys, layer, buckets)
    listed = f"group_at, CAST({bucket} AS BIGINT) AS bucket, CAST({counted} AS BIGINT) AS alike"
    sql = f"SELECT {listed} FROM ({groups}) WHERE {counted} > 0 ORDER BY group_at, bucket"
    return RankStatement(sql, arrays, draft.publics)


def narrowed(ranks: Ranks, ask: Callable[[int, int, int], Found | None]) -> list[Ranked] | None:
    """By histograms alone; None where these do not lead to few rows. What `ask` counts stays the same meanwhile."""
    first, last = ranks.steps.low, ranks.steps.high
    if not _FEW_STEPS < last - first < _MANY_STEPS or ranks.groups > _GROUPS:
        return None
    before, n = [0] * ranks.groups, [0] * ranks.groups  # of each group: values below `first`, and all
    shift, started = _shift(first, last, ranks.groups), False
    while True:
        found = ask(first, last, shift)
        if found is None:
            return None
        counts = list(zip(*(found[name].tolist() for name in ("group_at", "bucket", "alike")), strict=True))
        if not started:
            for group, _, alike in counts:
                n[group] += alike
            started = True
        near: list[tuple[int, int, int, int, int]] = []
        below = list(before)
        for group, bucket, alike in counts:
            under, up_to = below[group], below[group] + alike
            below[group] = up_to
            if ranks.loss(n[group], under, up_to) < ranks.clip:  # no step of it can be nearer
                near.append((group, bucket, under, up_to, n[group]))
        if not shift or not near:
            steps = ((group, first + at, under, up_to, count) for group, at, under, up_to, count in near)
            return _by_group(ranks, steps)
        least, most = min(one[1] for one in near), max(one[1] for one in near)
        for group, bucket, alike in counts:
            before[group] += alike if bucket < least else 0
        inside = sum(alike for _, bucket, alike in counts if least <= bucket <= most)
        width = last - first
        first, last = first + (least << shift), min(last, first + (most + 1 << shift) - 1)
        if inside > _FEW_ROWS and 2 * (last - first) > width:
            return None
        shift = 0 if inside <= _FEW_ROWS else _shift(first, last, ranks.groups)


def _shift(first: int, last: int, groups: int) -> int:
    return max(0, (last - first).bit_length() - (_BUCKETS // groups).bit_length() + 1)
