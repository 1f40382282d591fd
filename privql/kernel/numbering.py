"""Columns, units and row functions as a derivation writes them: by numbers, which tell nothing of the query's text.

A row function is opaque to every rule, but for its type and the columns that it reads: a list, or the number alone
where it is that column itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from privql.frozen import inside
from privql.kernel.scalars import Apply, Const, Field, Scalar, fields
from privql.kernel.stable import Sets
from privql.kernel.sums import Key, Listed
from privql.kernel.terms import Unit


class Numbering:
    """In the order in which they are met."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self._columns: dict[str, int] = {}

    def unit(self, unit: Unit) -> int:
        if unit not in self.units:
            self.units.append(unit)
        return self.units.index(unit)

    def column(self, name: str) -> int:
        return self._columns.setdefault(name, len(self._columns))

    def columns(self, names: Iterable[str]) -> list[int]:
        return sorted(map(self.column, sorted(names)))

    def sets(self, of: Sets) -> list[list[int]]:
        return sorted(self.columns(names) for names in sorted(of, key=sorted))

    def value(self, value: Scalar) -> list[Any]:
        read = self.column(value.name) if isinstance(value, Field) else self.reads(value)
        return [read, str(value.type)]

    def pairs(self, on: Iterable[tuple[Scalar, Scalar]]) -> list[list[Any]]:
        return [[self.value(one), self.value(other)] for one, other in on]

    def named(self, values: Iterable[tuple[str, Scalar]]) -> list[list[Any]]:
        return [[self.column(name), self.value(value)] for name, value in values]

    def reads(self, *of: object) -> list[int]:
        """What row functions read, wherever they stand in these: conditions, features, windows."""
        names: set[str] = set()
        todo = list(inside(of))
        while todo:
            one = todo.pop()
            if isinstance(one, Field | Const | Apply):
                names |= fields(one)
            else:
                todo.extend(inside(one))
        return self.columns(names)

    def keys(self, keys: Iterable[Key | Listed]) -> list[dict[str, Any]]:
        """How many groups there are is told where they were listed, and not where they were found."""
        out: list[dict[str, Any]] = []
        for key in keys:
            if isinstance(key, Key):
                told = {"members": len(key.members), "null": None in key.members}
                out.append({"values": [self.value(key.value)], **told})
            else:
                out.append({"values": [self.value(value) for value in key.values], "members": None, "null": True})
        return out
