"""Type names as PostgreSQL and DuckDB users write them, read as the seven types there are.

The width of an integer and the length of a text are not kept: INT is 64-bit, TEXT has any length.
"""

from __future__ import annotations

from typing import Protocol

from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, ValueType, decimal

TYPE_NAMES = "INT, FLOAT, DECIMAL(p,s), BOOL, TEXT, DATE, TIMESTAMP"

_PLAIN = {
    **dict.fromkeys(("INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "INT2", "INT4", "INT8", "INT64", "LONG"), INT),
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "REAL", "FLOAT", "FLOAT4", "FLOAT8", "FLOAT64"), FLOAT),
    **dict.fromkeys(("BOOL", "BOOLEAN"), BOOL),
    **dict.fromkeys(("TEXT", "STRING", "VARCHAR", "CHARACTER VARYING", "CHAR", "CHARACTER"), TEXT),
    "DATE": DATE,
    **dict.fromkeys(("TIMESTAMP", "DATETIME", "TIMESTAMPTZ"), TIMESTAMP),
}
_LENGTH = frozenset({"VARCHAR", "CHARACTER VARYING", "CHAR", "CHARACTER"})  # may state one, without effect
_DECIMAL = frozenset({"DECIMAL", "NUMERIC", "DEC"})


class WrittenType(Protocol):
    """A type as a text names it, such as `syntax.ast.TypeName`."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> tuple[int, ...]: ...


def value_type(written: WrittenType) -> ValueType | None:
    """The type meant, None if there is none of that name (or with such arguments)."""
    name, arguments = " ".join(written.name.upper().split()), written.arguments
    if name in _DECIMAL:
        # Without arguments as DuckDB: 18 digits, 3 of them behind the point.
        precision, scale = {0: (18, 3), 1: (*arguments, 0), 2: arguments}.get(len(arguments), (0, 0))
        return decimal(precision, scale) if 1 <= precision <= 38 and 0 <= scale <= precision else None
    found = _PLAIN.get(name)
    if not arguments or (name in _LENGTH and len(arguments) == 1 and arguments[0] > 0):
        return found
    return None
