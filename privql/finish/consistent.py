"""Noisy marginals to the finest groups that agree with all of them as well as can be, and then in whole numbers.

**Least squares.** A marginal A is measured with noise of one variance σ_A² in each of its N_A groups. What of the truth
is the interaction of the keys T is told by each measured A ⊇ T, by what its groups come to when they are added up; the
estimates are weighted by their precisions N_T/(σ_A²·N_A), which are in the same proportion for all T that the same
marginals contain: for a class C of `intersections`, w(C, A) ∝ 1/(σ_A²·N_A). With μ the Möbius function of these
classes, the groups of all keys are

    x = Σ over C' Σ over A ⊇ C'  k(C', A) · (A added up to C') · N_C'/N        k(C', A) = Σ μ(C', C)·w(C, A), C' ⊆ C ⊆ A

spread evenly over what C' leaves out. No sum of these differs from what it is in a coarser set: they are sums of one x.

**Whole numbers.** What is added up along each axis from its beginning is rounded, and taken apart again. So a group is
off by no more than half of each corner, and a set that leaves an axis out by half of its end. Keys of which every set
that has the second has the first (ROLLUP) are one axis.

All in whole numbers: the weights are rounded to 2^-40, and add up to 1 exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from privql.frozen import frozen
from privql.plan.levels import Set, intersections

Whole = npt.NDArray[np.object_]  # of Python's integers, an axis for each key

_FINE = 2**40


@frozen
class Marginal:
    """The cells of the groups of these keys, an axis for each key of all (of length 1 where it has none of them)."""

    keys: Set
    cells: Whole
    scale: Fraction  # of the noise: its variance is in proportion to the square


def reconciled(sizes: Sequence[int], measured: Sequence[Marginal]) -> tuple[Whole, int]:
    """The groups of all keys, as multiples of 1 over the number beside them."""
    if len(measured) == 1 and measured[0].cells.shape == tuple(sizes):
        return measured[0].cells, 1
    classes = intersections([one.keys for one in measured])
    weights = [_weights(one, sizes, measured) for one in classes]
    made: Whole = np.zeros(tuple(sizes), dtype=object)
    for at, inner in enumerate(classes):
        signs = _signs(at, classes)
        times = prod(sizes[axis] for axis in inner)
        for number, one in enumerate(measured):
            factor = sum(sign * weights[outer][number] for outer, sign in signs.items() if classes[outer] <= one.keys)
            if inner <= one.keys and factor:
                made = made + one.cells.sum(axis=tuple(one.keys - inner), keepdims=True) * (factor * times)
    return made, _FINE * prod(sizes)


def _weights(one: Set, sizes: Sequence[int], measured: Sequence[Marginal]) -> list[int]:
    """Of each marginal for this class; the most precise takes what rounding leaves."""
    precisions = [
        1 / (each.scale**2 * prod(sizes[at] for at in each.keys)) if one <= each.keys else Fraction(0)
        for each in measured
    ]
    whole = sum(precisions)
    weights = [precision * _FINE // whole for precision in precisions]
    weights[precisions.index(max(precisions))] += _FINE - sum(weights)
    return [int(weight) for weight in weights]


def _signs(inner: int, classes: Sequence[Set]) -> dict[int, int]:
    """The Möbius function from one class to those that contain it; the smaller come first."""
    signs = {inner: 1}
    for outer in range(inner + 1, len(classes)):
        if classes[inner] < classes[outer]:
            signs[outer] = -sum(sign for between, sign in signs.items() if classes[between] < classes[outer])
    return signs


def whole(cells: Whole, over: int, sets: Sequence[Set]) -> Whole:
    """`cells / over` in whole numbers, whose sums to `sets` are as near to what they should be."""
    axes = _axes(cells.ndim, sets)
    order = [key for axis in axes for key in axis]
    turned = cells.transpose(order)
    shape = [prod(cells.shape[key] for key in axis) for axis in axes]
    sums: Any = turned.reshape(shape)
    for axis in range(len(axes)):
        sums = np.add.accumulate(sums, axis=axis)
    parts: Any = (2 * sums + over) // (2 * over)
    for axis in range(len(axes)):
        parts = np.diff(parts, axis=axis, prepend=0)
    made: Whole = parts.reshape(turned.shape).transpose(np.argsort(order))
    return made


def _axes(keys: int, sets: Sequence[Set]) -> list[list[int]]:
    """Keys that are one axis: each set has the first ones of it."""
    within = {key: {at for at, one in enumerate(sets) if key in one} for key in range(keys)}
    axes: list[list[int]] = []
    for key in sorted(within, key=lambda key: -len(within[key])):
        axis = next((axis for axis in axes if within[key] <= within[axis[-1]]), None)
        if axis is None:
            axes.append([key])
        else:
            axis.append(key)
    return axes
