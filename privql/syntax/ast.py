"""The tree of a PrivQL text: what was written, before anything is known about it.

Every node is frozen and carries the span it was read from; spans do not take part in equality, so
`parse(unparse(q)) == q`. Names are kept as written (they compare ASCII-case-insensitively, quoted or not);
`unparse` adds quotes where a name needs them. Sugar that has one meaning is one node: SUBSTRING, POSITION and
TRIM are calls, `a::INT` is a Cast, `x NOT IN (…)` is InList with `negated`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from privql.diagnostics import NOWHERE, Span
from privql.frozen import frozen


@frozen(kw_only=True)
class Node:
    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ---------------------------------------------------------------- expressions


@frozen
class Column(Node):
    """`a`, `t.a`, `s.t.a`."""

    path: tuple[str, ...]


@frozen
class Number(Node):
    """`12` is INT, `1.50` DECIMAL, `1e3` FLOAT. The text holds no underscores."""

    text: str


@frozen
class String(Node):
    value: str


@frozen
class Boolean(Node):
    value: bool


@frozen
class Null(Node):
    pass


@frozen
class Typed(Node):
    """`DATE '2024-01-01'`, `TIMESTAMP '…'`, `TIME '…'`: `type` is upper case."""

    type: str
    text: str


@frozen
class Interval(Node):
    """`INTERVAL '3' MONTH`, `INTERVAL 3 MONTH`, `INTERVAL '1 day 2 hours'` (unit None), `INTERVAL $n DAY`."""

    amount: String | Number | Param
    unit: str | None  # upper case, singular


@frozen
class Param(Node):
    """`$name` or `$1`, without the dollar."""

    name: str


@frozen
class Unary(Node):
    op: Literal["-", "+", "~", "NOT"]
    operand: Expr


@frozen
class Binary(Node):
    """Arithmetic `+ - * / // % ^`, text `||`, bits `& | << >>`, regex `~ ~* !~ !~*`, JSON `-> ->>`,
    comparison `= <> < <= > >=` (`!=` is read as `<>`), `AND`, `OR`."""

    op: str
    left: Expr
    right: Expr


@frozen
class Is(Node):
    """`x IS [NOT] NULL | TRUE | FALSE | UNKNOWN` (also ISNULL, NOTNULL)."""

    operand: Expr
    what: Literal["NULL", "TRUE", "FALSE", "UNKNOWN"]
    negated: bool


@frozen
class IsDistinct(Node):
    left: Expr
    right: Expr
    negated: bool  # IS NOT DISTINCT FROM


@frozen
class Like(Node):
    operand: Expr
    pattern: Expr
    escape: Expr | None
    kind: Literal["LIKE", "ILIKE", "SIMILAR TO"]
    negated: bool


@frozen
class Between(Node):
    operand: Expr
    low: Expr
    high: Expr
    symmetric: bool
    negated: bool


@frozen
class InList(Node):
    operand: Expr
    items: tuple[Expr, ...]
    negated: bool


@frozen
class InQuery(Node):
    operand: Expr
    query: Query
    negated: bool


@frozen
class Quantified(Node):
    """`x > ALL (SELECT …)`; SOME is read as ANY."""

    op: str
    left: Expr
    quantifier: Literal["ALL", "ANY"]
    query: Query


@frozen
class Exists(Node):
    query: Query


@frozen
class Scalar(Node):
    """A parenthesised query as a value."""

    query: Query


@frozen
class Case(Node):
    operand: Expr | None
    whens: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None


@frozen
class TypeName(Node):
    """`name` upper case as written (`DOUBLE PRECISION`, `CHARACTER VARYING` keep their space)."""

    name: str
    arguments: tuple[int, ...] = ()


@frozen
class Cast(Node):
    """CAST, TRY_CAST and `::` mean the same: what cannot be cast is NULL."""

    operand: Expr
    type: TypeName


@frozen
class Extract(Node):
    field: str  # upper case
    operand: Expr


@frozen
class Row(Node):
    items: tuple[Expr, ...]


@frozen
class ListOf(Node):
    items: tuple[Expr, ...]


@frozen
class Index(Node):
    operand: Expr
    index: Expr


@frozen
class Star(Node):
    """`*`, `t.*`, with EXCLUDE and REPLACE in a select list; also the argument of COUNT(*)."""

    qualifier: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    replace: tuple[tuple[Expr, str], ...] = ()


@frozen
class Named(Node):
    """`name => value` as an argument, `name = value` as an option."""

    name: str
    value: Expr


@frozen
class Call(Node):
    """A function, aggregate or window call. `name` as written."""

    name: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False
    order: tuple[OrderItem, ...] = ()  # inside the parentheses
    limit: Expr | None = None
    nulls: Literal["IGNORE", "RESPECT"] | None = None
    privacy: Privacy | None = None  # the aggregate's own clause
    within_group: tuple[OrderItem, ...] = ()
    filter: Expr | None = None
    over: str | Window | None = None  # a window's name, or the window itself


Expr = (
    Column
    | Number
    | String
    | Boolean
    | Null
    | Typed
    | Interval
    | Param
    | Unary
    | Binary
    | Is
    | IsDistinct
    | Like
    | Between
    | InList
    | InQuery
    | Quantified
    | Exists
    | Scalar
    | Case
    | Cast
    | Extract
    | Row
    | ListOf
    | Index
    | Star
    | Named
    | Call
)


# ---------------------------------------------------------------- queries


@frozen
class OrderItem(Node):
    expr: Expr
    descending: bool = False
    nulls_first: bool | None = None  # None: not said


@frozen
class FrameEdge(Node):
    kind: Literal["UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"]
    size: Expr | None = None


@frozen
class Frame(Node):
    unit: Literal["ROWS", "RANGE", "GROUPS"]
    start: FrameEdge
    end: FrameEdge | None = None  # None: not said, which means CURRENT ROW


@frozen
class Window(Node):
    base: str | None = None  # a named window that this one refines
    partition: tuple[Expr, ...] = ()
    order: tuple[OrderItem, ...] = ()
    frame: Frame | None = None


@frozen
class Privacy(Node):
    """The privacy clause of a query, or of one aggregate (which may also have `share` and `bounds_auto`).

    An amount is a Number, `Binary('/', Number, Number)`, a Param or any parenthesised expression."""

    rows: Expr | None = None  # AT MOST n ROWS
    groups: Expr | None = None  # AT MOST n GROUPS
    per_unit: str | None = None  # PER UNIT name, if named
    epsilon: Expr | None = None  # SPEND EPSILON e
    delta: Expr | None = None  # SPEND [EPSILON e] DELTA d; a Named if it is an option of BigQuery's form
    within: Expr | None = None  # WITHIN a
    within_percent: bool = False  # WITHIN a %
    confidence: Expr | None = None  # AT p %  (p itself, 95)
    max_epsilon: Expr | None = None  # MAX EPSILON e
    given: Expr | None = None  # GIVEN COUNT >= n
    mechanism: str | None = None  # USING name, upper case
    share: Expr | None = None
    bounds_auto: bool = False
    schedule: Schedule | None = None


@frozen
class Every(Node):
    """`EVERY DAY`, `EVERY 30 DAYS`. Months and years are of no fixed length, and none."""

    count: int
    period: Literal["HOUR", "DAY", "WEEK"]


@frozen
class Schedule(Node):
    """`EVERY DAY FOR 90 RUNS`."""

    every: Every
    runs: Expr


@frozen
class SelectItem(Node):
    expr: Expr
    alias: str | None = None


@frozen
class GroupKey(Node):
    """One grouping expression, with its known keys if they are stated."""

    expr: Expr
    keys: tuple[Expr, ...] | Query | None = None


@frozen
class GroupSet(Node):
    """`(a, b)` or `()` inside GROUPING SETS, or alone in GROUP BY when empty."""

    exprs: tuple[Expr, ...]


@frozen
class Cube(Node):
    exprs: tuple[Expr, ...]


@frozen
class Rollup(Node):
    exprs: tuple[Expr, ...]


@frozen
class GroupingSets(Node):
    sets: tuple[Grouping, ...]


Grouping = GroupKey | GroupSet | Cube | Rollup | GroupingSets


@frozen
class TableRef(Node):
    path: tuple[str, ...]
    alias: str | None = None
    columns: tuple[str, ...] = ()
    dummy: bool = False  # FROM DUMMY t


@frozen
class Derived(Node):
    query: Query
    alias: str | None = None
    columns: tuple[str, ...] = ()
    lateral: bool = False


@frozen
class TableFunction(Node):
    name: str
    args: tuple[Expr, ...] = ()
    alias: str | None = None
    columns: tuple[str, ...] = ()


@frozen
class Join(Node):
    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS"]
    left: Relation
    right: Relation
    on: Expr | None = None
    using: tuple[str, ...] = ()
    natural: bool = False


Relation = TableRef | Derived | TableFunction | Join


@frozen
class Select(Node):
    items: tuple[SelectItem, ...]
    distinct: bool = False
    relations: tuple[Relation, ...] = ()  # FROM a, b
    where: Expr | None = None
    group: tuple[Grouping, ...] = ()
    group_all: bool = False
    having: Expr | None = None
    windows: tuple[tuple[str, Window], ...] = ()
    qualify: Expr | None = None
    options: tuple[Named, ...] | None = None  # SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(…)


@frozen
class Values(Node):
    rows: tuple[tuple[Expr, ...], ...]


@frozen
class SetOperation(Node):
    op: Literal["UNION", "INTERSECT", "EXCEPT"]
    all: bool
    left: Body
    right: Body


@frozen
class Cte(Node):
    name: str
    columns: tuple[str, ...]
    query: Query


@frozen
class Limit(Node):
    """LIMIT n [PER UNIT [u]], also FETCH FIRST n ROWS ONLY. `count` None is LIMIT ALL."""

    count: Expr | None
    per_unit: bool = False
    unit: str | None = None


@frozen
class Query(Node):
    body: Body
    ctes: tuple[Cte, ...] = ()
    recursive: bool = False
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    offset: Expr | None = None
    privacy: Privacy | None = None


Body = Select | Values | SetOperation | Query  # a Query here was written in parentheses


# ---------------------------------------------------------------- an analyst's statements


@frozen
class CreateRelease(Node):
    name: str
    columns: tuple[str, ...]
    query: Query


@frozen
class Refine(Node):
    """`REFINE r TO WITHIN a [AT p%] [AS s]`: `privacy` says only that."""

    name: str
    privacy: Privacy
    new: str | None = None  # what the more accurate release is called


@frozen
class Explain(Node):
    """`EXPLAIN SELECT …`; without a statement, the open cart of BEGIN … COMMIT."""

    statement: Query | CreateRelease | Refine | None


@frozen
class Show(Node):
    what: str  # upper case: TABLES, BUDGET, RELEASES, …


@frozen
class Describe(Node):
    path: tuple[str, ...]


@frozen
class SetOption(Node):
    name: str
    value: Expr


@frozen
class Drop(Node):
    kind: Literal["VIEW", "RELEASE"]
    name: str


@frozen
class Begin(Node):
    delta: Expr | None = None  # the δ that the plan may take


@frozen
class Commit(Node):
    pass


@frozen
class Rollback(Node):
    pass


# ---------------------------------------------------------------- the owner's statements


@frozen
class CreateUnit(Node):
    name: str
    change_one: bool = False


@frozen
class References(Node):
    table: str
    column: str | None = None


@frozen
class ColumnDefinition(Node):
    """One column and what the owner declares of it; each option at most once, in any order."""

    name: str
    type: TypeName
    unit: str | None = None  # UNIT u
    unit_alias: str | None = None  # UNIT id AS person
    key: bool = False
    low: Expr | None = None  # BETWEEN low AND high
    high: Expr | None = None
    values: tuple[Expr, ...] | Query | None = None  # IN (…)
    grid: Expr | None = None
    not_null: bool = False
    references: References | None = None
    hidden: bool = False
    visible: bool = False


@frozen
class TableUnit(Node):
    """`UNIT ROW [AS u]` (via ROW), `UNIT u VIA column` after the column list, `UNIT u` alone with a column option."""

    unit: str | None
    row: bool = False
    via: tuple[str, ...] = ()


@frozen
class CreateTable(Node):
    name: str
    private: bool
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[tuple[str, ...], ...] = ()  # KEY (a, b) among the columns
    unit: TableUnit | None = None
    at_most: Privacy | None = None  # AT MOST n ROWS PER UNIT: only rows, groups, per_unit are set
    sources: tuple[str, ...] = ()  # FROM 'a.parquet', 'b.parquet'
    connection: tuple[str, ...] = ()  # FROM warehouse.schema.table
    parts_by: str | None = None  # PARTS BY column


@frozen
class CreateView(Node):
    name: str
    columns: tuple[str, ...]
    query: Query


@frozen
class CreateBudget(Node):
    name: str
    unit: str
    epsilon: Expr
    delta: Expr | None = None
    default_epsilon: Expr | None = None
    default_delta: Expr | None = None
    max_epsilon: Expr | None = None  # MAX EPSILON e PER QUERY
    shares: tuple[tuple[str, Expr], ...] = ()  # SHARES (KEYS 1/4, …), names in upper case
    every: Every | None = None


@frozen
class AlterBudget(Node):
    """`ALTER BUDGET b ADD [EPSILON e] [DELTA d] REASON 'why'`: at least one of the two."""

    budget: str
    epsilon: Expr | None
    delta: Expr | None
    reason: str


@frozen
class Grant(Node):
    """`GRANT budget TO alice, bob [LIMIT EPSILON e [DELTA d] EACH]`."""

    budget: str
    analysts: tuple[str, ...]
    epsilon: Expr | None = None
    delta: Expr | None = None


@frozen
class Refresh(Node):
    table: str
    version: str


@frozen
class PadTime(Node):
    """`PAD TIME TO 2 SECONDS`."""

    count: Number
    period: Literal["SECOND", "MINUTE"]


OwnerStatement = CreateUnit | CreateTable | CreateView | CreateBudget | AlterBudget | Grant | Refresh | PadTime
AnalystStatement = (
    Query
    | CreateRelease
    | Refine
    | CreateView
    | Explain
    | Show
    | Describe
    | SetOption
    | Drop
    | Begin
    | Commit
    | Rollback
)
Statement = AnalystStatement | OwnerStatement
