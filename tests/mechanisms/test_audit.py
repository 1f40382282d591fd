"""Answers of the whole release to neighbouring databases, looked at from outside: no claim of (ε, δ) is contradicted.

A long run draws 100,000 answers of each side, a short one fewer. Where a mechanism is made to claim more than it keeps,
by a fifth less noise, half of a sensitivity, a factor 2 forgotten, the same audit contradicts it: that is tested, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import privql.release as room
from privql.audit.shown import shown
from privql.kernel import measure, ranks
from privql.kernel.measure import Sensitivity
from privql.noise.exponential import exponential
from privql.noise.gaussian import rounded_gaussian
from privql.noise.laplace import discrete_laplace
from privql.noise.minimum import noisy_minimum
from privql.noise.picks import picked
from tests.assurance import SOAK, assured, length
from tests.mechanisms.answering import answers, asked, claimed, remembering
from tests.mechanisms.pairs import PAIRS, Pair
from tests.mechanisms.random_pairs import random_pair
from tests.mechanisms.registry import LESS
from tests.soundness.world import environment

DRAWS = length(600, 100_000)
ENV = environment()
NAMED = {pair.name: pair for pair in PAIRS}


def audited(pair: Pair, draws: int) -> tuple[float, float]:
    """What is shown of ε, and what is claimed."""
    check = asked(pair.text, ENV)
    epsilon, delta = claimed(check, pair.looking)
    sides = []
    for units in (pair.one, pair.other):
        with remembering(units, pair.kind) as engine:
            sides.append(answers(check, engine, draws, pair.looking))
            engine.check(units, pair.kind)
    one, other = sides
    return shown(one, other, delta).epsilon, epsilon


@pytest.mark.parametrize("name", NAMED)
def test_no_answers_contradict_the_claim(name: str) -> None:
    steps = not SOAK and ("found" in name or "bounds" in name)  # each draw of these takes as long as many
    draws = DRAWS // 4 if steps else DRAWS
    with assured("audit") as tally:
        found, epsilon = audited(NAMED[name], draws)
        tally["tried"] += 1
        tally["answers"] += 2 * draws
        assert found <= epsilon
        assert not SOAK or found >= NAMED[name].reached * epsilon


@pytest.mark.parametrize("seed", range(length(2, 165)))
def test_no_answers_to_random_queries_contradict_it(seed: int) -> None:
    with assured("audit") as tally:
        pair = random_pair(seed, ENV)
        found, epsilon = audited(pair, DRAWS)
        tally["tried"] += 1
        tally["answers"] += 2 * DRAWS
        tally["half shown"] += found >= epsilon / 2
        assert found <= epsilon, pair


def _half(made: Sensitivity) -> Sensitivity:
    return Sensitivity(max(1, made.l1 // 2), max(1, made.l2_squared // 4))


def less_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(room, "discrete_laplace", lambda scale, size: discrete_laplace(scale * LESS, size))


def one_noise_for_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(room, "discrete_laplace", lambda scale, size: np.repeat(discrete_laplace(scale, 1), size))


def half_of_a_sensitivity(patch: pytest.MonkeyPatch) -> None:
    honest = measure.sensitivity
    patch.setattr(measure, "sensitivity", lambda *given: _half(honest(*given)))


def other_rows_forgotten(patch: pytest.MonkeyPatch) -> None:
    honest = measure.sensitivity
    patch.setattr(measure, "sensitivity", lambda unit, rows, *rest: honest(unit, 1, *rest))


def two_groups_forgotten(patch: pytest.MonkeyPatch) -> None:
    honest = measure.sensitivity
    patch.setattr(measure, "sensitivity", lambda unit, rows, _, made, *rest: honest(unit, rows, False, made))


def ranks_without_two(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(room, "exponential", lambda runs, exponent: exponential(runs, 2 * exponent))


def half_of_the_losses(patch: pytest.MonkeyPatch) -> None:
    honest = ranks.moved
    patch.setattr(ranks, "moved", lambda *given: max(1, honest(*given) // 2))


def groups_of_one_shown(patch: pytest.MonkeyPatch) -> None:
    for name in ("kept", "counted"):
        honest = getattr(room, name)
        patch.setattr(room, name, _as_if_three_more(honest))


def _as_if_three_more(honest: Callable[..., object]) -> Callable[..., object]:
    return lambda units, law: honest([count + 3 for count in units], law)


def groups_for_twice(patch: pytest.MonkeyPatch) -> None:
    for name in ("kept", "counted"):
        honest = getattr(room, name)
        patch.setattr(room, name, _for_twice(honest))


def _for_twice(honest: Callable[..., object]) -> Callable[..., object]:
    return lambda units, law: honest(units, replace(law, epsilon=2 * law.epsilon))


def bounds_for_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(room, "noisy_minimum", lambda scores, scale: noisy_minimum(scores, scale / 2))


def picks_for_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(room, "picked", lambda counts, picks, way, exponent: picked(counts, picks, way, 2 * exponent))


def half_of_a_deviation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(room, "rounded_gaussian", lambda sigma, size: rounded_gaussian(sigma / 2, size))


FAULTS: list[tuple[Callable[[pytest.MonkeyPatch], None], str, int]] = [
    # and how many answers of each side show it as good as always
    (less_noise, "count", 6000),
    (one_noise_for_all, "mean, in the middle", 2000),
    (half_of_a_sensitivity, "variance, at an end", 2000),
    (half_of_a_sensitivity, "changed, sum", 2000),
    (other_rows_forgotten, "user level, mean", 4000),
    (two_groups_forgotten, "changed, grouped", 2000),
    (two_groups_forgotten, "changed, two rows", 3000),
    (ranks_without_two, "median", 10_000),
    (half_of_the_losses, "user level, median", 10_000),
    (picks_for_twice, "most frequent", 3000),
    (half_of_a_deviation, "gaussian", 10_000),
    (groups_of_one_shown, "found groups, one alone", 1000),
    (groups_for_twice, "groups alone", 2000),
    (bounds_for_twice, "bounds alone", 1500),
]


@pytest.mark.parametrize(("fault", "name", "draws"), FAULTS)
def test_a_claim_that_is_not_kept_is_contradicted(
    fault: Callable[[pytest.MonkeyPatch], None], name: str, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one of three audits: now and then the answers that choose an event choose a poor one."""
    fault(monkeypatch)
    audits = (audited(NAMED[name], draws) for _ in range(3))
    assert any(found > epsilon for found, epsilon in audits)
