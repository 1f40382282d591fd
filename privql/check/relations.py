"""The typed tree of a query: relational algebra over columns that each have a name of their own.

A query is checked into this algebra whatever its rows are. Where an aggregation stands over private rows the tree is
cut: the part below becomes a `Block`, to be measured, and a `Measured` leaf takes its place; all that is left above it
is SQL over public and released rows. Columns are known by identifiers unique in the statement (`c7`), so that
nothing depends on SQL's scoping any more. A subquery used as a value is a `Field` named in `CheckedQuery.subqueries`.
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum
from fractions import Fraction
from typing import Literal

from privql.diagnostics import NOWHERE, Span
from privql.domains import Domain
from privql.frozen import frozen
from privql.kernel.picks import Way
from privql.kernel.scalars import INT, Scalar, Value, ValueType
from privql.kernel.terms import Unit
from privql.syntax import ast


class Label(IntEnum):
    """What a value depends on; an expression is as secret as its most secret part."""

    PUBLIC = 0
    RELEASED = 1
    PRIVATE = 2


@frozen
class Attribute:
    """A column of a relation: its identifier, how it prints, and what is known of it."""

    id: str
    name: str
    type: ValueType
    domain: Domain
    label: Label
    unit: str | None = None  # the unit it names, if it is a unit's identifier
    locates: str | None = None  # rows that agree in columns locating the same thing are of the same unit
    table: str | None = None  # where a column of a base table comes from, for messages
    hidden: bool = False
    visible: bool = False
    span: Span = NOWHERE
    alias: str = ""  # of the item of FROM that brings it, for messages


Columns = tuple[Attribute, ...]
Members = tuple[tuple[str, tuple[Value, ...]], ...]

WORTH_TESTING = 10_000  # values, or combinations of several columns' values, that it is worth testing each row for


@frozen
class PublicScan:
    """Columns of a public table - or, `dummy`, of rows invented for any table from the policy alone."""

    table: str
    columns: tuple[tuple[str, str, ValueType], ...]  # id, column of the table, type
    dummy: bool = False


@frozen
class ReleasedScan:
    """Columns of an answer that was released earlier under a name."""

    release: str
    columns: tuple[tuple[str, str, ValueType], ...]


@frozen
class PrivateScan:
    table: str
    columns: tuple[tuple[str, str, ValueType], ...]


@frozen
class Measured:
    """The released groups of block number `block` of this statement: its keys, then its aggregates."""

    block: int
    columns: tuple[tuple[str, ValueType], ...]


@frozen
class Rows:
    """VALUES; with one empty row, the FROM of a SELECT without FROM."""

    columns: tuple[tuple[str, ValueType], ...]
    rows: tuple[tuple[Scalar, ...], ...]


@frozen
class Shared:
    """A reference to a CTE or view that is computed once: columns (id here, id there, type)."""

    name: str  # in CheckedQuery.shared
    columns: tuple[tuple[str, str, ValueType], ...]


@frozen
class Where:
    """Rows for which the condition is TRUE: WHERE, HAVING, QUALIFY."""

    input: Rel
    condition: Scalar


@frozen
class Compute:
    """Exactly these columns, computed from each row."""

    input: Rel
    columns: tuple[tuple[str, Scalar], ...]


@frozen
class Joined:
    """Columns of both sides. `on` None is a cross join. `lateral`: the right side may read the left side's columns."""

    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS"]
    left: Rel
    right: Rel
    on: Scalar | None = None
    lateral: bool = False


@frozen
class SortKey:
    value: Scalar
    descending: bool
    nulls_first: bool


@frozen
class AggregateCall:
    """An SQL aggregate over public or released rows: exact. `function` in lower case; COUNT(*) has no argument."""

    function: str
    args: tuple[Scalar, ...]
    type: ValueType
    distinct: bool = False
    order: tuple[SortKey, ...] = ()
    where: Scalar | None = None


@frozen
class FrameBound:
    kind: Literal["UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"]
    size: Scalar | None = None


