"""What textbooks promise of these mechanisms, computed from the exact laws of ours.

Most are from C. Dwork and A. Roth, *The Algorithmic Foundations of Differential Privacy* (2014), here "the book". What
is continuous there is in whole numbers here, so each is derived again.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privql.kernel import measure, rules, tails
from privql.kernel.features import Tally
from privql.kernel.picks import Picked, Way, most_frequent
from privql.kernel.scalars import INT, TEXT, Field
from privql.kernel.stable import Stable
from privql.kernel.sums import Key
from privql.kernel.terms import Scan, Unit
from privql.noise.exponential import exponential
from privql.noise.flip import permute_and_flip
from privql.noise.picks import picked
from tests.mechanisms.words import law_of
from tests.noise.law import beyond

NAME = Field("name", INT)
FILMS = 1000


def people(change_one: bool, rows: int = 1) -> Stable:
    scan = Scan("people", Unit("person", change_one), ("id", TEXT), rows == 1, (("name", INT),))
    return rules.scan(scan) if rows == 1 else rules.keep_rows(rules.scan(scan), rows)


def chosen(among: int, way: Way, epsilon: Fraction, rows: int = 1) -> Picked:
    return most_frequent(people(False, rows), (), Key(NAME, tuple(range(among))), None, 1, way, epsilon)


# ---------------------------------------------------------------- counts of ten thousand names


@pytest.mark.parametrize(
    ("change_one", "book", "ours", "confidence"),
    [(False, 10_000 / 0.05, 12, 0.95), (False, 10_000 / 0.01, 14, 0.99), (True, 10_000 / 0.01, 28, 0.99)],
)
def test_ten_thousand_first_names(change_one: bool, book: float, ours: int, confidence: float) -> None:
    """The book's example of first names (section 3.3): a person has one, so all 10,000 counts cost no more than one.

    With noise of scale t none is off by more than t·ln(10,000/β), but with probability β. At ε = 1 that is 12.2 at 95%
    and 13.8 at 99%; and 27.6 at 99% where a person is not more or fewer but another, which moves two counts. Noise in
    whole numbers is within the whole number above that at most.
    """
    key = Key(NAME, tuple(range(10_000)))
    scale = 1 + int(change_one)
    made = measure.laplace(people(change_one), (key,), (Tally(),), (Fraction(scale),))
    assert made.cost.epsilon == 1 and made.term.groups == 10_000

    def all_within(a: int) -> float:
        return math.exp(10_000 * math.log1p(-float(beyond(a, Fraction(scale)))))

    assert all_within(ours) >= confidence > all_within(ours - 1)
    assert ours <= math.ceil(scale * math.log(book))


def test_a_question_in_parts_is_never_answered_better() -> None:
    """Noise averages out: that is why what is spent is counted (the book's section 3.5). But the mean of n answers of ε
    each has n times the variance of one answer of n·ε: one measurement with all of it is better than several."""
    for epsilon in (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2)):
        for n in (2, 5, 10):
            mean, once = tails.variance(1 / epsilon) / n, tails.variance(1 / (n * epsilon))
            assert mean > once
            if n * epsilon <= Fraction(1, 2):
                assert mean / once == pytest.approx(n, rel=0.1)


# ---------------------------------------------------------------- one of several


def wrong(counts: list[int], way: Way, exponent: Fraction) -> tuple[Fraction, Fraction]:
    """P[what is chosen has not the greatest count], from all words that the sampler may be given: from and to."""
    law = law_of(lambda words: counts[picked(counts, 1, way, exponent, source=words)[0]] == max(counts), 4)
    return law.chances.get(False, Fraction(0)), law.chances.get(False, Fraction(0)) + law.open


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_which_of_two_conditions_is_more_common(epsilon: Fraction, count: int) -> None:
    """The book's example of the exponential mechanism (section 3.4): one condition has no patient, the other `count`.

    The rare one is named with probability 2·e^(-count·ε/2) at most, whatever else the data are. That is with ε/2 in the
    exponent. With one patient more all counts rise, so ours has ε there; and by permute-and-flip the rare one has to
    win two coins, one of e^(-count·ε) and a fair one.
    """
    book = 2 * math.exp(-count * epsilon / 2)
    halved = law_of(lambda words: exponential([(1, count), (1, 0)], epsilon / 2, source=words), 3)
    assert float(halved.chances.get(0, 0)) == pytest.approx(1 / (1 + math.exp(count * epsilon / 2)), abs=1e-15)
    assert float(halved.chances.get(0, 0)) <= book
    for way, law in (
        ("EXPONENTIAL", 1 / (1 + math.exp(count * epsilon))),
        ("FLIP", math.exp(-count * epsilon) / 2),
    ):
        made = chosen(2, way, epsilon)
        assert made.exponent == epsilon
        low, high = wrong([0, count], made.way, made.exponent)
        assert float(low) <= law * (1 + 1e-12) and law <= float(high) + 1e-12
        assert high <= book * Fraction(1, 2)


def test_four_customers_and_a_thousand_films() -> None:
    """The most watched of many films when hardly anybody watched (the book's theorem 3.11 read backwards).

    The choice is off by (2/ε)·(ln 1000 + x) at most, but with probability e^-x. At ε = 1 that is 14 and more, beyond
    any count that four customers make: nothing is promised, and nothing is kept. The one film that all four watched is
    chosen with probability e^(4s)/(e^(4s) + 999), s being the exponent, which has to be 1.73 for one time in two. It is
    the number of customers that helps: of four hundred, a hundredth of that is enough.
    """
    made = chosen(FILMS, "EXPONENTIAL", Fraction(1))

    def right(count: int, exponent: Fraction) -> float:
        law = law_of(lambda words: exponential([(1, 0), (FILMS - 1, count)], exponent, source=words) == 0, 2)
        return float(law.chances[True])

    assert right(4, made.exponent) == pytest.approx(math.exp(4) / (math.exp(4) + 999), rel=1e-12)
    assert right(4, made.exponent) < 0.06
    assert right(4, made.exponent / 2) < 0.01  # where one more could raise one count and lower another
    assert right(4, Fraction(172, 100)) < 0.5 < right(4, Fraction(173, 100))
    assert right(400, Fraction(172, 10_000)) < 0.5 < right(400, Fraction(173, 10_000))
    # a customer with four rows may have watched one film four times, and move its count by four
    assert chosen(FILMS, "EXPONENTIAL", Fraction(1), rows=4).exponent == Fraction(1, 4)


def noisy_maximum_is_wrong(gap: int, among: int, scale: Fraction) -> float:
    """One count is `gap` above all others: P[one of these is the greatest, or one before it as great], exactly."""
    edge = int(60 * scale)
    steps = np.arange(-edge, edge + 1)
    density = np.tanh(0.5 / float(scale)) * np.exp(-np.abs(steps) / float(scale))
    below = np.array([tails.cdf(int(x) + gap, scale) for x in steps])  # the others are no greater: it is the first
    with np.errstate(divide="ignore"):
        return float((density * -np.expm1((among - 1) * np.log(below))).sum())


def flip_is_wrong(gap: int, among: int, exponent: Fraction) -> float:
    """1 - E[1/(1+B)], where B of the others' coins fall heads too, each with e^(-exponent·gap)."""
    p = math.exp(-exponent * gap)
    return 1 + math.expm1(among * math.log1p(-p)) / (among * p)


def test_the_error_of_a_choice_grows_with_the_logarithm_of_how_many_there_are() -> None:
    """Noisy maximum (the book's section 3.3, and claim 3.9) and permute-and-flip (McKenna and Sheldon 2020).

    How far ahead must the first be to be found 19 times in 20? With ten times as many candidates, ln 10 times the scale
    more; and the same however large counts are, as only their differences enter. Permute-and-flip is never worse.
    """
    epsilon = Fraction(1, 2)
    noisy_gaps, flip_gaps = [], []
    for among in (10, 100, 1000, 10_000, 100_000):
        noisy_gaps.append(next(g for g in range(200) if noisy_maximum_is_wrong(g, among, 1 / epsilon) <= 0.05))
        flip_gaps.append(next(g for g in range(1, 200) if flip_is_wrong(g, among, epsilon) <= 0.05))
    for gaps in (noisy_gaps, flip_gaps):
        steps = np.diff(gaps)
        assert np.all(np.abs(steps - math.log(10) / epsilon) <= 1.0)
    assert all(flip <= noisy for flip, noisy in zip(flip_gaps, noisy_gaps, strict=True))
    assert flip_gaps[-1] < math.log(100_000 / 0.05) / epsilon + 1


@pytest.mark.parametrize(("way", "gap"), [("NOISY_MAX", 14), ("FLIP", 14), ("NOISY_MAX", 20), ("FLIP", 10)])
@pytest.mark.parametrize("far", [0, 10**9])
def test_how_often_the_first_of_a_thousand_is_missed(way: Way, gap: int, far: int) -> None:
    """The same by real draws, with counts small and large: one false alarm in 10^9 runs."""
    runs, made = 400, chosen(FILMS, way, Fraction(1, 2))
    counts = [far + gap, *[far] * (FILMS - 1)]
    law = (
        noisy_maximum_is_wrong(gap, FILMS, 1 / made.exponent)
        if way == "NOISY_MAX"
        else flip_is_wrong(gap, FILMS, made.exponent)
    )
    missed = sum(picked(counts, 1, way, made.exponent) != [0] for _ in range(runs))
    assert stats.binomtest(missed, runs, law).pvalue > 1e-9


def test_the_best_candidate_alone_is_never_missed() -> None:
    assert law_of(lambda words: permute_and_flip([5], Fraction(1), source=words), 2).chances == {0: 1}
