"""Rows that a query measures, looked for one move after the other: by how many of its conditions they meet."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from privql.audit.conditions import Met, added
from privql.audit.world import Bag, World, element
from privql.kernel.scalars import Value

_MANY = 60  # rows of a unit, at most
_TRIED = 1500  # bags, at most
_TWICE = 300  # of them, with two columns changed at once: where no single one leads on

Meets = Callable[[Bag], Sequence[Met]]  # of each thing that is measured by itself
Change = Callable[[Bag], Bag]


def fitting(world: World, some: Sequence[Bag], meets: Meets, choice: random.Random) -> list[Bag]:
    """All of it, and each thing that is measured by itself: where none of these bags has rows for it, one that has, or
    that comes nearest."""
    out: list[Bag] = []
    for at in (None, *range(len(meets(some[0])))):

        def lacks(bag: Bag, at: int | None = at) -> float:
            held, of = added(meets(bag)) if at is None else meets(bag)[at]
            return max(of - held, 0.0)

        nearest = min((*some, *out), key=lacks)
        if lacks(nearest) and (found := _fitted(world, nearest, lacks, choice)) not in out:
            out.append(found)
    return out


def _fitted(world: World, best: Bag, lacks: Callable[[Bag], float], choice: random.Random) -> Bag:
    left, better, tries = lacks(best), True, iter(range(_TRIED))
    while left and better:
        better = False
        for _, change in zip(tries, _changes(world, best, choice), strict=False):  # of the bag as it is now
            other = change(best)
            if world.may_be(other) and (lacking := lacks(other)) < left:
                best, left, better = other, lacking, True
                if not left:
                    break
    return best


def _changes(world: World, best: Bag, choice: random.Random) -> Iterator[Change]:
    """A row where a table has none, a value, more of a row, none of it, two values."""
    absent = [table for table in world.tables if table.name not in {row.table for row in best}]
    yield from (partial(_beside, (element(world, table, choice),)) for table in absent)
    values = []
    for at, row in enumerate(best):
        table = next(table for table in world.tables if table.name == row.table)
        for column in world.free(table):
            if not column.hidden:
                offered = (*world.pool(table, column), *world.inside(table, column, choice))
                values.append([partial(_with, at, column.name, value) for value in offered])
    for each in values:
        yield from each
    counts = {int(n) + by for n in world.known.get("INT", ()) if isinstance(n, int) for by in (0, 1)}
    for at in range(len(best)):
        yield from (partial(_more, at, many) for many in sorted({2, *counts}) if 2 <= many <= _MANY)
    yield from (partial(_without, at) for at in reversed(range(len(best))) if len(best) > 1)
    for _ in range(_TWICE if len(values) > 1 else 0):
        one, other = choice.sample(values, 2)
        yield partial(_both, choice.choice(one), choice.choice(other))


def _beside(more: Bag, bag: Bag) -> Bag:
    return (*bag, *more)


def _with(at: int, column: str, value: Value, bag: Bag) -> Bag:
    return (*bag[:at], bag[at].with_value(column, value), *bag[at + 1 :]) if at < len(bag) else bag


def _more(at: int, many: int, bag: Bag) -> Bag:
    return (*bag, *bag[at : at + 1] * (many - 1))[:_MANY]


def _without(at: int, bag: Bag) -> Bag:
    return (*bag[:at], *bag[at + 1 :]) or bag


def _both(one: Change, other: Change, bag: Bag) -> Bag:
    return other(one(bag))
