"""Which of a table's parts a relation can have rows of: what is charged to these alone.

`UnitPart` gives each unit one part of a table. A relation is *within* some parts if a unit of another part has no row
in it. That follows from the term alone - the columns that still hold the part, and the constants that a condition
compares them with - never from what a query or a policy says of itself (docs/proofs/parts.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from privql.frozen import frozen
from privql.kernel.scalars import Apply, Const, Field, Scalar, Value
from privql.kernel.terms import (
    Combine,
    Filter,
    Gather,
    Join,
    KeepRows,
    Lookup,
    Mark,
    Once,
    Project,
    Relation,
    Scan,
    UnitPart,
    Window,
)

DIVIDING = frozenset({"TEXT", "INT", "BOOL"})  # kinds of values of which equal ones are written alike


@frozen
class Within:
    """Units whose part of `partition` is not among the `values` (None: of any) have no row in the relation; and in a
    row of it, each of `columns` is the part of its unit, or NULL."""

    partition: UnitPart  # of a scan that reads nothing but the column
    values: frozenset[Value] | None
    columns: frozenset[str]


@frozen
class Parts:
    """What some queries read nothing outside of."""

    partition: UnitPart
    values: frozenset[Value]


def within(relation: Relation) -> Within | None:
    """None where nothing divides its units."""
    path: list[Relation] = []
    while not isinstance(relation, Scan | UnitPart):
        path.append(relation)
        relation = relation.left if isinstance(relation, Join | Combine) else relation.input
    made = None
    if isinstance(relation, UnitPart):
        scan, column = relation.input, relation.column
        alone = replace(scan, columns=tuple(one for one in scan.columns if one[0] == column), unique=frozenset())
        made = Within(UnitPart(alone, column), None, frozenset((column,)))
    for step in reversed(path):
        made = _after(step, made)
    return made


def united(found: Iterable[Within | None]) -> Parts | None:
    """The parts that relations are within together; None where they may have rows of any unit."""
    partition: UnitPart | None = None
    values: frozenset[Value] = frozenset()
    for one in found:
        if one is None or one.values is None or partition not in (None, one.partition):
            return None
        partition, values = one.partition, values | one.values
    return None if partition is None or not values else Parts(partition, values)


def _after(step: Relation, made: Within | None) -> Within | None:
    match step:
        case Join(kind=kind, right=right):
            return _joined(kind, made, within(right))
        case Combine():
            return _combined(step, made, within(step.right))
        case _ if made is None:
            return None
        case Filter(condition=condition):
            return _narrowed(made, condition)
        case Project(columns=columns) | Gather(keys=columns):
            kept = frozenset(name for name, value in columns if _holds_part(value, made.columns))
            return replace(made, columns=kept)
        case KeepRows() | Lookup() | Mark() | Window():
            return made  # rows of units that had rows, and what they held
        case Once():
            return replace(made, columns=frozenset())  # a row is no longer one unit's
        case Scan() | UnitPart():
            raise AssertionError("there is nothing below a table")
        case _:
            assert_never(step)


def _holds_part(value: Scalar, columns: frozenset[str]) -> bool:
    """A column that holds the part, or NULL in its place."""
    match value:
        case Field(name=name):
            return name in columns
        case Apply(op="case", args=(_, Field(name=name), Const(value=None))):
            return name in columns
        case _:
            return False


def _narrowed(made: Within, condition: Scalar) -> Within:
    """Every part of a conjunction is TRUE where the whole is."""
    match condition:
        case Apply(op="and", args=args):
            for one in args:
                made = _narrowed(made, one)
            return made
        case Apply(op="eq", args=(Const() as value, Field() as field)):
            return _one_of(made, field, (value,))
        case Apply(op="eq" | "in", args=(Field() as field, *values)):
            return _one_of(made, field, values)
        case _:
            return made


def _one_of(made: Within, field: Field, values: Iterable[Scalar]) -> Within:
    """A NULL equals nothing, so a row that stays has one of the others. Of another type than the part's, what is equal
    may be written otherwise."""
    named: set[Value] = set()
    ((_, type),) = made.partition.input.columns
    for one in values:
        if not isinstance(one, Const) or not one.type == field.type == type:
            return made
        named |= set() if one.value is None else {one.value}
    if field.name not in made.columns:
        return made
    return replace(made, values=frozenset(named) if made.values is None else made.values & named)


def _joined(kind: str, left: Within | None, right: Within | None) -> Within | None:
    """INNER: a unit with a row has one on either side. LEFT and FULL: on the left; on one of both."""
    if left is None or right is None or left.partition != right.partition:
        if kind == "INNER":
            return _closer(left, right)
        return left if kind == "LEFT" and left is not None else None
    columns = left.columns | right.columns
    match kind:
        case "INNER":
            return replace(left, values=_common(left.values, right.values), columns=columns)
        case "LEFT":
            return replace(left, columns=columns)
        case _:
            return replace(left, values=_either(left.values, right.values), columns=columns)


def _combined(step: Combine, left: Within | None, right: Within | None) -> Within | None:
    ours = None if left is None else _renamed(left, {name: one for name, one, _ in step.columns})
    theirs = None if right is None else _renamed(right, {name: other for name, _, other in step.columns})
    match step.op:
        case "EXCEPT" | "EXCEPT ALL":
            return ours
        case "INTERSECT" | "INTERSECT ALL":
            return _joined("INNER", ours, theirs)
        case "UNION ALL":
            if ours is None or theirs is None or ours.partition != theirs.partition:
                return None
            return replace(ours, values=_either(ours.values, theirs.values), columns=ours.columns & theirs.columns)


def _renamed(one: Within, names: Mapping[str, str]) -> Within:
    return replace(one, columns=frozenset(name for name, before in names.items() if before in one.columns))


def _closer(one: Within | None, other: Within | None) -> Within | None:
    return other if one is None or (one.values is None and other is not None) else one


def _common(one: frozenset[Value] | None, other: frozenset[Value] | None) -> frozenset[Value] | None:
    return other if one is None else one if other is None else one & other


def _either(one: frozenset[Value] | None, other: frozenset[Value] | None) -> frozenset[Value] | None:
    return None if one is None or other is None else one | other
