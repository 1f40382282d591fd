"""Real draws of every mechanism against its law. The noise is never seeded: one false alarm in 10^7 runs of all."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from privql.kernel.enclosure import exp_minus
from privql.noise import exponential, flip
from privql.noise.laplace import discrete_laplace
from tests.assurance import SOAK, assured
from tests.mechanisms.registry import Draws, Mechanism, mechanisms

ALARM = 1e-9
NAMES = list(mechanisms())


def draws(made: Mechanism) -> int:
    return 10_000_000 if SOAK else 200_000 // (2 * made.dear if made.dear > 1 else 1)


@pytest.fixture(autouse=True)
def _bounds_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of exp(-x), which are the same for every draw of one law: else they were most of what 10^7 draws take."""
    for room in (exponential, flip):
        monkeypatch.setattr(room, "exp_minus", cache(exp_minus))


def p_value(made: Mechanism, seen: Draws) -> float:
    """Bins where fewer than ten draws are expected are put together."""
    edges = np.array(made.edges)
    chances = np.diff([0.0, *(made.below(int(edge)) for edge in edges), 1.0])
    found = np.bincount(np.searchsorted(edges, seen, side="right"), minlength=edges.size + 1)
    likely = chances * seen.size >= 10
    wanted = [*chances[likely] * seen.size, chances[~likely].sum() * seen.size]
    counts = [*found[likely], found[~likely].sum()]
    if wanted[-1] < 10:  # too rare for this statistic: a test of its own
        if stats.binomtest(int(counts[-1]), seen.size, min(max(wanted[-1] / seen.size, 0.0), 1.0)).pvalue < ALARM:
            return 0.0
        wanted, counts = wanted[:-1], counts[:-1]
        wanted = list(np.array(wanted) * sum(counts) / sum(wanted))
    return float(stats.chisquare(counts, wanted).pvalue)


@pytest.mark.parametrize("name", NAMES)
def test_draws_follow_the_law(name: str) -> None:
    with assured("samplers") as tally:
        tally["tried"] += draws(mechanisms()[name])
        made = mechanisms()[name]
        assert p_value(made, made.draw(draws(made))) > ALARM


@pytest.mark.parametrize("name", {name.split()[0]: name for name in reversed(NAMES)}.values())
def test_a_fifth_less_noise_is_seen(name: str) -> None:
    """With much room: such a fault does not pass by chance."""
    made = mechanisms()[name]
    assert p_value(made, made.faulty(15_000)) < ALARM


def zero_on_both_sides(scale: Fraction, size: int) -> Draws:
    sizes = np.random.default_rng(1).geometric(-np.expm1(-1 / float(scale)), size) - 1
    return np.where(discrete_laplace(Fraction(1), size) < 0, -sizes, sizes).astype(np.int64)


def shifted(scale: Fraction, size: int) -> Draws:
    return (discrete_laplace(scale, size) + (discrete_laplace(Fraction(25), size) > 70)).astype(np.int64)


@pytest.mark.parametrize("fault", [zero_on_both_sides, shifted])
def test_the_classical_slips_of_a_sampler_are_seen(fault: Callable[[Fraction, int], Draws]) -> None:
    scale = Fraction(7, 3)
    assert p_value(mechanisms()[f"discrete_laplace {scale}"], fault(scale, 1_000_000)) < ALARM
