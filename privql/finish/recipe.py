"""How an aggregate's answer is made from its noisy cells: what the plan decided, and nothing of the data."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Literal

from privql.check.relations import Block
from privql.frozen import frozen
from privql.kernel.features import Steps, Total
from privql.kernel.noises import Left
from privql.kernel.scalars import ValueType
from privql.kernel.selection import Count
from privql.kernel.sums import Balance, Contribution, Hats, Key, Powers, cells


@frozen
class Recipe:
    """One aggregate of a block, in the order of `Block.aggregates`.

    `cell` is where its first cell stands among a group's cells, so that two aggregates may share a measurement. Of a
    value that was drawn it is the number of a step. A `Count` stands for the noisy number of units with which a group
    was found: that is the last of its cells. Of a `Key` it is the number of the member that was chosen.
    """

    contribution: Contribution | Steps | Count | Key
    cell: int
    scale: Fraction  # of the noise, in steps
    type: ValueType  # of the answer
    gives: Literal["mean", "count", "sum"] = "mean"  # what is read off the two cells of a `Balance`
    noise: Left = "laplace"

    @property
    def width(self) -> int:
        """How many cells it is made of."""
        return 1 if isinstance(self.contribution, Steps | Count | Key) else cells(self.contribution)

    @property
    def law(self) -> Law | None:
        """None where nothing is said of the error."""
        match self.contribution:
            case Balance(steps=steps) if self.gives == "mean":
                return Law("mean", steps.grid, self.scale, steps.low, steps.high, self.noise)
            case Balance(steps=steps) if self.gives == "count":
                return Law("count", Fraction(1), self.scale, steps.low, steps.high, self.noise)
            case Balance(steps=steps):
                return Law("total", steps.grid, self.scale, steps.low, steps.high, self.noise)
            case Powers() | Hats() | Steps() | Key():
                return None
            case Total(steps=steps):
                return Law("sum", steps.grid, self.scale, noise=self.noise)
            case Count(reach=reach):
                return Law("found", Fraction(1), self.scale, reach)
            case _:
                return Law("sum", Fraction(1), self.scale, noise=self.noise)


@frozen
class Level:
    """Of a block with several grouping sets, one marginal that was measured: the groups of these keys. `scales`: of the
    noise of each of a group's cells. The cells of its levels stand one after the other."""

    keys: tuple[int, ...]
    scales: tuple[Fraction, ...]

    def groups(self, block: Block) -> int:
        return prod(len(block.keys[at].members or ()) for at in self.keys)


@frozen
class Law:
    """What is known of an answer's error. A sum is off by the noise of one cell, `grid` a step.

    A mean is grid·(high·A + low·B)/(A + B) of two noisy cells, so its error depends on the cells. A count of the same
    cells is (A + B)/(high - low), and a total (high·A + low·B)/(high - low) steps, each rounded to a whole number:
    their errors are those of two noises together.

    The number of units of a group that was found has noise of no more than `low`, and would not be there had it not
    come to more than `low` itself.
    """

    kind: str  # "sum", "mean", "count", "total", "found"
    grid: Fraction
    scale: Fraction
    low: int = 0
    high: int = 0
    noise: Left = "laplace"
