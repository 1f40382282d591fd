"""What the owner declared, once it has been found free of contradictions. Immutable; names compare without case."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from privql.diagnostics import NOWHERE, Span
from privql.domains import Domain
from privql.frozen import frozen
from privql.kernel.filters import DEFAULT, Shares
from privql.kernel.scalars import ValueType
from privql.kernel.terms import Unit
from privql.names import fold
from privql.syntax import ast


@frozen
class Column:
    """`domain` is what the declaration says; it acts at the scan: numbers clamp, other values outside become NULL.

    `values_from`: the members are those of a public table's column (REFERENCES) or of a query over public tables (IN).
    """

    name: str
    type: ValueType
    domain: Domain
    grid: Fraction | None = None  # GRID g, if declared
    key: bool = False
    unit: str | None = None
    not_null: bool = False
    hidden: bool = False
    visible: bool = False
    references: tuple[str, str] | None = None  # table, column
    values_from: tuple[str, str] | ast.Query | None = None
    span: Span = NOWHERE


@frozen
class Table:
    """A private table has a unit: its `unit_column`, each row by itself (None), or along `via` a reference."""

    name: str
    columns: tuple[Column, ...]
    unit: Unit | None = None  # None: public
    unit_column: str | None = None
    via: tuple[str, ...] = ()  # this table's columns that lead to the unit
    keys: tuple[tuple[str, ...], ...] = ()
    at_most: int | None = None  # rows per unit, enforced by truncation
    parts_by: str | None = None  # the column that divides its units: each counts in one part alone
    files: tuple[str, ...] = ()
    connection: tuple[str, ...] = ()  # the name of a connection, and where its rows are behind it
    span: Span = NOWHERE

    @property
    def private(self) -> bool:
        return self.unit is not None

    @property
    def place(self) -> str:
        """What holds its rows: a connection, by its folded name, or this machine. Rows of two places never meet."""
        return fold(self.connection[0]) if self.connection else ""

    @property
    def one_row_per_unit(self) -> bool:
        """By the owner's word, verified at apply: each row its own unit, or the unit is a key."""
        if self.unit is None or self.via:
            return False
        return self.unit_column is None or any(key == (self.unit_column,) for key in self.keys)

    @property
    def never_null(self) -> tuple[Column, ...]:
        """The columns of its keys, by the owner's word, verified at apply: but for a unit's, whose NULLs are nobody's
        rows, and those that a declaration drops."""
        named = {name for key in self.keys for name in key} - {self.unit_column}
        return tuple(column for column in self.columns if column.name in named and not column.not_null)

    def column(self, name: str) -> Column | None:
        return _named(self.columns, name)


@frozen
class View:
    name: str
    columns: tuple[str, ...]
    query: ast.Query
    span: Span = NOWHERE


@frozen
class Raise:
    """`ALTER BUDGET … ADD`: more than was declared, and why."""

    epsilon: Fraction
    delta: Fraction
    reason: str


@frozen
class Budget:
    """`epsilon` and `delta` are all there is (in one window, if it renews): what was declared and every raise."""

    name: str
    unit: str
    epsilon: Fraction
    delta: Fraction
    default_epsilon: Fraction | None = None
    default_delta: Fraction | None = None
    max_epsilon: Fraction | None = None
    shares: Shares = DEFAULT  # of δ
    raises: tuple[Raise, ...] = ()
    every: int | None = None  # hours, after which it renews
    span: Span = NOWHERE


@frozen
class Grant:
    """`epsilon` and `delta`: what this analyst may spend of the budget, None without a limit."""

    budget: str
    analyst: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    span: Span = NOWHERE


@frozen
class Catalog:
    units: tuple[Unit, ...] = ()
    tables: tuple[Table, ...] = ()
    views: tuple[View, ...] = ()
    budgets: tuple[Budget, ...] = ()
    grants: tuple[Grant, ...] = ()
    refreshed: tuple[tuple[str, str], ...] = ()  # table, version as the owner states it
    padded: Fraction | None = None  # seconds: PAD TIME

    def table(self, name: str) -> Table | None:
        return _named(self.tables, name)

    def reached(self, name: str) -> tuple[str, ...]:
        """The tables along which this one's unit is reached, one after another. A policy has no circles."""
        out: list[str] = []
        table = self.table(name)
        while table is not None and table.via:
            column = table.column(table.via[0])
            table = self.table(column.references[0]) if column is not None and column.references is not None else None
            out += [] if table is None else [table.name]
        return tuple(out)

    def view(self, name: str) -> View | None:
        return _named(self.views, name)

    def unit(self, name: str) -> Unit | None:
        return _named(self.units, name)


_Declared = TypeVar("_Declared", Column, Table, View, Unit)


def _named(declared: Sequence[_Declared], name: str) -> _Declared | None:
    for one in declared:  # nearly always it is written as it was declared
        if one.name == name:
            return one
    folded = fold(name)
    return next((one for one in declared if fold(one.name) == folded), None)
