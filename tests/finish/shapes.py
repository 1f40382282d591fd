"""Small checked queries and blocks, written by hand."""

from __future__ import annotations

from fractions import Fraction

from privql.check.relations import Aggregate, Attribute, Block, CheckedQuery, GroupingKey, Label, PrivateScan, Rel
from privql.diagnostics import NOWHERE
from privql.domains import Domain, whole
from privql.finish.recipe import Recipe
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import FLOAT, INT, TEXT, Const, Field, Value, ValueType
from privql.kernel.sums import Balance
from privql.kernel.terms import Unit

ZERO = Const(0, INT)


def key(id: str, type: ValueType, *members: Value) -> GroupingKey:
    return GroupingKey(id, Field(id, type), type, members, id, NOWHERE)


def aggregate(id: str, function: str, type: ValueType) -> Aggregate:
    return Aggregate(id, function, ZERO, Domain(), type, None, type, function, NOWHERE)


def block(index: int, keys: tuple[GroupingKey, ...], aggregates: tuple[Aggregate, ...]) -> Block:
    return Block(index, PrivateScan("t", ()), ("t",), Unit("u"), keys, aggregates, NOWHERE)


def attribute(id: str, type: ValueType, label: Label = Label.RELEASED) -> Attribute:
    return Attribute(id, id, type, whole(type), label)


def query(rel: Rel, columns: list[tuple[str, ValueType]], blocks: tuple[Block, ...], **rest: object) -> CheckedQuery:
    made = {"shared": (), "subqueries": (), **rest}
    return CheckedQuery(rel, tuple(attribute(*c) for c in columns), blocks, **made)


def count(cell: int, scale: int = 10) -> Recipe:
    return Recipe(Tally(), cell, Fraction(scale), INT)


def total(cell: int, grid: Fraction, type: ValueType, scale: int = 10) -> Recipe:
    return Recipe(Total(Steps(ZERO, grid, -100, 100)), cell, Fraction(scale), type)


def mean(cell: int, grid: Fraction, low: int, high: int, scale: int = 10) -> Recipe:
    return Recipe(Balance(Steps(ZERO, grid, low, high)), cell, Fraction(scale), FLOAT)


REGIONS = key("c1", TEXT, "N", "S", None)
