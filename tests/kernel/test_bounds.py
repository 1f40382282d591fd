"""Bounds that are found: what is chosen is as likely on neighbours as was paid for, exactly, over all small tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from privql.kernel import rules
from privql.kernel.bounds import Chosen, noisy_minimum
from privql.kernel.features import Extreme, Tally
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, INT, TEXT, Field
from privql.kernel.stable import Stable
from privql.kernel.sums import Key, Sums
from privql.kernel.terms import Gather, Scan, Unit
from tests.noise.minimum_law import noisy_minimum_law

X = Field("x", INT)
LEVELS = 4
Q = Fraction(1, 2)  # e^-ε, for ε = ln 2: any rational makes the law exact


def scanned(change_one: bool = False, key: bool = True) -> Stable:
    return rules.scan(Scan("t", Unit("u", change_one), ("id", TEXT), key, (("x", INT), ("y", INT))))


def chosen(penalty: int = 0, change_one: bool = False) -> Chosen:
    return noisy_minimum(scanned(change_one), X, None, LEVELS, penalty, Fraction(1, 3))


def tables(most: int) -> Iterator[tuple[int | None, ...]]:
    """A level for each unit; None: it has none."""
    for size in range(most + 1):
        yield from combinations_with_replacement((None, *range(LEVELS)), size)


def law(made: Chosen, table: Sequence[int | None]) -> list[Fraction]:
    return noisy_minimum_law(made.scores([table.count(level) for level in range(LEVELS)]), Q)


@pytest.mark.parametrize("penalty", [0, 1, 3])
@pytest.mark.parametrize("change_one", [False, True])
def test_neighbours_choose_alike(penalty: int, change_one: bool) -> None:
    """Of every outcome the probability is at most e^ε times that on any neighbour; and that is reached."""
    made, worst = chosen(penalty, change_one), Fraction(0)
    for table in tables(3):
        one = law(made, table)
        assert sum(one) == 1
        for level in (None, *range(LEVELS)):
            changed = [(*table[1:], level)] if change_one and table else [] if change_one else [(*table, level)]
            for neighbour in changed:
                other = law(made, neighbour)
                for p, q in zip(one, other, strict=True):
                    assert q * Q <= p <= q / Q
                    worst = max(worst, p / q, q / p)
    assert worst == 1 / Q


def test_all_counts_move_the_same_way_by_one_at_most() -> None:
    """Also where one unit is changed: that is what makes the whole of ε each one's own."""
    made = chosen()
    for table in tables(2):
        for level, other in product((None, *range(LEVELS)), repeat=2):
            scores = [made.scores([(*table, one).count(at) for at in range(LEVELS)]) for one in (level, other)]
            moves = {a - b for a, b in zip(*scores, strict=True)}
            assert moves <= {0, 1} or moves <= {0, -1}


def test_scores_that_move_both_ways_would_cost_more() -> None:
    """Why levels are groups of which a row falls in one, and not any tests that are said to be nested."""
    one, other = noisy_minimum_law([1, 0], Q), noisy_minimum_law([0, 1], Q)
    assert max(one[1] / other[1], other[1] / one[1]) > 1 / Q


def test_the_penalty_is_public_and_the_counts_are_of_units_beyond() -> None:
    made = chosen(penalty=5)
    assert made.scores([4, 3, 0, 2]) == [5, 2 + 5, 2 + 10, 0 + 15]
    assert made.scale == 3 and made.cost.epsilon == Fraction(1, 3) and made.cost.delta == 0


# ---- the rule


def test_a_unit_counts_once_whatever_it_owns() -> None:
    many, where = scanned(key=False), Field("y", INT)
    made = noisy_minimum(many, X, where, 3, 1, Fraction(1))
    assert made.term == Sums(
        Gather(many.term, (), (("level", Extreme(X, True, where)),)),
        (Key(Field("level", INT), (0, 1, 2)),),
        (Tally(),),
    )
    one = scanned()
    made = noisy_minimum(one, X, where, 3, 1, Fraction(1))
    assert made.term == Sums(one.term, (Key(X, (0, 1, 2)),), (Tally(where),))


@pytest.mark.parametrize(
    ("level", "levels", "penalty", "epsilon"),
    [
        (Field("z", INT), 3, 1, Fraction(1)),
        (Field("x", TEXT), 3, 1, Fraction(1)),
        (X, 0, 1, Fraction(1)),
        (X, 3, -1, Fraction(1)),
        (X, 3, 1, Fraction(0)),
    ],
)
def test_what_has_no_rule_is_refused(level: Field, levels: int, penalty: int, epsilon: Fraction) -> None:
    with pytest.raises(Unproved):
        noisy_minimum(scanned(), level, None, levels, penalty, epsilon)


def test_a_condition_reads_what_is_there() -> None:
    with pytest.raises(Unproved, match="reads a column"):
        noisy_minimum(scanned(), X, Field("z", BOOL), 3, 1, Fraction(1))


def test_one_level_is_a_choice_of_one() -> None:
    assert noisy_minimum(scanned(), X, None, 1, 0, Fraction(1)).scores([7]) == [0]


@pytest.mark.parametrize("key", [True, False])
def test_rows_that_are_nobodys_are_not_counted_as_units(key: bool) -> None:
    with pytest.raises(Unproved):
        noisy_minimum(rules.once(scanned(key=key)), X, None, 3, 1, Fraction(1))
