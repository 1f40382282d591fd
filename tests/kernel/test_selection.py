"""Selections of groups: the law holds its (ε, δ) exactly, for every number of units, and none keeps more."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import pytest

from privql.frozen import frozen
from privql.kernel import rules, selection
from privql.kernel.enclosure import exp_minus
from privql.kernel.proved import Unproved
from privql.kernel.scalars import INT, TEXT, Field
from privql.kernel.selection import Count, Keep, keep_table, truncated_geometric
from privql.kernel.stable import Stable
from privql.kernel.sums import Keys
from privql.kernel.terms import Gather, KeepRows, Project, Scan, Unit
from tests.noise.law import EXACT, decimal

LAWS = [
    Keep(Fraction(*epsilon), delta)
    for epsilon in ((1, 100), (1, 10), (1, 3), (1, 1), (7, 2), (40, 1), (2**20, 1))
    for delta in (Fraction(1, 2), Fraction(1, 100), Fraction(1, 3 * 10**6), Fraction(1, 10**30))
]
X = ("x", Field("x", INT))


def chances(law: Keep) -> list[Fraction]:
    bits, table = keep_table(law)
    return [*(Fraction(chance, 2**bits) for chance in table), *[Fraction(1)] * 3]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_one_unit_more_or_fewer_is_hidden_exactly(law: Keep) -> None:
    """Of two outcomes, kept and not: each is at most e^ε times as likely beside one unit more or fewer, and δ."""
    found = chances(law)
    assert found[0] == 0
    _, high = exp_minus(law.epsilon, 4096)
    grown = Fraction(2**4096, high)  # below e^ε by next to nothing, and what holds for less holds for it
    for fewer, more in pairwise(found):
        for one, other in ((fewer, more), (more, fewer)):
            assert one <= grown * other + law.delta
            assert 1 - one <= grown * (1 - other) + law.delta


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_law_keeps_more(law: Keep) -> None:
    """The recursion at 400 digits is never exceeded, and missed by next to nothing of what it is."""
    grow, delta, one = EXACT.exp(decimal(law.epsilon)), decimal(law.delta), Decimal(1)
    best = Decimal(0)
    for chance in chances(law):
        made = decimal(chance)
        assert made <= best
        assert EXACT.subtract(best, made) <= EXACT.multiply(best, Decimal("1e-12"))
        left = EXACT.subtract(EXACT.subtract(one, best), delta)
        best = min(EXACT.add(EXACT.multiply(grow, best), delta), EXACT.subtract(one, EXACT.divide(left, grow)), one)


@pytest.mark.parametrize(("epsilon", "reach"), [(Fraction(1), 3), (Fraction(1, 4), 20), (Fraction(1, 10), 109)])
def test_it_is_truncated_geometric_noise_and_a_threshold(epsilon: Fraction, reach: int) -> None:
    """At a δ that belongs to a whole reach, against the sum of the noise's own probabilities."""
    q = EXACT.exp(decimal(-epsilon))
    powers = [EXACT.power(q, abs(k)) for k in range(-reach, reach + 1)]
    whole = sum(powers, Decimal(0))
    delta = Fraction(EXACT.divide(powers[0], whole))
    found = chances(Keep(epsilon, delta))
    for units, chance in enumerate(found):
        noisy = sum((p for k, p in zip(range(-reach, reach + 1), powers, strict=True) if units + k > reach), Decimal(0))
        assert abs(Fraction(EXACT.divide(noisy, whole)) - chance) < Fraction(1, 10**12)


def test_half_of_the_groups_of_that_size_are_kept() -> None:
    law = Keep(Fraction(1, 10), Fraction(1, 10**6))
    assert (law.even, law.certain) == (109, 218)
    found = chances(law)
    assert found[108] < Fraction(1, 2) <= found[109]
    assert found[217] < 1 == found[218]


