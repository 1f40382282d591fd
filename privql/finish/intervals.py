"""An interval for a mean released as two noisy cells, from those cells and public numbers alone.

AVG over [L, L + R] measures A = Σx and B = Σ(R - x), x counted from L, each plus discrete Laplace noise of one scale t.
The mean is L + R·m with m = A/(A+B) of the true cells. For the true m the true cells cancel in

    (1-m)·A - m·B = (1-m)·N₁ - m·N₂,

so m is kept when the left side, computed from the released cells, is not too far out under the law of the right side.
That test has its level whatever the data, however few the rows; inverting it (Fieller's way) needs no normal
approximation and no lower bound on the count.

Three facts make the kept set an interval that can be found by bisection:

- The true cells are not negative, so released ones are first lifted to 0. For m in [0, 1] that only moves
  (1-m)·A - m·B towards 0: nothing true is lost, and the estimate A/(A+B) lies in [0, 1] and is always kept.
- Moving m away from the estimate never raises the chance P[(1-m)(N₁-A) >= m(N₂-B)]: each pair of noise (A+z, B+y),
  z, y > 0, that enters the event lets the pair (A-z, B-y), at least as likely, leave it. At an instant where both are
  inside, the chance is too high by at most P[N₁ > A]·P[N₂ > B], which is added throughout.
- Discrete noise is the difference of two rounded-down exponentials, so it can be coupled with continuous Laplace noise
  at a distance below 1, and (1-m)·N₁ - m·N₂ too. Above `EXACT_BELOW` that unit is a small part of the noise and the
  closed form for continuous noise, taken one unit closer, stands for the sum over the discrete law.

Of Gaussians (1-m)·N₁ - m·N₂ is one again, of deviation σ·√((1-m)² + m²), but for their rounding, which moves it by 1/2
at most, or by 1 where they are merged of several. The distance is linear in m and that root is convex, so what is kept
on either side of the estimate reaches to the end, or to the only place where the two are equal.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from privql.kernel.noises import Left, off
from privql.kernel.two import EXACT_BELOW, reach_of_coupling

SPAN = 32  # scales on either side that a sum over the discrete law covers; exp(-32) of it is left
STEPS = 36
ROUNDING = 1e-12  # far above what the floats here can lose, far below any interval worth printing


def mean_interval(a: int, b: int, scale: Fraction, confidence: float, noise: Left = "laplace") -> tuple[float, float]:
    """Bounds of A/(A+B), within [0, 1], from `a` = A + noise and `b` = B + noise at `scale`."""
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies strictly between 0 and 1")
    if scale <= 0:
        raise ValueError("a scale is positive")
    a, b = max(a, 0), max(b, 0)
    if a + b == 0:
        return 0.0, 1.0
    share_above = _farthest(a, b, scale, 1 - confidence, noise)
    share_below = _farthest(b, a, scale, 1 - confidence, noise)
    estimate = a / (a + b)
    return max(0.0, estimate - share_below - ROUNDING), min(1.0, estimate + share_above + ROUNDING)


def _farthest(a: int, b: int, scale: Fraction, miss: float, noise: Left) -> float:
    """How far above A/(A+B) a share can lie and still be kept; rounded up."""
    estimate, room = a / (a + b), b / (a + b)
    total = float((a + b) / scale)
    reach = reach_of_sum if scale < EXACT_BELOW else reach_of_coupling
    t = float(scale)
    slack = 2 * _beyond(float(a / scale)) * _beyond(float(b / scale))
    if noise != "laplace":
        reach, slack = partial(reach_of_gaussians, moved=0.5 + float(off(noise))), 0.0

    def kept(distance: float) -> bool:
        share = min(estimate + distance, 1.0)
        return reach(share, distance * total, t) + slack > miss

    return _last(kept, room)


def _last(kept: Callable[[float], bool], room: float) -> float:
    if kept(room):
        return room
    inside, outside = 0.0, room
    for _ in range(STEPS):
        middle = (inside + outside) / 2
        if kept(middle):
            inside = middle
        else:
            outside = middle
    return outside


def _beyond(x: float) -> float:
    """At least P[N > x·t], for x >= 0 and x·t whole."""
    return math.exp(-x) / 2


def reach_of_sum(share: float, distance: float, scale: float) -> float:
    """P[|(1-share)·N₁ - share·N₂| >= distance·scale], summed over one of the two; the tail left out is added."""
    wide, narrow = max(share, 1 - share), min(share, 1 - share)
    edge = math.ceil(SPAN * scale) + 1
    outer = np.arange(-edge, edge + 1, dtype=np.float64)
    q = math.exp(-1 / scale)
    density = math.tanh(0.5 / scale) * np.exp(-np.abs(outer) / scale)
    # The one with the larger weight passes the distance when it is at least this whole number; by symmetry, twice.
    least = np.ceil((distance * scale + narrow * outer) / wide)
    outside = np.exp(-np.where(least > 0, least, 1 - least) / scale) / (1 + q)
    return min(2 * float(density @ np.where(least > 0, outside, 1 - outside)) + math.exp(-SPAN), 1.0)


def reach_of_gaussians(share: float, distance: float, scale: float, moved: float = 0.5) -> float:
    """At least P[|(1-share)·X₁ - share·X₂| >= distance·scale]: a normal number's chance, which rounding moved by
    so much at most."""
    return math.erfc(max(distance - moved / scale, 0.0) / math.sqrt(2 * ((1 - share) ** 2 + share**2)))
