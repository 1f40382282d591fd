"""The SQL that is left above the measured blocks, spelled for DuckDB.

Columns have identifiers unique in the statement, so one `SELECT` is wrapped around another without any care for scope,
and a correlated subquery reads an outer column by its name. The text grows linearly with the tree.

The order of rows is part of a result wherever something can see it: an ordered relation carries, beside its columns,
hidden ones (`@7`) by which its rows are sorted, ties included. Leaves have the order of their rows, groups and sets
that of their values with NULL last; so the same answer comes out however the engine went about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import assert_never

from privql.check.relations import (
    Around,
    CheckedQuery,
    Combined,
    Compute,
    Distinct,
    Each,
    Gathered,
    Grouped,
    Joined,
    Measured,
    Once,
    PrivateScan,
    PublicScan,
    Recursive,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Sorted,
    Subquery,
    Where,
    Windowed,
    Working,
)
from privql.engines.interface import EngineError
from privql.engines.sql.expressions import name as quoted
from privql.frozen import frozen
from privql.kernel.scalars import Field, Scalar, ValueType
from privql.post.beside import combined, joined
from privql.post.groups import Level, grouped, windowed
from privql.post.pieces import ROW, Emitted, ascending, by_value, last, some, sort_key
from privql.post.recursion import recursive, working

Spelled = Callable[[Scalar, Callable[[Field], str]], str]


@frozen
class Leaf:
    """A table of the engine: `sql` names it, and its columns are called "0", "1" and so on, and `ROW`."""

    sql: str
    columns: tuple[str, ...]  # as the tree calls them

    def column(self, name: str) -> str:
        return f'"{self.columns.index(name)}"'


@frozen
class Leaves:
    """Where rows come from."""

    public: Callable[[str], Leaf]
    released: Callable[[str], Leaf]
    dummies: Callable[[str], Leaf]
    block: Callable[[int], Leaf]


def emit(
    query: CheckedQuery,
    outputs: Sequence[tuple[str, ValueType]],
    leaves: Leaves,
    spelled: Spelled,
    read: Callable[[str, ValueType], str],
) -> str:
    """One statement with the output columns in order; `read` spells how a column's values leave the engine."""
    emitter = _Emitter(query, leaves, spelled)
    made = emitter.rel(query.rel, ordered=True)
    columns = ", ".join(read(quoted(id), type) for id, type in outputs)
    named = ", ".join(f"{quoted(name)} AS MATERIALIZED ({shared.sql})" for name, shared in emitter.shared.items())
    return (f"WITH {named} " if named else "") + f"SELECT {columns} FROM ({made.sql}) ORDER BY {ascending(made.order)}"