@pytest.mark.parametrize(
    "law",
    [
        Keep(Fraction(1, 4097), Fraction(1, 10)),
        Keep(Fraction(1), Fraction(1, 2**129)),
        Keep(Fraction(1), Fraction(1)),
        Keep(Fraction(1), Fraction(0)),
        Keep(Fraction(0), Fraction(1, 2)),
    ],
    ids=str,
)
def test_what_its_table_cannot_hold_is_refused(law: Keep) -> None:
    with pytest.raises(Unproved):
        keep_table(law)


def test_what_its_table_can_hold_is_sensible() -> None:
    least, most = Fraction(1, 4096), Fraction(1) - Fraction(1, 2**200)
    assert all(Keep(least, delta).sensible for delta in (Fraction(1, 2**128), most))
    assert not Keep(least - Fraction(1, 2**200), most).sensible
    assert not Keep(least, Fraction(1, 2**128) - Fraction(1, 2**200)).sensible


# ---- with the number of units of each


COUNTS = [
    Count(Fraction(*epsilon), delta)
    for epsilon in ((1, 100), (1, 10), (1, 3), (1, 1), (7, 2), (40, 1))
    for delta in (Fraction(9, 10), Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**30))
]


def seen(units: int, law: Count, q: Fraction) -> dict[int | None, Fraction]:
    """What comes out of a group of so many units, outcome by outcome; None: nothing. Where q is rational, exact."""
    noise = {x: q ** abs(x) for x in range(-law.reach, law.reach + 1)}
    whole = sum(noise.values())
    out: dict[int | None, Fraction] = {None: Fraction(0)}
    for x, weight in noise.items():
        shown = units + x if units + x > law.reach else None
        out[shown] = out.get(shown, Fraction(0)) + weight / whole
    return out


def needed(one: dict[int | None, Fraction], other: dict[int | None, Fraction], grown: Fraction) -> Fraction:
    """The least δ for which every event is at most `grown` times as likely beside a neighbour, and δ."""
    return sum((max(p - grown * other.get(value, Fraction(0)), Fraction(0)) for value, p in one.items()), Fraction(0))


def test_a_number_that_is_shown_hides_one_unit_exactly() -> None:
    """Over all that may come out, shown or not and the number together; for e^-ε rational, where the law is, too."""
    for q in (Fraction(9, 10), Fraction(1, 2), Fraction(1, 100)):
        for reach in (1, 2, 3, 7):
            law, most = Fixed(Fraction(1), Fraction(1, 2), reach), q**reach * (1 - q) / (1 + q - 2 * q ** (reach + 1))
            assert set(seen(0, law, q)) == {None}  # nobody is in a group that is not there
            worst = Fraction(0)
            for units in range(3 * reach + 3):
                one, other = seen(units, law, q), seen(units + 1, law, q)
                worst = max(worst, needed(one, other, 1 / q), needed(other, one, 1 / q))
            assert worst == most


@frozen
class Fixed(Count):
    """The same law for a reach of one's own."""

    fixed: int

    @property
    def reach(self) -> int:
        return self.fixed


@pytest.mark.parametrize("law", COUNTS, ids=str)
def test_the_reach_is_the_least_that_its_delta_allows(law: Count) -> None:
    q = EXACT.exp(decimal(-law.epsilon))

    def most(reach: int) -> Decimal:
        powers = [EXACT.power(q, abs(x)) for x in range(-reach, reach + 1)]
        return EXACT.divide(powers[0], sum(powers, Decimal(0)))

    assert most(law.reach) <= decimal(law.delta) < most(law.reach - 1)


@pytest.mark.parametrize("law", COUNTS, ids=str)
def test_a_number_costs_next_to_nothing_of_what_is_found(law: Count) -> None:
    """Beside a coin that says nothing of it, half of the groups are kept from one unit more on, or the same."""
    assert law.even - 1 <= Keep(law.epsilon, law.delta).even <= law.even
    assert law.certain == 2 * law.reach + 1 and law.even == law.reach + 1


def test_what_is_shown_is_the_law_of_a_threshold() -> None:
    law = Count(Fraction(1, 4), Fraction(1, 1000))
    q = Fraction(EXACT.exp(decimal(-law.epsilon))).limit_denominator(1000)
    for units in range(law.certain + 3):
        chance = 1 - seen(units, law, q)[None]
        assert (chance >= Fraction(1, 2)) is (units >= law.even)
        assert (chance == 1) is (units >= law.certain)


