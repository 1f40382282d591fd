"""The comparison of errors: its figures are what they are called, and every row asks PrivQL anew."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy import ours
from benchmarks.accuracy.__main__ import judged
from benchmarks.accuracy.scores import Figure, half_kept, missed, rank_error, rmse, rmse_of_group
from benchmarks.accuracy.tasks import Task, tasks


def test_errors_are_those_of_plain_arithmetic() -> None:
    assert rmse([10])([[7], [14]]).value == pytest.approx(12.5**0.5)
    assert rmse([10, 100], relative=True)([[11, 100], [10, 90]]).value == pytest.approx(0.005**0.5)
    assert missed({0: 9, 1: 5, 2: 4, 3: 1}, 2)([[0, 1], [0, 2], [1, 3]]).value == pytest.approx((65 / 3) ** 0.5)
    assert rmse_of_group(7)([{"7": 8, "9": 0}, {"9": 0}, {"7": 4}]).value == pytest.approx(5**0.5)


def test_an_error_in_ranks_counts_the_rows_between() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        values = random.integers(0, 20, 31).tolist()
        answer, q = int(random.integers(-2, 23)), float(random.choice([0.1, 0.5, 0.9]))
        below, upto = sum(v < answer for v in values), sum(v <= answer for v in values)
        wanted = q * len(values)
        off = 0.0 if below <= wanted <= upto else min(abs(below - wanted), abs(upto - wanted))
        assert rank_error(values, q)([[answer]]).value == pytest.approx(off)


def test_the_size_that_is_found_half_of_the_time_is_recovered() -> None:
    sizes, random = range(60, 304, 4), np.random.default_rng(2)
    for middle, scale in [(109, 10), (200, 20)]:
        draws = random.laplace(middle, scale, (2000, len(sizes)))
        found = half_kept(sizes)([{str(n): n for n, at in zip(sizes, row, strict=True) if n > at} for row in draws])
        assert abs(found.value - middle) < 4 * found.error * found.value
        assert found.error < 0.01


def test_the_standard_error_of_a_figure_is_how_far_it_strays() -> None:
    random = np.random.default_rng(3)
    figures = [rmse([0])(random.laplace(0, 1, (1000, 1))) for _ in range(300)]
    strays = float(np.std([one.value for one in figures]) / np.mean([one.value for one in figures]))
    assert np.mean([one.error for one in figures]) == pytest.approx(strays, rel=0.15)


def test_what_falls_short_is_said() -> None:
    for ours_, goal, reached in [(0.7, 0.75, "yes"), (0.8, 0.75, "within chance"), (1.0, 0.75, "SHORT")]:
        assert judged(Figure(ours_, 0.03), Figure(1, 0.03), goal)[-1] == reached
    assert judged(Figure(0, 0), Figure(0, 0), 1)[-1] == "yes"
    assert judged(Figure(1, 0.1), Figure(0, 0), 1)[-1] == "SHORT"


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.title)
def test_a_row_is_measured_or_not_yet(task: Task) -> None:
    refusal = ours.refused(task)
    assert refusal is None or refusal.startswith("PQL0408"), refusal


def test_runs_are_drawn_anew() -> None:
    count = tasks()[0]
    assert len({n for (n,) in ours.answers(count, count.query, 8)}) > 1
