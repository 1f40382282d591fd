"""The most frequent values: by brute force over small tables, no choice is more likely on a neighbour than was paid."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import pytest

from privql.kernel import rules
from privql.kernel.features import Different
from privql.kernel.picks import Picked, Way, most_frequent
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, INT, TEXT, Field
from privql.kernel.stable import Stable
from privql.kernel.sums import Key, Listed
from privql.kernel.terms import Scan, Unit
from tests.kernel.picks_law import law, one

X, G = Field("x", INT), Field("g", INT)
VALUES = Key(X, (0, 1, 2))
GROUPS = (Key(G, (0, 1)),)
BASE = Fraction(1, 2)  # e^-exponent: any rational makes the laws exact
SEQUENTIAL: tuple[Way, ...] = ("FLIP", "NOISY_MAX", "EXPONENTIAL")
Rows = tuple[tuple[int, int], ...]  # of each its group and value
Counts = tuple[tuple[int, ...], tuple[int, ...]]


def scanned(change_one: bool = False, rows: int | None = 1) -> Stable:
    made = rules.scan(Scan("t", Unit("u", change_one), ("id", TEXT), False, (("x", INT), ("g", INT), ("b", BOOL))))
    return made if rows is None else rules.keep_rows(made, rows)


def different(change_one: bool, rows: int, grouped: bool) -> Stable:
    """A row for each value that a unit has, in each group."""
    return rules.gather(scanned(change_one, rows), (("x", X), *((("g", G),) if grouped else ())), ())


def made(
    way: Way = "FLIP",
    rows: int = 1,
    change_one: bool = False,
    keys: tuple[Key | Listed, ...] = (),
    picks: int = 1,
    epsilon: int = 1,
    input: Stable | None = None,
) -> Picked:
    source = scanned(change_one, rows) if input is None else input
    return most_frequent(source, keys, VALUES, None, picks, way, Fraction(epsilon))


def bags(most: int, grouped: bool, apart: bool = False) -> Iterator[Rows]:
    places = list(product(range(1 + grouped), range(3)))
    for size in range(most + 1):
        for rows in combinations_with_replacement(places, size):
            if not apart or len(set(rows)) == len(rows):
                yield rows


def counts(rows: Rows) -> Counts:
    first, second = (tuple(rows.count((group, value)) for value in range(3)) for group in (0, 1))
    return first, second


def pairs(rows: int, change_one: bool, grouped: bool, others: int, apart: bool = False) -> Iterator[tuple[Rows, Rows]]:
    for base in bags(others, grouped):
        owned = list(bags(rows, grouped, apart))
        for own in owned:
            for changed in owned if change_one else [()]:
                yield base + own, base + changed


def worst(way: Way, picks: int, found: Iterator[tuple[Rows, Rows]]) -> Fraction:
    """The greatest ratio of the probabilities of one answer on two neighbours. Groups are drawn independently."""

    @cache
    def apart(first: tuple[int, ...], second: tuple[int, ...]) -> Fraction:
        p, q = law(first, picks, way, BASE), law(second, picks, way, BASE)
        return max(max(p[answer] / q[answer], q[answer] / p[answer]) for answer in p)

    most = Fraction(1)
    for first, second in found:
        ratio = Fraction(1)
        for both in zip(counts(first), counts(second), strict=True):
            ratio *= apart(*sorted(both))
        most = max(most, ratio)
    return most


CASES = [  # rows, change one, grouped, others
    (1, False, False, 3),
    (2, False, False, 3),
    (2, False, True, 2),
    (1, True, False, 3),
    (2, True, False, 2),
    (1, True, True, 2),
]


def paid(one: Picked) -> Fraction:
    """e^ε, where e^-exponent is the base."""
    times = one.cost.epsilon / one.exponent
    assert times.denominator == 1
    return BASE**-times.numerator


SLACK = 1 + Fraction(1, 2**40)  # of noise that is cut off


@pytest.mark.parametrize("way", SEQUENTIAL)
@pytest.mark.parametrize(("rows", "change_one", "grouped", "others"), CASES)
@pytest.mark.parametrize("picks", [1, 2])
def test_neighbours_choose_alike(way: Way, picks: int, rows: int, change_one: bool, grouped: bool, others: int) -> None:
    one = made(way, rows, change_one, GROUPS if grouped else (), picks)
    assert worst(way, picks, pairs(rows, change_one, grouped, others)) <= paid(one) * SLACK


@pytest.mark.parametrize(("change_one", "grouped"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("picks", [1, 2])
def test_of_rows_that_differ_each_choice_is_moved_by_one(change_one: bool, grouped: bool, picks: int) -> None:
    input = different(change_one, 3, grouped)
    one = made("FLIP", 3, change_one, GROUPS if grouped else (), picks, input=input)
    assert one.moved == (2 if grouped else 1) * (2 if change_one else 1)
    found = worst("FLIP", picks, pairs(3, change_one, grouped, 2, apart=True))
    assert paid(one) * Fraction(1, 2) < found <= paid(one)


@pytest.mark.parametrize(
    ("rows", "change_one", "grouped", "others", "picks"),
    [(1, False, False, 3, 1), (2, False, True, 2, 1), (1, True, False, 3, 1), (1, True, True, 2, 1)],
)
def test_and_what_is_paid_is_reached(rows: int, change_one: bool, grouped: bool, others: int, picks: int) -> None:
    """By a candidate that is far behind: its coin alone decides, and the price is its gap's."""
    one = made("FLIP", rows, change_one, GROUPS if grouped else (), picks)
    ahead: Rows = tuple((group, 0) for group in range(1 + grouped) for _ in range(12))
    found = ((base + ahead, other + ahead) for base, other in pairs(rows, change_one, grouped, others))
    assert worst("FLIP", picks, found) >= paid(one) * Fraction(98, 100)


