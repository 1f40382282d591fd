"""Noisy cells to the values they stand for: the groups of one block, in the order of the product of its keys.

All arithmetic is exact until one division at the end. Counts and sums are never clipped; a mean is projected onto
the domain of its argument, and is NULL where fewer than one row seems to be behind it. So is a variance. A count and a
sum that are read off a mean's two cells are rounded to whole steps, as the exact ones are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

from privql.check.relations import Aggregate, Block
from privql.finish.recipe import Level, Recipe
from privql.finish.spread import divided, spreads
from privql.finish.table import Table
from privql.functions.scalar.declare import canonical
from privql.functions.scalar.numbers import integer
from privql.kernel.features import Steps, Total
from privql.kernel.scalars import Value, ValueType
from privql.kernel.sums import Balance, Hats, Key, Powers
from privql.kernel.sums import cells as width
from privql.kernel.two import weights


def finish_block(
    block: Block,
    recipes: Sequence[Recipe],
    cells: Sequence[Sequence[int]],
    groups: Sequence[tuple[Value, ...]] | None = None,
    levels: Sequence[Level] = (),
) -> Table:
    """`cells`: for each group, in key order, the integers that were released for it. `groups`: those that were found,
    where not all were listed. `levels`: of a block with several grouping sets, where the groups of each marginal that
    was measured follow each other."""
    if groups is None:
        groups = list(product(*(key.members or () for key in block.keys)))
    expected = sum(level.groups(block) for level in levels) if levels else len(groups)
    if len(cells) != expected or len(recipes) != len(block.aggregates):
        raise ValueError("the cells are not those of this block")
    if not groups and not block.sets:
        return Table(block.columns, ())
    released = _columns(cells)
    masks: Sequence[tuple[Value, ...]] = [()] * len(groups)
    if block.sets:
        from privql.finish.rolled import Rolled  # brings numpy along

        rolled = Rolled(block, groups, released, levels)
        made = [_answers(one, *rolled.cells(recipe)) for one, recipe in zip(block.aggregates, recipes, strict=True)]
        groups, masks = rolled.keys, rolled.masks
    else:
        made = [_answers(*each, released) for each in zip(block.aggregates, recipes, strict=True)]
    types = [key.type for key in block.keys]
    keys = (tuple(map(canonical, group, types)) for group in groups)
    answers = zip(*made, strict=True) if made else [()] * len(groups)
    rows = (key + answer + mask for key, answer, mask in zip(keys, answers, masks, strict=True))
    return Table(block.columns, tuple(rows))


def _columns(cells: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    """By column, as Python integers: an array's own would wrap."""
    return cells.T.tolist() if hasattr(cells, "T") else list(zip(*cells, strict=True))


def _answers(one: Aggregate, recipe: Recipe, columns: Sequence[Sequence[int]]) -> Iterable[Value]:
    first = columns[recipe.cell]
    match recipe.contribution:
        case Powers(factors=((steps, _),)) if one.function in ("avg", "count", "sum"):
            cells = zip(*columns[recipe.cell : recipe.cell + 3], strict=True)
            times = 2 * (steps.high - steps.low)  # 2R, and so many times the cells of a mean
            pairs = [(middle + 2 * high, 2 * low + middle) for low, middle, high in cells]
            return _off_two(pairs, recipe, steps, times)
        case Balance(steps=steps):
            return _off_two(zip(first, columns[recipe.cell + 1], strict=True), recipe, steps)
        case Powers():
            return spreads(one, recipe.contribution, columns[recipe.cell : recipe.cell + width(recipe.contribution)])
        case Steps():
            return [_value(cell, one, recipe.contribution, recipe.type) for cell in first]
        case Hats(steps=steps):
            from privql.finish.hats import total  # brings numpy along

            each = zip(*columns[recipe.cell : recipe.cell + recipe.width], strict=True)
            sign = -1 if steps.low < 0 else 1
            return [_sum(sign * total(cells, recipe.scale), steps.grid, recipe.type) for cells in each]
        case Key(members=members):
            return [canonical(members[cell], recipe.type) for cell in first]
        case Total(steps=steps):
            return [_sum(cell, steps.grid, recipe.type) for cell in first]
        case _:
            return [_sum(cell, Fraction(1), recipe.type) for cell in first]


def _off_two(pairs: Iterable[tuple[int, int]], recipe: Recipe, steps: Steps, times: int = 1) -> list[Value]:
    """What is read off a mean's two cells, each so many times as large."""
    if recipe.gives == "mean":
        return [_mean(a, b, steps, times) for a, b in pairs]
    of, over = weights(steps.low, steps.high, recipe.gives), (steps.high - steps.low) * times
    grid = steps.grid if recipe.gives == "sum" else Fraction(1)
    return [_sum(_rounded(of[0] * a + of[1] * b, over), grid, recipe.type) for a, b in pairs]


def _sum(cell: int, grid: Fraction, type: ValueType) -> Value:
    match type.kind:
        case "FLOAT":
            return divided(cell * grid.numerator, grid.denominator)
        case "DECIMAL":
            unscaled = _rounded(cell * grid.numerator * 10**type.scale, grid.denominator)
            return Fraction(unscaled, 10**type.scale) if abs(unscaled) < 10**type.precision else None
        case _:
            whole = _rounded(cell * grid.numerator, grid.denominator)
            return integer(whole)


def _value(cell: int, one: Aggregate, steps: Steps, type: ValueType) -> Value:
    """The outer steps may lie a little beyond the ends of the domain."""
    value = cell * steps.grid
    if one.domain.low is not None and one.domain.high is not None and not one.domain.empty:
        value = min(max(value, one.domain.low), one.domain.high)
    return _sum(value.numerator, Fraction(1, value.denominator), type)


def _mean(a: int, b: int, steps: Steps, times: int = 1) -> float | None:
    width = steps.high - steps.low
    if width and a + b < width * times:
        return None
    if not width or a < 0:  # without width, `low` is the only value there is
        weighed, weight = steps.low, 1
    elif b < 0:
        weighed, weight = steps.high, 1
    else:
        weighed, weight = steps.high * a + steps.low * b, a + b
    return divided(weighed * steps.grid.numerator, weight * steps.grid.denominator)


def _rounded(numerator: int, denominator: int) -> int:
    """Half away from zero."""
    whole = (2 * abs(numerator) + denominator) // (2 * denominator)
    return whole if numerator >= 0 else -whole
