"""What it takes to promise the error of a mean, a variance or a covariance of at least so many rows.

Each is a ratio of noisy cells, so its error depends on how many rows there are. Of at least n rows no data make the
chance of a miss greater than what is computed here; docs/proofs/promises.md says why. Of fewer the answer may be
farther off than wished; what it costs, and whom it protects, is the same.

All distances are in steps of the cells, in which one row adds up to `whole`; an `error` is a share of the range - of a
variance, of the range squared. Noise is of one kind and scale on every cell, discrete Laplace or a rounded Gaussian.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from privql.kernel.gaussian import greatest_sigma
from privql.kernel.normal import float_tail
from privql.kernel.tails import least_epsilon
from privql.kernel.two import reach_of_coupling

Beyond = Callable[[float, float, int, float], float]
Missed = Callable[[Beyond], float]

FEWEST = 10  # rows: of fewer a sample's variance is too far from that of all rows
_ROUNDING = 1e-9  # far above what the floats here can lose
_NOTHING, _HARDLY = Fraction(0), Fraction(1, 10**9)
_LEAST = 1e-300  # of an error below it all noise must be 0, and then so it is
_QUARTER = 0.25  # no variance is a greater share of the range squared
_TRIED = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)  # how far means may be off, in errors of the variance


def mean(whole: int, error: Fraction, rows: int) -> Missed:
    """At least the chance that the mean of `rows` rows or more is not so near, for what `Beyond` says of the noise."""
    return lambda beyond: _mean_missed(whole, float(error), rows, beyond)


def variance(whole: int, error: Fraction, rows: int, samples: bool) -> Missed:
    return lambda beyond: _missed(_variance, 3, whole, error, rows, beyond, samples)


def covariance(whole: int, error: Fraction, rows: int, samples: bool) -> Missed:
    return lambda beyond: _missed(_covariance, 4, whole, error, rows, beyond, samples)


def epsilon_of(missed: Missed, sensitivity: int, confidence: Fraction) -> Fraction:
    """The least ε of four significant digits with which Laplace noise is proved here to be small enough."""
    most = float(1 - confidence) * (1 - _ROUNDING)
    return least_epsilon(lambda epsilon: missed(partial(_laplace, float(sensitivity / epsilon))) <= most)


def sigma_of(missed: Missed, confidence: Fraction, before: Fraction = _NOTHING) -> Fraction | None:
    """The greatest σ of six significant digits of which Gaussian noise is; None where rounding alone is too much.
    `before`: how far it may be from normal before it is rounded."""
    most, moved = float(1 - confidence) * (1 - _ROUNDING), 0.5 + float(before)

    def enough(sigma: Fraction) -> bool:
        return missed(partial(_gaussian, float(sigma), moved)) <= most

    return greatest_sigma(enough) if enough(_HARDLY) else None


def _mean_missed(whole: int, error: float, rows: int, beyond: Beyond) -> float:
    """(A+N₁)/(A+B+N₁+N₂) is above A/(A+B) + error only where (1-s)·N₁ - s·N₂ > error·(A+B), s being that sum; below it
    likewise. Two such s in [0, 1] lie 2·error apart, and the chance is the less the nearer s is to one half."""
    error = min(error, 1.0)
    distance = error * rows * whole
    missed = beyond(1.0, 0.0, 2, distance)
    if error < 0.5:
        other = min(2 * error, 0.5 - error)
        missed += beyond(1 - other, other, 2, distance)
    return missed + beyond(1.0, 1.0, 2, float((rows - 1) * whole))  # or there is no answer


def _missed(
    of: Callable[[int, float, int, Beyond], float],
    cells: int,
    whole: int,
    error: Fraction,
    rows: int,
    beyond: Beyond,
    samples: bool,
) -> float:
    near, missed = max(float(error), _LEAST), 0.0
    if samples:  # the noisy count says how many samples there are: it is off by a share of the rows, or this is missed
        share = min(0.5, 4 * near)
        fewest = rows * (1 - share)
        near -= _QUARTER * share * rows / ((fewest - 1) * (rows - 1))
        near *= (fewest - 1) / fewest
        missed = 2 * beyond(cells / 2, cells / 2, cells, share * rows * whole)
    none = beyond(cells / 2, cells / 2, cells, float((rows - 2) * whole))
    return of(whole, near, rows, beyond) + missed + none


def _variance(whole: int, error: float, rows: int, beyond: Beyond) -> float:
    """Too great by the noise alone, too small also by the square of how far the mean is off: but a variance that is not
    above `error` is never too small by it."""
    error = min(error, _QUARTER)
    size = float(rows * whole)
    one_side = beyond(1 - error, 2 * error, 3, error * size)
    wide = max((1 - error) ** 2 - 2 * error, 0.5 + error)
    above = beyond(wide, 1 + error - wide, 3, error * size)
    wide = (1 - error) ** 2
    below = min(
        beyond(wide, 1 - wide, 3, left * size)
        + beyond(1.0, 0.5, 3, mean * size)
        + beyond(1 + mean, 0.5 + 2 * mean, 3, mean * size)
        for mean, left in _means(error)
    )
    return max(one_side, above + below)


def _covariance(whole: int, error: float, rows: int, beyond: Beyond) -> float:
    """Off by the noise, and by the product of how far both means are off."""
    error = min(error, 2 * _QUARTER)
    size = float(rows * whole)
    return min(
        2 * beyond(1 + left, _QUARTER + 3 * left, 4, left * size) + 4 * beyond(1 + mean, 1 + 3 * mean, 4, mean * size)
        for mean, left in _means(error)
    )


def _means(error: float) -> Iterator[tuple[float, float]]:
    """How far off the means may be, and what that leaves for the rest."""
    for mean in (*(times * error for times in _TRIED), math.sqrt(error / 2), math.sqrt(error) / 2):
        if mean <= 0.5 and mean * mean < error:
            yield mean, error - mean * mean


# ---------------------------------------------------------------- at least P[Σ aᵢ·Nᵢ > distance]

# For any weights of so many cells with |aᵢ| <= wide and Σ |aᵢ| <= wide + rest. Of continuous noise two weights, the one
# as great as may be, make it the most likely; noise of whole numbers is a little closer. Where it hardly ever is
# anything but 0, one cell must pass what all of them have to pass together.


def _laplace(scale: float, wide: float, rest: float, cells: int, distance: float) -> float:
    whole = wide + rest
    wide = max(wide, whole / 2)
    blended = reach_of_coupling((whole - wide) / whole, distance / (whole * scale), scale) / 2
    single = cells * math.exp(-_passing(distance / whole) / scale) / (1 + math.exp(-1 / scale))
    return min(blended, single)


def _gaussian(sigma: float, moved: float, wide: float, rest: float, cells: int, distance: float) -> float:
    whole = wide + rest
    wide = max(wide, whole / 2)
    near = distance - whole * moved  # rounding may have moved it: where by more than the distance, the tail exceeds 1/2
    together = float_tail(near / (sigma * math.hypot(wide, whole - wide)))
    return min(together, cells * float_tail((_passing(distance / whole) - moved) / sigma))


def _passing(distance: float) -> int:
    """The least whole number above it."""
    return math.floor(distance * (1 - _ROUNDING)) + 1
