"""The small relational algebra in which every plan is written, and which the engines run exactly.

A relation term computes rows, each with its unit; `Public` rows belong to nobody and may meet them. What relates rows
to each other - a join, a group, a rank - relates rows of one unit alone. `features` are what is computed of them,
`sums` the one thing that may be measured: integer sums per group. Every bound that the privacy argument needs is an
operation here - steps clamped to [low, high], keys kept from a list, rows kept per unit - never a belief about the
data. `rules` says what each relation is stable in, `measure` what noisy `Sums` cost.
"""

from __future__ import annotations

from typing import Literal

from privql.frozen import frozen
from privql.kernel.features import Feature, Order, WindowCall
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

    @property
    def tables(self) -> tuple[str, ...]:
        """All that are read for it."""
        return self.table, *(link.table for link in self.via)


@frozen
class UnitPart:
    """The rows of a table in one part for each unit: those that have in `column` the value that most of the unit's rows
    have there, of several the least, NULL being a value like others and the last. No hash: each query that divides the
    units so must find each in the same part."""

    input: Scan
    column: str


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
class Gather:
    """One row for each unit and each combination of the keys among its rows, NULL being a value like others.

    The columns are the keys, then the features. A `Total` is in steps, NULL of none, and stays within ±2^62. Where the
    values of every key are `listed`, groups elsewhere are dropped.
    """

    input: Relation
    keys: tuple[tuple[str, Scalar], ...]
    features: tuple[tuple[str, Feature], ...]
    listed: tuple[tuple[Value, ...], ...] | None = None


SetOperation = Literal["UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]


@frozen
class Combine:
    """Set operations within each unit. `columns`: a name, and what it is of the left and of the right side."""

    op: SetOperation
    left: Relation
    right: Relation
    columns: tuple[tuple[str, str, str], ...]


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


Relation = Scan | UnitPart | Filter | Project | KeepRows | Lookup | Join | Mark | Gather | Combine | Window | Once
