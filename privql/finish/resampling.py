"""What else the noise could have been: fresh draws of the same public law, taken off the released cells.

An answer is f(exact cells), and exact cells are released cells less their noise. Draw that noise anew, often; each
replicate f(released - noise) is a value that the exact answer could have, and the ends of the interval are quantiles of
them. Of a sum, or of anything that only grows with it, that is the interval of its law; of a ratio it is Fieller's.

A replicate of which nothing can be said - a variance of less than one row, a ratio whose divisor changed its sign -
could lie anywhere, and counts on both sides. Where an answer is not monotone in its cells (a greatest of several, an
absolute value) replicates are biased twice: their interval is joined with its mirror image about the answer.

So it is with a sum that is told from cells at knots. There noise has also decided which of them to believe, and one
draw does not say what another would have: what is taken off is a third wider than it was.

These draws protect nothing - what they are taken off is released already - so an ordinary generator does. Its seed is
the release itself, so that an answer has one error whenever it is asked for.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from operator import sub

import numpy as np
import numpy.typing as npt

from privql.finish.recipe import Recipe
from privql.frozen import frozen
from privql.kernel.features import Tally, Total
from privql.kernel.merged import ROUNDED
from privql.kernel.noises import Left
from privql.kernel.scalars import Value, ValueType
from privql.kernel.selection import Count
from privql.kernel.sums import Balance, Hats, Powers

Numbers = npt.NDArray[np.float64]
Ends = tuple[float | Fraction, float | Fraction]
Cells = Sequence[Sequence[int]]
Scales = Sequence[Sequence[Fraction]] | None

OF_KNOTS = Fraction(4, 3)
MOST_DRAWS = 400_000  # numbers of all replicates together: an answer of many groups has fewer, and is told at once
MOST_REPLICATES = 2_000  # more would change the ends by less than one part in thirty of the width
SURE = 20_000  # replicates that a confidence near 1 may ask for
FAR = 1e300  # what stands for a logarithm of nothing: below, or above, every number


@frozen
class Spread:
    """The replicates of a column: a row each of its rows, NaN where nothing can be said."""

    values: Numbers
    monotone: bool
    limits: tuple[float, float] = (-math.inf, math.inf)  # of the exact numbers
    bound: bool = False  # they only say how far it may be off at most: with others they might cancel


def replicates(numbers: int, confidence: Fraction) -> int:
    """How many, of an answer that is made of so many numbers: so that whole ranks of them are the ends."""
    tail = (1 - confidence) / 2
    wanted = min(max(MOST_DRAWS // max(numbers, 1), 1), MOST_REPLICATES)
    rank = max(math.floor(wanted * tail), 3)
    if rank / tail > SURE:
        rank = max(math.floor(SURE * tail), 1)
    return min(math.ceil(rank / tail), SURE) - 1


def generator(*named: object) -> np.random.Generator:
    """The draws that belong to these names, always the same."""
    return np.random.default_rng(list(hashlib.sha256(repr(named).encode()).digest()))


def resampled(recipe: Recipe) -> bool:
    """Whether the noise of an aggregate has a law to draw from. What was drawn by its rank has none but the data's."""
    return isinstance(recipe.contribution, Tally | Total | Balance | Powers | Hats | Count)


def sample(noise: Left, scale: Fraction, count: int, source: np.random.Generator) -> list[int]:
    """Draws of the noise of one cell: a rounded Gaussian, or the difference of two rounded-down exponentials."""
    wide = float(scale)
    if noise != "laplace":
        spread = math.hypot(wide, math.sqrt(ROUNDED)) if noise == "merged" else wide
        drawn = np.rint(source.normal(0, spread, count))
    else:
        drawn = np.floor(source.exponential(wide, count)) - np.floor(source.exponential(wide, count))
    return drawn.astype(np.int64).tolist() if wide < 1 << 50 else [int(each) for each in drawn]


def sample_of_found(law: Count, number: int, count: int, source: np.random.Generator) -> list[int]:
    """Noise that the number of units of a found group may have. Given that it was seen, `number` or more is the
    likelier the more units there are (`privql.kernel.found`): that chance is the distribution function to draw from."""
    reach, scale = law.reach, float(law.scale)
    units = np.arange(max(1, number - reach), number + reach + 1, dtype=np.float64)
    seen = np.maximum(reach + 1 - units, -reach)
    from_ = np.maximum(number - units, seen)
    base = np.maximum(seen, 0)
    likelier = _tail(from_, base, reach, scale) / _tail(seen, base, reach, scale)
    found = units[np.minimum(np.searchsorted(likelier, source.random(count), side="left"), len(units) - 1)]
    noise: list[int] = (number - found).astype(np.int64).tolist()
    return noise


