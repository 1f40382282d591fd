"""Columns and row functions as a derivation writes them: by numbers, which tell nothing of the query's text.

A row function is opaque to every rule, but for its type and the columns that it reads: a list, or the number alone
where it is that column itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from privql.frozen import inside
from privql.kernel.scalars import Apply, Const, Field, Scalar, fields
from privql.kernel.stable import Sets
from privql.kernel.sums import Key, Listed
from privql.kernel.terms import Unit


class Numbering:
    """In the order in which they are met."""

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}

    def unit(self, unit: Unit) -> list[Any]:
        return [unit.name, unit.change_one]

    def column(self, name: str) -> int:
        return self._columns.setdefault(name, len(self._columns))

    def columns(self, names: Iterable[str]) -> list[int]:
        return sorted(map(self.column, sorted(names)))

    def sets(self, of: Sets) -> list[list[int]]:
        return sorted(self.columns(names) for names in sorted(of, key=sorted))

    def value(self, value: Scalar) -> int | list[int]:
        return self.column(value.name) if isinstance(value, Field) else self.reads(value)

    def side(self, value: Scalar) -> list[Any]:
        """Of a comparison: which column it is, if it is one, and its type."""
        return [self.column(value.name) if isinstance(value, Field) else None, str(value.type)]

    def pairs(self, on: Iterable[tuple[Scalar, Scalar]]) -> list[list[Any]]:
        return [[self.side(one), self.side(other)] for one, other in on]

    def reads(self, *of: object) -> list[int]:
        return self.columns(_read(of))

    def asked(self, columns: frozenset[str], on: tuple[tuple[Scalar, Scalar], ...], where: Scalar | None) -> list[int]:
        """What a row is asked for that may meet others, of these columns of its own."""
        return self.columns(_read((tuple(ours for ours, _ in on), where)) & columns)

    def by(self, keys: Iterable[Key | Listed], nulls: bool = True) -> list[int]:
        """The columns that are keys; without `nulls`, those of which none is NULL where a row counts."""
        found: set[str] = set()
        for key in keys:
            values, null = (key.values, True) if isinstance(key, Listed) else ((key.value,), None in key.members)
            found |= {value.name for value in values if isinstance(value, Field) and (nulls or not null)}
        return self.columns(found)


def groups(keys: Iterable[Key | Listed]) -> int | None:
    """How many there are is told where they were listed, and not where they were found."""
    listed = [None if isinstance(key, Listed) else len(key.members) for key in keys]
    return None if None in listed else prod(many for many in listed if many is not None)


def _read(of: tuple[object, ...]) -> set[str]:
    names: set[str] = set()
    todo = list(inside(of))
    while todo:
        one = todo.pop()
        if isinstance(one, Field | Const | Apply):
            names |= fields(one)
        else:
            todo.extend(inside(one))
    return names
