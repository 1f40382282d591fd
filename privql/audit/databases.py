"""Small databases and their neighbours: all of up to three rows of a few kinds, and some larger ones.

The kinds of rows are not any: those that move what is measured farthest are looked for first, a column at a time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement, pairwise

from privql.audit.fitting import Meets, fitting
from privql.audit.world import Bag, Database, Element, World, element
from privql.frozen import frozen
from privql.policy.catalog import Table

ROWS = 3
_KINDS = 20  # of rows, in databases of which there are all
_TRIED = 60  # rows that are looked at before the best are made better
_LARGE = 60  # rows of one unit, at most

Score = Callable[[Bag], float]
Made = Callable[[World, Table, random.Random], Element]


@frozen
class Neighbours:
    """Databases that differ in what their last unit has; it has nothing in the first of them."""

    others: Database
    own: tuple[Bag, ...]

    def of(self, bag: Bag) -> Database:
        return (*self.others, bag) if bag else self.others


def likely(world: World, table: Table, choice: random.Random) -> Element:
    """A row as the owner means them."""
    return Element(table.name, tuple((c.name, choice.choice(world.likely(table, c))) for c in world.free(table)))


def bag(world: World, choice: random.Random, rows: int = 1, made: Made = element) -> Bag:
    """A unit with a row in most tables, or with several."""
    out = []
    for table in world.tables:
        if choice.random() < 0.85:
            out += [made(world, table, choice) for _ in range(rows if world.most(table) is None else 1)]
    if world.rows_alone:
        out = out[:1]
    return tuple(out) or (made(world, choice.choice(world.tables), choice),)


def telling(world: World, scores: Sequence[Score], meets: Meets, choice: random.Random) -> list[Bag]:
    """What a unit may have that moves each of the scores far: the best of some, and then no single value leads on.
    Where a query measures none of these, nothing leads anywhere: rows are made to meet its conditions before."""
    some = [bag(world, choice) for _ in range(_TRIED)]
    some += fitting(world, some, meets, choice)
    out: list[Bag] = []
    for score in scores:
        rated = [(score(one), at) for at, one in enumerate([*some, *out])]
        _, at = max(rated)
        best = _climbed([*some, *out][at], score, world)
        if best not in out:
            out.append(best)
    return out


def _climbed(best: Bag, score: Score, world: World) -> Bag:
    there = score(best)
    for at, row in enumerate(best):
        table = next(table for table in world.tables if table.name == row.table)
        for column in world.free(table):
            if column.hidden:
                continue
            for value in world.pool(table, column):
                other = (*best[:at], best[at].with_value(column.name, value), *best[at + 1 :])
                if (found := score(other)) > there:
                    best, there = other, found
    return best


def kinds(world: World, told: Sequence[Bag], choice: random.Random, many: int = _KINDS) -> list[Element]:
    """Rows of which all small databases are made: first those of units that tell most, then any."""
    out = list(dict.fromkeys(row for one in told for row in one))[: many * 2 // 3]
    for _ in range(20 * many):
        if len(out) >= many:
            break
        near = choice.choice(out) if out and choice.random() < 0.5 else None
        table = choice.choice(world.tables)
        row = element(world, table, choice)
        if near is not None and near.table == table.name and row.values:  # like one that tells, but for a value
            name, value = choice.choice(row.values)
            row = near.with_value(name, value)
        if row not in out:
            out.append(row)
    return out


def small(world: World, rows: Sequence[Element], most: int) -> Iterator[Neighbours]:
    """All databases of up to three rows of these kinds, in units of one, two or three of them; of fewer kinds, where
    they would be more than `most`."""
    kept = list(rows)
    while kept and sum(1 + len(one.own) for one in _small(world, kept)) > most:
        kept.pop()
    yield from _small(world, kept)


def _small(world: World, rows: Sequence[Element]) -> Iterator[Neighbours]:
    bags = {size: [one for one in combinations_with_replacement(rows, size) if world.may_be(one)] for size in (1, 2, 3)}
    singles, pairs = bags[1], bags[2]
    yield Neighbours((), (*singles, *pairs, *bags[3]))
    for one in singles:
        yield Neighbours((one,), (*singles, *pairs))
    for two in pairs:
        yield Neighbours((two,), tuple(singles))
    for one, other in combinations_with_replacement(singles, 2):
        yield Neighbours((one, other), tuple(singles))


def larger(world: World, told: Sequence[Bag], rows: int, choice: random.Random, many: int) -> Iterator[Neighbours]:
    """Some of what the small ones leave out: units with more rows than may count, and any rows at all."""
    over = min(rows + 1, _LARGE)
    if over > 1 and not world.rows_alone:
        heavy = [tuple(row for row in one for _ in range(over)) for one in told]
        mixed = [(*one * over, *other * over) for one, other in pairwise(told)]
        for one in [*heavy, *mixed, *_different(world, told, over)]:
            yield Neighbours((), (one,))
            yield Neighbours((choice.choice(told),), (one,))
    for _ in range(many):
        others = tuple(bag(world, choice, choice.choice((1, 2))) for _ in range(choice.choice((0, 1, 2))))
        own = [bag(world, choice, choice.choice((1, 1, 2, 3))) for _ in range(3)]
        yield Neighbours(others, (*own, choice.choice(told)) if told else tuple(own))


def _different(world: World, told: Sequence[Bag], over: int) -> Iterator[Bag]:
    """So many rows of a unit that differ in one column."""
    for one in told[:2]:
        for at, row in enumerate(one):
            table = next(table for table in world.tables if table.name == row.table)
            for column in world.free(table):
                values = [*world.pool(table, column), *(world.fresh(table, column, at) for at in range(over))]
                rows = [row.with_value(column.name, value) for value in values if value is not None]
                yield (*one[:at], *one[at + 1 :], *dict.fromkeys(rows[-over:]))
