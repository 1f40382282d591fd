"""Cells of powers become the moments they stand for, exactly; noise moves these less than if each sum paid its own."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privql.audit import reference
from privql.domains import Domain, interval
from privql.finish.cells import finish_block
from privql.finish.recipe import Recipe
from privql.kernel.features import Steps
from privql.kernel.scalars import FLOAT, INT, Field
from privql.kernel.sums import Powers, cells
from privql.plan.bounds import DEGREES, contribution
from tests.finish.shapes import aggregate, block

X, Y = Field("x", INT), Field("y", INT)
Pair = tuple[int, int]


def planned(function: str, low: int, high: int) -> tuple[Powers, object]:
    """Of x in [low, high], and y in [-5, 5]."""
    of_x, of_y = interval(low, high, True, Fraction(1)), interval(-5, 5, True, Fraction(1))
    pair = len(DEGREES[function]) == 2
    one = replace(aggregate("c1", function, FLOAT), argument=X, domain=of_x, others=((Y, of_y),) if pair else ())
    made = contribution(one)
    assert isinstance(made, Powers)
    return made, one


def answered(function: str, low: int, high: int, noisy: Sequence[int]) -> float | None:
    made, one = planned(function, low, high)
    shape = block(0, (), (one,))
    (row,) = finish_block(shape, [Recipe(made, 0, Fraction(1), FLOAT)], [noisy]).rows
    value = row[0]
    assert value is None or isinstance(value, float)
    return value


def summed(function: str, low: int, high: int, rows: Sequence[Pair]) -> list[int]:
    made, _ = planned(function, low, high)
    total = [0] * cells(made)
    for x, y in rows:
        for at, added in enumerate(reference.contributed(made, {"x": x, "y": y})):
            total[at] += added
    return total


def exact(function: str, rows: Sequence[Pair]) -> float | None:
    """As a textbook says it; of a regression the first argument, x, is what follows from the second."""
    n = len(rows)
    one, other = ([Fraction(row[at]) for row in rows] for at in (0, 1))

    def about(a: list[Fraction], b: list[Fraction]) -> Fraction:
        return sum(((u - sum(a) / n) * (v - sum(b) / n) for u, v in zip(a, b, strict=True)), Fraction(0))

    if n < (2 if function.endswith("_samp") else 1):
        return None
    match function:
        case "var_pop":
            return float(about(one, one) / n)
        case "var_samp":
            return float(about(one, one) / (n - 1))
        case "covar_pop":
            return float(about(one, other) / n)
        case "covar_samp":
            return float(about(one, other) / (n - 1))
        case "corr":
            size = about(one, one) * about(other, other)
            return float(about(one, other)) / math.sqrt(size) if size else None
        case _:
            if not (size := about(other, other)):
                return None
            slope = about(one, other) / size
            return float(slope if function == "regr_slope" else sum(one) / n - slope * sum(other) / n)


@pytest.mark.parametrize("function", DEGREES)
def test_without_noise_it_is_what_a_textbook_says(function: str) -> None:
    choice = random.Random(3)
    for _ in range(150):
        low, high = sorted(choice.sample(range(-20, 20), 2))
        rows = [(choice.randint(low, high), choice.randint(-5, 5)) for _ in range(choice.choice((0, 1, 2, 3, 9)))]
        found, wanted = answered(function, low, high, summed(function, low, high, rows)), exact(function, rows)
        assert (found is None) == (wanted is None), rows
        assert found is None or wanted is None or math.isclose(found, wanted, rel_tol=1e-14, abs_tol=1e-300), rows


@pytest.mark.parametrize("function", DEGREES)
def test_whatever_the_noise_it_lies_where_it_may(function: str) -> None:
    """And has a value from one row on, or two."""
    made, _ = planned(function, 0, 8)
    most = {"var": 16.0, "cov": 20.0, "cor": 1.0}.get(function[:3], math.inf)
    least = 0.0 if function.startswith("var") else -most
    choice, seen = random.Random(5), set()
    for _ in range(2000):
        noisy = [choice.randint(-2 * made.whole, 2 * made.whole) for _ in range(cells(made))]
        found, rows = answered(function, 0, 8, noisy), Fraction(sum(noisy), made.whole)
        enough = rows >= (2 if function.endswith("_samp") else 1)
        if function.startswith(("var", "covar")):
            assert (found is not None) == enough
        if found is None:
            continue
        assert enough
        sampled = float(rows / (rows - 1)) if function.endswith("_samp") else 1.0
        assert least * sampled * (1 + 1e-15) <= found <= most * sampled * (1 + 1e-15)
        seen |= {found} & {least, most}
    if most < math.inf and not function.endswith("_samp"):
        assert seen == {least, most}  # noise goes beyond, and is brought back


def test_what_is_planned_fits_and_covers_the_range() -> None:
    choice = random.Random(7)
    for _ in range(400):
        ends = sorted(
            Fraction(choice.randint(-(10**9), 10**9)) * Fraction(10) ** choice.choice((-9, 0, 9)) for _ in range(2)
        )
        grid = choice.choice((None, Fraction(1, 100), Fraction(1)))
        function = choice.choice(list(DEGREES))
        domain = Domain(ends[0], ends[1], None, True, grid)
        type = FLOAT if grid is None else INT
        others = ((Field("y", type), domain),) if len(DEGREES[function]) == 2 else ()
        one = replace(aggregate("c", function, FLOAT), argument=Field("x", type), domain=domain, others=others)
        made = contribution(one)
        assert isinstance(made, Powers) and 1 <= made.whole <= 2**62
        for steps, degree in made.factors:
            reached = (domain.high - domain.low) / steps.grid
            assert (
                steps.low * steps.grid <= ends[0] + steps.grid / 2
                and ends[1] - steps.grid / 2 <= steps.high * steps.grid
            )
            if grid is None:
                assert reached >= 2 ** (62 // sum(DEGREES[function]) - 2), (function, degree)


def test_three_cells_are_far_more_exact_than_three_sums() -> None:
    """At one total ε: Σ1, Σx and Σx² each with a third of it, x in shares of its range around the middle."""
    runs, n, epsilon, width = 4000, 5000, 0.1, 100
    draw = np.random.default_rng(11)
    values = [int(v) for v in draw.normal(40, 15, n).clip(0, width)]
    truth = statistics.pvariance(values)
    made, _ = planned("var_pop", 0, width)
    true = summed("var_pop", 0, width, [(v, 0) for v in values])
    noise = draw.laplace(0, made.whole / epsilon, (runs, 3)).round().astype(int)
    ours = [answered("var_pop", 0, width, [a + int(b) for a, b in zip(true, row, strict=True)]) for row in noise]
    apart = 3 * draw.laplace(0, 1 / epsilon, (runs, 3)) * (1, width, width**2)
    count, total, square = (np.array([n, sum(values), sum(v * v for v in values)]) + apart).T
    split = np.clip(square / count - (total / count) ** 2, 0, width**2 / 4)
    error = math.sqrt(statistics.fmean((found - truth) ** 2 for found in ours if found is not None))
    assert error < 0.3 * float(np.sqrt(np.mean((split - truth) ** 2)))


def test_cells_are_in_the_order_of_their_terms() -> None:
    made = Powers(((Steps(X, Fraction(1), 0, 3), 2), (Steps(Y, Fraction(1), 0, 2), 1)))
    for x, y in product(range(4), range(3)):
        squares, lines = ((3 - x) ** 2, 2 * x * (3 - x), x * x), (2 - y, y)
        assert reference.contributed(made, {"x": x, "y": y}) == [a * b for a, b in product(squares, lines)]
    assert reference.contributed(made, {"x": 1, "y": None}) == [0] * 6
