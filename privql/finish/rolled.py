"""The rows of several grouping sets: of each, the sums of the finest groups.

These are found once, from all that was measured, in whole cells; a count and a sum that are read off a mean's two
cells, before they are rounded. So every total is the sum of its parts. A mean is finished from its cells in each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from privql.check.relations import Block
from privql.finish.consistent import Marginal, Whole, reconciled, whole
from privql.finish.recipe import Level, Recipe
from privql.kernel.features import Tally, Total
from privql.kernel.scalars import Value
from privql.kernel.sums import Balance, Powers
from privql.kernel.sums import cells as width
from privql.kernel.two import weights

Columns = Sequence[Sequence[int]]


class Rolled:
    """`columns`: the cells of all that was measured, one marginal after the other; those of groups that were found."""

    def __init__(self, block: Block, groups: Sequence[tuple[Value, ...]], columns: Columns, levels: Sequence[Level]):
        self._sizes = [len(key.members or ()) for key in block.keys]
        self._found = any(key.members is None for key in block.keys)
        self._sets = [frozenset(one) for one in block.sets]
        self._columns, self._levels, self._groups = columns, levels, len(groups)
        self.keys: list[tuple[Value, ...]] = []
        self.masks: list[tuple[int, ...]] = []
        self._places: list[list[int]] = []  # for each set, the row that each of the finest groups is part of
        nothing = [None] * len(groups)
        by_key = list(zip(*groups, strict=True)) if groups else [()] * len(block.keys)
        for one in self._sets:
            kept = list(zip(*(column if at in one else nothing for at, column in enumerate(by_key)), strict=True))
            rows = dict.fromkeys(kept if one else [(None,) * len(block.keys)])  # a total there is even of no group
            places = {row: at for at, row in enumerate(rows, len(self.keys))}
            self._places.append([places[row] for row in kept])
            self.keys += rows
            mask = tuple(_mask([at not in one for at in by]) for _, by in block.groupings)
            self.masks += [mask] * len(rows)

    def cells(self, recipe: Recipe) -> tuple[Recipe, Columns]:
        """The cells of every row, and how an answer is made of them."""
        match recipe.contribution:
            case Balance(steps=steps) if recipe.gives != "mean":
                one, other = weights(steps.low, steps.high, recipe.gives)
                (a, over), (b, _) = self._exact(recipe.cell), self._exact(recipe.cell + 1)
                read_off = Tally() if recipe.gives == "count" else Total(steps)
                cells = [self._whole(a * one + b * other, over * (steps.high - steps.low))]
                return replace(recipe, contribution=read_off, cell=0), cells
            case contribution:
                count = 1 if not isinstance(contribution, Balance | Powers) else width(contribution)
                return replace(recipe, cell=0), [self._whole(*self._exact(recipe.cell + at)) for at in range(count)]

    def _exact(self, cell: int) -> tuple[Whole, int]:
        """One cell of each of the finest groups, in parts of a whole number; of groups that were found, as it came."""
        if self._found:
            return np.array(self._columns[cell] if self._groups else (), dtype=object), 1
        marginals, start = [], 0
        for level in self._levels:
            shape = tuple(size if at in level.keys else 1 for at, size in enumerate(self._sizes))
            cells = self._columns[cell][start : start + prod(shape)]
            marginals.append(
                Marginal(frozenset(level.keys), np.array(cells, object).reshape(shape), level.scales[cell])
            )
            start += prod(shape)
        return reconciled(self._sizes, marginals)

    def _whole(self, cells: Whole, over: int) -> list[int]:
        """What the finest groups come to in each row."""
        if over != 1:
            cells = (2 * cells + over) // (2 * over) if self._found else whole(cells, over, self._sets)
        finest, sums = cells.ravel().tolist(), [0] * len(self.keys)
        for places in self._places:
            for at, cell in zip(places, finest, strict=True):
                sums[at] += cell
        return sums


def _mask(bits: Sequence[bool]) -> int:
    return sum(bit << at for at, bit in enumerate(reversed(bits)))
