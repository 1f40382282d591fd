"""Sums of charges are exact, however many: ten million random ones with

    PRIVQL_SOAK=1 python -m pytest tests/ledger/test_sums.py

held against whole numbers of 1/GRID, which are counted by themselves.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest

from privql.kernel.cost import GRID, PLACES, RATIO, Cost, check_chargeable
from privql.kernel.losses import NO_LOSS, UNIT, Loss, read, written
from tests.assurance import assured, length

CHARGES = length(20_000, 10_000_000)


def chargeable(rng: random.Random) -> Fraction:
    """Up to 2 or so, with many places or few, with a ratio, or with both."""
    places = rng.choice((1, 2, 3, 6, 9, 17, 40, PLACES))
    amount = Fraction(rng.randrange(2 * 10**places), 10**places)
    return amount if rng.random() < 0.5 else amount / rng.randint(1, RATIO)


def test_costs_add_up_exactly() -> None:
    with assured("ledger-sums") as tally:
        tally["tried"] += CHARGES
        rng = random.Random(1)
        total, epsilons, deltas = Cost(), 0, 0
        for _ in range(CHARGES):
            epsilon, delta = chargeable(rng), chargeable(rng) / 10
            if GRID % delta.denominator:  # more than a hundred places
                delta = Fraction(0)
            total += Cost(epsilon, delta)
            epsilons += epsilon.numerator * (GRID // epsilon.denominator)
            deltas += delta.numerator * (GRID // delta.denominator)
        assert total.epsilon.numerator * GRID == epsilons * total.epsilon.denominator
        assert total.delta.numerator * GRID == deltas * total.delta.denominator
        assert GRID % total.epsilon.denominator == GRID % total.delta.denominator == 0


def test_losses_add_up_exactly() -> None:
    """Of a few thousand different ones, kept as text now and then, as a ledger keeps its totals."""
    with assured("ledger-sums") as tally:
        tally["tried"] += CHARGES
        rng = random.Random(2)
        different = [
            Loss(
                chargeable(rng),
                chargeable(rng) / 2,
                chargeable(rng) / 3,
                rng.randrange(UNIT * 10),
                chargeable(rng) / 7,
                Fraction(10),
                rng.randrange(rng.choice((10, UNIT, UNIT * 1000))),
            )
            for _ in range(4096)
        ]
        total, times = NO_LOSS, Counter[int]()
        for number in range(CHARGES):
            which = rng.randrange(len(different))
            times[which] += 1
            total += different[which]
            if number % 1000 == 0:
                total = read(written(total))
        for part in ("epsilon", "delta", "keys", "gauss_delta"):
            parts = [getattr(each, part) for each in different]
            grid = GRID * 2 * 3 * 7
            whole = sum(times[at] * one.numerator * (grid // one.denominator) for at, one in enumerate(parts))
            assert getattr(total, part) == Fraction(whole, grid)
        assert total.gauss == sum(times[at] * one.gauss for at, one in enumerate(different))
        assert total.renyi == sum(times[at] * one.renyi for at, one in enumerate(different))


@pytest.mark.parametrize("amount", [Fraction(1, 1009), Fraction(1, 10**110), Fraction(1, 3**7)])
def test_what_would_make_sums_grow_for_ever_is_refused(amount: Fraction) -> None:
    with pytest.raises(ValueError, match="decimal places"):
        check_chargeable(amount)