@frozen
class WindowCall:
    """A window function, or an aggregate over a window."""

    call: AggregateCall
    partition: tuple[Scalar, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame_unit: Literal["ROWS", "RANGE", "GROUPS"] | None = None
    frame_start: FrameBound | None = None
    frame_end: FrameBound | None = None
    ignore_nulls: bool = False
    domains: tuple[Domain, ...] = ()  # of the arguments, where the rows are private


@frozen
class Around:
    """Inside an `Each`: the rows that are around it, as the query there knows them."""

    number: str
    columns: tuple[tuple[str, Scalar], ...]  # id here, what it is of the row around


@frozen
class Each:
    """A query that is answered for each private row around it: its rows say by `row` which `number` that row has.

    It stands on the right of a lateral join or in a `Subquery`; what it stands beside is numbered within each unit.
    """

    input: Rel
    number: str
    row: str
    most: int | None = None  # so many rows for each


@frozen
class Grouped:
    """GROUP BY: the columns are the keys, then the aggregates, then GROUPING()'s bit masks.

    `sets`: for each grouping set the indices of the keys that it groups by; one set of all keys is plain GROUP BY.
    """

    input: Rel
    keys: tuple[tuple[str, Scalar], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]
    sets: tuple[tuple[int, ...], ...]
    grouping: tuple[tuple[str, tuple[int, ...]], ...] = ()


@frozen
class Gathered:
    """GROUP BY keys that tell the unit: private rows still, exact, for each unit and each combination of the keys."""

    input: Rel
    keys: tuple[tuple[str, Scalar], ...]
    features: tuple[Aggregate, ...]
    listed: Members = ()  # the values of the keys that do not name the unit, if all are known


@frozen
class Windowed:
    """All columns of the input, and one more for each window call."""

    input: Rel
    calls: tuple[tuple[str, WindowCall], ...]


@frozen
class Distinct:
    input: Rel
    listed: Members = ()  # the values of the columns that do not name the unit, if all are known


@frozen
class Once:
    """Of private rows that are the same, one, whoever has them: nobody's any more, they can only be measured."""

    input: Rel


@frozen
class Combined:
    """UNION, INTERSECT, EXCEPT by position: both sides have as many columns as `columns` names anew."""

    op: Literal["UNION", "INTERSECT", "EXCEPT"]
    all: bool
    left: Rel
    left_columns: tuple[str, ...]
    right: Rel
    right_columns: tuple[str, ...]
    columns: tuple[tuple[str, ValueType], ...]


@frozen
class Working:
    """Within a recursion: the rows that the step before has added."""

    name: str
    columns: tuple[tuple[str, ValueType], ...]


@frozen
class Recursive:
    """WITH RECURSIVE: the rows of `left`, then those that `right` makes of the rows before, until it makes none."""

    name: str
    all: bool
    left: Rel
    left_columns: tuple[str, ...]
    right: Rel  # over one `Working` of this name
    right_columns: tuple[str, ...]
    columns: tuple[tuple[str, ValueType], ...]  # as the `Working` has them


@frozen
class Sorted:
    input: Rel
    keys: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0
    per_unit: bool = False  # the limit is each unit's own


Rel = (
    PublicScan
    | ReleasedScan
    | PrivateScan
    | Measured
    | Rows
    | Shared
    | Where
    | Compute
    | Joined
    | Around
    | Each
    | Grouped
    | Gathered
    | Windowed
    | Distinct
    | Once
    | Combined
    | Working
    | Recursive
    | Sorted
)


SubqueryKind = Literal["scalar", "exists", "in", "any", "all"]


@frozen
class Subquery:
    """A query as a value: its one value, whether it has rows, or how `operand` compares with them by `op`.

    Beside private rows it reads none of their columns: `on` says what of them must equal its own, `where` what else
    must hold of both; and where no row of it does, its one value is `default`. What cannot be said so is an `Each`.
    """

    kind: SubqueryKind
    rel: Rel
    column: str | None  # the subquery's column
    operand: Scalar | None = None
    op: str = "="
    on: tuple[tuple[Scalar, Scalar], ...] = ()
    where: Scalar | None = None
    default: Scalar | None = None


@frozen
class Told:
    """ERROR(x), LOW(x, p) or HIGH(x, p), as a value: a `Field` named in `CheckedQuery.told`."""

    kind: Literal["error", "low", "high"]
    value: Scalar
    confidence: Fraction
    type: ValueType
    span: Span = field(default=NOWHERE, kw_only=True, compare=False)


@frozen
class Choice:
    """The most frequent of these values, or several of them: `count`, each one an aggregate of those `together`."""

    candidates: tuple[Value, ...]
    count: int
    way: Way | None = None  # if the query names one


@frozen
class Aggregate:
    """An aggregate of private rows: to be measured or, of one unit's rows, a feature of that unit."""

    id: str
    function: str  # as the language calls it; what is measured is count, sum, avg or made of their powers
    argument: Scalar | None  # None: COUNT(*)
    domain: Domain  # of the argument
    argument_type: ValueType | None
    where: Scalar | None
    type: ValueType  # of the answer
    text: str
    span: Span
    privacy: ast.Privacy | None = None  # its own clause
    distinct: bool = False
    others: tuple[tuple[Scalar, Domain], ...] = ()  # further arguments
    order: tuple[SortKey, ...] = ()
    together: str = ""  # those that are measured as one have the same
    asked: tuple[Literal["itself", "root"], ...] = ("itself",)  # of a variance: which of the two stands in the query
    combined: bool = False  # a sum of several that stand in the query
    bins: tuple[Scalar, int] | None = None  # counted for each of so many bins, by the number that a row has
    choice: Choice | None = None  # its answer is one of the values listed there

    @property
    def reads(self) -> tuple[Scalar, ...]:
        """What it is computed from in each row."""
        bin = None if self.bins is None else self.bins[0]
        first = (term for term in (self.argument, self.where, bin) if term is not None)
        return (*first, *(term for term, _ in self.others), *(key.value for key in self.order))


@frozen
class GroupingKey:
    id: str
    value: Scalar
    type: ValueType
    members: tuple[Value, ...] | None  # every group there is, None last if the key may be NULL; None: not known
    name: str
    span: Span
    unknown: str = ""  # why they are not known
    bin: bool = False  # of an aggregate that counts in bins, no group of the query's


@frozen
class Block:
    """A SELECT that aggregates private rows, cut out of its query."""

    index: int
    rel: Rel  # private rows, beside public and released ones
    tables: tuple[str, ...]  # the private ones that it reads
    unit: Unit
    keys: tuple[GroupingKey, ...]
    aggregates: tuple[Aggregate, ...]  # none: its groups are looked for
    span: Span
    groups_of: int | None = None  # the block whose search for groups is this one's, too
    sets: tuple[tuple[int, ...], ...] = ()  # the keys of each grouping set, where there are any beside all keys
    groupings: tuple[tuple[str, tuple[int, ...]], ...] = ()  # GROUPING() of these keys, as a column each

    @property
    def columns(self) -> tuple[tuple[str, ValueType], ...]:
        """Of its answer: the keys, the aggregates, then GROUPING()'s bit masks."""
        keys = ((key.id, key.type) for key in self.keys)
        aggregates = ((aggregate.id, aggregate.type) for aggregate in self.aggregates)
        return (*keys, *aggregates, *((id, INT) for id, _ in self.groupings))


@frozen
class CheckedQuery:
    """A query that passed: the SQL that is left over released rows, and the blocks that must be measured first."""

    rel: Rel
    columns: tuple[Attribute, ...]
    blocks: tuple[Block, ...]
    shared: tuple[tuple[str, Rel], ...]  # in order of definition
    subqueries: tuple[tuple[str, Subquery], ...]
    told: tuple[tuple[str, Told], ...] = ()
