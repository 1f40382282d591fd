"""The attackers' arithmetic, held to matrices, to enumeration and to a solver of linear programs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import hadamard as rows_of
from scipy.optimize import linprog

from privql.attacks import decoding, theory
from privql.attacks.asked import _decimal


@pytest.mark.parametrize("many", [1, 2, 16, 256])
def test_hadamard_rows_are_turned_round(many: int) -> None:
    bits = np.random.default_rng(1).integers(0, 2, many).astype(float)
    assert np.allclose(decoding.hadamard(rows_of(many) @ bits), bits)


@pytest.mark.parametrize("noise", [0.0, 1.0, 20.0])
def test_the_linear_program_is_solved(noise: float) -> None:
    random = np.random.default_rng(5)
    questions = random.integers(0, 2, (160, 40)).astype(float)
    bits = random.integers(0, 2, 40).astype(float)
    answers = questions @ bits + noise * random.laplace(size=160)
    found = decoding.programmed(questions, answers)
    price = np.concatenate([np.zeros(40), np.ones(160)])
    off = np.block([[questions, -np.eye(160)], [-questions, -np.eye(160)]])
    least = linprog(price, off, np.concatenate([answers, -answers]), bounds=[(0, 1)] * 40 + [(0, None)] * 160)
    assert abs(questions @ found - answers).sum() <= least.fun * 1.01 + 0.5
    assert noise > 1 or ((found > 0.5) == bits).all()


def test_least_squares_move_each_bit_as_told() -> None:
    random = np.random.default_rng(2)
    questions = random.integers(0, 2, (60, 20)).astype(float)
    noise = random.normal(size=(60, 4000))
    moved = decoding.squares(questions, noise).std(axis=1)
    assert moved == pytest.approx(decoding.spread_of_squares(questions), rel=0.06)


@pytest.mark.parametrize("epsilons", [["1"], ["1/2", "1/2"], ["1/3", "1/2", "1/2", "1"]])
def test_the_best_test_of_several_coins(epsilons: list[str]) -> None:
    amounts = [Fraction(each) for each in epsilons]
    right = 0.0
    for seen in itertools.product((1, -1), repeat=len(amounts)):
        chance = math.prod(1 / (1 + math.exp(-one * float(e))) for one, e in zip(seen, amounts, strict=True))
        weight = sum(one * e for one, e in zip(seen, amounts, strict=True))
        right += chance * (weight > 0) + chance / 2 * (weight == 0)
    assert theory.best(amounts) == pytest.approx(right)
    assert theory.best([sum(amounts, Fraction(0))]) == pytest.approx(theory.permitted(float(sum(amounts))))


@pytest.mark.parametrize(("epsilon", "many", "shift"), [(1.0, 1, 0.5), (0.5, 2, 0.5), (0.5, 3, 1.0), (2.0, 4, 2.0)])
def test_sums_of_noise(epsilon: float, many: int, shift: float) -> None:
    law = {k: math.tanh(epsilon / 2) * math.exp(-epsilon * abs(k)) for k in range(-60, 61)}
    sums = {0: 1.0}
    for _ in range(many):
        after: dict[int, float] = {}
        for (at, p), (k, q) in itertools.product(sums.items(), law.items()):
            after[at + k] = after.get(at + k, 0.0) + p * q
        sums = after
    below = sum(p if at < shift else p / 2 if at == shift else 0 for at, p in sums.items())
    assert theory.summed(epsilon, many, shift) == pytest.approx(below)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.1, 0.05), (3.0, 1e-6)])
def test_the_most_that_members_are_found(epsilon: float, delta: float) -> None:
    alarms = np.linspace(0, 1, 100_001)
    found = [theory.most_found(each, epsilon, delta) for each in alarms]
    assert theory.most_area(epsilon, delta) == pytest.approx(float(np.mean(found)), abs=1e-4)
    assert max((1 - a + f) / 2 for a, f in zip(alarms, found, strict=True)) == pytest.approx(
        theory.permitted(epsilon, delta), abs=1e-4
    )


@pytest.mark.parametrize(("amount", "written"), [("1", "1"), ("0.5", "0.5"), ("1e-6", "0.000001"), ("12.25", "12.25")])
def test_amounts_as_a_policy_writes_them(amount: str, written: str) -> None:
    assert _decimal(Fraction(amount)) == written
