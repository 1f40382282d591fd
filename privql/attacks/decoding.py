"""From answers about many to bits of each: what a reconstruction does with what it was told."""

from __future__ import annotations

import numpy as np

from privql.attacks.asked import Numbers


def hadamard(answers: Numbers) -> Numbers:
    """Each bit from the sums of all with their signs, row by row of a Hadamard matrix: the same sums once more."""
    bits, half = answers.copy(), 1
    while half < len(bits):
        pairs = bits.reshape(-1, 2, half)
        bits = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    found: Numbers = bits / len(bits)
    return found


def programmed(questions: Numbers, answers: Numbers, steps: int = 600) -> Numbers:
    """The linear program of Dinur and Nissim: bits from 0 to 1 whose sums are off from the answers by the least in all.

    Solved in steps that move bits and prices in turn (Chambolle and Pock): numpy has no simplex, and none is needed for
    what is rounded to 0 or 1 afterwards.
    """
    step = 0.95 / float(np.linalg.norm(questions, 2))
    bits = np.full(questions.shape[1], 0.5)
    ahead, prices, mean = bits, np.zeros(len(answers)), np.zeros_like(bits)
    for at in range(steps):
        prices = np.clip(prices + step * (questions @ ahead - answers), -1, 1)
        moved = np.clip(bits - step * (questions.T @ prices), 0, 1)
        ahead, bits = 2 * moved - bits, moved
        mean += (bits - mean) / (at + 1)
    return mean if abs(questions @ mean - answers).sum() < abs(questions @ bits - answers).sum() else bits


def squares(questions: Numbers, answers: Numbers) -> Numbers:
    return np.linalg.lstsq(questions, answers, rcond=None)[0].astype(np.float64)


def spread_of_squares(questions: Numbers) -> Numbers:
    """By how much noise of deviation 1 on the answers moves each bit."""
    spread: Numbers = np.sqrt(np.diag(np.linalg.inv(questions.T @ questions)))
    return spread
