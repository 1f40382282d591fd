"""Invented rows of a table, from the policy alone: to try queries on, never from data and never private.

The same table always gets the same rows. Declared domains are obeyed, their edges occur, units own no more rows than
declared and are the same in every table, so that joins find something.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from privql.kernel.scalars import Value, ValueType
from privql.names import fold
from privql.policy.catalog import Catalog, Column, Table

if TYPE_CHECKING:
    import pandas

ROWS = 100
_ROWS_PER_UNIT = 4
_NULL_SHARE = 0.08
_EPOCH = datetime.date(1970, 1, 1)
_FIRST_DAY = (datetime.date(2024, 1, 1) - _EPOCH).days
_MICROSECONDS_A_DAY = 86_400_000_000
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbour", "iris", "juniper")

PublicValues = Callable[[Column], Sequence[Value] | None]


def dummy_frame(
    table: Table, catalog: Catalog, rows: int = ROWS, public_values: PublicValues | None = None
) -> pandas.DataFrame:
    """`dummy_rows` as a frame that an engine can read."""
    return frame_of(table, dummy_rows(table, catalog, rows, public_values))


def frame_of(table: Table, rows: Sequence[Sequence[Value]]) -> pandas.DataFrame:
    """Rows of the table's columns, values as the kernel writes them, as a frame that an engine can read."""
    import pandas

    frame = {}
    for at, column in enumerate(table.columns):
        values = [_python(row[at], column.type) for row in rows]
        frame[column.name] = pandas.Series(values, dtype=_DTYPES.get(column.type.kind, "object"))
    return pandas.DataFrame(frame)


def dummy_rows(
    table: Table, catalog: Catalog, rows: int = ROWS, public_values: PublicValues | None = None
) -> tuple[tuple[Value, ...], ...]:
    """At most `rows` rows of the table's columns, values as the kernel writes them; fewer where a key has fewer values.

    `public_values` tells the values that a column with `values_from` may have; where it does not know, they are
    invented like the rest.
    """
    units = _units_of_rows(table, rows)
    invented: dict[str, list[Value]] = {}
    for column in table.columns:
        if column in table.never_null:
            column = replace(column, domain=replace(column.domain, nullable=False))
        key = (column.name,) in table.keys
        choice = random.Random(f"{fold(table.name)}.{fold(column.name)}")
        known = public_values(column) if public_values is not None and column.values_from is not None else None
        if known is None and column.references is not None and column.unit is None:
            known = _referenced(column.references, catalog, rows)
        if column.unit is not None:
            invented[column.name] = [nth_unit(column, index) for index in units]
        elif key:
            invented[column.name] = distinct(column, rows, known)
        else:
            invented[column.name] = _varied(column, rows, known, choice)
    count = min((len(values) for values in invented.values()), default=0)
    kept = _without_repeated_keys(table, invented, count)
    return tuple(tuple(invented[column.name][row] for column in table.columns) for row in kept)


def _units_of_rows(table: Table, rows: int) -> list[int]:
    """Which unit owns each row, where a column tells it."""
    most = 1 if table.one_row_per_unit else min(table.at_most or _ROWS_PER_UNIT, _ROWS_PER_UNIT)
    choice = random.Random(fold(table.name))
    owners = [unit for unit in range(rows) for _ in range(choice.randint(1, most))]
    return owners[:rows]


def nth_unit(column: Column, index: int) -> Value:
    """The same units in every table that tells them by the same type."""
    plain = replace(column, name=column.unit or column.name, references=None, values_from=None)
    return numbered(plain, index + 1)(index)


def _referenced(reference: tuple[str, str], catalog: Catalog, rows: int) -> list[Value] | None:
    table = catalog.table(reference[0])
    target = table.column(reference[1]) if table is not None else None
    if table is None or target is None:
        return None
    if target.unit is not None:
        return [nth_unit(target, index) for index in sorted(set(_units_of_rows(table, rows)))]
    return distinct(target, rows, None)


