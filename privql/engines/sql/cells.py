"""From a statement's result to the cells of every group: the last integer arithmetic, without overflow."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, product
from math import comb, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from privql.engines.interface import Cells, smallest
from privql.engines.sql.aggregates import HALF, Summed
from privql.engines.sql.emit import Statement
from privql.kernel.features import Tally, Total
from privql.kernel.sums import Balance, Hats, Powers, Sums

_SAFE = 2**61


def cells(sums: Sums, statement: Statement, found: Mapping[str, npt.NDArray[Any]]) -> Cells:
    columns: list[npt.NDArray[Any]] = []
    for contribution, tally, total in zip(sums.contributions, statement.tallies, statement.totals, strict=True):
        match contribution:
            case Tally():
                columns.append(_count(tally, found))
            case Total():
                columns.append(_sum(total, found))
            case Balance(steps=steps):
                counted, added = _count(tally, found), _sum(total, found)
                farthest = max(abs(steps.low), abs(steps.high))
                if _most(counted) * farthest >= _SAFE:  # which is no less than what is added
                    counted = counted.astype(object)
                columns += [added - steps.low * counted, steps.high * counted - added]
            case Powers():
                columns += _terms(contribution, [_count(tally, found), *(_sum((one,), found) for one in total)])
            case Hats():
                columns += _at_knots(contribution, [_sum((one,), found) for one in total])
    exact: npt.DTypeLike = np.int64 if all(column.dtype == np.int64 for column in columns) else object
    result = np.zeros((sums.groups, sums.width), dtype=exact)
    for place, column in enumerate(columns):
        result[np.asarray(found["group_at"]), place] = column
    return smallest(result)


def _count(tally: str | None, found: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    assert tally is not None
    return np.asarray(found[tally])


def _terms(powers: Powers, moments: list[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """`moments`: Σ u^i·v^j over the rows, by the powers in their order. Each cell is a whole combination of them:
    C(d,i)·x^i·(R-x)^(d-i) = Σ C(d,i)·C(d-i,k)·R^(d-i-k)·(-1)^k·x^(i+k)."""
    of_factors = []
    for steps, degree in powers.factors:
        width, expanded = steps.high - steps.low, []
        for i in range(degree + 1):
            rest = range(degree - i + 1)
            part = [comb(degree, i) * comb(degree - i, k) * width ** (degree - i - k) * (-1) ** k for k in rest]
            expanded.append([0] * i + part)
        of_factors.append(expanded)
    if 16 * max(_most(moments[0]), 1) * powers.whole >= _SAFE:  # what multiplies them adds up to 4 for a factor at most
        moments = [moment.astype(object) for moment in moments]
    cells = []
    for chosen in product(*of_factors):
        weights = [prod(each) for each in product(*chosen)]
        cells.append(sum((w * moment for w, moment in zip(weights, moments, strict=True) if w), 0 * moments[0]))
    return cells


def _at_knots(hats: Hats, clamped: list[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """`clamped`: the sum within each knot. What it grows by from a knot g to the next, times far/g, is what rows beyond
    g add to all cells beyond it."""
    if _most(clamped[0]) * hats.far >= _SAFE:  # at 1: one for each row that is not at 0
        clamped = [each.astype(object) for each in clamped]
    if hats.steps.low < 0:
        clamped = [-each for each in clamped]
    grown = [(h - g) * (hats.far // knot) for g, h, knot in zip(clamped, clamped[1:], hats.knots, strict=False)]
    beyond = [clamped[0] * hats.far, *grown, 0 * clamped[0]]
    return [more - less for more, less in pairwise(beyond)]


def _sum(totals: tuple[Summed, ...], found: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    (total,) = totals
    high, low = np.asarray(found[f"{total.column}_high"]), np.asarray(found[f"{total.column}_low"])
    added = high.astype(object) * HALF + low.astype(object) if high.any() else low
    if not total.null_as:
        return added
    nulls = np.asarray(found[total.rows]) - np.asarray(found[total.present])
    if _most(nulls) * abs(total.null_as) >= _SAFE:
        nulls = nulls.astype(object)
    return np.asarray(added - nulls * total.null_as)


def _most(column: npt.NDArray[Any]) -> int:
    return max(int(column.max()), -int(column.min())) if len(column) else 0