def test_the_counts_of_a_histogram_move_no_farther_than_its_claim() -> None:
    for rows, change_one, grouped, others in CASES:
        one = made("HISTOGRAM", rows, change_one, GROUPS if grouped else (), 2)
        far = 0
        for first, second in pairs(rows, change_one, grouped, min(others, 1)):
            both = zip(counts(first), counts(second), strict=True)
            far = max(far, sum(abs(a - b) for old, new in both for a, b in zip(old, new, strict=True)))
        assert far == one.moved == one.cost.epsilon / one.exponent


@pytest.mark.parametrize(
    "fault", ["no factor of CHANGE ONE", "all of ε for each choice", "rows forgotten", "one group for all"]
)
def test_a_planted_fault_is_seen(fault: str) -> None:
    match fault:
        case "no factor of CHANGE ONE":
            rows, change_one, grouped, picks, wrong = 1, True, False, 1, 1
        case "all of ε for each choice":
            rows, change_one, grouped, picks, wrong = 1, False, False, 2, 1
        case "rows forgotten":
            rows, change_one, grouped, picks, wrong = 2, False, False, 1, 1
        case _:
            rows, change_one, grouped, picks, wrong = 2, False, True, 1, 1
    honest = made("FLIP", rows, change_one, GROUPS if grouped else (), picks)
    found = worst("FLIP", picks, pairs(rows, change_one, grouped, 2 if grouped else 3))
    assert honest.cost.epsilon / honest.exponent == 2 and BASE**-wrong < found <= paid(honest)


# ---- how good they are


@pytest.mark.parametrize("scores", [(0, 0, 0), (3, 2, 0), (5, 5, 1), (4, 3, 3), (9, 0, 0), (2, 1)])
def test_permute_and_flip_is_never_farther_off_than_the_exponential_mechanism(scores: tuple[int, ...]) -> None:
    """Nor than noisy counts, on average over all orders: of equals these take the first."""

    def short(way: Way, q: Fraction) -> Fraction:
        orders = set(permutations(scores))
        pairs = (pair for order in orders for pair in zip(one(order, way, q), order, strict=True))
        off = (chance * (max(scores) - score) for chance, score in pairs)
        return sum(off, Fraction(0)) / len(orders)

    for q in (Fraction(1, 2), Fraction(3, 4), Fraction(1, 10)):
        assert short("FLIP", q) <= short("EXPONENTIAL", q)
        assert short("FLIP", q) <= short("NOISY_MAX", q) * SLACK


