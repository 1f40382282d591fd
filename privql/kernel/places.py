"""Several ranks of one group, drawn one after the other: each cuts the rows for those that follow.

A cut is a step and a place among the rows of this step, in one of `FINE` parts: of c rows, floor(part·c/FINE) are
below. A row more is then one more on exactly one side, whatever else there is, and the other side stays as it is. So
many rows that have the same value are cut as if they differed, and the shares of both sides stay right. All steps and
parts are drawn from, with a probability proportional to exp(-exponent·loss), where #{x < v} and #{x <= v} both are how
many rows are below the cut. The last draws cut nothing, and need no part: any step that has the wanted place among its
rows is as good as another.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privql.kernel.ranks import Draw, Met, Placed, Ranked, Ranks, place

FINE = 2**40
Runs = list[tuple[int, int]]  # how many steps or cuts, one after the other, and the loss of each
Drawn = Callable[[Runs, Fraction], int]  # the number of one of them, by the exponent of its loss


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows from place `first` to place `last` of a group, and where their values may be."""

    first: int
    last: int
    low: int
    high: int

    @property
    def count(self) -> int:
        return self.last - self.first

    def inside(self, met: Met) -> Met:
        """A value as these rows have it."""
        step, below, at_most = met
        return step, self._among(below), self._among(at_most)

    def _among(self, rank: int) -> int:
        return min(max(rank, self.first), self.last) - self.first


class Places:
    """The values of one group by their places: those that were asked for beforehand and, where a draw went astray,
    `every` one."""

    def __init__(self, term: Ranks, near: Ranked, every: Callable[[], Ranked]) -> None:
        self._term, self._every = term, every
        self.count, self._met = near
        self._whole = False

    def between(self, first: int, last: int) -> Sequence[Met]:
        """Those that take any place from `first` to `last`."""
        if not self._whole and not self._covered(first, last):
            self._ask()
        start = bisect_left(self._met, first, key=lambda met: met[2])
        return self._met[start : bisect_right(self._met, last, key=lambda met: met[1])]

    def at(self, step: int) -> tuple[int, int]:
        """How many are below a step, and at most it."""
        after = bisect_left(self._met, step, key=lambda met: met[0])
        if after < len(self._met) and self._met[after][0] == step:
            return self._met[after][1:]
        before = self._met[after - 1][2] if after else 0
        behind = self._met[after][1] if after < len(self._met) else self.count
        if before == behind:
            return before, before
        self._ask()
        return self.at(step)

    def _covered(self, first: int, last: int) -> bool:
        far = self._term.far
        return any(at - far <= first and last <= at + far for at in (place(r, self.count) for r in self._term.ranks))

    def _ask(self) -> None:
        self._whole = True
        self.count, self._met = self._every()


def chosen(placed: Placed, near: Ranked, every: Callable[[], Ranked], drawn: Drawn) -> list[int]:
    """A step for each of the ranks, in their order."""
    term = placed.term
    places, out = Places(term, near, every), [0] * len(term.ranks)
    todo = [(placed.draw, Rows(0, places.count, term.steps.low, term.steps.high))]
    while todo:
        draw, rows = todo.pop()
        met = _met(draw, rows, places)
        if not draw.cuts:
            out[draw.at] = rows.low + drawn(steps(draw, rows, met), draw.exponent)
            continue
        step, part = divmod(drawn(cuts(draw, rows, met), draw.exponent), FINE)
        step += rows.low
        out[draw.at] = step
        _, below, at_most = rows.inside((step, *places.at(step)))
        cut = rows.first + below + part * (at_most - below) // FINE
        for side, left in (
            (draw.before, Rows(rows.first, cut, rows.low, step)),
            (draw.after, Rows(cut, rows.last, step, rows.high)),
        ):
            if side is not None:
                todo.append((side, left))
    return out


def _met(draw: Draw, rows: Rows, places: Places) -> list[Met]:
    """The values of these rows whose loss is below the clip."""
    b = draw.rank.share.denominator
    target = draw.rank.share.numerator * rows.count + b * draw.rank.offset
    ends = (target - draw.clip) // b + 1, -(-(target + draw.clip) // b) - 1
    found = map(rows.inside, places.between(*(rows.first + end for end in ends)))
    return [one for one in found if one[1] < one[2] and draw.loss(rows.count, *one[1:]) < draw.clip]


def steps(draw: Draw, rows: Rows, met: Sequence[Met]) -> Runs:
    """All steps in order, as runs of one loss each.

    Between two values that follow each other nothing changes. Below the first that was met, and above the last, every
    loss is the clip - or there are no values there, and it is that of a step with none below (above) it.
    """
    out = []
    at, below = rows.low, met[0][1] if met else 0
    for step, under, up_to in met:
        if step > at:
            out.append((step - at, draw.loss(rows.count, under, under)))
        out.append((1, draw.loss(rows.count, under, up_to)))
        at, below = step + 1, up_to
    if at <= rows.high:
        out.append((rows.high + 1 - at, draw.loss(rows.count, below, below)))
    return out


def cuts(draw: Draw, rows: Rows, met: Sequence[Met]) -> Runs:
    """All cuts in order, alike: each step has `FINE` of them."""
    out: Runs = []

    def run(length: int, below: int) -> None:
        loss = draw.loss(rows.count, below, below)
        if length and out and out[-1][1] == loss:
            out[-1] = (out[-1][0] + length, loss)
        elif length:
            out.append((length, loss))

    at, below = rows.low, met[0][1] if met else 0
    for step, under, up_to in met:
        run((step - at) * FINE, under)
        alike = up_to - under
        for many, part in _parts(draw, rows, under, alike):
            run(many, under + part)
        at, below = step + 1, up_to
    run((rows.high + 1 - at) * FINE, below)
    return out


def _parts(draw: Draw, rows: Rows, under: int, alike: int) -> Sequence[tuple[int, int]]:
    """How many cuts have so many of the rows that are alike below them: those at the clip, however many, together."""
    b = draw.rank.share.denominator
    target = draw.rank.share.numerator * rows.count + b * draw.rank.offset - b * under
    first = min(max((target - draw.clip) // b, 0), alike)  # what is below it is at the clip, if anything is
    last = min(max(-(-(target + draw.clip) // b), 0), alike)
    starts = [0, *range(first, last + 1), alike]  # where more than so many are below
    ends = [-(-number * FINE // alike) for number in starts[1:]]
    return [(end - -(-start * FINE // alike), start) for start, end in zip(starts, ends, strict=False)]
