"""The listed groups of a key, as a relation of members and their places in the list.

Few are written into the statement; many are handed over as arrays (to DuckDB a million texts
in 0.1 s, against 40 s as VALUES).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from privql.engines.interface import EngineError
from privql.engines.sql.dialect import Dialect
from privql.frozen import frozen
from privql.functions.scalar.numbers import write_decimal
from privql.kernel.scalars import INT, Value, ValueType

_FEW = 50

Arrays = Mapping[str, npt.NDArray[Any]]


@frozen
class Members:
    sql: str  # a relation (m, o)
    arrays: Arrays | None  # handed over under the name it reads


def written_out(
    rows: Sequence[tuple[Value, ...]], by: tuple[ValueType, ...], met: Sequence[object], dialect: Dialect
) -> str | None:
    """The place of the row that is met, NULL for none of them; or None if that is a matter for a relation."""
    if dialect.joins_few or len(rows) > _FEW:
        return None
    _differ([tuple(map(_as_written, row, by)) for row in rows])
    places = []
    for place, row in enumerate(rows):
        same = (
            f"{column} IS NULL" if value is None else f"{column} = {dialect.literal(value, type)}"
            for column, value, type in zip(met, row, by, strict=True)
        )
        places.append(f"WHEN {' AND '.join(same)} THEN {dialect.literal(place, INT)}")
    return f"CASE {' '.join(places)} END"


def listed(values: tuple[Value, ...], type: ValueType, table: str, dialect: Dialect) -> Members:
    _differ([_as_written(value, type) for value in values])
    if len(values) <= _FEW:
        written = [(dialect.literal(value, type), dialect.literal(place, INT)) for place, value in enumerate(values)]
        rows = ", ".join(f"({value}, {place})" for value, place in written)
        return Members(f"(VALUES {rows}) AS {table}(m, o)", None)
    places = [place for place, value in enumerate(values) if value is not None]
    arrays = {"m": array([values[place] for place in places], type), "o": np.array(places, dtype=np.int64)}
    rows = f"SELECT {read('m', type, dialect)} AS m, o FROM {table}_arrays"
    if len(places) < len(values):
        rows += f" UNION ALL SELECT {dialect.literal(None, type)}, {dialect.literal(values.index(None), INT)}"
    return Members(f"({rows}) AS {table}", arrays)


def _differ(members: Sequence[object]) -> None:
    if len(set(members)) != len(members):
        raise EngineError("unsupported")  # a row would count twice


def _as_written(value: Any, type: ValueType) -> object:
    """What the engine compares: numbers have the digits of their type, and there is one zero."""
    if value is None:
        return None
    match type.kind:
        case "DECIMAL":
            return int(Fraction(value) * 10**type.scale)
        case "FLOAT" if isfinite(value):
            return float(value)
        case "FLOAT":
            raise EngineError("unsupported")  # no value of the language; a NaN is unlike itself here, and not there
        case "TEXT" | "BOOL":
            return value
        case _:
            return int(value)


def array(values: list[Any], type: ValueType) -> npt.NDArray[Any]:
    """Values, none of them NULL, as what `read` makes them of again."""
    match type.kind:
        case "DECIMAL":
            return np.array([write_decimal(Fraction(v), type.scale) for v in values], dtype=object)
        case "TEXT":
            return np.array(values, dtype=object)
        case "FLOAT":
            return np.array(values, dtype=np.float64)
        case "BOOL":
            return np.array(values, dtype=np.bool_)
        case _:
            return np.array(values, dtype=np.int64)


def read(column: str, type: ValueType, dialect: Dialect) -> str:
    match type.kind:
        case "DATE":
            return dialect.date(column)
        case "TIMESTAMP":
            return dialect.timestamp(column)
        case _:
            return f"CAST({column} AS {dialect.type_name(type)})"


def listed_together(
    rows: tuple[tuple[Value, ...], ...], types: tuple[ValueType, ...], table: str, dialect: Dialect
) -> Members:
    """The same for several columns at once: a relation (m0, m1, …, o)."""
    _differ([tuple(map(_as_written, row, types)) for row in rows])
    names = ", ".join(f"m{at}" for at in range(len(types)))
    if len(rows) <= _FEW:
        written = [
            ", ".join(dialect.literal(v, t).sql for v, t in zip((*row, place), (*types, INT), strict=True))
            for place, row in enumerate(rows)
        ]
        return Members(f"(VALUES {', '.join(f'({row})' for row in written)}) AS {table}({names}, o)", None)
    arrays: dict[str, npt.NDArray[Any]] = {"o": np.arange(len(rows), dtype=np.int64)}
    columns = []
    for at, (values, type) in enumerate(zip(zip(*rows, strict=True), types, strict=True)):
        some = next((value for value in values if value is not None), None)
        arrays[f"n{at}"] = np.array([value is None for value in values], dtype=np.bool_)
        if some is None:
            columns.append(f"{dialect.literal(None, type)} AS m{at}")
        else:  # in the place of a NULL stands any value, which is not read
            arrays[f"v{at}"] = array([some if value is None else value for value in values], type)
            columns.append(f"CASE WHEN NOT n{at} THEN {read(f'v{at}', type, dialect)} END AS m{at}")
    return Members(f"(SELECT {', '.join(columns)}, o FROM {table}_arrays) AS {table}", arrays)