# ---- the rule


@pytest.mark.parametrize("found", [((0,),), ((0,), (1,), (2,))])
def test_how_many_groups_were_found_changes_no_price(found: tuple[tuple[int, ...], ...]) -> None:
    input = rules.gather(scanned(rows=5), (("x", X),), (("g", Different(G)),))
    assert made(keys=(Listed((G,), found),), input=input).moved == 5
    assert made(keys=(Key(G, (0,)),), input=input).moved == 1


@pytest.mark.parametrize(
    ("rows", "change_one", "keys", "picks", "way", "moved", "exponent"),
    [
        (1, False, (), 1, "FLIP", 1, "1/3"),
        (3, False, GROUPS, 2, "FLIP", 3, "1/18"),
        (3, True, GROUPS, 2, "EXPONENTIAL", 6, "1/36"),
        (3, False, (), 2, "HISTOGRAM", 3, "1/9"),
        (3, True, (), 3, "HISTOGRAM", 6, "1/18"),
        (3, True, (Listed((G,), ((0,),)),), 1, "NOISY_MAX", 6, "1/18"),
    ],
)
def test_how_far_a_unit_moves_the_counts(
    rows: int, change_one: bool, keys: tuple[Key | Listed, ...], picks: int, way: Way, moved: int, exponent: str
) -> None:
    one = most_frequent(scanned(change_one, rows), keys, VALUES, None, picks, way, Fraction(1, 3))
    assert (one.moved, one.exponent, one.rows) == (moved, Fraction(exponent), rows)
    assert one.cost.epsilon == Fraction(1, 3) and not one.cost.delta and one.candidates == VALUES


@pytest.mark.parametrize(
    ("columns", "keys", "moved"),
    [
        (("x",), (), 1),
        (("x", "g"), (), 5),  # two groups of one value may both be counted
        (("x", "g"), GROUPS, 2),
        (("x", "g"), (Key(G, (0, None)),), 5),  # rows without a group may be alike
        (("x", "g"), (Listed((G,), ((0,), (1,))),), 5),
        (("x", "g"), (Key(Field("x", INT), (0,)),), 5),
    ],
)
def test_rows_are_known_to_differ_by_the_columns_that_are_keys(
    columns: tuple[str, ...], keys: tuple[Key | Listed, ...], moved: int
) -> None:
    input = rules.gather(scanned(rows=5), tuple((name, Field(name, INT)) for name in ("x", "g")), ())
    if columns == ("x",):
        input = rules.gather(scanned(rows=5), (("x", X),), ())
    assert made(rows=5, keys=keys, input=input).moved == moved
    assert made("HISTOGRAM", keys=keys, input=input).moved == 5


@pytest.mark.parametrize(
    ("input", "keys", "candidates", "where", "picks", "epsilon"),
    [
        (scanned(rows=None), (), VALUES, None, 1, 1),
        (rules.once(scanned()), (), VALUES, None, 1, 1),
        (scanned(), (Key(Field("z", INT), (0, 1)),), VALUES, None, 1, 1),
        (scanned(), (Key(G, (0, 0)),), VALUES, None, 1, 1),
        (scanned(), (), Key(Field("z", INT), (0, 1)), None, 1, 1),
        (scanned(), (), Key(X, (0, 0)), None, 1, 1),
        (scanned(), (), Key(X, ()), None, 1, 1),
        (scanned(), (), Key(X, (0, None)), None, 1, 1),
        (scanned(), (), VALUES, Field("z", BOOL), 1, 1),
        (scanned(), (), VALUES, None, 0, 1),
        (scanned(), (), VALUES, None, 4, 1),
        (scanned(), (), VALUES, None, 1, 0),
    ],
)
def test_what_has_no_rule_is_refused(
    input: Stable, keys: tuple[Key, ...], candidates: Key, where: Field | None, picks: int, epsilon: int
) -> None:
    with pytest.raises(Unproved):
        most_frequent(input, keys, candidates, where, picks, "FLIP", Fraction(epsilon))
