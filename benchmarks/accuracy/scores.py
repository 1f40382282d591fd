"""From a thousand answers to one figure, and how sure that figure is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Figure:
    value: float
    error: float  # its standard error, as a part of it


Score = Callable[[Sequence[Any]], Figure]


def root_mean_square(squares: NDArray[np.float64]) -> Figure:
    mean = float(squares.mean())
    if mean == 0:
        return Figure(0, 0)
    return Figure(mean**0.5, float(squares.std()) / (2 * mean * squares.size**0.5))


def rmse(truth: Sequence[float], *, relative: bool = False) -> Score:
    """Of numbers beside the true ones; of several, all errors together, each in parts of its truth if `relative`."""
    units = np.array(truth, dtype=float) if relative else np.ones(len(truth))

    def score(answers: Sequence[Any]) -> Figure:
        off = (np.array(answers, dtype=float).reshape(len(answers), -1) - np.array(truth, dtype=float)) / units
        return root_mean_square((off**2).mean(axis=1))

    return score


def rank_error(values: Sequence[int], q: float) -> Score:
    """How many rows lie between an answer and the quantile."""
    ordered = np.sort(np.array(values))

    def score(answers: Sequence[Any]) -> Figure:
        given = np.array(answers, dtype=float).ravel()
        below, upto = np.searchsorted(ordered, given, "left"), np.searchsorted(ordered, given, "right")
        wanted = q * ordered.size
        return root_mean_square(np.maximum(np.maximum(below - wanted, wanted - upto), 0.0) ** 2)

    return score


def missed(counts: dict[int, int], k: int) -> Score:
    """By how many rows the k groups that were named fall short of the k largest."""
    best = sum(sorted(counts.values())[-k:])

    def score(answers: Sequence[Any]) -> Figure:
        return root_mean_square(np.array([best - sum(counts[int(key)] for key in keys) for keys in answers]) ** 2.0)

    return score


def half_kept(sizes: Sequence[int]) -> Score:
    """The size at which a group is found half of the time: a line through the shares between a quarter and three."""

    def score(answers: Sequence[Any]) -> Figure:
        shares = np.array([sum(str(size) in kept for kept in answers) for size in sizes]) / len(answers)
        near = (shares > 0.25) & (shares < 0.75)
        slope, at_zero = np.polyfit(np.array(sizes)[near], shares[near], 1)
        middle = (0.5 - at_zero) / slope
        return Figure(middle, float((0.25 / (len(answers) * near.sum())) ** 0.5 / slope / middle))

    return score


def rmse_of_group(size: int) -> Score:
    """Of the count of one group, where it was found."""

    def score(answers: Sequence[Any]) -> Figure:
        return rmse([size])([kept[str(size)] for kept in answers if str(size) in kept])

    return score
