"""The small relational algebra in which every plan is written, and which the engines run exactly.

A relation term computes rows, each with its unit; `Sums` is the one thing that may be measured: integer sums
per group. Every bound that the privacy argument needs is an operation here - steps clamped to [low, high], keys
kept from a list, rows kept per unit - never a belief about the data. `rules` says what each relation is stable in,
`measure` what a noisy `Sums` costs.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

from privql.frozen import frozen
from privql.kernel.scalars import Scalar, Value, ValueType


@frozen
class Unit:
    """Whom we protect. Neighbours: one unit more or fewer, or (change_one) one unit's rows replaced."""

    name: str
    change_one: bool = False


@frozen
class Scan:
    """The rows of a private table: the named columns, read as the types given (what cannot be read is NULL).

    `unit_column` None makes each row its own unit; else rows whose unit is NULL are dropped. `key`: the owner
    binds only data in which no unit has two rows.
    """

    table: str
    unit: Unit
    unit_column: tuple[str, ValueType] | None
    key: bool
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
class KeepRows:
    """At most `limit` rows of each unit, chosen by a keyed hash of the row's content (of all its columns)."""

    input: Relation
    limit: int


Relation = Scan | Filter | Project | KeepRows


@frozen
class Key:
    """A grouping value and the list of the groups that exist, None for the NULL group. Rows elsewhere are dropped."""

    value: Scalar
    members: tuple[Value, ...]


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


def cells(contribution: Contribution) -> int:
    """How many integers a contribution releases per group."""
    return 2 if isinstance(contribution, Balance) else 1


@frozen
class Sums:
    """For every group of the product of the keys, in that order, the cells of each contribution.

    Without keys there is one group.
    """

    input: Relation
    keys: tuple[Key, ...]
    contributions: tuple[Contribution, ...]

    @property
    def groups(self) -> int:
        return prod(len(key.members) for key in self.keys)

    @property
    def width(self) -> int:
        return sum(cells(contribution) for contribution in self.contributions)