class _Emitter:
    def __init__(self, query: CheckedQuery, leaves: Leaves, spelled: Spelled) -> None:
        self.definitions = dict(query.shared)
        self.subqueries: Mapping[str, Subquery] = dict(query.subqueries)
        self.leaves = leaves
        self.spelled = spelled
        self.shared: dict[str, Emitted] = {}
        self.inlined: set[str] = set()  # shared queries that read a column around them, and so cannot stand at the top
        self.read: set[str] = set()
        self.made: set[str] = set()
        self.hidden = 0

    # ---- values

    def value(self, term: Scalar) -> str:
        return self.spelled(term, self._field)

    def _field(self, field: Field) -> str:
        subquery = self.subqueries.get(field.name)
        if subquery is None:
            self.read.add(field.name)
            return quoted(field.name)
        return self._subquery(subquery)

    def _subquery(self, subquery: Subquery) -> str:
        """A scalar one that has more than one row is NULL, as everything is that would fail."""
        rows = self.rel(subquery.rel).sql
        if subquery.kind == "exists":
            return f"EXISTS (SELECT 1 FROM ({rows}))"
        assert subquery.column is not None
        column = quoted(subquery.column)
        if subquery.kind == "scalar":
            return f"(SELECT CASE WHEN count(*) = 1 THEN first({column}) END FROM ({rows}))"
        assert subquery.operand is not None
        operand, values = self.value(subquery.operand), f"(SELECT {column} FROM ({rows}))"
        if subquery.kind == "in":
            return f"(({operand}) IN {values})"
        return f"(({operand}) {subquery.op} {subquery.kind.upper()} {values})"

    def fresh(self) -> str:
        self.hidden += 1
        return f'"@{self.hidden}"'

    @contextmanager
    def apart(self) -> Iterator[Callable[[], bool]]:
        """Ask whether what is emitted inside reads a column of a query around it."""
        around = self.read, self.made
        self.read, self.made = set(), set()
        yield lambda: not self.read <= self.made
        self.read, self.made = around[0] | self.read, around[1] | self.made

    # ---- relations

    def rel(self, rel: Rel, ordered: bool = False) -> Emitted:
        made = self._rel(rel, ordered)
        self.made.update(made.ids)
        return made

    def _rel(self, rel: Rel, ordered: bool) -> Emitted:
        match rel:
            case PublicScan(table=table, columns=columns, dummy=dummy):
                leaf = self.leaves.dummies(table) if dummy else self.leaves.public(table)
                return self._scan(leaf.sql, [(id, leaf.column(name)) for id, name, _ in columns], ordered)
            case ReleasedScan(release=release, columns=columns):
                leaf = self.leaves.released(release)
                return self._scan(leaf.sql, [(id, leaf.column(name)) for id, name, _ in columns], ordered)
            case Measured(block=block, columns=measured):
                leaf = self.leaves.block(block)
                # Columns beyond the block's own hold the number of the group's row.
                known = [*(f'"{at}"' for at in range(len(leaf.columns))), *[ROW] * (len(measured) - len(leaf.columns))]
                pairs = [(id, name) for (id, _), name in zip(measured, known, strict=True)]
                return self._scan(leaf.sql, pairs, ordered)
            case Rows(columns=typed, rows=rows):
                return self._rows([id for id, _ in typed], rows)
            case Shared():
                return self._shared(rel, ordered)
            case Where(input=below, condition=condition):
                made = self.rel(below, ordered)
                return Emitted(f"SELECT * FROM ({made.sql}) WHERE {self.value(condition)}", made.ids, made.order)
            case Compute(input=below, columns=computed):
                made = self.rel(below, ordered)
                listed = [f"{self.value(term)} AS {quoted(id)}" for id, term in computed]
                return self._select(listed, made, tuple(id for id, _ in computed))
            case Joined():
                return joined(self, rel, ordered)
            case Grouped():
                with self.apart() as correlated:
                    groups = grouped(self, rel, ordered)
                    if len(rel.sets) > 1 and correlated():
                        raise EngineError("unsupported")  # version 2.0 loses the outer row of a set without keys
                    return groups
            case Windowed():
                return windowed(self, rel, ordered)
            case Distinct(input=below):
                made = self.rel(below)
                return by_value(
                    self, f"SELECT DISTINCT {', '.join(map(quoted, made.ids))} FROM ({made.sql})", made.ids, ordered
                )
            case Combined():
                return combined(self, rel, ordered)
            case Working():
                return working(rel, ordered)
            case Recursive():
                with self.apart() as correlated:
                    repeated = recursive(self, rel, ordered)
                    if correlated():
                        raise EngineError("unsupported")
                    return repeated
            case Sorted():
                return self._sorted(rel, ordered)
            case PrivateScan() | Gathered() | Once() | Around() | Each():
                raise AssertionError("private rows never come here")
            case _:
                assert_never(rel)

    def _select(self, listed: Sequence[str], below: Emitted, ids: tuple[str, ...]) -> Emitted:
        """Computed columns, with the order of the rows below."""
        return Emitted(f"SELECT {some(self, [*listed, *below.order])} FROM ({below.sql})", ids, below.order)

    def _scan(self, leaf: str, columns: Sequence[tuple[str, str]], ordered: bool) -> Emitted:
        listed = [f"{name} AS {quoted(id)}" for id, name in columns]
        order = (self.fresh(),) if ordered else ()
        listed += [f"{ROW} AS {row}" for row in order]
        return Emitted(f"SELECT {some(self, listed)} FROM {leaf}", tuple(id for id, _ in columns), order)

    def _rows(self, ids: Sequence[str], rows: Sequence[tuple[Scalar, ...]]) -> Emitted:
        row = self.fresh()
        listed = (f"({', '.join([*map(self.value, values), str(at)])})" for at, values in enumerate(rows))
        columns = ", ".join([*map(quoted, ids), row])
        return Emitted(f"SELECT * FROM (VALUES {', '.join(listed)}) AS listed({columns})", tuple(ids), (row,))

    def _shared(self, rel: Shared, ordered: bool) -> Emitted:
        pairs = [(here, quoted(there)) for here, there, _ in rel.columns]
        if rel.name not in self.shared and rel.name not in self.inlined:
            self._define(rel.name)
        if rel.name in self.inlined:
            made = self.rel(self.definitions[rel.name], ordered)
            return self._select([f"{name} AS {quoted(id)}" for id, name in pairs], made, tuple(id for id, _ in pairs))
        return self._scan(quoted(rel.name), pairs, ordered)

    def _define(self, name: str) -> None:
        with self.apart() as correlated:
            made = self.rel(self.definitions[name], ordered=True)
            if correlated():
                self.inlined.add(name)
            else:
                number = f"row_number() OVER (ORDER BY {ascending(made.order)})"
                listed = ", ".join([*map(quoted, made.ids), f"{number} AS {ROW}"])
                self.shared[name] = Emitted(f"SELECT {listed} FROM ({made.sql})", made.ids)

    def _sorted(self, rel: Sorted, ordered: bool) -> Emitted:
        limited = rel.limit is not None or rel.offset
        if not limited and not ordered:
            return self.rel(rel.input)
        made = self.rel(rel.input, ordered=True)
        row = self.fresh()
        inner = Level(self, made)
        by = ", ".join([*(sort_key(inner.column(key.value), key) for key in rel.keys), *map(last, made.order)])
        number = f"row_number() OVER (ORDER BY {by}) AS {row}"
        sql = f"SELECT {', '.join([*map(quoted, made.ids), number])} FROM ({inner.around()})"
        if limited:
            sql += f" QUALIFY {row} > {rel.offset}"
            sql += f" AND {row} <= {rel.offset + rel.limit}" if rel.limit is not None else ""
        return Emitted(sql, made.ids, (row,))
