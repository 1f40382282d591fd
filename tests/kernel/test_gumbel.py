"""Choices that a δ is paid for: by their exact laws on small tables they keep (ε, δ), and every order of their ρ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import pytest
from scipy import optimize

from privql.kernel import zcdp
from privql.kernel.picks import Picked, Way, most_frequent
from privql.kernel.proved import Unproved
from privql.kernel.sums import Key
from privql.kernel.zcdp import affordable, greatest_rho
from tests.kernel.picks_law import law
from tests.kernel.test_picks import CASES, GROUPS, VALUES, X, counts, different, pairs, scanned

Counts = tuple[tuple[int, ...], ...]  # of each group
Tables = Sequence[tuple[Counts, Counts]]  # of two neighbours
PAID = [("1/10", "1/2"), ("1", "1/10"), ("1", "1/1000000"), ("1/100", "1/5"), ("3", "1/3")]
FOUR = Key(X, (0, 1, 2, 3))


@cache
def chances(groups: Counts, picks: int, exponent: float) -> dict[tuple[tuple[int, ...], ...], float]:
    q = Fraction(math.exp(-exponent)).limit_denominator(10**6)
    each = [{answer: float(p) for answer, p in law(group, picks, "GUMBEL", q).items()} for group in groups]
    return {answers: math.prod(law[a] for law, a in zip(each, answers, strict=True)) for answers in product(*each)}


def failing(tables: Tables, picks: int, epsilon: Fraction, exponent: float) -> float:
    """The least δ with which these neighbours keep ε."""
    worst = 0.0
    for one, other in tables:
        p, q = chances(one, picks, exponent), chances(other, picks, exponent)
        for first, second in ((p, q), (q, p)):
            worst = max(worst, sum(max(0.0, first[a] - math.exp(epsilon) * second[a]) for a in first))
    return worst


def divergence(tables: Tables, picks: int, exponent: float) -> float:
    """The greatest Rényi divergence of an order, divided by it."""
    worst = 0.0
    for (one, other), order in product(tables, (1.001, 1.5, 2, 5, 20)):
        p, q = chances(one, picks, exponent), chances(other, picks, exponent)
        for first, second in ((p, q), (q, p)):
            logs = [order * math.log(first[a]) + (1 - order) * math.log(second[a]) for a in first]
            whole = max(logs) + math.log(math.fsum(math.exp(log - max(logs)) for log in logs))
            worst = max(worst, whole / (order - 1) / order)
    return worst


def made(
    picks: int,
    epsilon: str,
    delta: str,
    change_one: bool = False,
    rows: int = 1,
    values: Key = VALUES,
    apart: bool = False,
) -> Picked:
    input = different(change_one, rows, False) if apart else scanned(change_one, rows)
    return most_frequent(input, (), values, None, picks, "GUMBEL", Fraction(epsilon), Fraction(delta))


def around(one: Picked) -> Iterator[tuple[Counts, Counts]]:
    """Of four values that are alike, or some of them far behind: a unit has one row of each of any, or of others."""
    far, change_one = math.ceil(10 / one.exponent), one.unit.change_one
    for base in ((0, 0, 0, 0), (0, 0, far, far), (far, 0, 0, 0), (far, far, far, 0), (1, 0, 3, 2)):
        for moves in product((-1, 0, 1) if change_one else (0, 1), repeat=4):
            yield (tuple(b + 1 for b in base),), (tuple(b + 1 + m for b, m in zip(base, moves, strict=True)),)


@pytest.mark.parametrize(("rows", "change_one", "grouped", "others"), CASES)
@pytest.mark.parametrize("picks", [1, 2])
def test_neighbours_choose_alike(rows: int, change_one: bool, grouped: bool, others: int, picks: int) -> None:
    found = {tuple(map(counts, pair)) for pair in pairs(rows, change_one, grouped, min(others, 1 + (not grouped)))}
    tables = [pair if grouped else (pair[0][:1], pair[1][:1]) for pair in sorted(found)]
    for epsilon, delta in PAID[:3]:
        input, keys = scanned(change_one, rows), GROUPS if grouped else ()
        one = most_frequent(input, keys, VALUES, None, picks, "GUMBEL", Fraction(epsilon), Fraction(delta))
        s = float(one.exponent)
        assert failing(tables, picks, one.cost.epsilon, s) <= one.cost.delta + 1e-6 * (one.cost.delta > 1e-5)
        assert divergence(tables, picks, s) <= float(one.rho) * 1.0001


@pytest.mark.parametrize(("epsilon", "delta"), PAID)
@pytest.mark.parametrize("change_one", [False, True])
@pytest.mark.parametrize("picks", [1, 2, 3])
def test_of_rows_that_differ_too(epsilon: str, delta: str, change_one: bool, picks: int) -> None:
    one = made(picks, epsilon, delta, change_one, 4, FOUR, apart=True)
    assert one.moved == 1 + change_one
    tables, s = list(around(one)), float(one.exponent)
    assert failing(tables, picks, one.cost.epsilon, s) <= one.cost.delta
    found = divergence(tables, picks, s)
    assert found <= float(one.rho) * 1.0001
    assert found > 0.8 * float(one.rho) or s * one.moved > 1  # and that is reached, where a choice is moved little


@pytest.mark.parametrize("picks", [1, 2])
def test_a_planted_fault_is_seen(picks: int) -> None:
    """A sixteenth for an eighth; a unit that is changed moves counts as one that comes; each choice for all."""
    one = made(picks, "1/100", "1/5", True, 4, FOUR, apart=True)
    tables, s = list(around(one)), float(one.exponent)
    for times in (math.sqrt(2), 2.0, *([math.sqrt(picks)] if picks > 1 else [])):
        assert divergence(tables, picks, s * times) > float(one.rho) * 1.2
        if picks == 1 or times == 2:
            assert failing(tables, picks, one.cost.epsilon, s * times) > one.cost.delta


@pytest.mark.parametrize("picks", [1, 2, 3])
def test_noisy_scores_in_order_have_the_law_of_choosing_one_by_one(picks: int) -> None:
    """Gumbel noise of scale 1/s: of n scores, given what came before, the greatest is v with weight e^(s·c(v))."""
    scores, q = (3, 1, 0, 1), Fraction(2, 3)
    weights = [1 / q**score for score in scores]
    rates = {}  # e^-Gumbel is exponential: the order is that of arrivals at these rates
    for order in permutations(range(4), picks):
        left, chance = sum(weights), Fraction(1)
        for at in order:
            chance, left = chance * weights[at] / left, left - weights[at]
        rates[order] = chance
    assert law(scores, picks, "GUMBEL", q) == rates


# ---- what (ε, δ) pays for


def proved(epsilon: Fraction, rho: Fraction, order: Fraction) -> Decimal:
    """The δ of an order, in sixty digits, as it is published."""
    with localcontext() as context:
        context.prec = 60
        a, r, e = (Decimal(x.numerator) / x.denominator for x in (order, rho, epsilon))
        return ((a - 1) * (a * r - e)).exp() * (a * (1 - 1 / a).ln()).exp() / (a - 1)


SPENT = [*PAID, ("1", "1e-9"), ("1/1000", "1e-6"), ("100", "1e-6"), ("20", "1e-2"), ("1", "1e-100"), ("1e-9", "1e-6")]


@pytest.mark.parametrize(("epsilon", "delta"), SPENT)
def test_the_greatest_rho_is_proved_and_is_the_greatest(epsilon: str, delta: str) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    rho = greatest_rho(e, d)
    log = math.log(d)

    def exponent(place: float, of: float) -> float:  # ln of the published δ
        a = 1 + 10.0**place
        return (a - 1) * (a * of - float(e)) + a * math.log1p(-1 / a) - math.log(a - 1)

    def least(of: float) -> float:
        start = min((at / 8 for at in range(-60, 160)), key=lambda at: exponent(at, of))
        return float(optimize.minimize_scalar(exponent, (start - 0.2, start, start + 0.2), args=(of,)).x)

    assert exponent(least(float(rho) * 1.01), float(rho) * 1.01) > log
    order = 1 + Fraction(10.0 ** least(float(rho))).limit_denominator(10**6)
    with localcontext() as context:
        context.prec = 60
        assert proved(e, rho * Fraction(9999, 10000), order) <= Decimal(d.numerator) / d.denominator


@pytest.mark.parametrize("order", ["1001/1000", "3/2", "2", "17", "1000"])
@pytest.mark.parametrize(("epsilon", "delta"), SPENT)
def test_what_is_called_affordable_is(order: str, epsilon: str, delta: str) -> None:
    e, d, a = Fraction(epsilon), Fraction(delta), Fraction(order)
    for times in range(40):
        rho = e * Fraction(3) ** -times
        if affordable(e, d, rho, a):
            assert Fraction(proved(e, rho, a)) <= d
            return
    assert Fraction(proved(e, Fraction(0), a)) > d * Fraction(1, 10)  # this order proves next to nothing


@pytest.mark.parametrize(("epsilon", "delta"), SPENT)
def test_what_is_found_was_certified(epsilon: str, delta: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That very number, at the order that was looked for: not one unit of its last digit more."""
    said: dict[Fraction, bool] = {}

    def asked(e: Fraction, d: Fraction, rho: Fraction, order: Fraction) -> bool:
        return said.setdefault(rho, affordable(e, d, rho, order))

    monkeypatch.setattr(zcdp, "affordable", asked)
    assert said[greatest_rho.__wrapped__(Fraction(epsilon), Fraction(delta))]


