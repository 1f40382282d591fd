"""Relations as SELECTs, layer upon layer.

Columns get names of their own (`c1`, `c2`, …), so that no name from a policy or a query is ever written except where a
source is read. Each layer selects `*` of the one below and adds columns. Those that nothing reads are left out here,
because an engine may keep what it makes of an unused one: DuckDB of an `IN` list, a join.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from fractions import Fraction
from itertools import count

from privql.engines.interface import EngineError
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.scalars import ScalarEmitter
from privql.frozen import frozen
from privql.kernel.scalars import FLOAT, Field, Scalar, ValueType
from privql.kernel.terms import Public, Scan


@frozen
class Clamp:
    """A column brought between two bounds."""

    column: Spelled
    low: Fraction
    high: Fraction


@frozen
class Listed:
    """A text column, NULL unless it is one of a list: `term` over its only field."""

    column: Spelled
    term: Scalar


@frozen
class Column:
    spelled: Spelled
    made: Clamp | Listed | None = None  # of a column below, that may be used instead


Tail = Callable[[Collection[str]], str]
"""What follows `FROM below`, as far as these names are read of the whole: a join reads no more than that, either."""


@frozen
class Layer:
    """`SELECT *, added FROM below tail`; the lowest reads `source` instead.

    One that is `closed` passes nothing on but what it adds, as the lowest does; of one that is `whole`, every column
    counts, read or not.
    """

    added: Mapping[str, str]
    tail: str | Tail = ""
    source: str = ""
    closed: bool = False
    whole: bool = False


@frozen
class Rows:
    dialect: Dialect
    layers: tuple[Layer, ...]
    columns: Mapping[str, Column]
    unit: Spelled | None = None  # settled, never NULL; None if the rows are nobody's
    rows_of: str | None = None  # the table, if each of its rows is its own unit: then `unit` is but a number for it
    steady: bool = True  # whether a unit is the same wherever its table is read
    alone: bool = False  # no unit has two rows

    def field(self, wanted: Field) -> Spelled:
        return named(self.columns, wanted)

    @property
    def emitter(self) -> ScalarEmitter:
        """Of terms over these rows."""
        return ScalarEmitter(self.field, self.dialect)

    @property
    def owner(self) -> Spelled:
        if self.unit is None:
            raise EngineError("unsupported")
        return self.unit

    def with_layers(self, *layers: Layer) -> Rows:
        return replace(self, layers=(*self.layers, *layers))

    def sql(self, reader: str) -> str:
        """As far as `reader`, the text of what selects from it, has need of it."""
        read = _names(reader)
        parts: list[tuple[str, str]] = []
        for layer in reversed(self.layers):
            added = {name: sql for name, sql in layer.added.items() if layer.whole or name in read}
            for text in added.values():
                read |= _names(text)
            tail = layer.tail if isinstance(layer.tail, str) else layer.tail(read)
            read |= _names(tail)
            listed = [f"{sql} AS {name}" for name, sql in added.items()]
            if layer.source:
                parts.append((f"SELECT {', '.join(listed or ['1'])} FROM {layer.source}", tail))
            elif layer.closed:
                parts.append((f"SELECT {', '.join(listed or ['1'])} FROM ", tail))
            elif listed or tail:
                parts.append((f"SELECT {', '.join(['*', *listed])} FROM ", tail))
        sql = parts[-1][0] + parts[-1][1]
        for select, tail in reversed(parts[:-1]):
            sql = f"{select}{self.dialect.derived(sql)}{tail}"
        return sql


def _names(text: str) -> set[str]:
    """Every name in a text that may be a column's: too many, if a literal looks like one, but never too few."""
    return set(_NAME.findall(text))


_NAME = re.compile(r"\b[a-z]\d+\b")


def named(columns: Mapping[str, Column], wanted: Field) -> Spelled:
    """A column as a term reads it. Values that differ as one type may be equal as another, as '1' and '01' are one
    number, and rules count on it that they differ: a term that takes a column for something else is refused."""
    spelled = columns[wanted.name].spelled
    if spelled.type != wanted.type:
        raise EngineError("unsupported")
    return spelled


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


class Names:
    """Fresh names within one statement."""

    def __init__(self) -> None:
        self._count = count()

    def new(self, letter: str) -> str:
        return f"{letter}{next(self._count)}"


ReadScan = Callable[[Scan, Names], Rows]


@frozen
class Draft:
    """A statement in the making."""

    dialect: Dialect
    read: ReadScan
    salt: bytes
    names: Names = field(default_factory=Names)
    publics: dict[Public, str] = field(default_factory=dict)  # and the names under which they are registered


def column(name: str, type: ValueType, low: int | None = None, high: int | None = None) -> Column:
    """A column with nothing known of it but perhaps its range."""
    spelled = Spelled(name, type, leaf=True)
    return Column(
        replace(spelled, low=spelled.low if low is None else low, high=spelled.high if high is None else high)
    )


def one_zero(spelled: Spelled, dialect: Dialect) -> Spelled:
    """A settled value as its equals are written: where FLOATs are grouped, which zero it is must not hang on chance."""
    if spelled.type.kind != "FLOAT":
        return spelled
    return replace(spelled, sql=f"({spelled} + {dialect.literal(0.0, FLOAT)})", leaf=False)
