"""Several ranks of the same rows: by brute force over small tables, no draws are together more likely on a neighbour
than was paid for. A draw and its cut are looked at as if both were shown."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import pytest

from privql.audit.reference.ranks import near_of
from privql.kernel import places as room
from privql.kernel import ranks, rules
from privql.kernel.features import Steps
from privql.kernel.places import FINE, Places, Rows, Runs, chosen, cuts
from privql.kernel.proved import RULE, Unproved
from privql.kernel.ranks import FARTHEST, Draw, Placed, Rank, Ranked, by_rank
from privql.kernel.scalars import INT, TEXT, Field
from privql.kernel.stable import Stable
from privql.kernel.sums import Key
from privql.kernel.terms import Scan, Unit

X, G = Field("x", INT), Field("g", INT)
FAR = 10**6
VALUES = (0, 1, FAR, FAR + 1)  # with next to nothing between two of them, and with nearly all that there is
STEPS = Steps(X, Fraction(1), 0, FAR + 1)
KEYS = (Key(G, (0, 1)),)
SHOWN = [step * FINE + part for step in (0, 1, 2, FAR, FAR + 1) for part in (0, FINE // 3, FINE // 2, FINE - 1)]
EPSILON = Fraction(3)
Bag = tuple[int, ...]

HALVES = (Fraction(1, 4), Fraction(3, 4))
DECILES = tuple(Fraction(at, 10) for at in range(1, 10))
CLOSE = (Fraction(1, 2), Fraction(2, 3))
THREE = (Fraction(1, 10), Fraction(1, 2), Fraction(2, 3))
ENDS = (Rank(Fraction(0), 1), Rank(Fraction(1, 3)), Rank(Fraction(1), -1))


def scanned(change_one: bool = False, rows: int = 1) -> Stable:
    return rules.keep_rows(
        rules.scan(Scan("t", Unit("u", change_one), ("id", TEXT), False, (("x", INT), ("g", INT)))), rows
    )


def made(
    wanted: Sequence[Fraction | Rank], rows: int = 1, change_one: bool = False, keys: tuple[Key, ...] = ()
) -> Placed:
    each = tuple(one if isinstance(one, Rank) else Rank(one) for one in wanted)
    return by_rank(scanned(change_one, rows), keys, STEPS, None, each, EPSILON)


def every(values: Sequence[int]) -> Ranked:
    ordered = sorted(values)
    found = [(step, ordered.index(step), ordered.index(step) + many) for step, many in sorted(Counter(values).items())]
    return len(values), found


# ---- the law of all draws together


class _Open(Exception):
    """A draw that nothing is said of yet."""


def law(placed: Placed, values: Sequence[int], shown: Sequence[int] = SHOWN) -> dict[tuple[int, ...], float]:
    """How likely each sequence of cuts and steps is: by its logarithm, of those `shown`."""
    out: dict[tuple[int, ...], float] = {}
    todo: list[tuple[int, ...]] = [()]
    while todo:
        said = todo.pop()
        drawn = _Said(list(said))
        try:
            chosen(placed, every(values), lambda: every(values), drawn)
        except _Open as open_:
            most: int = open_.args[0]
            todo += [(*said, at) for at in shown if at < most]
            continue
        out[said] = drawn.likely
    return out


class _Said:
    """Draws that are said beforehand, and how likely they are."""

    def __init__(self, left: list[int]) -> None:
        self.left, self.likely = left, 0.0

    def __call__(self, runs: Runs, exponent: Fraction) -> int:
        if not self.left:
            raise _Open(sum(length for length, _ in runs))
        at = self.left.pop(0)
        whole = math.fsum(length * math.exp(-float(exponent) * loss) for length, loss in runs)
        self.likely -= float(exponent) * _at(runs, at) + math.log(whole)
        return at


def _at(runs: Runs, at: int) -> int:
    for length, loss in runs:
        if at < length:
            return loss
        at -= length
    raise AssertionError("there are no more")


def apart(placed: Placed, one: Sequence[int], other: Sequence[int]) -> float:
    """Of all that may be drawn, how much likelier it is at most on one of two tables: the logarithm."""
    ours, theirs = _law(placed, tuple(sorted(one))), _law(placed, tuple(sorted(other)))
    return max(abs(ours[said] - theirs[said]) for said in ours.keys() | theirs.keys())


@cache
def _law(placed: Placed, values: Bag) -> dict[tuple[int, ...], float]:
    steps = [0, 1, 2, FAR, FAR + 1]
    return law(placed, values, sorted({*SHOWN, *steps}) if len(placed.term.ranks) < 3 else [*steps, *SHOWN[1::5]])


def bags(most: int) -> Iterator[Bag]:
    for size in range(most + 1):
        yield from combinations_with_replacement(VALUES, size)


def worst(placed: Placed, rows: int, change_one: bool, others: int) -> float:
    most = 0.0
    for base in bags(others):
        for own in bags(rows):
            for changed in bags(rows) if change_one else [()]:
                most = max(most, apart(placed, base + own, base + changed))
    return most


CASES = [
    (HALVES, 1, False, 2),
    (CLOSE, 1, False, 3),
    (CLOSE, 2, False, 2),
    (CLOSE, 1, True, 3),
    (CLOSE, 2, True, 1),
    (THREE, 1, False, 2),
    (ENDS, 1, False, 2),
    (ENDS, 1, True, 2),
]


@pytest.mark.parametrize(("wanted", "rows", "change_one", "others"), CASES, ids=str)
def test_neighbours_draw_all_alike(wanted: Sequence[Fraction | Rank], rows: int, change_one: bool, others: int) -> None:
    assert worst(made(wanted, rows, change_one), rows, change_one, others) <= float(EPSILON) * (1 + 1e-9)


def test_a_changed_row_that_changes_its_group_pays_for_both() -> None:
    """Each of two groups loses or gains it: together they cost ε."""
    placed = made(CLOSE, 1, True, KEYS)
    one_side = max(apart(placed, base, (*base, value)) for base in bags(2) for value in VALUES)
    assert 2 * one_side <= float(EPSILON) * (1 + 1e-9)


def test_of_two_halvings_each_is_paid_for() -> None:
    """Nearly all that is paid is lost, where values are far from each other."""
    assert worst(made(CLOSE), 1, False, 3) >= 0.8 * float(EPSILON)


@pytest.mark.parametrize("fault", ["every draw costs ε", "all rows on both sides", "a part of ties on both sides"])
def test_a_planted_fault_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _law.cache_clear()
    honest, most = ranks.halved, [0]
    match fault:
        case "every draw costs ε":

            def dear(draw: Draw | None) -> Draw | None:
                return draw and replace(draw, epsilon=EPSILON, before=dear(draw.before), after=dear(draw.after))

            monkeypatch.setattr(ranks, "halved", lambda *given: dear(honest(*given)))
        case "all rows on both sides":
            monkeypatch.setattr(room, "Rows", lambda first, last, low, high: Rows(0, most[0], low, high))
        case _:
            monkeypatch.setattr(Rows, "inside", lambda self, met: (met[0], *(one - self.first for one in met[1:])))
    placed = made(CLOSE)

    def all_of(values: Bag) -> dict[tuple[int, ...], float]:
        most[0] = len(values)
        return _law(placed, tuple(sorted(values)))

    found = (
        abs(ours[said] - theirs[said])
        for base in bags(3)
        for value in VALUES
        for ours, theirs in [(all_of(base), all_of((*base, value)))]
        for said in ours.keys() & theirs.keys()
    )
    assert any(apart > float(EPSILON) * (1 + 1e-9) for apart in found)
    _law.cache_clear()


# ---- cuts


def test_cuts_have_the_loss_of_the_rows_below_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by itself, with few parts of a step and many ties, more than there are parts among them."""
    monkeypatch.setattr(room, "FINE", 4)
    choice = random.Random(3)
    for _ in range(300):
        values = [choice.choice((-1, 0, 3, 3, 3, 5)) for _ in range(choice.randrange(9))]
        share = Fraction(choice.randrange(5), 4)
        draw = replace(made([Rank(share, choice.randrange(-2, 3))]).draw, clip=choice.choice((1, 3, 10**6)))
        count, met = every(values)
        known = [one for one in met if draw.loss(count, *one[1:]) < draw.clip]
        found = [loss for length, loss in cuts(draw, Rows(0, count, -1, 5), known) for _ in range(length)]
        wanted = []
        for step in range(-1, 6):
            for part in range(4):
                below = sum(v < step for v in values) + part * values.count(step) // 4
                wanted.append(min(draw.clip, int(abs(below - ranks.place(draw.rank, count)) * share.denominator)))
        assert found == wanted, (values, draw)


