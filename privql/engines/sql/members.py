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
    sql: str  # a relation (m0, m1, …, o)
    arrays: Arrays | None  # handed over under the name it reads


def written_out(
    columns: Sequence[Sequence[Value]], types: Sequence[ValueType], met: Sequence[str], dialect: Dialect
) -> str | None:
    """The place of the member that is met, NULL for none of them; or None if that is a matter for a relation."""
    if dialect.joins_few or len(columns[0]) > _FEW:
        return None
    _differ(columns, types)
    places = []
    for place, member in enumerate(zip(*columns, strict=True)):
        same = (
            f"{column} IS NULL" if value is None else f"{column} = {dialect.literal(value, type)}"
            for column, value, type in zip(met, member, types, strict=True)
        )
        places.append(f"WHEN {' AND '.join(same)} THEN {dialect.literal(place, INT)}")
    return f"CASE {' '.join(places)} END"


def listed(columns: Sequence[Sequence[Value]], types: Sequence[ValueType], table: str, dialect: Dialect) -> Members:
    """A relation (m0, m1, …, o): the columns of the members' values, and their places."""
    _differ(columns, types)
    if len(columns[0]) <= _FEW:
        names = ", ".join(f"m{at}" for at in range(len(columns)))
        written = [
            ", ".join(dialect.literal(v, t).sql for v, t in zip((*member, place), (*types, INT), strict=True))
            for place, member in enumerate(zip(*columns, strict=True))
        ]
        return Members(f"(VALUES {', '.join(f'({row})' for row in written)}) AS {table}({names}, o)", None)
    arrays: dict[str, npt.NDArray[Any]] = {"o": np.arange(len(columns[0]), dtype=np.int64)}
    selected = []
    for at, (values, type) in enumerate(zip(columns, types, strict=True)):
        some = next((value for value in values if value is not None), None)
        if some is None:
            selected.append(f"{dialect.literal(None, type)} AS m{at}")
            continue
        # In the place of a NULL stands any value, which is not read.
        arrays[f"v{at}"] = array([some if value is None else value for value in values], type)
        member = read(f"v{at}", type, dialect)
        if None in values:
            arrays[f"n{at}"] = np.array([value is None for value in values], dtype=np.bool_)
            member = f"CASE WHEN NOT n{at} THEN {member} END"
        selected.append(f"{member} AS m{at}")
    return Members(f"(SELECT {', '.join(selected)}, o FROM {table}_arrays) AS {table}", arrays)


def _differ(columns: Sequence[Sequence[Value]], types: Sequence[ValueType]) -> None:
    written = ([_as_written(value, type) for value in values] for values, type in zip(columns, types, strict=True))
    if len(set(zip(*written, strict=True))) != len(columns[0]):
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
