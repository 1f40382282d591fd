"""The sensitivities of the kernel against every pair of neighbours of a tiny world, and its guards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np
import pytest
from scipy.stats import norm

from privql.kernel import measure, relating, rules
from privql.kernel.cost import Cost
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.gaussian import greatest_mu, root_above
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field, Scalar
from privql.kernel.stable import Stable
from privql.kernel.sums import Balance, Contribution, Hats, Key, Listed, Powers
from privql.kernel.terms import Scan, Unit

X, G = Field("x", INT), Field("g", INT)
SCAN = Scan("t", Unit("u"), ("id", TEXT), False, (("x", INT), ("g", INT)))
GATHERABLE = rules.scan(replace(SCAN, columns=(("x", INT), ("g", INT), ("f", FLOAT))))
CONTRIBUTIONS: list[Contribution] = [
    Tally(),
    *(
        make(Steps(X, Fraction(1), low, high))
        for make in (Total, Balance)
        for low, high in ((0, 3), (-2, 3), (1, 3), (-3, -1), (-3, 0), (2, 2))
        if (low, high) != (2, 2) or make is Total
    ),
    *(Hats(Steps(X, Fraction(1), low, high)) for low, high in ((0, 2), (0, 8), (-4, 0))),
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
        case Hats(steps=steps, far=far, knots=knots):
            return [(0,) * len(knots), *(tuple(_at_knots(n, knots, far)) for n in range(steps.high - steps.low + 1))]
        case Powers(factors=factors):
            terms = [
                [POWERS[degree](s - steps.low, steps.high - s) for s in range(steps.low, steps.high + 1)]
                for steps, degree in factors
            ]
            rows = [tuple(map(prod, product(*chosen))) for chosen in product(*terms)]
            return [(0,) * len(rows[0]), *rows]


def _at_knots(n: int, knots: tuple[int, ...], far: int) -> list[int]:
    """Two weights that add up to `far`, and have their mean at n; what is at 0 is left out."""
    g, h = max(knot for knot in (0, *knots) if knot <= n), min(knot for knot in knots if knot >= n)
    row = dict.fromkeys((0, *knots), Fraction(0))
    row[h] = Fraction(far * (n - g), h - g) if g < h else Fraction(far)
    row[g] += far - sum(row.values())
    assert min(row.values()) >= 0 and sum(row.values()) == far
    assert sum(knot * part for knot, part in row.items()) == far * n
    assert all(part.denominator == 1 for part in row.values())
    return [int(row[knot]) for knot in knots]


def bags(contribution: Contribution, rows: int, groups: int, apart: bool = False) -> list[tuple[int, ...]]:
    """The sums that one unit of at most `rows` rows can add to all groups; `apart`, each row to one of its own."""
    width = len(vectors(contribution)[0])
    one = list(product(range(groups), vectors(contribution)))
    out = set()
    for chosen in combinations_with_replacement(one, rows):
        if apart and len({group for group, _ in chosen}) < rows:
            continue
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


@pytest.mark.parametrize("contribution", [each for each in CONTRIBUTIONS if len(vectors(each)) < 8], ids=str)
@pytest.mark.parametrize(("rows", "groups"), [(1, 2), (2, 2), (2, 3), (2, 4)])
@pytest.mark.parametrize("change_one", [False, True])
def test_rows_in_groups_of_their_own_move_less(
    contribution: Contribution, rows: int, groups: int, change_one: bool
) -> None:
    own = bags(contribution, rows, groups, apart=True)
    pairs = product(own, own) if change_one else ((bag, (0,) * len(bag)) for bag in own)
    most = max(sum((a - b) ** 2 for a, b in zip(left, right, strict=True)) for left, right in pairs)
    claim = measure.sensitivity(Unit("u", change_one), rows, True, contribution, apart=True)
    assert most == claim.l2_squared if groups >= 2 * rows else most <= claim.l2_squared
    together = measure.sensitivity(Unit("u", change_one), rows, True, contribution)
    assert together.l1 == claim.l1 and together.l2_squared == rows * claim.l2_squared


FLOATS = Field("f", FLOAT)


@pytest.mark.parametrize(
    ("stable", "by", "squared"),
    [
        (rules.keep_rows(rules.gather(GATHERABLE, (("x", X),), ()), 5), (X,), 5),
        (rules.keep_rows(rules.gather(GATHERABLE, (("x", X),), ()), 5), (X, Field("x", INT)), 5),
        (rules.keep_rows(rules.gather(GATHERABLE, (("x", X), ("g", G)), ()), 5), (X, G), 5),
        (rules.keep_rows(rules.gather(GATHERABLE, (("x", X), ("g", G)), ()), 5), (X,), 25),  # some agree in x
        (rules.keep_rows(rules.gather(GATHERABLE, (("x", X), ("g", G)), ()), 5), (Apply("mod", (X, X), INT), G), 25),
        (rules.keep_rows(rules.gather(GATHERABLE, (("f", FLOATS),), ()), 5), (FLOATS,), 25),
        (rules.keep_rows(GATHERABLE, 5), (X,), 25),
        (rules.keep_rows(rules.scan(replace(SCAN, unique=frozenset({"x"}))), 5), (X,), 25),  # NULL is there twice
        (rules.keep_rows(GATHERABLE, 1), (X,), 1),
        (rules.once(rules.keep_rows(rules.gather(GATHERABLE, (("x", X),), ()), 5)), (X,), 25),
        (
            rules.compute(
                rules.keep_rows(rules.gather(GATHERABLE, (("x", X),), ()), 5), (("y", X), ("x", Const(1, INT)))
            ),
            (X,),
            25,
        ),
        (
            rules.compute(
                rules.keep_rows(rules.gather(GATHERABLE, (("x", X),), ()), 5), (("y", X), ("x", Const(1, INT)))
            ),
            (Field("y", INT),),
            5,
        ),
        (
            relating.combine(
                "UNION ALL", *(rules.keep_rows(rules.gather(GATHERABLE, (("x", X),), ()), 2),) * 2, (("x", "x", "x"),)
            ),
            (X,),
            16,
        ),
    ],
    ids=lambda made: made.term.__class__.__name__ if isinstance(made, Stable) else None,
)
def test_what_keeps_the_rows_of_a_unit_apart(stable: Stable, by: tuple[Scalar, ...], squared: int) -> None:
    keys = tuple(Key(value, (None, 1, 2)) for value in by)
    assert measure.moved(stable, keys, Tally()).l2_squared == squared
    listed = Listed(by, ((None,) * len(by),))
    assert measure.moved(stable, (listed,), Tally()).l2_squared == squared  # as many as were found


def test_gaussian_noise_is_paid_for_together() -> None:
    stable = rules.keep_rows(rules.scan(SCAN), 2)
    contributions, cost = (Tally(), Total(Steps(X, Fraction(1), -1, 3))), Cost(Fraction(1), Fraction(1, 10**6))
    mu = greatest_mu(cost.epsilon, cost.delta)
    sigmas = (2 * root_above(2 / mu**2), 6 * root_above(2 / mu**2))
    measured = measure.gaussian(stable, (), contributions, sigmas, cost)
    assert measured.cost == cost
    assert measured.mu_squared is not None and mu**2 * (1 - Fraction(1, 10**7)) < measured.mu_squared <= mu**2
    assert [(part.noise, part.scale) for part in measured.parts] == [("gaussian", sigma) for sigma in sigmas]
    for at in (0, 1):
        less = tuple(sigma * (1 - Fraction(at == place, 10**6)) for place, sigma in enumerate(sigmas))
        with pytest.raises(Unproved, match="costs more"):
            measure.gaussian(stable, (), contributions, less, cost)
    assert measure.laplace(stable, (), contributions, sigmas).mu_squared is None


def test_gaussian_measurements_are_paid_for_together() -> None:
    stable = rules.keep_rows(rules.scan(SCAN), 1)
    cost, half = Cost(Fraction(1), Fraction(1, 10**6)), Cost(Fraction(1, 2), Fraction(1, 2 * 10**6))
    sigma = root_above(1 / greatest_mu(cost.epsilon, cost.delta) ** 2)

    def made(times: Fraction, unit: Stable = stable) -> measure.Measured:
        return measure.gaussian(unit, (), (Tally(),), (root_above(times * sigma**2),), cost)

    thrice = Fraction(3, 2), Fraction(6), Fraction(6)  # of μ² these are 2/3, 1/6 and 1/6
    together = measure.together(tuple(map(made, thrice)), cost)
    assert (together.cost, together.unit, len(together.of)) == (cost, stable.unit, 3)
    for more in (*thrice, Fraction(10**7)), (Fraction(1), Fraction(10**5)):
        with pytest.raises(Unproved, match="costs more"):
            measure.together(tuple(map(made, more)), cost)
    with pytest.raises(Unproved, match="costs more"):
        measure.together(together.of, half)
    other = made(Fraction(6), rules.keep_rows(rules.scan(replace(SCAN, unit=Unit("other"))), 1))
    laplace = measure.laplace(stable, (), (Tally(),), (Fraction(10**6),))
    for wrong in ((), (made(Fraction(6)), other), (made(Fraction(6)), laplace)):
        with pytest.raises(Unproved, match="at once"):
            measure.together(wrong, cost)
    with pytest.raises(Unproved, match="takes"):
        measure.together(together.of, Cost(Fraction(1)))
    with pytest.raises(Unproved, match="by hand"):
        replace(together, cost=half, by=None)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(0, Fraction(1, 10), 10**6), (1, 0, 10**6), (1, 1, 10**6), (1, Fraction(1, 10), 0), (1, Fraction(1, 10), -1)],
)
def test_a_gaussian_has_a_price_and_a_deviation(epsilon: int, delta: Fraction, sigma: int) -> None:
    stable = rules.keep_rows(rules.scan(SCAN), 1)
    with pytest.raises(Unproved):
        measure.gaussian(stable, (), (Tally(),), (Fraction(sigma),), Cost(Fraction(epsilon), Fraction(delta)))


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("change_one", [False, True])
def test_neighbouring_answers_are_as_alike_as_was_paid_for(change_one: bool, apart: bool) -> None:
    """(ε, δ) of rounded noise on both cells, summed over all outcomes, for the pair that is farthest apart."""
    epsilon, delta = Fraction(1), Fraction(1, 100)
    scan = rules.scan(replace(SCAN, unit=Unit("u", change_one)))
    rows = rules.gather(scan, (("x", X),), ()) if apart else scan
    stable = rules.keep_rows(rows, 2)
    keys = (Key(X, (0, 1, 2, 3)),)
    moves = bags(Tally(), 2, 4, apart)
    sigma = root_above(Fraction(measure.moved(stable, keys, Tally()).l2_squared) / greatest_mu(epsilon, delta) ** 2)
    part = measure.gaussian(stable, keys, (Tally(),), (sigma,), Cost(epsilon, delta)).parts[0]
    pairs = product(moves, moves) if change_one else ((bag, (0,) * 4) for bag in moves)
    farthest = max(
        ([a - b for a, b in zip(one, other, strict=True)] for one, other in pairs),
        key=lambda move: sum(step**2 for step in move),
    )
    worst = divergence([abs(step) for step in farthest if step], float(part.scale), float(epsilon))
    assert 0.8 * delta < worst <= delta


def divergence(move: list[int], sigma: float, epsilon: float) -> float:
    """Σ max(0, P[x] - e^ε·Q[x]), Q being P moved. All cells' log-ratios are near multiples of one another's: summed in
    bins that are rounded up."""
    fine, reach = 2.0**-9, 12 * sigma
    whole = np.arange(-math.ceil(reach), math.ceil(reach) + 1)
    losses: dict[int, float] = {0: 1.0}
    for step in move:
        p = norm.cdf((whole + 0.5) / sigma) - norm.cdf((whole - 0.5) / sigma)
        q = norm.cdf((whole + step + 0.5) / sigma) - norm.cdf((whole + step - 0.5) / sigma)
        seen = (p > 1e-15) & (q > 1e-15)
        bins = np.ceil(np.log(p[seen] / q[seen]) / fine).astype(int)
        after: dict[int, float] = {}
        for loss, chance in losses.items():
            for more, share in zip(bins.tolist(), p[seen].tolist(), strict=True):
                after[loss + more] = after.get(loss + more, 0.0) + chance * share
        losses = after
    return sum(chance * max(0.0, 1 - math.exp(epsilon - loss * fine)) for loss, chance in losses.items())


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
        (Hats(Steps(X, Fraction(1), 0, 1)), Fraction(1)),
        (Hats(Steps(X, Fraction(1), 0, 3)), Fraction(1)),
        (Hats(Steps(X, Fraction(1), -4, 4)), Fraction(1)),
        (Hats(Steps(X, Fraction(1), 1, 4)), Fraction(1)),
        (Hats(Steps(X, Fraction(1), 4, 0)), Fraction(1)),
        (Hats(Steps(X, Fraction(1), 0, 2**63)), Fraction(1)),
        (Hats(Steps(NOWHERE, Fraction(1), 0, 4)), Fraction(1)),
        (Hats(Steps(X, Fraction(1), 0, 4), NOWHERE), Fraction(1)),
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
    "contribution",
    [
        *CONTRIBUTIONS,
        *(Powers(((Steps(X, Fraction(1), low, low + 2**31), 1),) * 2) for low in (0, -(2**30))),
        Powers(((Steps(X, Fraction(1), -1, 2**31 - 1), 2),)),
        Powers(((Steps(X, Fraction(1), 0, 2**62), 1),)),
        Hats(Steps(X, Fraction(1), -(2**62), 0)),
        Balance(Steps(X, Fraction(1), -(2**62), 2**62)),
    ],
    ids=str,
)
def test_what_just_fits_is_measured(contribution: Contribution) -> None:
    measured = measure.laplace(rules.keep_rows(rules.scan(SCAN), 1), (), (contribution,), (Fraction(1),))
    assert measured.cost == Cost(Fraction(measure.reach(contribution).l1))


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