def distinct(column: Column, count: int, known: Sequence[Value] | None) -> list[Value]:
    """Up to `count` different values of a column, in order."""
    if known is not None:
        return list(known[:count])
    found = map(numbered(column, count), range(count))
    return list(itertools.takewhile(lambda value: value is not None, found))


def numbered(column: Column, count: int) -> Callable[[int], Value]:
    """Of up to `count` different values of a column, in order, any one by its number; NULL beyond the last."""
    listed = column.domain.values
    if listed is not None:
        return lambda index: listed[index] if index < len(listed) else None
    if column.type.kind == "TEXT":
        return lambda index: f"{column.name}-{index + 1}"
    low, high, step = _range(column, count)
    return lambda index: _typed(low + index * step, column) if low + index * step <= high else None


def _varied(column: Column, count: int, known: Sequence[Value] | None, choice: random.Random) -> list[Value]:
    """`count` values of a column: every edge of its domain, then any, with NULLs where they may be."""
    listed = known if known is not None else column.domain.values
    edges: Sequence[Value]
    if listed is not None:
        edges = anything = listed or [None]
    elif column.type.kind == "TEXT":
        edges = anything = _WORDS
    else:
        low, high, step = _range(column, 1000)
        steps = math.floor((high - low) / step)
        edges = [_typed(low, column), _typed(high, column)]
        anything = [_typed(low + choice.randint(0, steps) * step, column) for _ in range(count)]
    values = [*edges, *choice.choices(anything, k=count)][:count]
    choice.shuffle(values)
    if column.domain.nullable and count > len(edges):
        values = [None if choice.random() < _NULL_SHARE else value for value in values]
    return values


def _range(column: Column, points: int) -> tuple[Fraction, Fraction, Fraction]:
    """Low, high and a step between values of an ordered type: as declared, else somewhere near."""
    domain, kind = column.domain, column.type.kind
    width = Fraction(points)
    if domain.low is not None and domain.high is not None:
        low, high = domain.low, domain.high
    elif kind == "DATE":
        low, high = Fraction(_FIRST_DAY), _FIRST_DAY + width
    elif kind == "TIMESTAMP":
        low, high = Fraction(_FIRST_DAY * _MICROSECONDS_A_DAY), (_FIRST_DAY + width) * _MICROSECONDS_A_DAY
        return low, high, Fraction(_MICROSECONDS_A_DAY)
    elif kind == "DECIMAL":
        grid = Fraction(1, 10**column.type.scale)
        low, high = grid, min(width, (10**column.type.precision - 1) * grid)
    else:
        low, high = Fraction(1), width
    return low, high, domain.grid or (high - low) / max(points, 1) or Fraction(1)


def _typed(value: Fraction, column: Column) -> Value:
    """A number as the kernel writes values of the column's type, rounded into its domain."""
    match column.type.kind:
        case "FLOAT":
            near, low, high = float(value), column.domain.low, column.domain.high
            if low is not None and near < low:
                return math.nextafter(near, math.inf)
            return math.nextafter(near, -math.inf) if high is not None and near > high else near
        case "DECIMAL":
            return value
        case _:
            return int(value)


def _without_repeated_keys(table: Table, invented: dict[str, list[Value]], count: int) -> list[int]:
    seen: set[tuple[object, ...]] = set()
    kept = []
    for row in range(count):
        told = [(key, *(invented[name][row] for name in key)) for key in table.keys]
        if not seen.intersection(told):
            seen.update(told)
            kept.append(row)
    return kept


_DTYPES = {"INT": "Int64", "FLOAT": "float64", "BOOL": "boolean", "TIMESTAMP": "datetime64[us]"}


def _python(value: Value, type: ValueType) -> object:
    """A value as a frame holds it."""
    match type.kind, value:
        case "DATE", int():
            return _EPOCH + datetime.timedelta(days=value)
        case "TIMESTAMP", int():
            return datetime.datetime.combine(_EPOCH, datetime.time()) + datetime.timedelta(microseconds=value)
        case "DECIMAL", int() | Fraction():
            with localcontext(prec=50):
                return Decimal(Fraction(value).numerator) / Decimal(Fraction(value).denominator)
        case _:
            return value
