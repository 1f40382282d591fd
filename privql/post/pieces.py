"""What emitted SQL is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from privql.check.relations import Rel, SortKey
from privql.engines.sql.expressions import name as quoted
from privql.frozen import frozen
from privql.kernel.scalars import Scalar

ROW = '"#"'  # the column of a leaf that numbers its rows, from 0


@frozen
class Emitted:
    """A SELECT, the identifiers of its columns, and the hidden ones that its rows are in order of."""

    sql: str
    ids: tuple[str, ...]
    order: tuple[str, ...] = ()

    @property
    def everything(self) -> tuple[str, ...]:
        return (*map(quoted, self.ids), *self.order)


class Emitter(Protocol):
    """What spells the relations and values of one statement, and gives names that nothing else in it has."""

    def value(self, term: Scalar) -> str: ...
    def fresh(self) -> str: ...
    def rel(self, rel: Rel, ordered: bool = False) -> Emitted: ...


def last(column: str) -> str:
    return f"{column} ASC NULLS LAST"


def ascending(order: Iterable[str]) -> str:
    return ", ".join(map(last, order))


def sort_key(spelled: str, key: SortKey) -> str:
    return f"{spelled} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def some(emitter: Emitter, listed: Sequence[str]) -> str:
    """A select list, which may not be empty."""
    return ", ".join(listed) or f"NULL AS {emitter.fresh()}"


def by_value(emitter: Emitter, sql: str, ids: tuple[str, ...], ordered: bool) -> Emitted:
    """Rows that are all different, and so in order of their columns."""
    if not ordered:
        return Emitted(sql, ids)
    order = tuple(emitter.fresh() for _ in ids)
    listed = [f"{quoted(id)} AS {place}" for id, place in zip(ids, order, strict=True)]
    return Emitted(f"SELECT *, {', '.join(listed)} FROM ({sql})", ids, order)
