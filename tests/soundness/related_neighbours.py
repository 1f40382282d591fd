"""Neighbouring databases of related tables, and all that is measured of a block on them, before any noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from privql.audit import reference
from privql.audit.reference.values import Publics, Tables
from privql.kernel.bounds import Chosen
from privql.kernel.measure import Measured
from privql.kernel.scalars import Value, ValueType
from privql.kernel.selection import Selected
from privql.plan.measurements import Made
from privql.plan.program import BlockPlan
from tests.soundness.related import HOSTILE, Database, together

SALT = b"related neighbours"
POOLS: dict[str, tuple[Value, ...]] = {
    "INT": (0, 1, 1, 2, -1, 4, 2**63 - 1, None),
    "TEXT": ("a", "a", "b", "c", "", None),
    "BOOL": (True, False, None),
    "FLOAT": (0.0, 1.0, -0.5, 1e308, None),
}
Answer = TypeVar("Answer")
Group = tuple[Value, ...]


def random_public(columns: tuple[tuple[str, ValueType], ...], choice: random.Random) -> list[tuple[Value, ...]]:
    """The proof takes nothing from what public rows hold, nor from what was released."""
    rows = [tuple(choice.choice(POOLS[type.kind]) for _, type in columns) for _ in range(choice.choice((0, 1, 3, 5)))]
    return rows + rows[:2] * choice.choice((0, 1, 3))


def databases(choice: random.Random, units: int) -> tuple[Tables, list[Tables]]:
    """What others have, and what one unit may have beside them."""
    made = Database(choice, HOSTILE)
    others = [made.unit(f"u{at}", choice.choice((1, 3))) for at in range(choice.choice((0, 1, 2)))]
    rest = together(*others, made.nobodys())
    return rest, [made.unit("me", choice.choice((1, 2, 4))) for _ in range(units)]


@dataclass(frozen=True)
class World:
    """Databases that differ in what one unit has; the first has nothing of it."""

    publics: Publics
    databases: tuple[Tables, ...]
    change_one: bool

    def neighbours(self, answer: Callable[[Tables], Answer]) -> Iterator[tuple[Answer, Answer]]:
        alone, *own = [answer(tables) for tables in self.databases]
        yield from ((alone, one) for one in own)
        if self.change_one:
            yield from ((one, other) for one in own for other in own)


def world(plan: BlockPlan, choice: random.Random, change_one: bool, units: int = 5) -> World:
    publics = {name: random_public(columns, choice) for name, _, columns in plan.publics}
    rest, own = databases(choice, units)
    return World(publics, (rest, *(together(rest, one) for one in own)), change_one)


def counted(selected: Selected, tables: Tables, publics: Publics) -> dict[Group, int]:
    return dict(reference.counted(selected.term, tables, SALT, publics))


def groups_moved(selected: Selected, there: World) -> Iterator[list[int]]:
    """By how much the number of units of each group that differs does."""
    for one, other in there.neighbours(lambda tables: counted(selected, tables, there.publics)):
        moves = (abs(one.get(group, 0) - other.get(group, 0)) for group in one.keys() | other.keys())
        yield [move for move in moves if move]


def scores_moved(chosen: Chosen, there: World) -> Iterator[set[int]]:
    """By how much the score of each level moves."""

    def scores(tables: Tables) -> list[int]:
        return chosen.scores([count for (count,) in reference.run(chosen.term, tables, SALT, there.publics)])

    for one, other in there.neighbours(scores):
        yield {a - b for a, b in zip(one, other, strict=True)}


def once_found(plan: BlockPlan, there: World, choice: random.Random) -> Measured | None:
    """The sums that are measured in the end. What is drawn by its rank, or by how frequent it is, is none."""
    made = made_once_found(plan, there, choice)
    return made if isinstance(made, Measured) else None


def made_once_found(plan: BlockPlan, there: World, choice: random.Random) -> Made | None:
    """What is measured in the end, once some bounds and groups are found: any, whoever is in them."""
    levels = [choice.choice((0, 1, 2, len(search.intervals) - 1)) for search in plan.searches]
    bounded = plan.within([min(level, len(s.intervals) - 1) for level, s in zip(levels, plan.searches, strict=True)])
    if plan.selection is None:
        return bounded.measured
    assert plan.selection.selected is not None
    every = [counted(plan.selection.selected, tables, there.publics) for tables in there.databases]
    groups = list(dict.fromkeys(group for found in every for group in found))
    return bounded.measured_over(choice.sample(groups, min(len(groups), choice.choice((1, 2, 4)))))
