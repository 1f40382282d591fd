"""Intervals for the number of units of a group that was found: against the law, summed outcome by outcome."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from privql.kernel import found
from privql.kernel.found import units_within


def seen(units: int, reach: int, scale: Fraction) -> dict[int, float]:
    """The law of what is shown of so many units, given that it is."""
    weights = {
        shown: math.exp(-abs(shown - units) / scale)
        for shown in range(max(reach + 1, units - reach), units + reach + 1)
    }
    return {shown: weight / math.fsum(weights.values()) for shown, weight in weights.items()}


LAWS = [(1, Fraction(1, 3)), (1, Fraction(1)), (3, Fraction(1)), (7, Fraction(2)), (9, Fraction(3)), (12, Fraction(40))]


@pytest.mark.parametrize(("reach", "scale"), LAWS)
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)])
def test_the_interval_inverts_the_law(reach: int, scale: Fraction, confidence: Fraction) -> None:
    """All n for which the number is not far out to either side, and the number itself."""
    for number in range(reach + 1, 4 * reach + 5):
        kept = {number}
        for units in range(1, number + reach + 1):
            law = seen(units, reach, scale)
            if number in law:
                more = math.fsum(chance for shown, chance in law.items() if shown >= number)
                fewer = math.fsum(chance for shown, chance in law.items() if shown <= number)
                if min(more, fewer) > (1 - confidence) / 2:
                    kept.add(units)
        assert units_within(number, reach, scale, confidence) == (min(kept), max(kept))


@pytest.mark.parametrize(("reach", "scale"), LAWS)
def test_what_was_found_is_enclosed_as_often_as_is_said(reach: int, scale: Fraction) -> None:
    """Of every n, summed over all that may be shown, given that anything is."""
    for confidence in (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)):
        for units in range(1, 3 * reach + 3):
            covered = 0.0
            for shown, chance in seen(units, reach, scale).items():
                low, high = units_within(shown, reach, scale, confidence)
                covered += chance * (low <= units <= high)
            assert covered >= confidence - Fraction(1, 10**9)


def test_a_large_group_is_known_as_well_as_any_count() -> None:
    low, high = units_within(1000, 109, Fraction(10), Fraction(95, 100))
    assert (low, high) == (970, 1030)


def test_the_smallest_number_may_stand_for_any_small_group() -> None:
    assert units_within(110, 109, Fraction(10), Fraction(95, 100))[0] == 1


@pytest.mark.parametrize(("reach", "scale"), [(1, Fraction(1, 2**20)), (326_501, Fraction(4096))])
def test_laws_at_the_ends_of_what_there_is(reach: int, scale: Fraction) -> None:
    for number in (reach + 1, 2 * reach + 1, 10 * reach):
        low, high = units_within(number, reach, scale, Fraction(95, 100))
        assert max(1, number - reach) <= low <= number <= high <= number + reach


@pytest.mark.parametrize(
    ("number", "reach", "scale", "confidence"),
    [
        (3, 3, Fraction(1), Fraction(1, 2)),
        (3, 0, Fraction(1), Fraction(1, 2)),
        (3, 2, Fraction(0), Fraction(1, 2)),
        (3, 2, Fraction(1), Fraction(1)),
        (3, 2, Fraction(1), Fraction(0)),
    ],
)
def test_what_is_no_law_or_no_number_of_it(number: int, reach: int, scale: Fraction, confidence: Fraction) -> None:
    with pytest.raises(ValueError):
        units_within(number, reach, scale, confidence)


@pytest.mark.parametrize(("from_", "seen"), [(3, -2), (5, 0), (-1, -4), (6, 3)])
def test_chances_that_differ_by_next_to_nothing_are_told_apart(from_: int, seen: int) -> None:
    """By less than 64 bits can: more are computed until it is certain."""
    law, bits, base = found._Seen(6, Fraction(3)), 260, max(seen, 0)
    low, high = found.quotient(law._tail(from_, base, bits), law._tail(seen, base, bits), bits)
    assert high - low < 1 << 60
    near = Fraction(low >> 100 << 100, 1 << bits)
    assert law._likely(from_, 7, 7 - seen, near)
    assert not law._likely(from_, 7, 7 - seen, near + Fraction(1, 1 << 150))


def test_what_is_not_decided_makes_it_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    sure = units_within(130, 109, Fraction(10), Fraction(95, 100))
    monkeypatch.setattr(found, "at_most", lambda bounds, most: False)
    assert units_within(130, 109, Fraction(10), Fraction(95, 100)) == (21, 239)
    assert sure[0] > 21 and sure[1] < 239
