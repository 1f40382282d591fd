"""The errors of what was computed from noisy numbers: the whole answer again, on cells whose noise is drawn anew.

Nothing of the data is read and nothing is spent: cells, laws and what is public are all it takes. The first replicate
is the answer itself; a row that does not come out of it as it was handed out has no error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from privql.domains import NUMERIC
from privql.engines.interface import EngineError
from privql.finish.cells import finish_block
from privql.finish.kept import MOST_CELLS, Made, NoisyBlock, numbers
from privql.finish.origins import Origins, alone, traced
from privql.finish.resampling import (
    Numbers,
    Scales,
    Spread,
    cells_without_noise,
    generator,
    replicates,
    resampled,
    sample,
)
from privql.finish.result import Column, Release, computed
from privql.finish.spread import limits
from privql.finish.table import Table
from privql.kernel.scalars import INT, Value, ValueType
from privql.kernel.sums import Hats, Powers
from privql.post.run import PostProcessor
from privql.post.shadows import Leaf, Shadowed, shadowed

_NUMBER = ("replicate", INT)
_ROW = ("row", INT)


@dataclass
class Errors:
    """Of one answer. `releases` and `dummies`: the rows that it reads beside its own cells."""

    made: Made
    rows: Sequence[tuple[Any, ...]]
    columns: Sequence[Column]
    post: PostProcessor
    releases: Mapping[str, Release]
    dummies: Mapping[str, Table]
    known: dict[int, Mapping[int, Spread]] = field(default_factory=dict)

    def __call__(self, confidence: Fraction) -> Mapping[int, Spread]:
        return self.of(replicates(max(self.size, len(self.rows)), confidence)) if self._any else {}

    @cached_property
    def _any(self) -> bool:
        """Whether noise gets into a number whose error no law tells: where it does not, none needs to be drawn."""
        if not any(map(computed, self.columns)):
            return False
        try:
            return any(computed(self.columns[at]) for at in self._asked(0).columns)
        except (EngineError, OverflowError):
            return False

    @property
    def size(self) -> int:
        """How many noisy numbers a replicate is made of."""
        below = [release.spreads for release in self.releases.values()]
        own = max([numbers(self.made.blocks), *(len(one.rows) for one in self.releases.values())], default=0)
        return own + sum(each.size for each in below if isinstance(each, Errors))

    def of(self, count: int) -> Mapping[int, Spread]:
        """The replicates of every column that has any."""
        if count not in self.known:
            try:
                self.known[count] = self._computed(count) if max(self.size, len(self.rows)) <= MOST_CELLS else {}
            except (EngineError, OverflowError):
                self.known[count] = {}
        return self.known[count]

    def _asked(self, count: int) -> Shadowed:
        """The query over as many replicates, and the answer itself."""
        blocks = [_block_leaf(self.made.name, at, one, count) for at, one in enumerate(self.made.blocks)]
        blocks += [Leaf(table, None) for table in self.made.given]
        released = {name: _released_leaf(release, count) for name, release in self.releases.items()}
        every = Table((_NUMBER,), tuple((number,) for number in range(count + 1)))
        return shadowed(self.made.query, blocks, released, every)

    def _computed(self, count: int) -> Mapping[int, Spread]:
        asked = self._asked(count)
        if not asked.columns or not self.rows:
            return {}
        tables = {name: release.table for name, release in self.releases.items()}
        found = self.post.numbers(asked.query, asked.tables, tables, self.dummies, asked.outputs)
        origins = traced(replace(self.made.query, blocks=tuple(one.block for one in self.made.blocks)))
        out = {}
        for at, monotone, bound, values in zip(asked.columns, asked.monotone, asked.bounds, found, strict=True):
            if len(values) != (count + 1) * len(self.rows):
                return {}
            spread = values.reshape(count + 1, len(self.rows)).T
            out[at] = Spread(_own(spread, [row[at] for row in self.rows]), monotone, self._limits(origins[at]), bound)
        return out

    def _limits(self, origins: Origins) -> tuple[float, float]:
        """Of what was measured here and not computed with."""
        origin = alone(origins)
        if origin is None or not isinstance(
            self.made.blocks[origin.block].recipes[origin.aggregate].contribution, Powers
        ):
            return -math.inf, math.inf
        return limits(self.made.blocks[origin.block].block.aggregates[origin.aggregate])


def _own(found: Numbers, values: Sequence[Value]) -> Numbers:
    """Without the first replicate, and with no other where that is not the answer."""
    numbers = (value if isinstance(value, int | float | Fraction) else math.nan for value in values)
    answer = np.array([float(number) for number in numbers])
    rest = found[:, 1:].copy()
    rest[~(found[:, 0] == answer)] = np.nan
    return rest


def _block_leaf(name: str, at: int, one: NoisyBlock, count: int) -> Leaf:
    released = _finished(one, one.cells)
    first = len(one.block.keys)
    places = range(first, first + len(one.recipes))
    lost = frozenset(place for place, recipe in zip(places, one.recipes, strict=True) if not resampled(recipe))
    known = tuple(place for place in places if place not in lost)
    if not known or not one.cells:
        return Leaf(released, None, lost=lost)
    draws = generator(name, at, count)
    rows = [(0, number, *(row[place] for place in known)) for number, row in enumerate(released.rows)]
    drawn = cells_without_noise(one.recipes, one.cells, _scales(one), count, draws) if count else ()
    for replicate, cells in enumerate(drawn, start=1):
        table = _finished(one, cells)
        rows += [(replicate, number, *(row[place] for place in known)) for number, row in enumerate(table.rows)]
    columns = (_NUMBER, _ROW, *(released.columns[place] for place in known))
    steady = frozenset(place for place in known if not isinstance(one.recipes[place - first].contribution, Hats))
    return Leaf(released, Table(columns, tuple(rows)), known, steady, lost)


def _finished(one: NoisyBlock, cells: Sequence[Sequence[int]]) -> Table:
    return finish_block(one.block, one.recipes, cells, one.groups, one.levels)


def _scales(one: NoisyBlock) -> Scales:
    """Of the rows of a block with several grouping sets, whose levels have noise of their own."""
    if not one.levels:
        return None
    return [level.scales for level in one.levels for _ in range(level.groups(one.block))]


def _released_leaf(release: Release, count: int) -> Leaf:
    """An earlier answer: the replicates of its own cells or, where these are not known, of its columns' laws."""
    spreads = release.spreads.of(count) if isinstance(release.spreads, Errors) else {}
    noisy = {at for at, column in enumerate(release.columns) if _noisy(column)}
    columns: dict[int, list[list[Value]]] = {}
    for at in sorted(noisy):
        if at in spreads:
            type = release.columns[at].type
            columns[at] = [[_value(each, type) for each in row] for row in spreads[at].values.T.tolist()]
        elif (drawn := _from_law(release, at, count)) is not None:
            columns[at] = drawn
    lost = frozenset(noisy - columns.keys())
    if not columns or not release.rows:
        return Leaf(release.table, None, lost=lost)
    known = tuple(columns)
    rows = [(0, number, *(row[at] for at in known)) for number, row in enumerate(release.rows)]
    for replicate in range(count):
        values = zip(*(columns[at][replicate] for at in known), strict=True)
        rows += [(replicate + 1, number, *each) for number, each in enumerate(values)]
    table = Table((_NUMBER, _ROW, *(release.table.columns[at] for at in known)), tuple(rows))
    monotone = frozenset(at for at in known if at not in spreads or spreads[at].monotone)
    bounds = frozenset(at for at in known if at in spreads and spreads[at].bound)
    return Leaf(release.table, table, known, monotone, lost, bounds)


def _noisy(column: Column) -> bool:
    return column.label.name != "PUBLIC" and column.type.kind in NUMERIC


def _from_law(release: Release, at: int, count: int) -> list[list[Value]] | None:
    law, type = release.columns[at].law, release.columns[at].type
    if law is None or law.kind != "sum":
        return None
    values = [row[at] for row in release.rows]
    draws = generator(release.release_id, "law", at, count)
    noise = iter(sample(law.noise, law.scale, count * len(values), draws))
    return [[None if v is None else _exact(v - law.grid * next(noise), type) for v in values] for _ in range(count)]


def _exact(value: Any, type: ValueType) -> Value:
    return float(value) if type.kind == "FLOAT" else int(value) if type.kind == "INT" else value


def _value(number: float, type: ValueType) -> Value:
    if number != number:
        return None
    match type.kind:
        case "INT":
            return round(number)
        case "DECIMAL":
            return Fraction(round(number * 10**type.scale), 10**type.scale)
        case _:
            return number