def test_all_values_of_some_rows_are_met_whose_loss_is_told_apart() -> None:
    choice = random.Random(6)
    for _ in range(1000):
        values = sorted(choice.choice((-1, 0, 2, 3, 3, 5)) for _ in range(choice.randrange(12)))
        first, last = sorted(choice.randint(0, len(values)) for _ in range(2))
        rank = Rank(Fraction(choice.randrange(5), choice.choice((4, 7))), choice.randrange(-2, 3))
        placed = made([rank])
        draw = replace(placed.draw, clip=choice.choice((1, 2, 5, 9, 20)))
        rows, inside = Rows(first, last, -1, 5), values[first:last]
        found = room._met(draw, rows, Places(placed.term, every(values), lambda values=values: every(values)))
        wanted = [one for one in every(inside)[1] if draw.loss(len(inside), *one[1:]) < draw.clip]
        assert found == wanted


def test_one_row_more_is_one_more_on_one_side_alone() -> None:
    choice = random.Random(4)
    for _ in range(2000):
        part, alike = choice.randrange(FINE), choice.randrange(2000)
        assert part * (alike + 1) // FINE - part * alike // FINE in (0, 1)
    assert (FINE - 1) * 5 // FINE == 4  # none that a cut has is on the other side of all


# ---- draws that go astray


