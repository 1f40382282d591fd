"""A unit's total is clamped to what so many of its rows can come to: no less and no more."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from privql.kernel import rules
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import FLOAT, INT, TEXT, Field, Value
from privql.kernel.sums import Balance, Contribution
from privql.kernel.terms import Scan, Unit
from privql.plan.bounding import Bounds
from privql.plan.totals import Totals, of_units

X, Y, G = Field("x", INT), Field("y", FLOAT), Field("g", INT)
ROWS = rules.scan(Scan("t", Unit("u"), ("id", TEXT), False, (("x", INT), ("y", FLOAT), ("g", INT))))
LIMIT = 2**62


def bounds(rows: int | None, groups: int | None = None, listed: tuple[tuple[Value, ...], ...] | None = None) -> Bounds:
    keys = (("key", G),) if groups is not None or listed is not None else ()
    return Bounds(keys, listed, rows, groups, groups == 1, "totals")


def steps(low: int, high: int, value: Field = X) -> Steps:
    return Steps(value, Fraction(1), low, high)


def clamped(found: Totals | None) -> tuple[int, int]:
    assert found is not None
    stable, (one,) = found
    assert stable.rows == 1 and isinstance(one, Total)
    return one.steps.low, one.steps.high


def totals(one: Contribution, rows: int | None, open: bool = False) -> Totals | None:
    return of_units(ROWS, bounds(rows), (one,), (open,))


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize(("low", "high"), [(0, 3), (-2, 3), (1, 3), (-3, -1), (-3, 0), (2, 2), (0, 0)])
def test_the_ends_are_what_so_many_rows_can_come_to(rows: int, low: int, high: int) -> None:
    reached = [sum(each) for each in product((0, *range(low, high + 1)), repeat=rows)]
    assert clamped(totals(Total(steps(low, high)), rows)) == (min(reached), max(reached))
    assert clamped(totals(Tally(), rows)) == (0, rows)


def test_what_the_kernel_cannot_hold_stays_row_by_row() -> None:
    assert clamped(totals(Total(steps(-LIMIT // 4, LIMIT // 4)), 4)) == (-LIMIT, LIMIT)
    assert totals(Total(steps(0, LIMIT // 4 + 1)), 4) is None
    assert totals(Total(steps(-LIMIT // 4 - 1, 0)), 4) is None
    assert totals(Balance(steps(0, 1)), 2) is None
    assert totals(Tally(), None) is None


def test_open_bounds_are_found_within_what_can_be_told_apart() -> None:
    assert clamped(totals(Total(steps(-LIMIT // 4, LIMIT // 4)), 4, open=True)) == (-(2**61), 2**61)
    assert clamped(totals(Total(steps(-5, 7)), 4, open=True)) == (-20, 28)
    assert clamped(totals(Total(steps(0, 2**40, Y)), 4)) == (0, 2**42)
    assert totals(Total(steps(0, 2**40, Y)), 4, open=True) is None


def test_each_has_its_own_bounds_and_is_open_or_not_by_itself() -> None:
    found = of_units(ROWS, bounds(3), (Tally(), Total(steps(-1, 2)), Total(steps(0, LIMIT // 4))), (False, False, True))
    assert found is not None
    made = [(one.steps.value, one.steps.low, one.steps.high) for one in found[1] if isinstance(one, Total)]
    names = [Field(f"total{at}", INT) for at in range(3)]
    assert made == [(names[0], 0, 3), (names[1], -3, 6), (names[2], 0, 2**61)]


def test_it_takes_one_group() -> None:
    for where in (bounds(3, groups=1), bounds(3, listed=((1,),)), bounds(3, groups=1, listed=((1, 2),))):
        assert clamped(of_units(ROWS, where, (Tally(),), (False,))) == (0, 3)
    for where in (bounds(3, groups=2), bounds(3, listed=((1, 2),))):
        assert of_units(ROWS, where, (Tally(),), (False,)) is None
