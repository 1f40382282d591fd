"""Events say of each thing that is proved what it loses, neither more nor less, and are written in one way."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privql.kernel import events as room
from privql.kernel import measure, rules
from privql.kernel.bounds import noisy_minimum
from privql.kernel.cost import Cost
from privql.kernel.events import Event, cost_of, events, read, written
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.gaussian import greatest_mu, root_above
from privql.kernel.picks import Way, most_frequent
from privql.kernel.proved import Unproved
from privql.kernel.ranks import Rank, by_rank
from privql.kernel.scalars import INT, TEXT, Field
from privql.kernel.selection import truncated_geometric
from privql.kernel.sums import Key
from privql.kernel.terms import Scan, Unit
from privql.kernel.zcdp import greatest_rho

X = Field("x", INT)
ONE = rules.compute(
    rules.keep_rows(rules.scan(Scan("t", Unit("u"), ("id", TEXT), False, (("x", INT),))), 1), (("x", X),)
)
STEPS = Steps(X, Fraction(1), 0, 3)
EPSILON, DELTA = Fraction(1, 3), Fraction(1, 10**6)
BOTH = Cost(EPSILON, DELTA)
SIGMA = root_above(1 / greatest_mu(EPSILON, DELTA) ** 2)


def test_laplace_noise_is_pure_part_by_part() -> None:
    one = measure.laplace(ONE, (), (Tally(), Total(STEPS)), (Fraction(5), Fraction(7)))
    assert events(one) == (Event("pure", Cost(Fraction(1, 5))), Event("pure", Cost(Fraction(3, 7))))
    assert cost_of(events(one)) == one.cost


def test_gaussian_noise_is_one_event_however_much_is_paid_for_at_once() -> None:
    half = root_above(2 * SIGMA**2)
    one = measure.gaussian(ONE, (), (Tally(),), (SIGMA,), BOTH)
    both = measure.gaussian(ONE, (), (Tally(), Tally()), (half, half), BOTH)
    part = Cost(EPSILON, DELTA)
    apart = tuple(measure.gaussian(ONE, (), (Tally(),), (half,), part) for _ in range(2))
    for each in (one, both, measure.together(apart, BOTH)):
        assert events(each) == (Event("gaussian", BOTH),)


def test_a_cost_that_does_not_pay_for_its_noise_is_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    one = measure.gaussian(ONE, (), (Tally(),), (SIGMA,), BOTH)
    assert one.mu_squared is not None and one.mu_squared <= greatest_mu(EPSILON, DELTA) ** 2
    picked = most_frequent(ONE, (), Key(X, (1, 2, 3)), None, 2, "GUMBEL", EPSILON, DELTA)
    assert picked.rho <= greatest_rho(EPSILON, DELTA) < picked.rho * Fraction(10001, 10000)
    monkeypatch.setattr(room, "greatest_mu", lambda *_: greatest_mu(EPSILON, DELTA) * Fraction(999, 1000))
    monkeypatch.setattr(room, "greatest_rho", lambda *_: greatest_rho(EPSILON, DELTA) * Fraction(999, 1000))
    for each in (one, measure.together((one,), BOTH), picked):
        with pytest.raises(Unproved):
            events(each)


@pytest.mark.parametrize(
    ("way", "kind"),
    [("FLIP", "pure"), ("NOISY_MAX", "pure"), ("HISTOGRAM", "pure"), ("EXPONENTIAL", "ranged")],
)
def test_choices(way: Way, kind: room.Kind) -> None:
    one = most_frequent(ONE, (), Key(X, (1, 2, 3)), None, 2, way, EPSILON)
    assert events(one) == (Event(kind, Cost(EPSILON)),)


def test_the_others() -> None:
    gumbel = most_frequent(ONE, (), Key(X, (1, 2, 3)), None, 2, "GUMBEL", EPSILON, DELTA)
    placed = by_rank(ONE, (), STEPS, None, (Rank(Fraction(1, 4)), Rank(Fraction(3, 4))), EPSILON)
    selected = truncated_geometric(ONE, (("x", X),), 1, EPSILON, DELTA)
    assert events(gumbel) == (Event("concentrated", BOTH),)
    assert events(placed) == (Event("ranged", Cost(EPSILON)),)
    assert events(selected) == (Event("keys", BOTH),)
    assert events(noisy_minimum(ONE, X, None, 4, 0, EPSILON)) == (Event("pure", Cost(EPSILON)),)


@pytest.mark.wrong_types
def test_what_the_kernel_has_not_proved_is_no_event() -> None:
    with pytest.raises(AssertionError):
        events(STEPS)


@pytest.mark.parametrize(
    ("kind", "epsilon", "delta"),
    [
        ("pure", "0", "0"),
        ("pure", "1", "1/100"),
        ("ranged", "1", "1/100"),
        ("gaussian", "1", "0"),
        ("concentrated", "1", "0"),
        ("gaussian", "1", "1"),
        ("keys", "1", "1"),
        ("pure", "1048577", "0"),
        ("pure", "1/1000003", "0"),
        ("poisson", "1", "0"),
    ],
)
def test_no_event(kind: room.Kind, epsilon: str, delta: str) -> None:
    with pytest.raises(ValueError):
        Event(kind, Cost(Fraction(epsilon), Fraction(delta)))


ALL = (
    Event("pure", Cost(EPSILON)),
    Event("keys", BOTH),
    Event("keys", Cost(EPSILON)),
    Event("ranged", Cost(Fraction(2))),
    Event("gaussian", BOTH),
    Event("concentrated", BOTH),
)


def test_they_are_written_and_read() -> None:
    text = '[["pure","1/3"],["keys","1/3","1/1000000"],["keys","1/3"],["ranged","2"]'
    assert written(ALL) == text + ',["gaussian","1/3","1/1000000"],["concentrated","1/3","1/1000000"]]'
    assert read(written(ALL)) == ALL and read("[]") == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "1",
        "null",
        '""',
        '[["pure","2/6"]]',
        '[["pure","0.5"]]',
        '[["pure","1/0"]]',
        '[["pure", "1"]]',
        '[["pure","1","0"]]',
        '[["pure",1]]',
        '[["pure"]]',
        '[["sum","1"]]',
        '["pure"]',
        '[["pure","-1"]]',
        '[["pure","1e99999999"]]',
        '[["pure","٣"]]',
    ],
)
def test_what_is_written_otherwise_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):
        read(text)
