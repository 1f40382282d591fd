"""Random SQL over related tables: where one of a key's values is chosen, a unit moves no more than is claimed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import pytest

from privql.audit import reference
from privql.audit.reference.values import Tables
from privql.kernel import picks
from privql.kernel.picks import Picked, most_frequent
from privql.kernel.sums import Key, Listed
from privql.plan.lower import Lowered
from tests.assurance import assured, length
from tests.soundness.related_neighbours import POOLS, SALT, World, world
from tests.soundness.related_queries import Queries
from tests.soundness.test_related import accepted

PARTS, EACH = range(length(2, 200)), length(50, 100)
DRAWN = Fraction(1), Fraction(1, 10)


def choices(lowered: Lowered, choice: random.Random) -> Iterator[tuple[Picked, Picked]]:
    """Of each key that lists its values, NULL aside, in the groups of the others: one after the other, and at once."""
    keys: list[Key | Listed] = [key for key in lowered.keys if isinstance(key, Key)]
    if lowered.unlisted:  # whatever groups will be found
        values = tuple(value for _, value in lowered.unlisted)
        found = list(product(*(dict.fromkeys(POOLS.get(value.type.kind, (None,))) for value in values)))
        keys.append(Listed(values, tuple(choice.sample(found, min(len(found), 4)))))
    for key in keys:
        if isinstance(key, Listed):
            continue
        members = tuple(member for member in key.members if member is not None)
        if members:
            others, candidates = tuple(other for other in keys if other is not key), Key(key.value, members)
            count = choice.randint(1, len(members))
            shape = lowered.stable, others, candidates, None, count
            yield most_frequent(*shape, "GUMBEL", *DRAWN), most_frequent(*shape, "HISTOGRAM", DRAWN[0])


def widths(made: Picked, there: World) -> Iterator[tuple[int, int]]:
    """How much more one count of a group rises than another, all groups together; and how far all counts move."""
    size = len(made.candidates.members)

    def counts(tables: Tables) -> Sequence[int]:
        return [cells[0] for cells in reference.run(made.term, tables, SALT, there.publics)]

    for one, other in there.neighbours(counts):
        moves = [b - a for a, b in zip(one, other, strict=True)]
        groups = [moves[at : at + size] for at in range(0, len(moves), size)]
        yield sum(max(0, *group) - min(0, *group) for group in groups), sum(map(abs, moves))


def beyond_and_reached(wanted: int, seed: int) -> tuple[int, int]:
    """Of so many choices, how many are moved farther than claimed, and how many as far."""
    choice, queries = random.Random(seed), accepted(Queries(seed), random.Random(seed + 2))
    tried = beyond = reached = 0
    while tried < wanted:
        check, change_one = next(queries)
        assert check.plan is not None
        for plan in check.plan.blocks:
            if not plan.lowered.stable.owned or plan.lowered.stable.rows is None:
                continue
            for one_by_one, at_once in choices(plan.lowered, choice):
                found = [pair for _ in range(2) for pair in widths(one_by_one, world(plan, choice, change_one))]
                width, all_counts = (max(of) for of in zip(*found, strict=True))
                beyond += width > one_by_one.moved or all_counts > at_once.moved
                reached += width == one_by_one.moved
                tried += 1
    return beyond, reached


@pytest.mark.parametrize("seed", PARTS)
def test_no_neighbour_moves_a_choice_beyond_its_claim(seed: int) -> None:
    with assured("picks") as tally:
        tally["tried"] += EACH
        beyond, reached = beyond_and_reached(EACH, seed + 3)
        tally["reached"] += reached
        assert not beyond and reached > EACH / 10


@pytest.mark.parametrize("fault", ["always apart", "changed as if it came"])
def test_a_planted_fault_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = picks.moved
    if fault == "always apart":
        monkeypatch.setattr(picks, "apart", lambda *_: True)
    else:
        monkeypatch.setattr(picks, "moved", lambda of, *given: honest(of, *given) // (1 + of.unit.change_one))
    assert any(beyond_and_reached(20, seed)[0] for seed in range(3, 8))
