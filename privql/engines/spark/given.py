"""Values as views of a session."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privql.engines.interface import Columns
from privql.engines.spark.session import Session
from privql.engines.sql.members import Arrays
from privql.functions.scalar.numbers import write_decimal
from privql.kernel.scalars import Value, ValueType


def view_of_arrays(session: Session, name: str, columns: Arrays) -> None:
    """The types are those of numpy, also where no value shows them."""
    import pyarrow as pa

    types = {c: pa.string() if made.dtype == object else pa.from_numpy_dtype(made.dtype) for c, made in columns.items()}
    _view(session, name, {c: pa.array(made, types[c]) for c, made in columns.items()})


def view_of_rows(session: Session, name: str, columns: Columns, rows: list[dict[str, Value]]) -> None:
    import pyarrow as pa

    made = {}
    for column, type in columns:
        values: list[Any] = [row[column] for row in rows]
        if type.kind == "DECIMAL":
            values = [None if v is None else Decimal(write_decimal(Fraction(v), type.scale)) for v in values]
        made[column] = pa.array(values, _arrow(type))
    _view(session, name, made)


def _view(session: Session, name: str, columns: Mapping[str, Any]) -> None:
    import pyarrow as pa

    session.createDataFrame(pa.table(dict(columns))).createOrReplaceTempView(name)


def _arrow(type: ValueType) -> Any:
    import pyarrow as pa

    match type.kind:
        case "INT":
            return pa.int64()
        case "FLOAT":
            return pa.float64()
        case "BOOL":
            return pa.bool_()
        case "DECIMAL":
            return pa.decimal128(type.precision, type.scale)
        case "DATE":
            return pa.date32()
        case "TIMESTAMP":
            return pa.timestamp("us", "UTC")
        case _:
            return pa.string()