@pytest.mark.parametrize("law", [Count(Fraction(1, 4097), Fraction(1, 10)), Count(Fraction(1), Fraction(1))], ids=str)
def test_what_cannot_be_told_from_none_is_refused(law: Count) -> None:
    with pytest.raises(Unproved):
        selection.reach_of(law)


@pytest.mark.parametrize("change_one", [False, True])
def test_numbers_are_paid_for_as_groups_are(change_one: bool) -> None:
    stable = rules.keep_rows(scanned(change_one), 3)
    made = truncated_geometric(stable, (X,), None, Fraction(1), Fraction(1, 1000), counted=True)
    each = 6 if change_one else 3
    assert made.keep == Count(Fraction(1, each), Fraction(1, 1000 * each))
    assert made.keep != Keep(Fraction(1, each), Fraction(1, 1000 * each))
    assert made.term == Keys(Gather(stable.term, (X,), ()), (("x", INT),))


# ---- what a unit can move


def scanned(change_one: bool = False, key: bool = False) -> Stable:
    return rules.scan(Scan("t", Unit("u", change_one), ("id", TEXT), key, (("x", INT),)))


@pytest.mark.parametrize("change_one", [False, True])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_neighbours_differ_in_as_many_groups_as_are_paid_for(change_one: bool, most: int) -> None:
    """Over all sets of groups that a unit may be in: how many numbers of units move, and each by one."""
    own = [set(chosen) for chosen in combinations_with_replacement(range(7), most)]
    pairs = product(own, own) if change_one else ((groups, set[int]()) for groups in own)
    moves = [len(one ^ other) for one, other in pairs]
    assert max(moves) == selection.moved(Unit("u", change_one), most)
    made = truncated_geometric(rules.keep_rows(scanned(change_one), most), (X,), None, Fraction(1), Fraction(1, 1000))
    assert made.keep == Keep(Fraction(1, max(moves)), Fraction(1, 1000 * max(moves)))
    assert (made.cost.epsilon, made.cost.delta, made.most) == (Fraction(1), Fraction(1, 1000), most)


def test_a_unit_counts_once_in_each_of_its_groups() -> None:
    stable = rules.keep_rows(scanned(), 5)
    made = truncated_geometric(stable, (X,), None, Fraction(1), Fraction(1, 1000))
    assert made.term == Keys(Gather(stable.term, (X,), ()), (("x", INT),))
    assert made.most == 5
    fewer = truncated_geometric(stable, (X,), 2, Fraction(1), Fraction(1, 1000))
    assert fewer.term == Keys(KeepRows(Gather(stable.term, (X,), ()), 2), (("x", INT),))
    assert fewer.most == 2
    unbounded = truncated_geometric(scanned(), (X,), 2, Fraction(1), Fraction(1, 1000))
    assert unbounded.most == 2
    alone = truncated_geometric(scanned(key=True), (X,), 9, Fraction(1), Fraction(1, 1000))
    assert alone.term == Keys(Project(scanned(key=True).term, (X,)), (("x", INT),))
    assert alone.most == 1


def test_what_is_not_bounded_or_not_grouped_is_not_selected() -> None:
    enough = Fraction(1), Fraction(1, 1000)
    with pytest.raises(Unproved, match="how many groups"):
        truncated_geometric(scanned(), (X,), None, *enough)
    with pytest.raises(Unproved):
        truncated_geometric(scanned(key=True), (), None, *enough)
    with pytest.raises(Unproved):
        truncated_geometric(scanned(key=True), (("y", Field("y", INT)),), None, *enough)
    with pytest.raises(Unproved):
        truncated_geometric(rules.keep_rows(scanned(), 5000), (X,), None, *enough)
    with pytest.raises(Unproved):
        truncated_geometric(rules.once(scanned(key=True)), (X,), None, *enough)
