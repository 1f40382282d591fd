"""Where an exact search begins decides nothing of what it finds: each guess is made wrong, and all is as it was."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from operator import ge, le
from types import FunctionType
from typing import Any

import pytest

from privql.kernel import filters, gaussian, guesses, losses, plans, selection, tails, two
from privql.kernel.cost import Cost
from privql.kernel.decimals import at_rank, rank_near
from privql.kernel.events import Event
from privql.kernel.search import greatest_decimal, least_decimal

GUESSES = [
    name
    for name, found in vars(guesses).items()
    if isinstance(found, FunctionType) and found.__module__ == guesses.__name__ and name[0] != "_"
]


def numbers() -> Iterator[object]:
    """Of everything that looks for a number, some."""
    rng = random.Random(4)

    def of_any_size(low: int, high: int) -> Fraction:
        return Fraction(rng.randrange(1, 1000)) * Fraction(10) ** rng.randrange(low, high)

    for _ in range(6):
        epsilon, delta, sigma = of_any_size(-7, 0), of_any_size(-12, -4), of_any_size(-3, 6)
        confidence, few = 1 - of_any_size(-8, -3), rng.randrange(1, 10**4)
        yield gaussian.greatest_mu(epsilon, delta)
        yield gaussian.least_epsilon(sigma / few, delta)
        yield gaussian.halfwidth(sigma, confidence, Fraction(rng.randrange(2)))
        yield gaussian.halfwidth_of_two(sigma, (rng.randrange(1, 9), -3), few, confidence)
        yield gaussian.sigma_within(few, confidence)
        yield tails.halfwidth(sigma, confidence)
        yield tails.epsilon_within(rng.randrange(1, 50), few, confidence)
        yield two.halfwidth_of_sum(sigma, confidence)
        yield losses.mu_squared_of_pure(epsilon)
        if (law := selection.Count(epsilon, delta)).sensible:
            yield selection.reach_of(law)
        promise = epsilon, delta, filters.DEFAULT
        filter = filters.Filter(*promise, filters.order_for(*promise))
        spent = losses.loss_of((Event("pure", Cost(epsilon / 40)),) * rng.randrange(50), filter.order)
        yield filter.left(spent)
        some = tuple(Event("pure", Cost(epsilon / 9)) for _ in range(rng.randrange(2, 9)))
        gauss = (Event("gaussian", Cost(epsilon / 2, delta / 8)),) * rng.randrange(2)
        yield plans.planned((*some, *gauss), delta)


def forgotten() -> None:
    for module in (filters, gaussian, losses, plans, selection, tails, two):
        for found in vars(module).values():
            if hasattr(found, "cache_clear"):
                found.cache_clear()


@pytest.fixture(scope="module")
def wanted() -> list[object]:
    forgotten()
    return list(numbers())


@pytest.mark.parametrize("times", [Fraction(1, 9), Fraction(1001, 1000), Fraction(5)], ids=str)
def test_what_is_found_is_the_same(times: Fraction, wanted: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = set()

    def wrong(name: str, right: Callable[..., float]) -> Callable[..., float]:
        def guess(*given: Any) -> float:
            asked.add(name)
            found = right(*given)
            return type(found)(found * times)

        return guess

    for name in GUESSES:
        monkeypatch.setattr(guesses, name, wrong(name, getattr(guesses, name)))
    forgotten()
    assert list(numbers()) == wanted
    assert asked == set(GUESSES)


@pytest.mark.parametrize("digits", [1, 4, 6])
def test_a_decimal_is_found_from_anywhere(digits: int) -> None:
    rng = random.Random(digits)
    for _ in range(200):
        near, edge = (Fraction(rng.randrange(1, 10**9), rng.randrange(1, 10**9)) for _ in range(2))
        least = least_decimal(partial(le, edge), digits, near)
        greatest = greatest_decimal(partial(ge, edge), digits, near)
        assert greatest <= edge <= least
        assert least == greatest or greatest == at_rank(rank_near(least, digits) - 1, digits)
        for found in (least, greatest):
            assert at_rank(rank_near(found, digits), digits) == found
