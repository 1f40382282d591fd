"""Several noisy measurements of one whole number, merged: their mean, weighted by precision, rounded.

Of rounded Gaussians X₁, X₂, … of deviations σ₁, σ₂, … about c let wᵢ be σᵢ⁻²/Σσ⁻². Then Σ wᵢXᵢ is c and a normal number
of variance 1/Σσ⁻² - no other weights leave less - but for what rounding each has moved: 1/2 at most, as the weights add
up to 1. So it is after all as if X were rounded from what is off by that.

Merging reads nothing but what was released (docs/proofs/merging.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from privql.kernel.gaussian import root_above

OFF = Fraction(1, 2)  # before the mean is rounded, too
ROUNDED = 1 / 12  # at least the variance that this adds, of deviations above 1


def precision(deviations: Sequence[Fraction]) -> Fraction:
    return sum((1 / sigma**2 for sigma in deviations), Fraction(0))


def deviation(deviations: Sequence[Fraction]) -> Fraction:
    """Of what they leave, hardly rounded up."""
    return deviations[0] if len(deviations) == 1 else root_above(1 / precision(deviations))


def weights(deviations: Sequence[Fraction]) -> tuple[int, ...]:
    """Whole numbers in proportion to the precisions."""
    shares = [1 / sigma**2 for sigma in deviations]
    over = lcm(*(share.denominator for share in shares))
    return tuple(int(share * over) for share in shares)


def mean(weights: Sequence[int], numbers: Sequence[int]) -> int:
    """The weighted mean of whole numbers, rounded: a half to the even number, lest it be too great on average."""
    whole = sum(weights)
    found, rest = divmod(2 * sum(w * number for w, number in zip(weights, numbers, strict=True)) + whole, 2 * whole)
    return found - (rest == 0 and found % 2)
