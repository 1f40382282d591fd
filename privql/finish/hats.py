"""Noisy cells of `Hats` to the sum that they stand for: Σ knot·cell, what noise hides told from the rest.

The cells of all knots have the same noise, which is worth the more the farther they are. So they are taken as they are
up to a knot that they choose themselves: the last before which enough seems to be missing. What is beyond it is told
from the cells around it, as the average of shapes that values often have: exp(-b·k - c·k²/2) at the k-th knot from the
last. Logarithms of such cells lie on a line or on a parabola. Each shape is there as it is, and cut off behind the last
knot or the next, as where values have a bound; and counts the more the better it fits the cells.

Any function of noisy cells may be shown. This one is tuned on errors: see docs/proofs/automatic-bounds.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

PENALTY = 6.0  # scales of the noise: so much must be beyond a knot for the next to be taken
_BEFORE, _SEEN, _AHEAD = 3, 3, 6  # knots around the last: those that shapes are held against, and how far they reach
_FALLS = np.arange(21) / 5  # b
_BENDS = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)  # c
_LEAST_FALL = 0.9  # at the farthest knot: more than the log of 2, or what is beyond it would come to most
_MISFIT = 0.1  # of a cell: what shapes are off by
_ASTRAY = 0.2  # and of the last one, which is also used
_FAR = 4.0  # scales that noise will not explain


def reached(cells: Sequence[int], scale: Fraction) -> int:
    """Which is the last knot whose cell is taken as it is. `scale`: of the noise of a cell, Laplace's."""
    noisy = _in_scales(cells, scale)
    beyond = noisy[::-1].cumsum()[::-1] - noisy
    return int((beyond + PENALTY * np.arange(len(cells))).argmin())


def total(cells: Sequence[int], scale: Fraction) -> int:
    """In steps. One row adds as much to all cells as the last knot is far."""
    noisy, last, far = _in_scales(cells, scale), reached(cells, scale), 1 << len(cells) - 1
    around = np.zeros(_BEFORE + 1 + _SEEN)
    for k in range(-_BEFORE, _SEEN + 1):
        if 0 <= last + k < len(cells):
            around[_BEFORE + k] = noisy[last + k]
    shaped = _shaped(around)[_BEFORE : _BEFORE + len(cells) - last]
    guessed = float(shaped[1:] @ 2.0 ** np.arange(1, len(shaped)))
    guessed += _settled(float(noisy[last]), float(shaped[0]))
    known = sum((cell << at for at, cell in enumerate(cells[:last])), 0)
    return round((known + (Fraction(guessed) * scale) * (1 << last)) / far)


def _in_scales(cells: Sequence[int], scale: Fraction) -> Numbers:
    return np.array([cell * scale.denominator / scale.numerator for cell in cells])


def _shaped(around: Numbers) -> Numbers:
    """What shapes say of the cells around the last, and farther ahead."""
    shapes = _shapes()
    weights = 1 / (2 + (_MISFIT * np.maximum(around, 0)) ** 2)  # the variance of the noise is 2
    seen = shapes[:, : len(around)]
    sizes = np.maximum(seen @ (weights * around) / (seen**2 @ weights), 0)
    misfits = ((around - sizes[:, None] * seen) ** 2) @ weights
    likely = np.exp((misfits.min() - misfits) / 2)
    expected: Numbers = (likely * sizes) @ shapes / likely.sum()
    return expected


def _settled(noisy: float, shaped: float) -> float:
    """The last cell, between what was measured and what its neighbours say of it."""
    off, known = noisy - shaped, (_ASTRAY * shaped) ** 2
    return noisy if abs(off) > _FAR else shaped + off * known / (known + 2)


@cache
def _shapes() -> Numbers:
    k = np.arange(-_BEFORE, _AHEAD + 1)
    falling = [(b, c) for b in _FALLS for c in _BENDS if b + c * _AHEAD >= _LEAST_FALL]
    whole = np.array([np.exp(-(b * (k + _BEFORE) + c * (k**2 - _BEFORE**2) / 2)) for b, c in falling])
    return np.concatenate([whole, whole * (k <= 0), whole * (k <= 1)])
