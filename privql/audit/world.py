"""The tables of a policy as a hostile world would fill them: what a column may hold, and rows that keep the owner's
word and nothing else.

The owner's word is that keys are unique and a unit that is a key has one row. All else that a declaration says -
bounds, lists, NOT NULL - is for the plan to enforce, so values beyond the bounds, other texts, NULL, NaN and infinities
are put in. Values that the query itself compares with are put in, too, or its filters would let nothing through.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from privql.audit.pools import Known, inside, pool
from privql.audit.reference.values import Row, Tables
from privql.frozen import frozen
from privql.kernel.scalars import Value
from privql.names import fold
from privql.policy.catalog import Catalog, Column, Table
from privql.policy.dummy import PublicValues, nth_unit, numbered

_FRESH = 6000  # different values of a key


@frozen
class Element:
    """A row but for what names it and what it belongs to."""

    table: str
    values: tuple[tuple[str, Value], ...]

    def with_value(self, column: str, value: Value) -> Element:
        return Element(self.table, tuple((name, value if name == column else old) for name, old in self.values))


Bag = tuple[Element, ...]  # what one unit has
Database = tuple[Bag, ...]  # what each unit has, in the order of their names


@dataclass
class World:
    """The private tables that a query reads, and how rows of one kind of unit are put into them."""

    catalog: Catalog
    tables: tuple[Table, ...]  # those whose rows belong to the unit, and those on the way to it
    known: Known
    public_values: PublicValues
    read: frozenset[tuple[str, str]] | None = None  # the columns, by table, that count; None: all
    _pools: dict[tuple[str, str], tuple[Value, ...]] = field(default_factory=dict)

    def pool(self, table: Table, column: Column) -> tuple[Value, ...]:
        place = table.name, column.name
        if place not in self._pools:
            listed = self.public_values(column) if column.values_from is not None else None
            self._pools[place] = tuple(pool(column.type, column.domain, self.known, listed))
        return self._pools[place]

    def likely(self, table: Table, column: Column) -> tuple[Value, ...]:
        """Those that a declaration means."""
        listed = self.public_values(column) if column.values_from is not None else None
        members = listed if listed is not None else column.domain.values
        return tuple(members) if members else self.pool(table, column)[:3]

    def inside(self, table: Table, column: Column, choice: random.Random) -> Iterable[Value]:
        """Some of those, drawn, and what is beside that which the query compares with."""
        return inside(column.type, column.domain, self.known, self.likely(table, column), choice)

    def free(self, table: Table) -> tuple[Column, ...]:
        """The columns that may hold anything, of those that are read."""
        return self._roles[table.name].free

    def most(self, table: Table) -> int | None:
        """How many rows of a unit there may be, by the owner's word."""
        return 1 if table.one_row_per_unit else None

    @property
    def rows_alone(self) -> bool:
        """Whether each row is a unit of its own."""
        return any(table.unit_column is None and not table.via for table in self.tables)

    def may_be(self, bag: Bag) -> bool:
        """Whether one unit may have all of these rows."""
        if self.rows_alone:
            return len(bag) <= 1
        names = [row.table for row in bag]
        return all(self.most(table) is None or names.count(table.name) <= 1 for table in self.tables)

    @cached_property
    def _roles(self) -> Mapping[str, _Roles]:
        return {table.name: self._roles_of(table) for table in self.tables}

    def _roles_of(self, table: Table) -> _Roles:
        keyed = {key[0] for key in table.keys if len(key) == 1}
        units = tuple(column for column in table.columns if column.unit is not None)
        links = tuple((c, *target) for c in table.columns if (target := self._target(c)) is not None)
        named = {column.name for column in (*units, *(column for column, *_ in links))}
        keys = tuple(column for column in table.columns if column.name in keyed - named)
        rest = tuple(column for column in table.columns if column.name not in named | keyed)
        read = tuple(c for c in rest if self.read is None or (table.name, c.name) in self.read)
        return _Roles(units, links, keys, read, rest, table.never_null)

    def _target(self, column: Column) -> tuple[str, str] | None:
        """The private table that a column refers to, and the key there."""
        if column.references is None or column.unit is not None:
            return None
        found = self.catalog.table(column.references[0])
        key = found.column(column.references[1]) if found is not None and found.private else None
        return (found.name, key.name) if found is not None and key is not None else None

    @cached_property
    def _in_order(self) -> tuple[Table, ...]:
        """What is referred to comes before what refers to it."""
        out: list[Table] = []
        left = list(self.tables)
        while left:
            names = {table.name for table in left}
            ready = [t for t in left if not {name for _, name, _ in self._roles[t.name].links} & names - {t.name}]
            out += ready or left
            left = [table for table in left if table not in out]
        return tuple(out)

    @cached_property
    def _fresh(self) -> dict[tuple[str, str], Callable[[int], Value]]:
        return {}

    def fresh(self, table: Table, column: Column, at: int) -> Value:
        """The value number `at` of a key; None where there are not so many."""
        place = table.name, column.name
        if place not in self._fresh:
            self._fresh[place] = numbered(column, _FRESH)
        return self._fresh[place](at)

    def holding(self, units: Database, nobody: Bag = ()) -> Tables:
        """These units' rows, and some of nobody: a row that would break the owner's word is left out."""
        made: dict[str, list[Row]] = {table.name: [] for table in self.tables}
        seen: dict[tuple[str, tuple[str, ...]], set[tuple[Value, ...]]] = {}
        for unit, bag in [*enumerate(units), *([(None, nobody)] if nobody and not self.rows_alone else [])]:
            own: dict[str, list[Row]] = {}
            for table in self._in_order:
                elements = [element for element in bag if element.table == table.name]
                if unit is not None and (most := self.most(table)) is not None:
                    elements = elements[:most]
                for element in elements:
                    row = self._row(table, dict(element.values), unit, own, len(made[table.name]))
                    if self._kept(table, row, seen):
                        made[table.name].append(row)
                        own.setdefault(table.name, []).append(row)
        return made

    def _row(self, table: Table, row: dict[str, Value], unit: int | None, own: Mapping[str, list[Row]], at: int) -> Row:
        roles = self._roles[table.name]
        for column in roles.units:
            row[column.name] = None if unit is None else nth_unit(column, unit)
        for column, target, key in roles.links:
            referred = own.get(target, [])
            row[column.name] = referred[at % len(referred)][key] if referred else None
        for column in roles.keys:
            row[column.name] = self.fresh(table, column, at)
        for column in roles.rest:
            row.setdefault(column.name, None)
        return row

    def _kept(self, table: Table, row: Row, seen: dict[tuple[str, tuple[str, ...]], set[tuple[Value, ...]]]) -> bool:
        assert isinstance(row, dict)
        roles, told = self._roles[table.name], []
        for column in roles.never_null:
            if row[column.name] is None:
                row[column.name] = self.fresh(table, column, 0)
        for key in table.keys:
            there = seen.setdefault((table.name, key), set())
            movable = next((column for column in roles.rest if column.name in key), None)
            at = 0
            while movable is not None and tuple(row[name] for name in key) in there and at < _FRESH:
                row[movable.name] = self.fresh(table, movable, at)
                at += 1
            value = tuple(row[name] for name in key)
            if value in there or any(row[column.name] is None for column in roles.never_null):
                return False
            if None not in value:
                told.append((there, value))
        for there, value in told:
            there.add(value)
        return True


def element(world: World, table: Table, choice: random.Random) -> Element:
    return Element(
        table.name,
        tuple((column.name, choice.choice(world.pool(table, column))) for column in world.free(table)),
    )


@frozen
class _Roles:
    """Of a table's columns: what names the unit, what refers to a private table, what is a key by itself, the rest."""

    units: tuple[Column, ...]
    links: tuple[tuple[Column, str, str], ...]  # and the table and the key there
    keys: tuple[Column, ...]
    free: tuple[Column, ...]  # of the rest, what is read
    rest: tuple[Column, ...]
    never_null: tuple[Column, ...]


def read(tables: Tables) -> Tables:
    """As a scan reads them: NaN and infinities are NULL."""

    def plain(value: Value) -> Value:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {name: [{column: plain(value) for column, value in row.items()} for row in rows]
            for name, rows in tables.items()}  # fmt: skip


def reached(catalog: Catalog, names: Iterable[str]) -> tuple[Table, ...]:
    """The private tables that a query reads, and those along which their units are reached."""
    wanted = {fold(each) for name in names for each in (name, *catalog.reached(name))}
    return tuple(table for table in catalog.tables if table.private and fold(table.name) in wanted)