@pytest.mark.parametrize("seed", range(30))
def test_what_was_asked_for_beforehand_is_enough_or_all_is_asked_for(seed: int) -> None:
    choice = random.Random(seed)
    values = [
        choice.choice((*VALUES, *range(100, 100 + choice.choice((5, 500))))) for _ in range(choice.randrange(300))
    ]
    placed = made(DECILES)
    term = replace(placed.term, far=choice.choice((0, 3, 20, placed.term.far)))
    draws = [choice.random() for _ in range(9)]

    def answered(near: Ranked) -> tuple[list[int], int]:
        asked, left = [0], iter(draws)

        def drawn(runs: Runs, exponent: Fraction) -> int:
            """The less the loss the likelier, so that a value which is not known changes what comes out."""
            weights = [1000 - min(loss, 999) for _, loss in runs]
            place = int(next(left) * sum(length * weight for (length, _), weight in zip(runs, weights, strict=True)))
            before = 0
            for (length, _), weight in zip(runs, weights, strict=True):
                if place < length * weight:
                    break
                place, before = place - length * weight, before + length
            return before + place // weight

        def all_() -> Ranked:
            asked[0] += 1
            return every(values)

        return chosen(replace(placed, term=term, by=RULE), near, all_, drawn), asked[0]

    whole = replace(term, far=FARTHEST)
    found, asked = answered(near_of(term, values))
    wanted, _ = answered(near_of(whole, values))
    assert found == wanted and asked <= 1
    assert found == sorted(found)


def test_draws_near_their_places_need_no_more_than_was_asked_for() -> None:
    choice = random.Random(9)
    values = [choice.randrange(FAR) for _ in range(30_000)]
    placed = made(DECILES)
    assert len(near_of(placed.term, values)[1]) < 20_000

    def drawn(runs: Runs, exponent: Fraction) -> int:
        weights = [length * math.exp(-float(exponent) * loss) for length, loss in runs]
        at = choice.choices(range(len(runs)), weights)[0]
        return sum(length for length, _ in runs[:at]) + choice.randrange(runs[at][0])

    near = near_of(placed.term, values)
    found = chosen(placed, near, lambda: pytest.fail("all were asked for"), drawn)
    assert found == sorted(found)
    places = [sum(v < step for v in values) for step in found]
    assert all(abs(at - 3000 * number) < 100 for number, at in enumerate(places, 1))


@pytest.mark.parametrize("share", ["0", "1/3", "1/2", "5/7", "1"])
@pytest.mark.parametrize("offset", [-3, 0, 2])
def test_one_draw_looks_at_no_more_than_was_asked_for(share: str, offset: int) -> None:
    placed = made([Rank(Fraction(share), offset)])
    for size in range(0, 12 * placed.term.far, 11):
        near = near_of(placed.term, range(size))
        assert chosen(placed, near, lambda: pytest.fail("all were asked for"), lambda runs, _: runs[0][0] // 2)


# ---- the rule


def test_every_way_to_a_last_draw_costs_as_much() -> None:
    def ways(draw: Draw) -> Iterator[Fraction]:
        sides = [side for side in (draw.before, draw.after) if side is not None]
        for side in sides:
            yield from (draw.epsilon + rest for rest in ways(side))
        if not sides:
            yield draw.epsilon

    for wanted in (DECILES, HALVES, THREE, ENDS, DECILES[:1]):
        placed = made(wanted, 3, True, KEYS)
        assert set(ways(placed.draw)) == {EPSILON} == {placed.cost.epsilon}
        drawn = list(placed.draw.all())
        assert [draw.at for draw in drawn] == list(range(len(wanted)))
        assert all(draw.moved == ranks.moved(Unit("u", True), 3, True, draw.rank) for draw in drawn)
    alone = made(DECILES, 3, True)
    below = [draw for draw in alone.draw.all() if draw is not alone.draw]
    assert alone.draw.moved == 6 and all(
        draw.moved == ranks.moved(Unit("u", True), 3, True, draw.rank) for draw in below
    )


@pytest.mark.parametrize("parts", [2, 3, 4, 5, 8, 9, 100])
def test_a_least_or_greatest_value_cuts_nothing(parts: int) -> None:
    """A cut among many rows at the last value is thinned by how many they are; what lies beyond them is not."""
    every_part = [Fraction(at, parts) for at in range(parts + 1)]
    for wanted in (every_part, every_part[1:], every_part[:-1]):
        assert not any(draw.cuts for draw in made(wanted).draw.all() if wanted[draw.at] in (0, 1))


@pytest.mark.parametrize("wanted", [(), HALVES[::-1], (*HALVES, HALVES[1])])
def test_ranks_are_drawn_in_order(wanted: Sequence[Fraction]) -> None:
    with pytest.raises(Unproved, match="in the order of their shares"):
        made(wanted)
