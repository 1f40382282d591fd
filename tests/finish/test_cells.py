"""Noisy integers become the values they stand for, exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privql.finish.cells import finish_block
from privql.kernel.scalars import DATE, FLOAT, INT, decimal
from tests.finish.shapes import REGIONS, aggregate, block, count, key, mean, total

NOISY = st.integers(-(10**6), 10**6) | st.integers(-(1 << 130), 1 << 130)
GRIDS = st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(1, 2**40), Fraction(8), Fraction(3, 7)])


def test_groups_are_the_product_of_the_keys_in_order() -> None:
    days = key("c2", DATE, Fraction(3), Fraction(4))
    made = finish_block(
        block(0, (REGIONS, days), (aggregate("c3", "count", INT), aggregate("c4", "sum", INT))),
        [count(1), total(0, Fraction(2), INT)],
        [[at, 100 + at] for at in range(6)],
    )
    assert [id for id, _ in made.columns] == ["c1", "c2", "c3", "c4"]
    assert [row[:2] for row in made.rows] == list(itertools.product(["N", "S", None], [3, 4]))
    assert all(type(row[1]) is int for row in made.rows)
    assert [row[2:] for row in made.rows] == [(100 + at, 2 * at) for at in range(6)]


def test_without_keys_there_is_one_group() -> None:
    made = finish_block(block(0, (), (aggregate("c1", "count", INT),)), [count(0)], [[-5]])
    assert made.rows == ((-5,),)


def test_cells_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="not those of this block"):
        finish_block(block(0, (REGIONS,), (aggregate("c2", "count", INT),)), [count(0)], [[1], [2]])


def one(recipe: object, *cells: int) -> object:
    shape = block(0, (), (aggregate("c1", "sum", INT),))
    return finish_block(shape, [recipe], [cells]).rows[0][0]


@given(NOISY, GRIDS)
def test_a_sum_is_its_cell_times_the_grid_or_null_where_its_type_ends(cell: int, grid: Fraction) -> None:
    value = cell * grid
    whole = one(total(0, grid, INT), cell)
    if whole is None:
        assert abs(value) >= (1 << 63) - 1
    else:
        assert type(whole) is int and -(1 << 63) <= whole < 1 << 63 and abs(whole - value) <= Fraction(1, 2)
    exact = one(total(0, grid, decimal(38, 2)), cell)
    if exact is None:
        assert abs(value) >= 10**36 - 1
    else:
        assert isinstance(exact, Fraction) and (exact * 100).denominator == 1 and abs(exact - value) <= Fraction(1, 200)
    assert one(total(0, grid, FLOAT), cell) == float(value)


def test_a_sum_beyond_floats_is_null() -> None:
    assert one(total(0, Fraction(10**300), FLOAT), 10**20) is None


@given(NOISY, NOISY, GRIDS, st.integers(-(1 << 40), 1 << 40), st.integers(1, 1 << 40))
def test_a_mean_is_a_weighing_of_two_cells_within_its_domain(
    a: int, b: int, grid: Fraction, low: int, width: int
) -> None:
    answer = one(mean(0, grid, low, low + width), a, b)
    if Fraction(a + b, width) < 1:
        assert answer is None
        return
    assert isinstance(answer, float)
    exact = grid * (low + width * Fraction(a, a + b))
    assert answer == float(min(max(exact, low * grid), (low + width) * grid))


def test_a_mean_of_one_possible_value_is_that_value() -> None:
    assert one(mean(0, Fraction(1, 2), 7, 7), 0, 0) == 3.5
