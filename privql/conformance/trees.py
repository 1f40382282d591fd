"""Random terms in which rows of a unit meet: joins, marks, groups, windows, sets; over hostile and public rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from random import Random
from typing import Literal, get_args

from privql.audit import reference
from privql.conformance.pools import PRICE, WIDE, some_value
from privql.conformance.rows import Row
from privql.conformance.terms import CALLS, COLUMNS, SMALL, Terms, hostile_rows
from privql.kernel.features import (
    FACTOR_LIMIT,
    STEP_LIMIT,
    Bits,
    Different,
    Extreme,
    Feature,
    Frame,
    Mode,
    Moment,
    Neighbour,
    Nth,
    Order,
    Over,
    Quantile,
    Rank,
    Splice,
    Steps,
    Tally,
    Total,
    WindowCall,
)
from privql.kernel.parts import DIVIDING
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, Field, Scalar, Value, ValueType
from privql.kernel.sums import Sums
from privql.kernel.terms import (
    Combine,
    Filter,
    Gather,
    Join,
    KeepRows,
    Link,
    Lookup,
    Mark,
    Once,
    Project,
    Public,
    Relation,
    Scan,
    SetOperation,
    Unit,
    UnitPart,
    Window,
)

Rows = dict[str, tuple[tuple[Value, ...], ...]]
_OPERATIONS = {
    "eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_null", "and", "or", "not", "case", "coalesce", "nullif",
    "in", "add", "sub", "mul", "neg", "abs", "mod", "cast", "concat", "clamp", "length",
}  # fmt: skip
_FEW = {type: [call for call in some if call.resolved.op in _OPERATIONS] for type, some in CALLS.items()}
_UNIT = Unit("unit")
_KINDS: tuple[Literal["INNER", "LEFT", "FULL"], ...] = ("INNER", "LEFT", "FULL")
_OPS: tuple[SetOperation, ...] = get_args(SetOperation)
_RANKS: tuple[Literal["ROW_NUMBER", "RANK", "DENSE_RANK"], ...] = ("ROW_NUMBER", "RANK", "DENSE_RANK")


def tables(random: Random, rows: int) -> dict[str, list[Row]]:
    """`table` refers by `j` to the different `i` of `near`, and that by `t` to the different `s` of `far`."""
    made = {name: _short(hostile_rows(random, rows)) for name in ("table", "near", "far")}
    for name, column, refers in (("near", "i", "j"), ("far", "s", "t")):
        values = [None, *SMALL[dict(COLUMNS)[refers].kind], *dict.fromkeys(row[column] for row in made[name])]
        for row, value in zip(made[name], dict.fromkeys(values[1:]), strict=False):
            row[column] = value
        seen: set[Value] = set()
        for row in made[name]:
            row[column] = None if row[column] in seen else row[column]
            seen.add(row[column])
    return made


def _few(steps: Steps, most: int) -> Steps:
    return replace(steps, high=min(steps.high, steps.low + most))


def _short(rows: list[Row]) -> list[Row]:
    """A text is copied with every row that meets it."""
    return [{c: v[:2000] if isinstance(v, str) else v for c, v in row.items()} for row in rows]


class Trees(Terms):
    """A few scalar functions will do: what matters here is which rows they are computed of."""

    def __init__(self, random: Random, unit: str | None) -> None:
        super().__init__(random)
        self.calls = {type: some for type, some in _FEW.items() if some}
        self.unit = unit
        self.publics: Rows = {}
        self._fresh = count()

    def fresh(self) -> str:
        return f"n{next(self._fresh)}"

    def some(self, odds: float) -> bool:
        return self.random.random() < odds

    # ---- leaves

    def leaf(self) -> Relation:
        table = "table" if self.unit is None or self.some(0.7) else "near"
        via: tuple[Link, ...] = ()
        if self.unit is not None and table == "table" and self.some(0.3):
            near, far = Link("j", "near", ("i", INT)), Link("t", "far", ("s", TEXT))
            via = (near, far) if self.some(0.5) else (near,)
        unit = None if self.unit is None else (self.unit, dict(COLUMNS)[self.unit])
        read = tuple(c for c in COLUMNS if c[0] in ("j", "g", "t") or self.some(0.3))
        scan = Scan(table, _UNIT, unit, False, read, via)
        leaf: Relation = scan
        dividing = [c for c, type in read if type.kind in DIVIDING]
        if dividing and self.some(0.3):
            leaf = UnitPart(scan, self.random.choice(dividing))
        kept = [(self.fresh(), Field(c, type)) for c, type in read]
        made = [(self.fresh(), self.declared(dict(read))) for _ in range(self.random.choice((0, 0, 1)))]
        return Project(leaf, (*kept, *made))

    def public(self) -> Public:
        types = [INT, TEXT, FLOAT, *(t for t in (PRICE, WIDE, BOOL, DATE, TIMESTAMP) if self.some(0.3))]
        public = Public(self.fresh(), tuple((self.fresh(), type) for type in types))
        rows = self.random.choice((0, 1, 5, 12, 12))
        self.publics[public.name] = tuple(tuple(self.near(type) for type in types) for _ in range(rows))
        return public

    def near(self, type: ValueType) -> Value:
        """A value that may meet another."""
        if self.some(0.1):
            return None
        value = (
            self.random.choice(SMALL[type.kind])
            if type.kind in SMALL and self.some(0.8)
            else some_value(type, self.random)
        )
        return value[:2000] if isinstance(value, str) else value

    # ---- trees

    def tree(self, depth: int) -> Relation:
        if depth <= 0:
            return self.leaf()
        input = self.tree(depth - 1)
        columns = reference.types(input)
        match self.random.choice(
            ("filter", "project", "keep", "keep", "lookup", "join", "join", "mark", "gather", "gather", "different",
             "combine", "window", "window")
        ):  # fmt: skip
            case "filter":
                return Filter(input, self.scalar(BOOL, columns, 2))
            case "project":
                kept: list[tuple[str, Scalar]] = [(c, Field(c, t)) for c, t in columns.items() if self.some(0.7)]
                types = (INT, FLOAT, PRICE, TEXT, BOOL)
                return Project(input, (*kept, (self.fresh(), self.scalar(self.random.choice(types), columns, 2))))
            case "keep":
                return KeepRows(input, self.random.choice((1, 2, 5)), self.order(columns))
            case "lookup":
                public = self.public()
                on = [(value, c) for value, other in self.on(columns, dict(public.columns))
                      for c, _ in public.columns if other == Field(c, other.type)]  # fmt: skip
                where = self.where({**columns, **dict(public.columns)})
                return Lookup(input, public, tuple(on), where, self.random.choice((None, 1, 2)), self.some(0.5))
            case "join":
                right = self.few(self.tree(self.random.randrange(depth)))
                input = self.few(input)
                theirs = reference.types(right)
                return Join(
                    self.random.choice(_KINDS),
                    input,
                    right,
                    self.on(columns, theirs),
                    self.where({**columns, **theirs}),
                )
            case "mark":
                among: Relation | Public = self.public() if self.some(0.4) else self.tree(self.random.randrange(depth))
                theirs = dict(among.columns) if isinstance(among, Public) else reference.types(among)
                return Mark(input, self.fresh(), among, self.on(columns, theirs), self.where({**columns, **theirs}))
            case "gather":
                keys = [(self.fresh(), self.value_of(columns)) for _ in range(self.random.choice((0, 1, 1, 2)))]
                features = [(self.fresh(), self.feature(columns)) for _ in range(self.random.choice((0, 1, 2, 3)))]
                return Gather(input, tuple(keys), tuple(features))
            case "different":
                return Gather(input, tuple((c, Field(c, t)) for c, t in columns.items() if self.some(0.4)), ())
            case "combine":
                return self.combined(input, self.tree(self.random.randrange(depth)))
            case _:
                calls = tuple((self.fresh(), self.call(columns)) for _ in range(self.random.choice((1, 2, 3))))
                partition = tuple(self.value_of(columns) for _ in range(self.random.choice((0, 0, 1))))
                return Window(input, partition, self.order(columns), calls)

    def few(self, input: Relation) -> Relation:
        return KeepRows(input, 4) if self.some(0.5) else input

    def on(self, ours: dict[str, ValueType], theirs: dict[str, ValueType]) -> tuple[tuple[Scalar, Scalar], ...]:
        alike = [(Field(c, t), Field(o, t)) for c, t in ours.items() for o, of in theirs.items() if of == t]
        pairs: list[tuple[Scalar, Scalar]] = list(
            self.random.sample(alike, min(len(alike), self.random.choice((0, 1, 1, 2))))
        )
        if pairs and self.some(0.2):
            pairs[0] = (self.scalar(pairs[0][0].type, ours, 1), pairs[0][1])
        return tuple(pairs)

    def where(self, columns: dict[str, ValueType]) -> Scalar | None:
        return self.scalar(BOOL, columns, 2) if self.some(0.35) else None

    def value_of(self, columns: dict[str, ValueType]) -> Scalar:
        if columns and self.some(0.8):
            return Field(*self.random.choice(list(columns.items())))
        return self.scalar(self.random.choice((INT, FLOAT, TEXT, BOOL)), columns, 1)

    def order(self, columns: dict[str, ValueType]) -> tuple[Order, ...]:
        return tuple(
            Order(self.value_of(columns), self.some(0.5), self.some(0.5)) for _ in range(self.random.choice((0, 1, 2)))
        )

    def feature(self, columns: dict[str, ValueType]) -> Feature:
        where = self.scalar(BOOL, columns, 1) if self.some(0.3) else None
        match self.random.randrange(9):
            case 0:
                return Tally(where)
            case 1:
                return Total(self.steps(columns), where)
            case 2:
                return Extreme(self.value_of(columns), self.some(0.5), where)
            case 3:
                share = self.random.choice((0.0, 0.1, 0.25, 0.5, 0.57, 0.9, 1.0))
                return Quantile(self.value_of(columns), share, self.random.choice(("LEAST", "BELOW", "ABOVE")), where)
            case 4:
                return Mode(self.value_of(columns), where)
            case 5:
                return Bits(self.random.choice(("AND", "OR", "XOR")), self.scalar(INT, columns, 1), where)
            case 6:
                text = self.scalar(TEXT, columns, 1)
                return Splice(text, self.random.choice((", ", "", "'")), self.order(columns), where)
            case 7:
                factors = [self.steps(columns) for _ in range(self.random.choice((1, 2)))]
                most = STEP_LIMIT if len(factors) == 1 else FACTOR_LIMIT
                return Moment(tuple(_few(steps, most) for steps in factors), where)
            case _:
                return Different(self.value_of(columns), where)

    def frame(self) -> Frame | None:
        if self.some(0.3):
            return None
        edges = (None, None, -2, -1, 0, 0, 1, 2**41)
        return Frame(self.random.choice(("ROWS", "GROUPS")), self.random.choice(edges), self.random.choice(edges))

    def call(self, columns: dict[str, ValueType]) -> WindowCall:
        match self.random.randrange(4):
            case 0:
                return Rank(self.random.choice(_RANKS))
            case 1:
                value = self.value_of(columns)
                return Neighbour(value, self.random.choice((1, 1, -1, 2, 0)), self.scalar(value.type, columns, 1))
            case 2:
                place = self.random.choice((1, 2, -1))
                return Nth(self.value_of(columns), place, self.frame(), self.some(0.3))
            case _:
                return Over(self.feature(columns), self.frame())

    def combined(self, left: Relation, right: Relation) -> Relation:
        ours, theirs = reference.types(left), reference.types(right)
        if self.some(0.5):  # sides that meet
            right, theirs = Filter(left, self.scalar(BOOL, ours, 1)), ours
        pairs: list[tuple[str, str, str]] = []
        for c, type in ours.items():
            same = (
                [c]
                if theirs is ours
                else [o for o, t in theirs.items() if t == type and o not in {p[2] for p in pairs}]
            )
            if same and self.some(0.7):
                pairs.append((self.fresh(), c, self.random.choice(same)))
        return Combine(self.random.choice(_OPS), left, right, tuple(pairs))

    def sums_of(self, relation: Relation, rows: list[Row]) -> Sums:
        columns = reference.types(relation)
        keys = tuple(self.key(columns, rows) for _ in range(self.random.choice((0, 1, 1, 2)))) if columns else ()
        contributions = [self.contribution(columns) for _ in range(3)]
        return Sums(relation, keys, (Tally(), *contributions))

    def once(self, relation: Relation) -> Relation:
        return Once(relation) if self.some(0.15) else relation
