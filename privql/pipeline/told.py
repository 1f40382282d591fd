"""ERROR, LOW and HIGH of released numbers: looked up where a query names them, as columns beside the rows below.

Such a value is that of a row, known once the query below has been answered. So that query is answered first, each row's
values go into a table by the row's number, and the row is joined with them. It is then a number like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from privql.check.columns import produced
from privql.check.relations import (
    AggregateCall,
    Attribute,
    CheckedQuery,
    Compute,
    Joined,
    Label,
    Measured,
    Recursive,
    Rel,
    ReleasedScan,
    Sorted,
    Told,
    Where,
    WindowCall,
    Windowed,
)
from privql.diagnostics import refuse
from privql.domains import NUMERIC, Domain
from privql.finish.origins import traced
from privql.finish.result import Release
from privql.finish.table import Table
from privql.frozen import inside
from privql.functions.aggregate.within import RANKED
from privql.kernel.scalars import BOOL, INT, Apply, Field, Value, ValueType, fields
from privql.pipeline.request import leaves, roots
from privql.post.shadows import Leaf, shadowed

Rows = Sequence[tuple[Value, ...]]
Looked = Callable[[CheckedQuery, Sequence[Told], Sequence[Table]], Rows]  # for each row of a query what is told of it


def resolved(query: CheckedQuery, look: Looked) -> tuple[CheckedQuery, tuple[Table, ...]]:
    """The query without them, and the tables that it reads further, as blocks after its own."""
    made = _Telling(query, look)
    for name, rel in query.shared:
        made.shared[name] = made.rel(rel)
    for name, one in query.subqueries:
        made.subqueries[name] = replace(one, rel=made.rel(one.rel))
    return made.query(made.rel(query.rel)), tuple(made.tables)


def values(release: Release, asked: Sequence[Told]) -> Rows:
    """What is told of each row of an answer whose columns are the numbers that are asked about."""
    columns = []
    for at, one in enumerate(asked):
        numbers = [row[at] for row in release.rows]
        ends = release.ends(at, one.confidence)
        columns.append([_value(number, pair, one) for number, pair in zip(numbers, ends, strict=True)])
    return list(zip(*columns, strict=True))


def _value(number: Any, ends: tuple[Any, Any] | None, one: Told) -> Value:
    """NULL where an end is open, or nothing is known."""
    if ends is None or number is None:
        return None
    low, high = (None if isinstance(end, float) and math.isinf(end) else end for end in ends)
    match one.kind:
        case "low":
            return low
        case "high":
            return high
        case "error":
            return None if low is None or high is None else max(number - low, high - number)


def proved(query: CheckedQuery) -> None:
    """Whether each of them can be told, before anything is paid for; refuses it in words if not."""
    resolved(query, _known)


def _known(query: CheckedQuery, asked: Sequence[Told], given: Sequence[Table]) -> Rows:
    blocks = []
    for block in query.blocks:
        first = len(block.keys)
        drawn = [one.function in RANKED or one.choice is not None for one in block.aggregates]
        known = tuple(first + at for at, is_drawn in enumerate(drawn) if not is_drawn)
        lost = frozenset(first + at for at, is_drawn in enumerate(drawn) if is_drawn)
        blocks.append(_empty(block.columns, known, lost))
    released: dict[str, Leaf] = {}
    for scan in leaves(roots(query)):
        if isinstance(scan, ReleasedScan):
            columns = tuple((name, type) for _, name, type in scan.columns)
            known = tuple(at for at, (_, type) in enumerate(columns) if type.kind in NUMERIC)
            released[scan.release] = _empty(columns, known, frozenset())
    leaves_ = [*blocks, *(Leaf(table, None) for table in given)]
    found = shadowed(query, leaves_, released, Table((("replicate", INT),), ()))
    for at, (one, origins) in enumerate(zip(asked, traced(query), strict=True)):
        if at in found.lost:
            raise refuse(
                "PQL0309",
                "nothing tells the error of this number",
                one.span,
                why="it is made of a value that was drawn by its rank or from a list, or of rows that a DISTINCT, "
                "INTERSECT, EXCEPT or recursion put together",
                help="ask for that of the numbers that it is made of",
            )
        if at not in found.columns and not origins:
            raise refuse(
                "PQL0309", "this number has no error", one.span, why="no noise is in it", help="use the number itself"
            )
    return ()


def _empty(columns: Sequence[tuple[str, ValueType]], known: tuple[int, ...], lost: frozenset[int]) -> Leaf:
    shadows = Table((("replicate", INT), ("row", INT), *(columns[at] for at in known)), ())
    return Leaf(Table(tuple(columns), ()), shadows if known else None, known, frozenset(known), lost)


@dataclass
class _Telling:
    whole: CheckedQuery
    look: Looked
    tables: list[Table] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.told = dict(self.whole.told)
        self.shared = dict(self.whole.shared)
        self.subqueries = dict(self.whole.subqueries)

    def query(self, rel: Rel) -> CheckedQuery:
        shared, subqueries = tuple(self.shared.items()), tuple(self.subqueries.items())
        return replace(self.whole, rel=rel, shared=shared, subqueries=subqueries, told=())

    def rel(self, rel: Rel) -> Rel:
        made: Any = rel
        below = {side: self.rel(getattr(rel, side)) for side in ("input", "left", "right") if hasattr(rel, side)}
        wanted = sorted({id for part in inside(rel) if not isinstance(part, Rel) for id in self._named(part)})
        if not wanted:
            return replace(made, **below) if below else rel
        side = next((side for side, one in below.items() if self._has(one, wanted)), None)
        if side is None or isinstance(rel, Recursive):
            raise _elsewhere(self.told[wanted[0]])
        below[side] = self._beside(below[side], [id for id in wanted if id not in produced(below[side])])
        beside: Rel = replace(made, **below)
        return beside

    def _named(self, part: Any) -> Iterator[str]:
        """Those that an expression reads, the operands of queries in it included."""
        todo = [part]
        while todo:
            match todo.pop():
                case Field(name=name) if name in self.told:
                    yield name
                    yield from self._named(self.told[name].value)
                case Field(name=name) if name in self.subqueries:
                    todo.append(self.subqueries[name].operand)
                case node:
                    todo.extend(inside(node) if node is not None and not isinstance(node, Rel) else ())

    def _has(self, rel: Rel, ids: Sequence[str]) -> bool:
        have = produced(rel).keys() | self.subqueries.keys() | self.told.keys()
        return all(fields(self.told[id].value) <= have for id in ids)

    def _beside(self, rel: Rel, ids: Sequence[str]) -> Rel:
        if not ids:
            return rel
        match rel:
            case Where() | Sorted() | Windowed() if self._has(rel.input, ids):
                return replace(rel, input=self._beside(rel.input, ids))
            case Joined(kind="INNER" | "LEFT" | "CROSS") if self._has(rel.left, ids):
                return replace(rel, left=self._beside(rel.left, ids))
        inner = [id for id in ids if any(self._reads(other, id) for other in ids)]
        if inner:  # one of a number that is itself such a one has no noise
            raise refuse(
                "PQL0309",
                "this number has no error",
                self.told[next(other for other in ids if self._reads(other, inner[0]))].span,
                why="an error, or the end of an interval, has none of its own",
                help="use the number itself",
            )
        asked = [self.told[id] for id in ids]
        columns = tuple(Attribute(f"{one}?", one, self.told[one].type, Domain(), Label.RELEASED) for one in ids)
        below = Compute(rel, tuple((one.id, told.value) for one, told in zip(columns, asked, strict=True)))
        found = self.look(replace(self.query(below), columns=columns), asked, self.tables)
        numbered, row = f"{ids[0]}#", f"{ids[0]}##"
        typed = [(id, one.type) for id, one in zip(ids, asked, strict=True)]
        rows = tuple((number, *each) for number, each in enumerate(found, start=1))
        self.tables.append(Table((("row", INT), *typed), rows))
        leaf = Measured(len(self.whole.blocks) + len(self.tables) - 1, ((row, INT), *typed))
        counted = Windowed(rel, ((numbered, WindowCall(AggregateCall("row_number", (), INT))),))
        return Joined("INNER", counted, leaf, Apply("eq", (Field(numbered, INT), Field(row, INT)), BOOL))

    def _reads(self, id: str, other: str) -> bool:
        return other in fields(self.told[id].value)


def _elsewhere(one: Told) -> Exception:
    return refuse(
        "PQL0309",
        "this number is not of the rows here",
        one.span,
        why="the error of a number is found in the query that has the number among its columns",
        help="ask for it in a WITH query or a subquery of FROM, and name its column here",
    )
