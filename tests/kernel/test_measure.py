"""The sensitivities of the kernel against every pair of neighbours of a tiny world, and its guards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod

import pytest

from privql.kernel import measure, rules
from privql.kernel.cost import Cost
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, INT, TEXT, Apply, Const, Field
from privql.kernel.sums import Balance, Contribution, Key, Listed, Powers
from privql.kernel.terms import Scan, Unit

X, G = Field("x", INT), Field("g", INT)
SCAN = Scan("t", Unit("u"), ("id", TEXT), False, (("x", INT), ("g", INT)))
CONTRIBUTIONS: list[Contribution] = [
    Tally(),
    *(
        make(Steps(X, Fraction(1), low, high))
        for make in (Total, Balance)
        for low, high in ((0, 3), (-2, 3), (1, 3), (-3, -1), (-3, 0), (2, 2))
        if (low, high) != (2, 2) or make is Total
    ),
    *(
        Powers(tuple((Steps(X, Fraction(1), low, high), degree) for low, high, degree in factors))
        for factors in (
            ((-1, 2, 2),),
            ((0, 1, 1), (-1, 1, 1)),
            ((0, 1, 1), (1, 3, 2)),
            ((0, 1, 2), (-1, 0, 2)),
        )
    ),
]


POWERS: dict[int, Callable[[int, int], tuple[int, ...]]] = {
    1: lambda x, rest: (rest, x),
    2: lambda x, rest: (rest * rest, 2 * x * rest, x * x),
}


def vectors(contribution: Contribution) -> list[tuple[int, ...]]:
    """Every vector that a row can add, nothing included."""
    match contribution:
        case Tally():
            return [(0,), (1,)]
        case Total(steps=steps):
            return [(0,), *((s,) for s in range(steps.low, steps.high + 1))]
        case Balance(steps=steps):
            return [(0, 0), *((s - steps.low, steps.high - s) for s in range(steps.low, steps.high + 1))]
        case Powers(factors=factors):
            terms = [
                [POWERS[degree](s - steps.low, steps.high - s) for s in range(steps.low, steps.high + 1)]
                for steps, degree in factors
            ]
            rows = [tuple(map(prod, product(*chosen))) for chosen in product(*terms)]
            return [(0,) * len(rows[0]), *rows]


def bags(contribution: Contribution, rows: int, groups: int) -> list[tuple[int, ...]]:
    """The sums that one unit of at most `rows` rows can add to all groups."""
    width = len(vectors(contribution)[0])
    one = list(product(range(groups), vectors(contribution)))
    out = set()
    for chosen in combinations_with_replacement(one, rows):
        total = [0] * (groups * width)
        for group, vector in chosen:
            for at, amount in enumerate(vector):
                total[group * width + at] += amount
        out.add(tuple(total))
    return sorted(out)


@pytest.mark.parametrize("contribution", CONTRIBUTIONS, ids=str)
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("change_one", [False, True])
def test_the_claim_is_the_largest_move_there_is(
    contribution: Contribution, groups: int, rows: int, change_one: bool
) -> None:
    own = bags(contribution, rows, groups)
    pairs = product(own, own) if change_one else ((bag, (0,) * len(bag)) for bag in own)
    moves = [[a - b for a, b in zip(left, right, strict=True)] for left, right in pairs]
    claim = measure.sensitivity(Unit("u", change_one), rows, groups > 1, contribution)
    assert max(sum(map(abs, move)) for move in moves) == claim.l1
    assert max(sum(part**2 for part in move) for move in moves) == claim.l2_squared


def test_nothing_bounds_the_rows_of_a_unit_unless_a_term_does() -> None:
    unbounded = rules.scan(SCAN)
    with pytest.raises(Unproved, match="how many rows"):
        measure.laplace(unbounded, (), (Tally(),), (Fraction(1),))
    bounded = rules.keep_rows(unbounded, 3)
    assert measure.laplace(bounded, (), (Tally(),), (Fraction(1),)).cost.epsilon == 3
    assert rules.keep_rows(rules.keep_rows(unbounded, 3), 5).rows == 3


NOWHERE = Field("nowhere", INT)


@pytest.mark.parametrize(
    "keys",
    [
        (Key(X, ()),),
        (Key(X, (1, 1)),),
        (Key(NOWHERE, (1,)),),
        (Listed((X, G), ()),),
        (Listed((X, G), ((1, 2), (1, 2))),),
        (Listed((X, NOWHERE), ((1, 2),)),),
        (Listed((X, G), ((1, 2), (1,))),),
        (Listed((X,), ((1, 2),)),),
        (Listed((), ((),)),),
    ],
    ids=str,
)
def test_groups_are_listed_once_and_read_their_own_row(keys: tuple[Key | Listed, ...]) -> None:
    stable = rules.keep_rows(rules.scan(SCAN), 1)
    with pytest.raises(Unproved):
        measure.laplace(stable, keys, (Tally(),), (Fraction(1),))


@pytest.mark.parametrize(
    ("contribution", "scale"),
    [
        (Tally(), Fraction(0)),
        (Tally(), Fraction(-1)),
        (Total(Steps(X, Fraction(1), 0, 0)), Fraction(1)),
        (Total(Steps(X, Fraction(1), 2, 1)), Fraction(1)),
        (Total(Steps(X, Fraction(0), 0, 1)), Fraction(1)),
        (Total(Steps(X, Fraction(1), 0, 2**62 + 1)), Fraction(1)),
        (Balance(Steps(X, Fraction(1), 1, 1)), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 1, 1), 2),)), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 0, 2), 1), (Steps(X, Fraction(1), 1, 1), 2))), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 2, 1), 2),)), Fraction(1)),
        (Powers(((Steps(NOWHERE, Fraction(1), 0, 1), 2),)), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 0, 1), 2),), NOWHERE), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 0, 1), 3),)), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 0, 1), 0),)), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 0, 1), 1),) * 3), Fraction(1)),
        (Powers(()), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 0, 2**31 + 1), 2),)), Fraction(1)),
        (Powers(((Steps(X, Fraction(1), 0, 2**16), 2),) * 2), Fraction(1)),
        (Total(Steps(Field("nowhere", INT), Fraction(1), 0, 1)), Fraction(1)),
        (Tally(Field("nowhere", INT)), Fraction(1)),
    ],
    ids=str,
)
def test_what_has_no_reach_or_no_noise_is_not_measured(contribution: Contribution, scale: Fraction) -> None:
    stable = rules.keep_rows(rules.scan(SCAN), 1)
    with pytest.raises(Unproved):
        measure.laplace(stable, (), (contribution,), (scale,))


@pytest.mark.parametrize(
    ("contributions", "scales"),
    [((), ()), ((), (1,)), ((Tally(),), ()), ((Tally(),), (1, 1)), ((Tally(), Tally()), (1,))],
)
def test_there_is_one_scale_for_each_contribution(
    contributions: tuple[Contribution, ...], scales: tuple[int, ...]
) -> None:
    stable = rules.keep_rows(rules.scan(SCAN), 1)
    with pytest.raises(Unproved):
        measure.laplace(stable, (), contributions, tuple(map(Fraction, scales)))


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        ((), False),
        ((Key(X, (1,)),), False),
        ((Key(X, (1,)), Key(G, (None,))), False),
        ((Key(X, (1, 2)),), True),
        ((Key(X, (1,)), Key(G, (1, 2))), True),
        ((Listed((X,), ((1,),)),), True),
        ((Key(X, (1,)), Listed((G,), ((1,),))), True),
        ((Listed((G, X), ((1, 2), (2, 1))),), True),
    ],
    ids=str,
)
def test_a_unit_that_changes_may_leave_one_group_for_another(keys: tuple[Key | Listed, ...], groups: bool) -> None:
    """Groups that were found have one price, however many they are: that there is but one would say something."""
    stable = rules.keep_rows(rules.scan(replace(SCAN, unit=Unit("u", change_one=True))), 3)
    assert measure.laplace(stable, keys, (Tally(),), (Fraction(1),)).cost == Cost(Fraction(6 if groups else 3))


def test_a_row_function_reads_its_own_row_only() -> None:
    stable = rules.scan(SCAN)
    with pytest.raises(Unproved):
        rules.keep_where(stable, Field("y", INT))
    with pytest.raises(Unproved):
        rules.compute(stable, (("a", X), ("a", X)))
    with pytest.raises(Unproved):
        rules.keep_where(stable, Apply("not", (Apply("is_null", (Field("y", INT),), BOOL),), BOOL))
    narrowed = rules.compute(stable, (("a", Const(1, INT)),))
    with pytest.raises(Unproved):
        rules.keep_where(narrowed, X)


def test_the_price_is_reach_over_scale_summed() -> None:
    stable = rules.keep_rows(rules.scan(SCAN), 2)
    measured = measure.laplace(
        stable, (), (Tally(), Balance(Steps(X, Fraction(1), -1, 4))), (Fraction(8), Fraction(100))
    )
    assert measured.cost == Cost(Fraction(2, 8) + Fraction(10, 100), Fraction(0))
