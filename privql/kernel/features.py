"""What may be computed of the rows of one unit: of a whole group of them, or of those around a row in an order.

`Gather` and `Window` hold these: the values are columns of the unit's rows, exact and still its own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from privql.frozen import frozen
from privql.kernel.scalars import Scalar

STEP_LIMIT = 2**62  # 2^63 rows of that many steps fit 127 bits
FACTOR_LIMIT = 2**40  # 2^45 rows of the product of two such numbers fit 38 digits


@frozen
class Order:
    value: Scalar
    descending: bool = False
    nulls_first: bool = False


@frozen
class Steps:
    """A number in whole steps of `grid`, clamped to [low, high].

    Rounded to the nearest step; in the middle of two, up - and a FLOAT to the even one, as IEEE 754 rounds, so that
    an engine need not add a half. NULL, NaN and infinities give NULL, which contributes nothing to a sum. Bounds stay
    within ±2^62, so that 2^63 rows cannot overflow 128 bits.
    """

    value: Scalar
    grid: Fraction
    low: int
    high: int


@frozen
class Tally:
    """One cell: the number of rows (for which `where` is TRUE)."""

    where: Scalar | None = None


@frozen
class Total:
    """One cell: the sum of the steps."""

    steps: Steps
    where: Scalar | None = None


@frozen
class Extreme:
    """The greatest or least value that is not NULL, of rows for which `where` is TRUE; of two zeros the positive."""

    value: Scalar
    greatest: bool
    where: Scalar | None = None


@frozen
class Different:
    """How many different values there are that are not NULL."""

    value: Scalar
    where: Scalar | None = None


@frozen
class Quantile:
    """Of the n values that are not NULL, in order, one at a share of the way; of two zeros the positive.

    LEAST is the first that so great a share of them does not exceed, at place max(1, n - ⌊n - n·share⌋). BELOW and
    ABOVE are the neighbours of 1 + (n - 1)·share, rounded down and up. All in doubles, as the engines compute it.
    """

    value: Scalar
    share: float
    at: Literal["LEAST", "BELOW", "ABOVE"]
    where: Scalar | None = None


@frozen
class Mode:
    """The most frequent value that is not NULL; of several as frequent, the least."""

    value: Scalar
    where: Scalar | None = None


@frozen
class Bits:
    """All INTs that are not NULL together, bit by bit."""

    op: Literal["AND", "OR", "XOR"]
    value: Scalar
    where: Scalar | None = None


@frozen
class Splice:
    """All texts that are not NULL, one after the other in this order and, where it leaves a choice, in their own.

    NULL where the whole is longer than any text that `||` makes.
    """

    value: Scalar
    separator: str
    order: tuple[Order, ...]
    where: Scalar | None = None


@frozen
class Moment:
    """The sum of products of one factor or two, each counted in steps from its lower bound: a DECIMAL(38,0).

    NULL of none; a row where a factor is NULL adds nothing. A single factor has at most 2^62 steps, and each of two has
    2^40: 2^45 rows fit 38 digits.
    """

    factors: tuple[Steps, ...]
    where: Scalar | None = None


Feature = Tally | Total | Extreme | Different | Quantile | Mode | Bits | Splice | Moment


@frozen
class Rank:
    """A row's place among those of its partition. Where the order leaves a choice, ROW_NUMBER goes by a keyed hash."""

    kind: Literal["ROW_NUMBER", "RANK", "DENSE_RANK"]


@frozen
class Neighbour:
    """A value of the row so many places before (or, negative, after) in ROW_NUMBER's order; else the default."""

    value: Scalar
    before: int
    default: Scalar


@frozen
class Frame:
    """The rows around the present one, from `start` to `end` places after it: before it, if negative; None: all.

    Places are those of ROW_NUMBER or, of GROUPS, of all rows together that tie in the order.
    """

    by: Literal["ROWS", "GROUPS"]
    start: int | None
    end: int | None


@frozen
class Over:
    """A feature of the rows of a frame, or of the whole partition."""

    feature: Feature
    frame: Frame | None


@frozen
class Nth:
    """A value of the row at this place of the frame in ROW_NUMBER's order, from 1 (-1: the last), or NULL.

    `present` counts only the rows where the value is not NULL.
    """

    value: Scalar
    place: int
    frame: Frame | None
    present: bool = False


WindowCall = Rank | Neighbour | Over | Nth
