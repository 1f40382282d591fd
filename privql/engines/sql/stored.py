"""Stored tables as relations: their columns read as the types that a policy declares.

A column of the declared type is taken as it is. Any other is converted as CAST would, and NULL where it does not
convert. Nothing here depends on a row: neither the columns nor their types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from privql.engines.interface import EngineError
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Call, Spelled
from privql.engines.sql.relations import Column, Layer, Names, Rows
from privql.frozen import frozen
from privql.functions.scalar import resolve_cast
from privql.kernel.scalars import INT, ValueType
from privql.kernel.terms import Scan
from privql.names import fold


@frozen
class Table:
    relation: str
    columns: Mapping[str, str]  # as the source names them, with the engine's types
    place: str = ""  # an expression by which a row is known wherever the table is read, if there is one
    closed: frozenset[str] = frozenset()  # columns that may not be read
    filled: frozenset[str] = frozenset()  # columns of which the source itself sees to it that none is NULL

    def column(self, wanted: str) -> str | None:
        """The source's own name of a column: the same, or the only one that differs in nothing but ASCII case."""
        if wanted in self.columns:
            return wanted
        alike = [column for column in self.columns if fold(column) == fold(wanted)]
        return alike[0] if len(alike) == 1 else None


ReadColumn = Callable[[str, str], Spelled | None]
"""A stored column - its name and the engine's type - as a value of the language, in the type nearest to that;
None if there is none."""


def read_table(scan: Scan, table: Table, names: Names, dialect: Dialect, read: ReadColumn) -> Rows:
    written: dict[str, str] = {}
    columns: dict[str, Column] = {}
    for column, type in scan.columns:
        spelled = _column(scan, table, column, type, dialect, read)
        fresh = names.new("c")
        written[fresh] = spelled.sql
        columns[column] = Column(Spelled(fresh, type, leaf=True, loose=spelled.loose))
    fresh = names.new("u")
    if scan.unit_column is None:
        written[fresh] = table.place or "row_number() OVER ()"
        layer, own = Layer(written, source=table.relation), Spelled(fresh, INT)
        return Rows(dialect, (layer,), columns, own, rows_of=scan.table, steady=bool(table.place), alone=True)
    unit, type = scan.unit_column
    written[fresh] = settled(_column(scan, table, unit, type, dialect, read), dialect)
    rows = Rows(dialect, (Layer(written, source=table.relation),), columns, Spelled(fresh, type))
    return rows if _always(table, unit, type, read) else rows.with_layers(Layer({}, f" WHERE {fresh} IS NOT NULL"))


def _always(table: Table, column: str, type: ValueType, read: ReadColumn) -> bool:
    """Whether it has a value in each row: as stored, and as read. Numbers and texts are read whatever they are."""
    own = table.column(column)
    if own is None or own not in table.filled or type.kind not in ("INT", "TEXT"):
        return False
    stored = read(own, table.columns[own])
    return stored is not None and stored.type == type and not stored.loose


def _column(scan: Scan, table: Table, column: str, type: ValueType, dialect: Dialect, read: ReadColumn) -> Spelled:
    own = table.column(column)
    if own is None:
        raise EngineError("missing column", scan.table, column)
    return as_declared(read(own, table.columns[own]), type, dialect)


def as_declared(stored: Spelled | None, type: ValueType, dialect: Dialect) -> Spelled:
    """A stored column as the declared type. NaN is none of a number's values: it would be converted to one, or fail."""
    if stored is None or resolve_cast(stored.type, type) is None:
        return dialect.literal(None, type)
    if stored.loose and stored.type != type and "cast" not in dialect.takes_loose:
        stored = Spelled(settled(stored, dialect), stored.type)
    made = dialect.spellings["cast"](Call("cast", (stored,), type, count(), dialect))
    return made if isinstance(made, Spelled) else Spelled(made, type)


def settled(spelled: Spelled, dialect: Dialect) -> str:
    return f"CASE WHEN {dialect.finite(spelled)} THEN {spelled} END" if spelled.loose else spelled.sql