def test_of_bounds_the_upper_one_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Fraction(1), Fraction(1, 10), Fraction(1, 100), Fraction(10)
    assert affordable(*asked)
    for bounds, told in (((0, 1), True), ((0, 1 << 200), False)):
        monkeypatch.setattr(zcdp, "exp_minus", lambda *_, bounds=bounds: bounds)
        assert affordable(*asked) is told


def test_exponents_are_rounded_down() -> None:
    for epsilon, delta in SPENT:
        for picks in (1, 2, 3):
            one = made(picks, epsilon, delta, rows=3)
            rho = greatest_rho(Fraction(epsilon), Fraction(delta))
            assert rho * Fraction(99999, 100000) < one.rho <= rho and one.exponent.denominator < 10**40


def test_from_six_values_on_its_exponent_is_the_greater() -> None:
    """Than of choices one by one, for ε = 1 and δ = 1e-6."""
    many = Key(X, tuple(range(200)))
    ratios = {picks: made(picks, "1", "1e-6", values=many).exponent * picks for picks in (5, 6, 20, 100)}
    assert ratios[5] < 1 < ratios[6] and ratios[20] > Fraction(19, 10) and ratios[100] > 4


@pytest.mark.parametrize(("way", "delta"), [("GUMBEL", "0"), ("GUMBEL", "1"), ("FLIP", "1/10"), ("HISTOGRAM", "1/10")])
def test_a_delta_is_for_gumbel_noise_alone(way: Way, delta: str) -> None:
    with pytest.raises(Unproved):
        most_frequent(scanned(), (), VALUES, None, 1, way, Fraction(1), Fraction(delta))


@pytest.mark.parametrize(
    ("delta", "rho", "order"), [("0", "0", "2"), ("1", "0", "2"), ("1/2", "-1", "2"), ("1/2", "0", "1")]
)
def test_what_proves_nothing_is_not_asked(delta: str, rho: str, order: str) -> None:
    assert affordable(Fraction(1), Fraction(1, 2), Fraction(0), Fraction(2))
    with pytest.raises(ValueError, match="order"):
        affordable(Fraction(1), Fraction(delta), Fraction(rho), Fraction(order))


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "1/2"), ("1", "0"), ("1", "1")])
def test_what_promises_nothing_buys_nothing(epsilon: str, delta: str) -> None:
    with pytest.raises(ValueError, match="positive"):
        greatest_rho(Fraction(epsilon), Fraction(delta))
