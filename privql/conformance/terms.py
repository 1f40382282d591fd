"""Random terms of the kernel over one table of hostile values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from privql.audit.reference import types
from privql.conformance.pools import NARROW, PRICE, WIDE, Call, calls, some_value
from privql.conformance.rows import Row, column
from privql.engines.interface import Columns
from privql.functions.scalar import resolve_cast
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    TEXT,
    TIMESTAMP,
    Apply,
    Const,
    Field,
    Scalar,
    Value,
    ValueType,
)
from privql.kernel.sums import Balance, Contribution, Hats, Key, Powers, Sums
from privql.kernel.terms import Filter, KeepRows, Project, Relation, Scan, Unit
from privql.plan.bounds import coarsened

COLUMNS: Columns = (
    ("i", INT), ("j", INT), ("f", FLOAT), ("g", FLOAT), ("d", PRICE), ("n", NARROW), ("w", WIDE), ("b", BOOL),
    ("s", TEXT), ("t", TEXT), ("dt", DATE), ("ts", TIMESTAMP), ("u", INT), ("v", TEXT),
)  # fmt: skip
SMALL = {"INT": (0, 1, 2, 3, -4), "TEXT": ("a", "b", "é", ""), "FLOAT": (0.5, -1.25, 3.0)}
CALLS: defaultdict[ValueType, list[Call]] = defaultdict(list)
for _call in calls():
    CALLS[_call.resolved.result].append(_call)


def hostile_rows(random: Random, count: int) -> list[Row]:
    values = {c: column(t, count, random) for c, t in COLUMNS}
    rows = [{c: values[c][at] for c, _ in COLUMNS} for at in range(count)]
    for row in rows:
        row["u"] = random.choice((None, 1, 2, 3, 2**60))
        row["v"] = random.choice((None, "a", "A", "é", "e\u0301", " a"))
        for c in ("j", "t", "g"):  # values that meet
            kind = dict(COLUMNS)[c].kind
            row[c] = random.choice((None, *SMALL[kind]))
    return rows


class Terms:
    """Draws terms."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.calls: Mapping[ValueType, list[Call]] = CALLS

    def scalar(self, type: ValueType, columns: dict[str, ValueType], depth: int) -> Scalar:
        fields = [Field(c, t) for c, t in columns.items() if t == type]
        if depth <= 0 or self.random.random() < 0.2 or type not in self.calls:
            if fields and self.random.random() < 0.85:
                return self.random.choice(fields)
            return self._cast(type, columns) or Const(self.value(type), type)
        call = self.random.choice(self.calls[type])
        args: list[Scalar] = []
        for place, wanted in enumerate(call.resolved.arg_types):
            if place in call.fixed or wanted == INTERVAL:
                args.append(Const(call.fixed.get(place, (1, 2, 3)), wanted))
            else:
                args.append(self.scalar(wanted, columns, depth - 1 if len(call.resolved.arg_types) < 3 else depth - 2))
        return Apply(call.resolved.op, tuple(args), type)

    def value(self, type: ValueType) -> Value:
        return None if self.random.random() < 0.1 else some_value(type, self.random)

    def _cast(self, type: ValueType, columns: dict[str, ValueType]) -> Scalar | None:
        if not columns:
            return None
        source, of = self.random.choice(list(columns.items()))
        cast = resolve_cast(of, type)
        return Apply("cast", (Field(source, of),), type) if cast is not None and of != type else None

    def relation(self, unit: str | None) -> Relation:
        units = {None: None, "u": ("u", INT), "v": ("v", TEXT)}
        made: Relation = Scan("table", Unit("unit"), units[unit], False, COLUMNS)
        for step in range(self.random.choice((0, 1, 1, 2, 3))):
            columns = types(made)
            if self.random.random() < 0.4:
                made = Filter(made, self.scalar(BOOL, columns, 3))
                continue
            kept: list[tuple[str, Scalar]] = [
                (c, Field(c, t)) for c, t in columns.items() if self.random.random() < 0.7
            ]
            for at in range(self.random.choice((1, 2, 3))):
                type = self.random.choice((INT, FLOAT, PRICE, TEXT, BOOL, DATE, TIMESTAMP, WIDE))
                term = self.declared(columns) if self.random.random() < 0.5 else self.scalar(type, columns, 3)
                kept.append((f"x{step}_{at}", term))
            made = Project(made, tuple(kept))
        if self.random.random() < 0.4:
            made = KeepRows(made, self.random.choice((0, 1, 2, 5)))
        return made

    def declared(self, columns: dict[str, ValueType]) -> Scalar:
        """A column as its declaration makes it true: clamped, or NULL outside its list."""
        name, type = self.random.choice([*columns.items()])
        if type.kind in ("INT", "FLOAT", "DECIMAL", "DATE", "TIMESTAMP"):
            ends: list[Any] = [some_value(type, self.random), some_value(type, self.random)]
            low, high = sorted(ends)
            return Apply("clamp", (Field(name, type), Const(low, type), Const(high, type)), type)
        members: set[Any] = {some_value(type, self.random), *(SMALL.get(type.kind, ()))}
        test = Apply("in", (Field(name, type), *(Const(m, type) for m in sorted(members))), BOOL)
        return Apply("case", (test, Field(name, type), Const(None, type)), type)

    def steps(self, columns: dict[str, ValueType]) -> Steps:
        type = self.random.choice((INT, FLOAT, PRICE, WIDE, NARROW))
        value = self.scalar(type, columns, self.random.choice((0, 0, 2, 3)))
        if type == FLOAT:
            grid = Fraction(2) ** self.random.choice((0, 3, -4, -40, -10, 900, -1022, 60))
        else:
            unit = Fraction(1, 10**type.scale)
            grid = unit * self.random.choice(
                (1, 1, 1, 2, 7, 1024, 10**9, Fraction(1, 2), Fraction(3, 2), Fraction(2, 3))
            )
        reach = 2 ** self.random.choice((1, 4, 10, 40, 52, 60, 62))
        low, high = sorted((self.random.randint(-reach, reach), self.random.randint(-reach, reach)))
        clamps = self.random.random()
        if clamps < 0.3:
            low = 0
            high = max(high, 1)
        if clamps > 0.7 and type.kind != "FLOAT":  # what the planner writes: the same bounds twice
            ends = [end * grid for end in (low, high)]
            exact = [Const(int(end) if type == INT else end, type) for end in ends]
            if all((end / Fraction(1, 10**type.scale)).denominator == 1 and fits(end, type) for end in ends):
                value = Apply("clamp", (value, *exact), type)
        return Steps(value, grid, low, high)

    def powers(self, columns: dict[str, ValueType], where: Scalar | None) -> Powers:
        """As the planner makes them: their cells fit."""
        degrees = self.random.choice(((1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2)))
        factors = ((coarsened(self.steps(columns), 2 ** (60 // sum(degrees))), degree) for degree in degrees)
        return Powers(tuple(factors), where)

    def contribution(self, columns: dict[str, ValueType]) -> Contribution:
        where = self.scalar(BOOL, columns, 2) if self.random.random() < 0.3 else None
        match self.random.randrange(5):
            case 0:
                return Tally(where)
            case 1:
                return Total(self.steps(columns), where)
            case 2:
                return self.powers(columns, where)
            case 3:
                far = 2 ** self.random.choice((1, 2, 5, 30, 31, 45, 61, 62))
                low, high = self.random.choice(((0, far), (-far, 0)))
                return Hats(replace(self.steps(columns), low=low, high=high), where)
            case _:
                return Balance(self.steps(columns), where)

    def key(self, columns: dict[str, ValueType], rows: list[Row]) -> Key:
        name = self.random.choice(list(columns))
        type = columns[name]
        value: Scalar = Field(name, type)
        if self.random.random() < 0.3:
            type = self.random.choice((INT, TEXT, BOOL, DATE))
            value = self.scalar(type, columns, 2)
        seen = {row[name] for row in rows if name in row} if value == Field(name, type) else set()
        members = {*self.random.sample(sorted(seen, key=repr), min(len(seen), 3)), *SMALL.get(type.kind, ())}
        members |= {some_value(type, self.random) for _ in range(2)}
        if self.random.random() < 0.6:
            members.add(None)
        in_order = sorted(members, key=repr)
        self.random.shuffle(in_order)
        if type.kind != "BOOL" and self.random.random() < 0.1:
            more = dict.fromkeys(some_value(type, self.random) for _ in range(80))  # in the order of the draws
            in_order += [value for value in more if value not in members]
        return Key(value, tuple(in_order))

    def sums(self, rows: list[Row]) -> Sums:
        relation = self.relation(self.random.choice((None, "u", "v")))
        columns = types(relation)
        keys = tuple(self.key(columns, rows) for _ in range(self.random.choice((0, 0, 1, 1, 2))))
        return Sums(relation, keys, tuple(self.contribution(columns) for _ in range(self.random.choice((1, 2, 4)))))


def fits(value: Fraction, type: ValueType) -> bool:
    return abs(value) < 2**63 if type == INT else abs(value) * 10**type.scale < 10**type.precision
