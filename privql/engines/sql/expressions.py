"""Expressions, and what their text proves about them; how an argument is bound so that it is written once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from privql.frozen import frozen
from privql.functions.scalar.numbers import INT_MAX, INT_MIN
from privql.kernel.scalars import Value, ValueType

if TYPE_CHECKING:
    from privql.engines.sql.dialect import Dialect


@frozen
class Spelled:
    """An expression, and what its text proves about it."""

    sql: str
    type: ValueType
    leaf: bool = False  # a name or a literal: may be written twice
    loose: bool = False  # a number that may be NaN or infinite, which stands for NULL; of columns, a DECIMAL may
    low: int = INT_MIN  # of an INT
    high: int = INT_MAX
    value: Value = None  # of a literal

    def __str__(self) -> str:
        return self.sql


Spelling = Callable[["Call"], "Spelled | str"]
"""A whole expression, to be written beside any sign: in brackets, a call or a CASE."""


@frozen
class Call:
    """An operation to be spelled, its arguments ready."""

    op: str
    args: tuple[Spelled, ...]
    result: ValueType
    names: count[int]
    dialect: Dialect

    @property
    def null(self) -> str:
        """NULL, of the result's type."""
        return self.dialect.literal(None, self.result).sql

    def let(self, args: tuple[Spelled, ...], body: Callable[..., str]) -> str:
        """The body over names for these arguments; those that are no leaves are bound, and so computed once."""
        compound = [arg for arg in args if not arg.leaf]
        if not compound:
            return body(*args)
        name = f"__{next(self.names)}"

        def over(names: list[str]) -> str:
            """The body over what the dialect calls the bound ones."""
            rest = iter(names)
            return body(*(arg if arg.leaf else replace(arg, sql=next(rest), leaf=True) for arg in args))

        return self.dialect.bound(name, [arg.sql for arg in compound], over)


def function(name: str) -> Spelling:
    """A call of the engine's function of this name."""
    return lambda call: f"{name}({', '.join(arg.sql for arg in call.args)})"


def infix(sign: str) -> Spelling:
    return lambda call: f"({call.args[0]} {sign} {call.args[1]})"


def by_type(of_numbers: Spelling, of_times: Spelling) -> Spelling:
    """Of an operation that numbers and moments both have."""

    def spelling(call: Call) -> Spelled | str:
        return (of_times if any(arg.type.kind in _OF_TIME for arg in call.args) else of_numbers)(call)

    return spelling


_OF_TIME = frozenset({"DATE", "TIMESTAMP", "INTERVAL"})


def name(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def text(value: str) -> str:
    """A literal, where `\\` is a character like any other."""
    return "'" + value.replace("'", "''") + "'"
