"""The small relational algebra in which every plan is written, and which the engines run exactly.

A relation term computes rows, each with its unit; `Public` rows belong to nobody and may meet them. What relates rows
to each other - a join, a group, a rank - relates rows of one unit alone. `Sums` is the one thing that may be measured:
integer sums per group. Every bound that the privacy argument needs is an operation here - steps clamped to [low,
high], keys kept from a list, rows kept per unit - never a belief about the data. `rules` says what each relation is
stable in, `measure` what a noisy `Sums` costs.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Literal

from privql.frozen import frozen
from privql.kernel.scalars import Scalar, Value, ValueType


@frozen
class Unit:
    """Whom we protect. Neighbours: one unit more or fewer, or (change_one) one unit's rows replaced."""

    name: str
    change_one: bool = False


@frozen
class Link:
    """A step along a reference: the row of `table` whose `key` equals `column` of the row before."""

    column: str
    table: str
    key: tuple[str, ValueType]


@frozen
class Scan:
    """The rows of a private table: the named columns, read as the types given (what cannot be read is NULL).

    `unit_column` None makes each row its own unit; else rows whose unit is NULL are dropped. Along `via` the unit
    column is one of the last table reached, and rows whose chain breaks off are dropped. By the owner's word, which is
    held against the data: no unit has two rows (`key`), no two rows agree in one of the `unique` columns, NULLs aside,
    and no two rows of a linked table in its key.
    """

    table: str
    unit: Unit
    unit_column: tuple[str, ValueType] | None
    key: bool
    columns: tuple[tuple[str, ValueType], ...]
    via: tuple[Link, ...] = ()
    unique: frozenset[str] = frozenset()


@frozen
class Public:
    """Rows that anybody may know, of a public table or of answers already released: handed to the engine by name."""

    name: str
    columns: tuple[tuple[str, ValueType], ...]


@frozen
class Filter:
    """Keep the rows for which the condition is TRUE."""

    input: Relation
    condition: Scalar


@frozen
class Project:
    """The columns named, computed from each row. The row keeps its unit."""

    input: Relation
    columns: tuple[tuple[str, Scalar], ...]


@frozen
class Order:
    value: Scalar
    descending: bool = False
    nulls_first: bool = False


@frozen
class KeepRows:
    """At most `limit` rows of each unit: the first in the order given, and where it leaves a choice, or says
    nothing, by a keyed hash of the row's content (of all its columns)."""

    input: Relation
    limit: int
    order: tuple[Order, ...] = ()


@frozen
class Lookup:
    """Each row beside public ones whose columns equal its values (`on`), and for which `where` is TRUE.

    Of the public rows that agree in these columns no more than `most` take part, the first by a hash of their content
    (None: all). `outer` keeps a row that meets none, with NULLs beside it.
    """

    input: Relation
    public: Public
    on: tuple[tuple[Scalar, str], ...]
    where: Scalar | None
    most: int | None
    outer: bool = False


@frozen
class Join:
    """Rows of one unit beside each other, where the values of each pair in `on` are equal and `where` is TRUE.

    LEFT and FULL keep the rows that meet none, with NULLs beside them.
    """

    kind: Literal["INNER", "LEFT", "FULL"]
    left: Relation
    right: Relation
    on: tuple[tuple[Scalar, Scalar], ...] = ()
    where: Scalar | None = None


@frozen
class Mark:
    """One more column: whether a row meets any of `among` - of its own unit, unless they are public - as in `Join`."""

    input: Relation
    column: str
    among: Relation | Public
    on: tuple[tuple[Scalar, Scalar], ...] = ()
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
    """All texts that are not NULL, one after the other in this order and, where it leaves a choice, in their own."""

    value: Scalar
    separator: str
    order: tuple[Order, ...]
    where: Scalar | None = None


@frozen
class Moment:
    """The sum of products of one factor or two, each counted in steps from its lower bound: a DECIMAL(38,0).

    NULL of none; a row where a factor is NULL adds nothing. Factors have at most 2^40 steps: 2^45 rows fit 38 digits.
    """

    factors: tuple[Steps, ...]
    where: Scalar | None = None


@frozen
class Gather:
    """One row for each unit and each combination of the keys among its rows, NULL being a value like others.

    The columns are the keys, then the features. A `Total` is in steps, NULL of none, and stays within ±2^62. Where the
    values of every key are `listed`, groups elsewhere are dropped.
    """

    input: Relation
    keys: tuple[tuple[str, Scalar], ...]
    features: tuple[tuple[str, Feature], ...]
    listed: tuple[tuple[Value, ...], ...] | None = None


@frozen
class Combine:
    """Set operations within each unit. `columns`: a name, and what it is of the left and of the right side."""

    op: Literal["UNION", "INTERSECT", "EXCEPT"]
    all: bool
    left: Relation
    right: Relation
    columns: tuple[tuple[str, str, str], ...]


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


@frozen
class Window:
    """All columns, and one more for each call, over the rows of one unit that agree in the partition's values."""

    input: Relation
    partition: tuple[Scalar, ...]
    order: tuple[Order, ...]
    calls: tuple[tuple[str, WindowCall], ...]


@frozen
class Once:
    """The different rows there are, whoever has them, each once and no longer anybody's."""

    input: Relation


Relation = Scan | Filter | Project | KeepRows | Lookup | Join | Mark | Gather | Combine | Window | Once


@frozen
class Key:
    """A grouping value and the list of the groups that exist, None for the NULL group. Rows elsewhere are dropped."""

    value: Scalar
    members: tuple[Value, ...]


@frozen
class Listed:
    """Several grouping values together, and the combinations that exist, a tuple each. Rows elsewhere are dropped."""

    values: tuple[Scalar, ...]
    members: tuple[tuple[Value, ...], ...]


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
class Balance:
    """Two cells: Σ(s - low) and Σ(high - s) over rows whose steps s are not NULL. They share the mean between them."""

    steps: Steps
    where: Scalar | None = None


Contribution = Tally | Total | Balance
Feature = Tally | Total | Extreme | Different | Quantile | Mode | Bits | Splice | Moment


def cells(contribution: Contribution) -> int:
    """How many integers a contribution releases per group."""
    return 2 if isinstance(contribution, Balance) else 1


@frozen
class Sums:
    """For every group of the product of the keys, in that order, the cells of each contribution.

    Without keys there is one group.
    """

    input: Relation
    keys: tuple[Key | Listed, ...]
    contributions: tuple[Contribution, ...]

    @property
    def groups(self) -> int:
        return prod(len(key.members) for key in self.keys)

    @property
    def width(self) -> int:
        return sum(cells(contribution) for contribution in self.contributions)


# ---------------------------------------------------------------- groups that nobody listed


@frozen
class Keys:
    """For each combination of the columns' values that any row has, the number of rows. NULL is a value like others."""

    input: Relation
    columns: tuple[tuple[str, ValueType], ...]
