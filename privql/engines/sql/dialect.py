"""What engines that speak SQL say each in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from privql.engines.sql.expressions import Spelled, Spelling
from privql.kernel.scalars import Value, ValueType


class Dialect(Protocol):
    @property
    def spellings(self) -> Mapping[str, Spelling]:
        """Of every scalar operation, by its name in `privql.functions.scalar`."""

    @property
    def takes_loose(self) -> frozenset[str]:
        """The operations that keep NaN and infinities apart from numbers: those of an argument are so of the result,
        or the result is NULL."""

    def literal(self, value: Value, type: ValueType) -> Spelled:
        """A constant, of exactly its type."""

    def type_name(self, type: ValueType) -> str:
        """What values of this type are stored as."""

    def wide(self, value: int | str | Spelled) -> str:
        """A constant or an expression as a whole number of at least 2^126 either way."""

    def bound(self, name: str, given: list[str], body: Callable[[list[str]], str]) -> str:
        """The body over names for these expressions, each of which is computed once. `name` is fresh: what they are
        called is to begin with it."""

    def finite(self, number: str) -> str:
        """Whether a FLOAT is neither NaN nor infinite."""
