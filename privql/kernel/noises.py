"""Which noise a sum carries, and how far that reaches: discrete Laplace of a scale, or a rounded Gaussian; or what
several of these leave of it, whose answers were merged.

The `scale` of a Gaussian is its deviation σ; of what is merged, that of all of them together (see `merged`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from privql.kernel import gaussian, merged, tails, two

Noise = Literal["laplace", "gaussian"]  # that is drawn
Left = Literal["laplace", "gaussian", "merged"]  # that is in an answer


def halfwidth(noise: Left, scale: Fraction, confidence: Fraction) -> int:
    """The least h >= 0 that the noise of one cell exceeds with a chance of 1 - confidence at most."""
    return (
        tails.halfwidth(scale, confidence) if noise == "laplace" else gaussian.halfwidth(scale, confidence, off(noise))
    )


def halfwidth_of_two(noise: Left, scale: Fraction, weights: tuple[int, int], over: int, confidence: Fraction) -> int:
    """An h with P[|E| > h] <= 1 - confidence, where a whole number + (p·N₁ + q·N₂) / over, rounded, is off by E."""
    if noise == "laplace":
        return two.halfwidth_of_two(scale, weights, over, confidence)
    return gaussian.halfwidth_of_two(scale, weights, over, confidence, off(noise))


def variance(noise: Left, scale: Fraction) -> float:
    if noise == "laplace":
        return tails.variance(scale)
    return gaussian.variance(scale) + (merged.ROUNDED if noise == "merged" else 0)


def off(noise: Left) -> Fraction:
    """How far Gaussian noise may be from a normal number before it is rounded."""
    return merged.OFF if noise == "merged" else Fraction(0)
