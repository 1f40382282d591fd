"""Noisy cells at knots become the sum that they stand for; what noise hides is told from what is nearer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from privql.audit import reference
from privql.finish.cells import finish_block
from privql.finish.hats import reached, total
from privql.finish.recipe import Recipe
from privql.finish.resampling import OF_KNOTS
from privql.kernel.features import Steps
from privql.kernel.scalars import INT, Field, ValueType, decimal
from privql.kernel.sums import Hats
from tests.finish.shapes import aggregate, block

Numbers = npt.NDArray[np.float64]
FAR = 2**20
RANDOM = np.random.default_rng(20)
SETS = {
    "log-normal": RANDOM.lognormal(8, 1, 10_000),
    "wide": RANDOM.lognormal(6, 1.8, 10_000),
    "exponential": RANDOM.exponential(3000, 10_000),
    "uniform": RANDOM.uniform(0, 3000, 10_000),
    "alike": np.full(10_000, 777.0),
}


def at_knots(values: npt.ArrayLike, far: int = FAR, low: bool = False) -> list[int]:
    x, bounds = Field("x", INT), (-far, 0) if low else (0, far)
    made = Hats(Steps(x, Fraction(1), *bounds))
    rows = [reference.contributed(made, {"x": int(value)}) for value in np.asarray(values)]
    return [sum(column) for column in zip([0] * len(made.knots), *rows, strict=True)]


def noisy(cells: list[int], scale: float, random: np.random.Generator) -> list[int]:
    return [cell + int(off) for cell, off in zip(cells, random.laplace(0, scale, len(cells)), strict=True)]


@pytest.mark.parametrize("values", [[0], [1], [2, 3], [1, 5, 9, 1000], [FAR] * 3, [FAR - 1, 7], []])
def test_without_noise_it_is_the_sum(values: list[int]) -> None:
    cells, scale = at_knots(values), Fraction(FAR, 10**12)
    assert total(cells, scale) == sum(values)
    assert sum(knot * cell for knot, cell in zip((2**k for k in range(21)), cells, strict=True)) == FAR * sum(values)


def test_what_is_beyond_counts_as_the_last_knot() -> None:
    assert total(at_knots([5, 10 * FAR]), Fraction(FAR, 10**12)) == 5 + FAR


@pytest.mark.parametrize(
    ("grid", "type", "low", "answer"),
    [
        (Fraction(1), INT, False, 33),
        (Fraction(1), INT, True, -33),
        (Fraction(1, 100), decimal(10, 2), True, Fraction(-33, 100)),
        (Fraction(5), INT, False, 165),
    ],
)
def test_an_answer_is_a_number_of_its_type_on_its_grid(
    grid: Fraction, type: ValueType, low: bool, answer: object
) -> None:
    made = Hats(Steps(Field("x", INT), grid, -64 if low else 0, 0 if low else 64))
    cells = at_knots([-33] if low else [33], 64, low)
    one = block(0, (), (aggregate("s", "sum", type),))
    (row,) = finish_block(one, [Recipe(made, 0, Fraction(64, 10**9), type)], [cells]).rows
    assert row == (answer,)
    noise = np.random.default_rng(5)
    (row,) = finish_block(one, [Recipe(made, 0, Fraction(640), type)], [noisy(cells, 640, noise)]).rows
    value: Any = row[0]
    assert Fraction(value) % (grid if type == INT else Fraction(1, 100)) == 0


@pytest.mark.parametrize(
    ("name", "epsilon", "most"),
    [("log-normal", 0.1, 0.6), ("wide", 0.1, 0.6), ("wide", 1, 0.7), ("exponential", 1, 0.9), ("uniform", 1, 1.1)],
)
def test_it_errs_less_than_where_what_is_beyond_is_left_out(name: str, epsilon: float, most: float) -> None:
    """Where that is much of the sum; and hardly more where it is nothing."""
    random, truth = np.random.default_rng(3), int(np.floor(SETS[name]).sum())
    cells, scale = at_knots(np.floor(SETS[name])), FAR / epsilon
    told, cut = [], []
    for _ in range(50):
        drawn = noisy(cells, scale, random)
        last = reached(drawn, Fraction(scale))
        told.append(total(drawn, Fraction(scale)) - truth)
        cut.append(sum(2**at * cell for at, cell in enumerate(drawn[: last + 1])) / FAR - truth)
    of_told, of_cut = (float(np.sqrt(np.mean(np.square(off)))) for off in (told, cut))
    assert of_told < most * of_cut


def test_one_far_out_is_left_out_and_many_are_not() -> None:
    few, many = (at_knots([100] * 2000 + [FAR] * count) for count in (1, 400))
    random, scale = np.random.default_rng(8), Fraction(FAR)
    assert all(total(noisy(few, FAR, random), scale) < 250_000 for _ in range(100))
    assert all(reached(noisy(many, FAR, random), scale) == 20 for _ in range(100))


@pytest.mark.parametrize("name", SETS)
def test_noise_drawn_anew_tells_how_far_off_it_is(name: str) -> None:
    """At 90%, of the whole sum, what is beyond the last knot included: as replicates are made and joined."""
    random, truth, scale = np.random.default_rng(6), int(np.floor(SETS[name]).sum()), FAR / 0.5
    cells, hit, runs = at_knots(np.floor(SETS[name])), 0, 40 if name == "wide" else 24
    for _ in range(runs):
        drawn = noisy(cells, scale, random)
        answer = total(drawn, Fraction(scale))
        anew = sorted(total(noisy(drawn, scale * float(OF_KNOTS), random), Fraction(scale)) for _ in range(59))
        low, high = anew[2], anew[56]
        hit += min(low, 2 * answer - high) <= truth <= max(high, 2 * answer - low)
    assert hit >= 0.8 * runs


def test_nothing_is_told_of_what_cannot_be() -> None:
    """Beyond the last knot that there is; shapes that come up to it say less of that than is measured."""
    scale, counts = 8 * 10, (60, 30, 15, 9)  # at 1, 2, 4 and 8, in parts of the noise
    told, measured = total([scale * count for count in counts], Fraction(scale)), 10 * (60 + 2 * 30 + 4 * 15 + 8 * 9)
    assert 0.9 * measured < told < measured
