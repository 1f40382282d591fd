"""Random relations, made by the rules alone: whatever comes out of here is proved."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import get_args

from privql.audit.reference import types
from privql.kernel import relating, rules
from privql.kernel.features import (
    Bits,
    Different,
    Extreme,
    Feature,
    Frame,
    Mode,
    Neighbour,
    Nth,
    Order,
    Over,
    Quantile,
    Rank,
    Steps,
    Tally,
    Total,
    WindowCall,
)
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar, ValueType
from privql.kernel.stable import Stable
from privql.kernel.sums import Balance, Contribution, Key
from privql.kernel.terms import SetOperation, Unit
from tests.kernel.databases import PUBLIC, scans


class Relations:
    def __init__(self, choice: random.Random, unit: Unit) -> None:
        self.choice = choice
        self.scans = scans(unit)
        self._names = count()

    def relation(self, depth: int) -> Stable:
        """Often bounded, and always over INT, FLOAT and BOOL columns."""
        if depth == 0:
            scan = self.choice.choice(list(self.scans.values()))
            made = rules.scan(scan)
            if self.choice.random() < 0.2:
                integers = [name for name, type in scan.columns if type == INT]
                made = rules.unit_part(made, self.choice.choice(integers))
            return rules.keep_rows(made, self.choice.randint(1, 3)) if self.choice.random() < 0.4 else made
        below = self.relation(depth - self.choice.choice((1, 1, 2)) if depth > 1 else 0)
        steps: tuple[Callable[[Stable], Stable], ...] = (
            lambda rows: rules.keep_where(rows, self.condition(rows)),
            self.computed,
            lambda rows: rules.keep_rows(rows, self.choice.randint(1, 3), self.order(rows)),
            self.looked_up,
            lambda rows: self.joined(rows, self.relation(depth - 1)),
            lambda rows: self.joined(rows, self.relation(depth - 1)),
            self.marked,
            self.gathered,
            self.parted,
            lambda rows: self.combined(rows, self.relation(depth - 1)),
            self.windowed,
        )
        return self.choice.choice(steps)(below)

    # ---- row functions

    def field(self, columns: dict[str, ValueType], type: ValueType = INT) -> Scalar:
        known = [Field(c, t) for c, t in columns.items() if t == type]
        return self.choice.choice(known) if known else Const(self.choice.choice((None, 0, 1)), type)

    def integer(self, input: Stable) -> Scalar:
        columns = types(input.term)
        one = self.field(columns)
        return self.choice.choice(
            (one, one, one, Apply("mod", (one, Const(2, INT)), INT), Apply("add", (one, self.field(columns)), INT))
        )

    def condition(self, input: Stable) -> Scalar:
        return self.between(types(input.term), types(input.term))

    def between(self, ours: dict[str, ValueType], theirs: dict[str, ValueType]) -> Scalar:
        pair = (self.field(ours), self.field(theirs))
        op = self.choice.choice(("eq", "ne", "le", "lt", "is_null"))
        return Apply(op, pair[:1] if op == "is_null" else pair, BOOL)

    def maybe(self, made: Callable[[], Scalar]) -> Scalar | None:
        return made() if self.choice.random() < 0.3 else None

    def order(self, input: Stable) -> tuple[Order, ...]:
        flip = self.choice.random
        return tuple(
            Order(self.integer(input), flip() < 0.5, flip() < 0.5) for _ in range(self.choice.choice((0, 1, 1, 2)))
        )

    def steps(self, input: Stable) -> Steps:
        low, high = sorted(self.choice.sample(range(-2, 4), 2))
        return Steps(self.integer(input), Fraction(1), low, high)

    def feature(self, input: Stable) -> Feature:
        where = self.maybe(lambda: self.condition(input))
        made: tuple[Callable[[], Feature], ...] = (
            lambda: Tally(where),
            lambda: Total(self.steps(input), where),
            lambda: Extreme(self.integer(input), self.choice.random() < 0.5, where),
            lambda: Different(self.integer(input), where),
            lambda: Quantile(self.integer(input), self.choice.random(), self.choice.choice(("LEAST", "BELOW")), where),
            lambda: Mode(self.integer(input), where),
            lambda: Bits(self.choice.choice(("AND", "XOR")), self.integer(input), where),
        )
        return self.choice.choice(made)()

    def frame(self) -> Frame | None:
        edges = (None, None, -1, 0, 1)
        made = Frame(self.choice.choice(("ROWS", "GROUPS")), self.choice.choice(edges), self.choice.choice(edges))
        return made if self.choice.random() < 0.7 else None

    def new(self) -> str:
        return f"c{next(self._names)}"

    # ---- relations

    def computed(self, input: Stable) -> Stable:
        columns = types(input.term)
        kept: list[Scalar] = [Field(c, t) for c, t in columns.items() if self.choice.random() < 0.7]
        kept += [self.integer(input) for _ in range(self.choice.choice((0, 1, 2)))]
        return rules.compute(input, tuple((self.new(), value) for value in kept or [self.integer(input)]))

    def renamed(self, input: Stable) -> Stable:
        return rules.compute(input, tuple((self.new(), Field(c, t)) for c, t in types(input.term).items()))

    def looked_up(self, input: Stable) -> Stable:
        input = self.renamed(input)
        on = tuple((self.integer(input), c) for c in self.choice.choice((("pa",), ("pb",), ("pa", "pb"), ())))
        where = self.maybe(lambda: self.between(types(input.term), dict(PUBLIC.columns)))
        most = self.choice.choice((1, 1, 2, 3, None))
        made = relating.lookup(input, PUBLIC, on, where, most, self.choice.random() < 0.5)
        return self.renamed(made)

    def on(self, left: Stable, right: Stable) -> tuple[tuple[Scalar, Scalar], ...]:
        """Now and then by what is unique, for that is where a bound is tight."""
        pairs = [(self.integer(left), self.integer(right)) for _ in range(self.choice.choice((0, 1, 1, 2)))]
        for side, at in ((left, 0), (right, 1)):
            columns = types(side.term)
            keys = [key for key in sorted(side.unique, key=sorted) if key and all(columns[c] == INT for c in key)]
            if keys and self.choice.random() < 0.5:
                for c in sorted(self.choice.choice(keys)):
                    both = (Field(c, INT), self.integer(right)) if at == 0 else (self.integer(left), Field(c, INT))
                    pairs.append(both)
        return tuple(pairs)

    def joined(self, left: Stable, right: Stable) -> Stable:
        left, right = self.renamed(left), self.renamed(right)
        kind = self.choice.choice(("INNER", "LEFT", "FULL"))
        where = self.maybe(lambda: self.between(types(left.term), types(right.term)))
        return relating.join(kind, left, right, self.on(left, right), where)

    def marked(self, input: Stable) -> Stable:
        input = self.renamed(input)
        if self.choice.random() < 0.3:
            on = ((self.integer(input), Field("pa", INT)),)
            return relating.mark(input, self.new(), PUBLIC, on)
        among = self.renamed(self.relation(1))
        where = self.maybe(lambda: self.between(types(input.term), types(among.term)))
        return relating.mark(input, self.new(), among, self.on(input, among), where)

    def gathered(self, input: Stable) -> Stable:
        keys = tuple((self.new(), self.integer(input)) for _ in range(self.choice.choice((0, 1, 1, 2))))
        features = tuple((self.new(), self.feature(input)) for _ in range(self.choice.choice((0, 1, 2))))
        return rules.gather(input, keys, features)

    def parted(self, input: Stable) -> Stable:
        keys = tuple((self.new(), self.integer(input)) for _ in range(self.choice.choice((1, 1, 2))))
        listed = tuple((None, 0, 1) for _ in keys) if self.choice.random() < 0.3 else None
        return rules.keep_groups(input, keys, self.choice.choice((1, 1, 2)), listed)

    def combined(self, left: Stable, right: Stable) -> Stable:
        ours, theirs = ([c for c, t in types(side.term).items() if t == INT] for side in (left, right))
        pairs = list(zip(ours, theirs, strict=False))[: self.choice.choice((1, 1, 2, 3))]
        columns = tuple((self.new(), one, other) for one, other in pairs)
        return relating.combine(self.choice.choice(get_args(SetOperation)), left, right, columns)

    def windowed(self, input: Stable) -> Stable:
        calls: tuple[Callable[[], WindowCall], ...] = (
            lambda: Rank(self.choice.choice(("ROW_NUMBER", "RANK", "DENSE_RANK"))),
            lambda: Neighbour(self.integer(input), self.choice.choice((-2, -1, 1, 2)), self.integer(input)),
            lambda: Over(self.feature(input), self.frame()),
            lambda: Nth(self.integer(input), self.choice.choice((1, 2, -1)), self.frame()),
        )
        partition = tuple(self.integer(input) for _ in range(self.choice.choice((0, 1))))
        listed = tuple((self.new(), self.choice.choice(calls)()) for _ in range(self.choice.choice((1, 2))))
        return rules.window(input, partition, self.order(input), listed)

    # ---- what is measured

    def keys(self, input: Stable) -> tuple[Key, ...]:
        """Now and then by what keeps a unit's rows apart."""
        columns = types(input.term)
        apart = [by for by in sorted(input.apart, key=sorted) if by and all(columns[c] == INT for c in by)]
        if apart and self.choice.random() < 0.7:
            by = sorted(self.choice.choice(apart))
            return tuple(Key(Field(c, INT), (None, *range(4 if len(by) == 1 else 3))) for c in by)
        return tuple(
            Key(self.integer(input), tuple(self.choice.sample((None, 0, 1, 2, 3), self.choice.randint(1, 4))))
            for _ in range(self.choice.choice((0, 1, 1, 2)))
        )

    def contribution(self, input: Stable) -> Contribution:
        where = self.maybe(lambda: self.condition(input))
        return self.choice.choice((Tally(where), Total(self.steps(input), where), Balance(self.steps(input), where)))
