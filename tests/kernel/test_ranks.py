"""Values by their rank: by brute force over small tables, no value is more likely on a neighbour than was paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import ceil

import pytest

from privql.kernel import rules
from privql.kernel.features import Steps
from privql.kernel.places import Rows, steps
from privql.kernel.proved import RULE, Unproved
from privql.kernel.ranks import Draw, Placed, Rank, by_rank
from privql.kernel.scalars import BOOL, INT, TEXT, Field
from privql.kernel.stable import Stable
from privql.kernel.sums import Key, Listed
from privql.kernel.terms import Scan, Unit

X, G = Field("x", INT), Field("g", INT)
FAR = 10**6
STEPS = Steps(X, Fraction(1), 0, FAR + 1)
VALUES = (0, 1, FAR, FAR + 1)  # with next to nothing between two of them, and with nearly all that there is
KEYS = (Key(G, (0, 1)),)
BASE = Fraction(1, 2)  # e^-exponent: any rational makes the law exact
RANKS = [Rank(Fraction(1, 2)), Rank(Fraction(2, 3)), Rank(Fraction(1, 10)), Rank(Fraction(0), 1), Rank(Fraction(1), -2)]
Bag = tuple[int, ...]
Bags = tuple[Bag, Bag]  # of two groups


def scanned(change_one: bool = False, rows: int | None = 1) -> Stable:
    made = rules.scan(Scan("t", Unit("u", change_one), ("id", TEXT), False, (("x", INT), ("g", INT), ("b", BOOL))))
    return made if rows is None else rules.keep_rows(made, rows)


def made(
    rank: Rank, rows: int = 1, change_one: bool = False, keys: tuple[Key | Listed, ...] = (), epsilon: int = 1
) -> Placed:
    return by_rank(scanned(change_one, rows), keys, STEPS, None, (rank,), Fraction(epsilon))


def true_loss(values: Sequence[int], step: int, rank: Rank, clip: int) -> int:
    below, at_most = sum(v < step for v in values), sum(v <= step for v in values)
    place = rank.share * len(values) + rank.offset
    off = max(Fraction(0), below - place, place - at_most) * rank.share.denominator
    assert off.denominator == 1
    return min(clip, int(off))


def pieces(draw: Draw, values: Sequence[int], low: int, high: int) -> list[tuple[int, int]]:
    """As runs of the steps from `low` to `high`, of values near the rank alone."""
    met = []
    for step, alike in sorted(Counter(values).items()):
        below = sum(v < step for v in values)
        if draw.loss(len(values), below, below + alike) < draw.clip:
            met.append((step, below, below + alike))
    return steps(draw, Rows(0, len(values), low, high), met)


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("clip", [1, 2, 3, 5, 10**6])
def test_pieces_are_the_loss_of_every_step(rank: Rank, clip: int) -> None:
    draw = replace(made(rank).draw, clip=clip)
    for size in range(6):
        for values in combinations_with_replacement((-1, 0, 3, 5), size):
            runs = pieces(draw, values, -1, 5)
            losses = [loss for length, loss in runs for _ in range(length)]
            assert losses == [true_loss(values, step, rank, clip) for step in range(-1, 6)]
            assert all(length for length, _ in runs)


# ---- the law on neighbours


def law(values: Bag, rank: Rank, clip: int) -> dict[int, Fraction]:
    """The probability of each value, and of one step in each gap between: where all others have the same."""
    gaps = [(0, 1), (1, 1), (2, FAR - 2), (FAR, 1), (FAR + 1, 1)]
    weights = {step: BASE ** true_loss(values, step, rank, clip) for step, _ in gaps}
    whole = sum((weights[step] * length for step, length in gaps), Fraction(0))
    return {step: weight / whole for step, weight in weights.items()}


def worst(rank: Rank, rows: int, change_one: bool, grouped: bool, others: int, clip: int = 10**6) -> Fraction:
    """The greatest ratio of the probabilities of one answer on two neighbours. Groups are drawn independently."""

    @cache
    def apart(one: Bag, other: Bag) -> Fraction:
        p, q = law(one, rank, clip), law(other, rank, clip)
        return max(max(p[step] / q[step], q[step] / p[step]) for step in p)

    def with_(base: Bags, added: Bags) -> Bags:
        return tuple(tuple(sorted(a + b)) for a, b in zip(base, added, strict=True))

    most = Fraction(1)
    for base in bags(others, grouped):
        owned = list(bags(rows, grouped))
        for own in owned:
            for changed in owned if change_one else [((), ())]:
                pairs = zip(with_(base, own), with_(base, changed), strict=True)
                ratio = Fraction(1)
                for one, other in pairs:
                    ratio *= apart(*sorted((one, other)))
                most = max(most, ratio)
    return most


def bags(most: int, grouped: bool) -> Iterator[Bags]:
    places = [(group, value) for group in range(1 + grouped) for value in VALUES]
    for size in range(most + 1):
        for chosen in combinations_with_replacement(places, size):
            yield tuple(tuple(v for g, v in chosen if g == group) for group in (0, 1))


@pytest.mark.parametrize("rank", RANKS, ids=str)
@pytest.mark.parametrize(
    ("rows", "change_one", "grouped", "others"),
    [(1, False, False, 3), (2, False, False, 2), (2, False, True, 2), (1, True, False, 3), (2, True, False, 2)],
)
def test_neighbours_draw_alike(rank: Rank, rows: int, change_one: bool, grouped: bool, others: int) -> None:
    placed = made(rank, rows, change_one, KEYS if grouped else ())
    paid = BASE ** (-2 * placed.draw.moved)
    assert worst(rank, rows, change_one, grouped, others) <= paid
    assert worst(rank, rows, change_one, grouped, 1, clip=2) <= paid


@pytest.mark.parametrize("rank", [RANKS[0], RANKS[3]], ids=str)
def test_a_changed_row_that_changes_its_group_moves_both(rank: Rank) -> None:
    placed = made(rank, 1, True, KEYS)
    assert worst(rank, 1, True, True, 2) <= BASE ** (-2 * placed.draw.moved)


@pytest.mark.parametrize(
    ("rank", "rows", "change_one", "grouped", "others"),
    [
        (Rank(Fraction(1, 2)), 1, False, False, 2),
        (Rank(Fraction(1, 2)), 2, False, True, 2),
        (Rank(Fraction(1, 2)), 1, True, False, 3),
        (Rank(Fraction(1, 2)), 1, True, True, 2),
        (Rank(Fraction(0), 1), 1, False, False, 2),
        (Rank(Fraction(0), 1), 1, True, False, 3),
    ],
    ids=str,
)
def test_and_what_is_paid_is_reached(rank: Rank, rows: int, change_one: bool, grouped: bool, others: int) -> None:
    """As nearly as a domain of a million steps lets it: half of the price would not do."""
    placed = made(rank, rows, change_one, KEYS if grouped else ())
    assert worst(rank, rows, change_one, grouped, others) >= BASE ** (-2 * placed.draw.moved) * Fraction(999, 1000)


def test_without_ties_counted_from_both_sides_a_row_would_move_more() -> None:
    """With `#{x < v}` alone, the loss of a value that many rows have is as large as they are many."""
    rank = Rank(Fraction(1, 2))
    assert true_loss((0, 1, 1, 1), 1, rank, 99) == 0 and abs(2 * 1 - 4) > 0
    assert true_loss((0, 0, 0, 1), 0, rank, 99) == 0


# ---- the rule


@pytest.mark.parametrize(
    ("rank", "rows", "change_one", "keys", "moved"),
    [
        (Rank(Fraction(1, 2)), 1, False, (), 1),
        (Rank(Fraction(9, 10)), 3, False, KEYS, 27),
        (Rank(Fraction(1, 10)), 3, True, (), 30),
        (Rank(Fraction(1, 10)), 3, True, KEYS, 54),
        (Rank(Fraction(1, 10)), 3, True, (Key(G, (0,)),), 30),
        (Rank(Fraction(1, 10)), 3, True, (Listed((G,), ((0,),)),), 54),
        (Rank(Fraction(0), 7), 2, False, (), 2),
        (Rank(Fraction(1), -7), 2, True, KEYS, 4),
    ],
)
def test_how_far_a_unit_moves_the_losses(
    rank: Rank, rows: int, change_one: bool, keys: tuple[Key | Listed, ...], moved: int
) -> None:
    placed = by_rank(scanned(change_one, rows), keys, STEPS, None, (rank,), Fraction(1, 3))
    assert placed.draw.moved == moved and placed.draw.exponent == Fraction(1, 6 * moved)
    assert placed.cost.epsilon == Fraction(1, 3) and not placed.cost.delta and placed.rows == rows
    assert placed.draw.clip >= ceil((45 + 13.8) / placed.draw.exponent)


@pytest.mark.parametrize(
    ("input", "keys", "steps", "where", "rank", "epsilon"),
    [
        (scanned(rows=None), (), STEPS, None, RANKS[0], 1),
        (scanned(), (Key(Field("z", INT), (0, 1)),), STEPS, None, RANKS[0], 1),
        (scanned(), (Key(G, (0, 0)),), STEPS, None, RANKS[0], 1),
        (scanned(), (), replace(STEPS, value=Field("z", INT)), None, RANKS[0], 1),
        (scanned(), (), STEPS, Field("z", BOOL), RANKS[0], 1),
        (scanned(), (), replace(STEPS, high=-1), None, RANKS[0], 1),
        (scanned(), (), STEPS, None, Rank(Fraction(3, 2)), 1),
        (scanned(), (), STEPS, None, Rank(Fraction(-1, 2)), 1),
        (scanned(), (), STEPS, None, Rank(Fraction(1, 10**9 + 1)), 1),
        (scanned(), (), STEPS, None, RANKS[0], 0),
    ],
)
def test_what_has_no_rule_is_refused(
    input: Stable, keys: tuple[Key, ...], steps: Steps, where: Field | None, rank: Rank, epsilon: int
) -> None:
    with pytest.raises(Unproved):
        by_rank(input, keys, steps, where, (rank,), Fraction(epsilon))


def test_rows_that_nobody_can_have_move_nothing_and_so_have_no_noise() -> None:
    """No rule claims as few; were one to, there would be nothing to draw by."""
    nobody = replace(scanned(), rows=0, by=RULE)
    with pytest.raises(Unproved, match="needs noise"):
        by_rank(nobody, (), STEPS, None, (Rank(Fraction(1, 2)),), Fraction(1))
