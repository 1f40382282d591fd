"""A query over replicates: every number that carries noise is computed beside itself once more, from other noise.

Rows are those of the answer. Each noisy column `x` has a shadow `x~`, and each row the number of its replicate. What
chooses, orders or groups rows reads the released numbers, so that a row of a replicate is a row of the answer; what is
shown reads the shadows. A query that has lost its way from a number to its cells - through DISTINCT counts, INTERSECT,
a recursion - has no shadow for it, and says so by leaving it out.

Here are the rows; `shadow_terms.py` has the expressions, `shadow_calls.py` what puts rows together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from privql.check.columns import produced
from privql.check.relations import (
    CheckedQuery,
    Combined,
    Compute,
    Distinct,
    Grouped,
    Joined,
    Measured,
    Recursive,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Sorted,
    SortKey,
    Where,
    Windowed,
    Working,
)
from privql.domains import NUMERIC
from privql.finish.table import Table
from privql.frozen import frozen, inside
from privql.kernel.scalars import BOOL, INT, Apply, Field, ValueType
from privql.post.shadow_calls import distinct, grouped, noisy_calls, noisy_columns, ordered, union, windowed
from privql.post.shadow_terms import Lifted, Terms, passed, same, shadow


@frozen
class Leaf:
    """Rows that came with noise: as they were released, and with the shadows of some columns in each replicate.

    `shadows` has the replicate, the number of the row, and then the columns `known`, by position; `lost` are noisy,
    too, but nothing is known of their noise.
    """

    released: Table
    shadows: Table | None
    known: tuple[int, ...] = ()
    monotone: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    bounds: frozenset[int] = frozenset()  # whose shadows only say how far they may be off at most


@frozen
class Shadowed:
    """`query` gives the rows of each replicate in turn, and the shadow of each column that has one."""

    query: CheckedQuery
    tables: tuple[Table, ...]
    columns: tuple[int, ...]  # which of the columns of the answer have one
    monotone: tuple[bool, ...]
    bounds: tuple[bool, ...]
    outputs: tuple[tuple[str, ValueType], ...]
    lost: frozenset[int] = frozenset()  # noisy columns that have none


def shadowed(query: CheckedQuery, blocks: Sequence[Leaf], released: Mapping[str, Leaf], replicates: Table) -> Shadowed:
    """`replicates`: their numbers, a row each."""
    made = _Shadows(query, blocks, released, replicates)
    rel, number = made.rel(query.rel)
    columns = [at for at, column in enumerate(query.columns) if column.id in made.terms.noisy and _numeric(column.type)]
    if number is not None:
        rel = Sorted(rel, (SortKey(Field(number, INT), False, False),))
    lifted = replace(query, rel=rel, shared=tuple(made.shared.items()), subqueries=tuple(made.terms.subqueries.items()))
    ids = [query.columns[at].id for at in columns]
    return Shadowed(
        lifted,
        tuple(made.tables),
        tuple(columns) if number is not None else (),
        tuple(id not in made.terms.bent for id in ids),
        tuple(id in made.terms.bounds for id in ids),
        tuple((shadow(id), query.columns[at].type) for id, at in zip(ids, columns, strict=True)),
        frozenset(at for at, column in enumerate(query.columns) if column.id in made.terms.lost),
    )


def _numeric(type: ValueType) -> bool:
    return type.kind in NUMERIC


class _Shadows:
    def __init__(
        self, query: CheckedQuery, blocks: Sequence[Leaf], released: Mapping[str, Leaf], replicates: Table
    ) -> None:
        self.blocks, self.released = blocks, released
        self.tables = [*(leaf.released for leaf in blocks), replicates]
        self.shared: dict[str, Rel] = dict(query.shared)
        self.numbers: dict[str, str | None] = {}  # of shared queries
        self.terms = Terms(dict(query.subqueries), self.rel)

    def rel(self, rel: Rel) -> Lifted:
        match rel:
            case Measured(block=block, columns=columns):
                return self._leaf(rel, self.blocks[block], [id for id, _ in columns], block)
            case ReleasedScan(release=release, columns=scanned):
                self.tables.append(self.released[release].released)
                return self._leaf(rel, self.released[release], [id for id, _, _ in scanned], len(self.tables) - 1)
            case Shared():
                return self._shared(rel)
            case Where(input=below, condition=condition):
                made, number = self.rel(below)
                return (rel, None) if number is None else (Where(made, condition), number)
            case Compute():
                return self._compute(rel)
            case Joined():
                return self._joined(rel)
            case Grouped():
                return self._grouped(rel)
            case Windowed():
                return self._windowed(rel)
            case Distinct(input=below):
                made, number = self.rel(below)
                return (rel, None) if number is None else (distinct(made, produced(below), number, self.terms), number)
            case Combined():
                return self._combined(rel)
            case Sorted():
                return self._sorted(rel)
            case Recursive(columns=columns):
                if self._meets_noise(rel):
                    self.terms.lost |= {id for id, _ in columns}
                return rel, None
            case Rows(columns=columns, rows=rows):
                for at, (id, _) in enumerate(columns):
                    if any(any(self.terms.reads(row[at])) for row in rows):
                        self.terms.lost.add(id)
                return rel, None
            case _:
                return rel, None

    def _meets_noise(self, rel: Rel) -> bool:
        todo: list[Any] = [rel]
        while todo:
            match todo.pop():
                case Measured() | ReleasedScan():
                    return True
                case Working():
                    pass
                case Shared(name=name):
                    todo.append(self.shared[name])
                case Field(name=name) if name in self.terms.subqueries:
                    todo.append(self.terms.subqueries[name])
                case node:
                    todo.extend(inside(node))
        return False

    def _leaf(self, rel: Rel, leaf: Leaf, ids: Sequence[str], released: int) -> Lifted:
        self.terms.lost |= {ids[at] for at in leaf.lost}
        if leaf.shadows is None:
            return rel, None
        self.terms.noisy |= {ids[at] for at in leaf.known}
        self.terms.bent |= {ids[at] for at in leaf.known if at not in leaf.monotone}
        self.terms.bounds |= {ids[at] for at in leaf.bounds}
        row, number, again = self.terms.fresh("row"), self.terms.fresh("replicate"), self.terms.fresh("row")
        types = [type for _, type in leaf.released.columns]
        one = Measured(released, (*zip(ids, types, strict=True), (row, INT)))
        self.tables.append(leaf.shadows)
        other = Measured(
            len(self.tables) - 1,
            ((number, INT), (again, INT), *((shadow(ids[at]), types[at]) for at in leaf.known)),
        )
        return Joined("INNER", one, other, same(row, again)), number

    def _replicated(self, rel: Rel, number: str | None) -> tuple[Rel, str]:
        if number is not None:
            return rel, number
        number = self.terms.fresh("replicate")
        return Joined("CROSS", Measured(len(self.blocks), ((number, INT),)), rel), number

    def _shared(self, rel: Shared) -> Lifted:
        if rel.name not in self.numbers:
            self.numbers[rel.name] = None
            made, number = self.rel(self.shared[rel.name])
            self.numbers[rel.name] = number
            if number is not None:
                self.shared[shadow(rel.name)] = made
        number = self.numbers[rel.name]
        for here, there, _ in rel.columns:
            self.terms.follows(here, [there])
        if number is None:
            return rel, None
        shadows = [
            (shadow(here), shadow(there), type) for here, there, type in rel.columns if there in self.terms.noisy
        ]
        mine = self.terms.fresh("replicate")
        return Shared(shadow(rel.name), (*rel.columns, *shadows, (mine, number, INT))), mine

    def _compute(self, rel: Compute) -> Lifted:
        made, number = self.rel(rel.input)
        wanted = [(id, term) for id, term in rel.columns if self.terms.learn(id, [term])]
        if number is None and not wanted:
            return rel, None
        made, number = self._replicated(made, number)
        shadows = [(shadow(id), self.terms.shadow(term, number)) for id, term in wanted]
        return Compute(made, (*rel.columns, *shadows, (number, Field(number, INT)))), number

    def _joined(self, rel: Joined) -> Lifted:
        (left, one), (right, other) = self.rel(rel.left), self.rel(rel.right)
        if one is None and other is None:
            return rel, None
        if rel.kind in ("LEFT", "FULL"):
            left, one = self._replicated(left, one)
        if rel.kind in ("RIGHT", "FULL"):
            right, other = self._replicated(right, other)
        kind, on = rel.kind, rel.on
        if one is not None and other is not None:
            alike = same(one, other)
            on = alike if on is None else Apply("and", (on, alike), BOOL)
            kind = "INNER" if kind == "CROSS" else kind
        made = Joined(kind, left, right, on, rel.lateral)
        if kind == "FULL":
            assert one is not None and other is not None
            number = self.terms.fresh("replicate")
            either = Apply("coalesce", (Field(one, INT), Field(other, INT)), INT)
            return Compute(made, (*passed(produced(made)), (number, either))), number
        return made, (other if kind == "RIGHT" or one is None else one)

    def _grouped(self, rel: Grouped) -> Lifted:
        made, number = self.rel(rel.input)
        for id, term in rel.keys:
            if any(self.terms.reads(term)):
                self.terms.lost.add(id)
        wanted = noisy_calls(rel.aggregates, self.terms)
        if number is None and not wanted:
            return rel, None
        made, number = self._replicated(made, number)
        return grouped(rel, made, number, wanted, self.terms), number

    def _windowed(self, rel: Windowed) -> Lifted:
        made, number = self.rel(rel.input)
        unknown = {id for id, window in rel.calls if window.ignore_nulls}
        wanted = noisy_calls([(id, window.call) for id, window in rel.calls], self.terms, unknown)
        if number is None and not wanted:
            return rel, None
        made, number = self._replicated(made, number)
        return windowed(rel, made, number, wanted, self.terms), number

    def _combined(self, rel: Combined) -> Lifted:
        (left, one), (right, other) = self.rel(rel.left), self.rel(rel.right)
        noisy = noisy_columns(rel, self.terms)
        if rel.op != "UNION" or (one is None and other is None):
            return rel, None
        return union(rel, self._replicated(left, one), self._replicated(right, other), noisy, self.terms)

    def _sorted(self, rel: Sorted) -> Lifted:
        made, number = self.rel(rel.input)
        return (rel, None) if number is None else (ordered(rel, made, number, self.terms), number)
