"""Random typed relations over small tables full of ties and NULLs."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from privql.check.relations import (
    AggregateCall,
    Attribute,
    CheckedQuery,
    Combined,
    Compute,
    Distinct,
    FrameBound,
    Grouped,
    Joined,
    Label,
    Measured,
    PublicScan,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Sorted,
    SortKey,
    Subquery,
    Where,
    WindowCall,
    Windowed,
)
from privql.domains import whole
from privql.finish.table import Table
from privql.functions.aggregate.public import resolve_aggregate, resolve_window
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, Apply, Const, Field, Scalar, Value, ValueType, decimal

MONEY = decimal(10, 2)
Columns = list[tuple[str, ValueType]]

VALUES: dict[ValueType, list[Value]] = {
    INT: [None, -2, 0, 1, 1, 3],
    FLOAT: [None, -1.5, 0.25, 2.0],
    MONEY: [None, Fraction(-1, 4), Fraction(1), Fraction(125, 100)],
    TEXT: [None, "", "B", "a", "é"],
    BOOL: [None, False, True],
    DATE: [None, -3, 0, 19000],
}
TYPES = list(VALUES)


class Trees:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.number = 0
        self.shared: list[tuple[str, Rel, Columns]] = []
        self.subqueries: list[tuple[str, Subquery]] = []
        self.blocks = [self.table(keyed=True), self.table(keyed=True)]
        self.tables = {name: self.table(keyed=False) for name in ("free", "earlier")}

    def table(self, keyed: bool) -> Table:
        types = [self.random.choice(TYPES) for _ in range(self.random.randint(1, 4))]
        rows = tuple(
            tuple(self.random.choice(VALUES[type]) for type in types) for _ in range(self.random.randint(0, 6))
        )
        return Table(tuple((f"k{at}" if keyed else f"col {at}", type) for at, type in enumerate(types)), rows)

    def query(self) -> tuple[CheckedQuery, list[str]]:
        rel, columns = self.rel(self.random.randint(1, 4), {})
        attributes = tuple(Attribute(id, id, type, whole(type), Label.RELEASED) for id, type in columns)
        shared = tuple((name, rel) for name, rel, _ in self.shared)
        return CheckedQuery(rel, attributes, (), shared, tuple(self.subqueries)), [id for id, _ in columns]

    def fresh(self) -> str:
        self.number += 1
        return f"c{self.number}"

    # ---- relations; `outer` are the columns of the query around

    def rel(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        if depth == 0:
            return self.leaf(outer)
        makers = [self.leaf, self.where, self.compute, self.joined, self.grouped, self.windowed, self.distinct,
                  self.combined, self.sorted, self.share]  # fmt: skip
        maker = self.random.choice(makers)
        return maker(outer) if maker == self.leaf else maker(depth - 1, outer)

    def leaf(self, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        kind = self.random.randrange(4)
        if kind == 0:
            columns = [(self.fresh(), self.random.choice(TYPES)) for _ in range(self.random.randint(1, 3))]
            rows = tuple(tuple(self.const(type) for _, type in columns) for _ in range(self.random.randint(1, 4)))
            return Rows(tuple(columns), rows), columns
        if kind == 1:
            block = self.random.randrange(2)
            columns = [(self.fresh(), type) for _, type in self.blocks[block].columns]
            if self.random.random() < 0.2:
                columns.append((self.fresh(), INT))
            return Measured(block, tuple(columns)), columns
        name = "free" if kind == 2 else "earlier"
        chosen = [(self.fresh(), there, type) for there, type in self.tables[name].columns]
        scan: Rel = PublicScan(name, tuple(chosen), dummy=True) if kind == 2 else ReleasedScan(name, tuple(chosen))
        return scan, [(id, type) for id, _, type in chosen]

    def where(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        below, columns = self.rel(depth, outer)
        return Where(below, self.value(BOOL, {**outer, **dict(columns)}, 2)), columns

    def compute(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        below, columns = self.rel(depth, outer)
        types = [self.random.choice(TYPES) for _ in range(self.random.randint(1, 4))]
        computed = tuple((self.fresh(), self.value(type, {**outer, **dict(columns)}, 2)) for type in types)
        return Compute(below, computed), [(id, term.type) for id, term in computed]

    def joined(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        left, a = self.rel(depth, outer)
        kind = self.random.choice(["INNER", "LEFT", "RIGHT", "FULL", "CROSS"])
        lateral = kind in ("INNER", "LEFT", "CROSS") and self.random.random() < 0.4
        right, b = self.rel(self.random.randint(0, depth), {**outer, **dict(a)} if lateral else outer)
        both = {**dict(a), **dict(b)}
        on = None if kind == "CROSS" else self.value(BOOL, {**outer, **both} if kind in ("INNER", "LEFT") else both, 1)
        return Joined(kind, left, right, on, lateral), a + b

    def grouped(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        below, columns = self.rel(depth, outer)
        seen = {**outer, **dict(columns)}
        keys = tuple(
            (self.fresh(), self.value(self.random.choice(TYPES), dict(columns), 1))
            for _ in range(self.random.randint(0, 2))
        )
        everything = tuple(range(len(keys)))
        sets = [everything]
        if keys and self.random.random() < 0.4:
            sets += [tuple(at for at in everything if self.random.random() < 0.5) for _ in range(2)]
        sets = list(dict.fromkeys(sets))
        calls = tuple((self.fresh(), self.call(seen)) for _ in range(self.random.randint(0 if keys else 1, 3)))
        masks = ((self.fresh(), everything),) if keys and self.random.random() < 0.3 else ()
        out = [(id, term.type) for id, term in keys] + [(id, call.type) for id, call in calls]
        return Grouped(below, keys, calls, tuple(sets), masks), out + [(id, INT) for id, _ in masks]

    def windowed(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        below, columns = self.rel(depth, outer)
        calls = tuple((self.fresh(), self.window(dict(columns))) for _ in range(self.random.randint(1, 3)))
        return Windowed(below, calls), columns + [(id, call.call.type) for id, call in calls]

    def distinct(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        below, columns = self.rel(depth, outer)
        return Distinct(below), columns

    def combined(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        left, a = self.rel(depth, outer)
        below, b = self.rel(depth, outer)
        terms = tuple((self.fresh(), self.value(type, {**outer, **dict(b)}, 1)) for _, type in a)
        right = Compute(below, terms)
        columns = [(self.fresh(), type) for _, type in a]
        op = self.random.choice(["UNION", "INTERSECT", "EXCEPT"])
        left_ids, right_ids = tuple(id for id, _ in a), tuple(id for id, _ in terms)
        made = Combined(op, self.random.random() < 0.5, left, left_ids, right, right_ids, tuple(columns))
        return made, columns

    def sorted(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        below, columns = self.rel(depth, outer)
        limit = self.random.choice([None, 0, 1, 2, 5])
        offset = self.random.choice([0, 0, 1])
        return Sorted(below, self.keys(dict(columns)), limit, offset), columns

    def share(self, depth: int, outer: dict[str, ValueType]) -> tuple[Rel, Columns]:
        if not self.shared or self.random.random() < 0.6:
            below, columns = self.rel(depth, outer if self.random.random() < 0.3 else {})
            if outer and _reads(below, outer, self.subqueries):
                return below, columns  # only good where those columns are in sight
            self.shared.append((f"q{len(self.shared)}", below, columns))
        name, _, columns = self.random.choice(self.shared)
        renamed = tuple((self.fresh(), id, type) for id, type in columns)
        return Shared(name, renamed), [(here, type) for here, _, type in renamed]

    # ---- values

    def const(self, type: ValueType) -> Const:
        return Const(self.random.choice(VALUES.get(type, [None])), type)

    def value(self, type: ValueType, seen: dict[str, ValueType], depth: int) -> Scalar:
        here = [Field(id, known) for id, known in seen.items() if known == type]
        roll = self.random.random()
        if depth and roll < 0.12:
            return self.subquery(type, seen)
        if depth and roll < 0.6:
            return self.computed(type, seen, depth - 1)
        return self.random.choice(here) if here and self.random.random() < 0.8 else self.const(type)

    def computed(self, type: ValueType, seen: dict[str, ValueType], depth: int) -> Scalar:
        other = self.random.choice(TYPES)
        if type == BOOL:
            op = self.random.choice(["eq", "lt", "ge", "is_null", "and", "or", "not", "is_distinct"])
            if op in ("and", "or"):
                return Apply(op, (self.value(BOOL, seen, depth), self.value(BOOL, seen, depth)), BOOL)
            if op == "not":
                return Apply(op, (self.value(BOOL, seen, depth),), BOOL)
            if op == "is_null":
                return Apply(op, (self.value(other, seen, depth),), BOOL)
            return Apply(op, (self.value(other, seen, depth), self.value(other, seen, depth)), BOOL)
        if type == INT and self.random.random() < 0.5:
            return Apply("add", (self.value(INT, seen, depth), self.value(INT, seen, depth)), INT)
        if self.random.random() < 0.5:
            return Apply("coalesce", (self.value(type, seen, depth), self.value(type, seen, depth)), type)
        test = self.value(BOOL, seen, depth)
        return Apply("case", (test, self.value(type, seen, depth), self.value(type, seen, depth)), type)

    def subquery(self, type: ValueType, seen: dict[str, ValueType]) -> Scalar:
        rel, columns = self.rel(self.random.randint(0, 2), seen)
        id, found = self.random.choice(columns)
        name = f"s{len(self.subqueries)}-{self.number}"
        if type == BOOL:
            kind = self.random.choice(["exists", "in", "any", "all"])
            operand = None if kind == "exists" else self.value(found, seen, 0)
            op = self.random.choice(["=", "<>", "<", ">="])
            self.subqueries.append((name, Subquery(kind, rel, id, operand, op)))
            return Field(name, BOOL)
        if found != type:
            return self.const(type)
        if self.random.random() < 0.5:
            rel = Sorted(rel, (), 1)
        self.subqueries.append((name, Subquery("scalar", rel, id)))
        return Field(name, type)

    def keys(self, seen: dict[str, ValueType]) -> tuple[SortKey, ...]:
        return tuple(self.key(seen) for _ in range(self.random.randint(0, 2)))

    def key(self, seen: dict[str, ValueType]) -> SortKey:
        type = self.random.choice(list(seen.values()) or [INT])
        return SortKey(self.value(type, seen, 1), self.random.random() < 0.5, self.random.random() < 0.5)

    def call(self, seen: dict[str, ValueType], plain: bool = False) -> AggregateCall:
        names = [
            "count",
            "count_if",
            "sum",
            "avg",
            "min",
            "max",
            "any_value",
            "mode",
            "bool_and",
            "bool_or",
            "bit_and",
            "bit_or",
            "bit_xor",
            "string_agg",
            "median",
            "quantile_cont",
            "quantile_disc",
            "var_pop",
            "stddev_samp",
            "covar_samp",
            "corr",
            "regr_slope",
            "regr_intercept",
        ]
        while True:
            name = self.random.choice(names)
            types = tuple(self.random.choice(TYPES) for _ in range(self.random.choice([0, 1, 1, 1, 2])))
            distinct = not plain and bool(types) and self.random.random() < 0.2
            resolved = resolve_aggregate(name, types, distinct)
            if resolved is not None and resolved[0] == name:
                break
        function, wanted, result = resolved
        args: list[Scalar] = [self.value(type, seen, 1) for type in wanted]
        if function.startswith("quantile"):
            args[1] = Const(self.random.choice([0.0, 0.25, 0.5, 1.0]), FLOAT)
        if function == "string_agg":
            args[1] = Const(self.random.choice([",", ""]), TEXT)
        order = self.keys(seen) if function == "string_agg" and not distinct and not plain else ()
        where = self.value(BOOL, seen, 1) if self.random.random() < 0.3 else None
        return AggregateCall(function, tuple(args), result, distinct, order, where)

    def window(self, seen: dict[str, ValueType]) -> WindowCall:
        names = [
            "row_number",
            "rank",
            "dense_rank",
            "percent_rank",
            "cume_dist",
            "ntile",
            "lag",
            "lead",
            "first_value",
            "last_value",
            "nth_value",
        ]
        if self.random.random() < 0.5:
            call = self.call(seen, plain=True)
        else:
            name, arity = self.random.choice(names), 0
            type = self.random.choice(TYPES)
            given: dict[str, tuple[ValueType, ...]] = {
                "ntile": (INT,), "lag": (type, INT, type), "lead": (type,), "first_value": (type,),
                "last_value": (type,), "nth_value": (type, INT),
            }  # fmt: skip
            resolved = resolve_window(name, given.get(name, ()))
            assert resolved is not None, arity
            call = AggregateCall(name, tuple(self.value(t, seen, 1) for t in resolved[1]), resolved[2])
        partition = tuple(self.value(self.random.choice(TYPES), seen, 1) for _ in range(self.random.randint(0, 1)))
        unit: Any = self.random.choice([None, "ROWS", "RANGE", "GROUPS"])
        order = self.keys(seen) if unit != "GROUPS" else (self.key(seen),)
        if unit is None or (unit == "RANGE" and not order):
            return WindowCall(call, partition, order, ignore_nulls=self.random.random() < 0.3)
        sizes = unit != "RANGE"
        if unit == "RANGE" and self.random.random() < 0.6:
            order = (SortKey(self.value(INT, seen, 1), order[0].descending, order[0].nulls_first),)
            sizes = True
        starts = ["UNBOUNDED PRECEDING", "CURRENT ROW"] + (["PRECEDING"] if sizes else [])
        ends = ["UNBOUNDED FOLLOWING", "CURRENT ROW"] + (["FOLLOWING"] if sizes else [])
        bounds = [
            FrameBound(kind, Const(self.random.randint(0, 2), INT) if kind in ("PRECEDING", "FOLLOWING") else None)
            for kind in (self.random.choice(starts), self.random.choice(ends))
        ]
        return WindowCall(call, partition, order, unit, bounds[0], bounds[1], self.random.random() < 0.3)


def _reads(rel: object, outer: dict[str, ValueType], subqueries: list[tuple[str, Subquery]]) -> bool:
    """Whether any column of `outer` is named anywhere inside."""
    known = dict(subqueries)
    todo: list[object] = [rel]
    while todo:
        at = todo.pop()
        if isinstance(at, Field):
            if at.name in outer:
                return True
            if at.name in known:
                todo.append(known[at.name])
        elif isinstance(at, tuple):
            todo.extend(at)
        elif hasattr(at, "__dataclass_fields__"):
            todo.extend(getattr(at, name) for name in at.__dataclass_fields__)
    return False