def _tail(from_: Numbers, base: Numbers, reach: int, scale: float) -> Numbers:
    """(1-q)·Σ q^|x| over x from here to the reach, over q^base."""
    q, end = math.exp(-1 / scale), np.exp((base - reach - 1) / scale)
    below = 1 + q - np.exp((np.minimum(from_, 0) - 1) / scale)
    return np.where(from_ >= 0, np.exp((base - np.maximum(from_, 0)) / scale), below) - end


def cells_without_noise(
    recipes: Sequence[Recipe], cells: Cells, scales: Scales, count: int, source: np.random.Generator
) -> Iterator[list[tuple[int, ...]]]:
    """What the exact cells could be, `count` times. A cell whose noise has no law stays as it is.

    `scales`: of the noise of each row's cells, where rows differ in that.
    """
    owners = {at: one for one in recipes if resampled(one) for at in range(one.cell, one.cell + one.width)}
    rows = len(cells)
    columns: list[list[int]] = []
    for at in range(len(cells[0]) if rows else 0):
        if at not in owners:
            columns.append([0] * (count * rows))
            continue
        owner = owners[at]
        if isinstance(owner.contribution, Count):
            draws = [sample_of_found(owner.contribution, row[at], count, source) for row in cells]
            columns.append([each[replicate] for replicate in range(count) for each in draws])
            continue
        wider = OF_KNOTS if isinstance(owner.contribution, Hats) else 1
        each = [(owner.scale if scales is None else scales[row][at]) * wider for row in range(rows)]
        drawn = [sample(owner.noise, scale, count * each.count(scale), source) for scale in dict.fromkeys(each)]
        columns.append(drawn[0] if len(drawn) == 1 else _arranged(each, drawn, count))
    noise = list(zip(*columns, strict=True)) if columns else [()] * (count * rows)
    for start in range(0, count * rows, rows) if rows else ():
        lost = noise[start : start + rows]
        yield [tuple(map(sub, row, off)) for row, off in zip(cells, lost, strict=True)]


def _arranged(scales: Sequence[Fraction], drawn: Sequence[Sequence[int]], count: int) -> list[int]:
    """Draws of each scale in the order of the rows, replicate after replicate."""
    left = dict(zip(dict.fromkeys(scales), map(iter, drawn), strict=True))
    return [next(left[scale]) for _ in range(count) for scale in scales]


def bounds_of(spread: Spread, values: Sequence[Value], type: ValueType, confidence: Fraction) -> list[Ends | None]:
    """For each value of a column; an open end is infinite. None where there is no number, or nothing is known."""
    many = spread.values.shape[1]
    rank = math.floor((many + 1) * (1 - confidence) / 2)
    ordered = np.sort(spread.values[: len(values)], axis=1)  # NaN last
    lost = np.isnan(ordered).sum(axis=1)
    out: list[Ends | None] = []
    for value, row, unknown in zip(values, ordered, lost, strict=True):
        if not isinstance(value, int | float | Fraction) or isinstance(value, bool) or unknown == many:
            out.append(None)
            continue
        known = rank - int(unknown)
        low, high = (float(row[known - 1]), float(row[many - rank])) if known > 0 else (-math.inf, math.inf)
        if not spread.monotone and known > 0:
            middle = 2 * float(value)
            low, high = min(low, middle - high), max(high, middle - low)
        low, high = max(low, spread.limits[0]), min(high, spread.limits[1])
        out.append((_end(low, type, math.floor), _end(high, type, math.ceil)))
    return out


def halves_of(spread: Spread, values: Sequence[Value], type: ValueType, confidence: Fraction) -> list[float | None]:
    """What stands behind ±: the larger half."""
    out: list[float | None] = []
    for value, ends in zip(values, bounds_of(spread, values, type, confidence), strict=True):
        if ends is None or value is None or isinstance(value, str | tuple):
            out.append(None)
            continue
        half = max(value - ends[0], ends[1] - value, 0)
        out.append(int(half) if type.kind == "INT" and math.isfinite(half) else float(half))
    return out


def _end(end: float, type: ValueType, outwards: Callable[[float], int]) -> float | Fraction:
    if abs(end) >= FAR / 1e6:
        return math.copysign(math.inf, end)
    match type.kind:
        case "INT":
            return float(outwards(end)) if abs(end) >= 1 << 53 else outwards(end)
        case "DECIMAL":
            return Fraction(outwards(end * 10**type.scale - (1e-9 if outwards is math.ceil else -1e-9)), 10**type.scale)
        case _:
            return end
