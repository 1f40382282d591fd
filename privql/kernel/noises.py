"""Which noise a sum carries, and how far that reaches: discrete Laplace of a scale, or a rounded Gaussian.

The `scale` of a Gaussian is its deviation σ.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from privql.kernel import gaussian, tails, two

Noise = Literal["laplace", "gaussian"]


def halfwidth(noise: Noise, scale: Fraction, confidence: Fraction) -> int:
    """The least h >= 0 that the noise of one cell exceeds with a chance of 1 - confidence at most."""
    return gaussian.halfwidth(scale, confidence) if noise == "gaussian" else tails.halfwidth(scale, confidence)


def halfwidth_of_two(noise: Noise, scale: Fraction, weights: tuple[int, int], over: int, confidence: Fraction) -> int:
    """An h with P[|E| > h] <= 1 - confidence, where a whole number + (p·N₁ + q·N₂) / over, rounded, is off by E."""
    of = gaussian.halfwidth_of_two if noise == "gaussian" else two.halfwidth_of_two
    return of(scale, weights, over, confidence)


def variance(noise: Noise, scale: Fraction) -> float:
    return gaussian.variance(scale) if noise == "gaussian" else tails.variance(scale)
