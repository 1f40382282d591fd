"""What emitted SQL is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from privql.check.relations import SortKey
from privql.engines.duckdb.expressions import name as quoted

ROW = '"#"'  # the column of a leaf that numbers its rows, from 0


@dataclass(frozen=True, slots=True)
class Emitted:
    """A SELECT, the identifiers of its columns, and the hidden ones that its rows are in order of."""

    sql: str
    ids: tuple[str, ...]
    order: tuple[str, ...] = ()

    @property
    def everything(self) -> tuple[str, ...]:
        return (*map(quoted, self.ids), *self.order)


def last(column: str) -> str:
    return f"{column} ASC NULLS LAST"


def ascending(order: Iterable[str]) -> str:
    return ", ".join(map(last, order))


def sort_key(spelled: str, key: SortKey) -> str:
    return f"{spelled} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
