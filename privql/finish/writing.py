"""A value as programs read it (JSON, CSV) and as people do."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privql.kernel.scalars import Value, ValueType

_EPOCH = date(1970, 1, 1)
_MIDNIGHT = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_TEXT = 60  # characters of a text that a terminal shows


def plain(value: Value, type: ValueType) -> Any:
    """DECIMAL as text with all its places, DATE and TIMESTAMP as ISO text; others as they are."""
    match value:
        case Fraction():
            return f"{to_decimal(value, type.scale):f}"
        case int() if type.kind == "DATE":
            return day_text(value)
        case int() if type.kind == "TIMESTAMP":
            return time_text(value, "T")
        case _:
            return value


def shown(value: Value, type: ValueType, alone: bool = False) -> Any:
    """What stands in a terminal: numbers as numbers, long texts cut unless they stand alone in their row."""
    match value:
        case Fraction():
            return to_decimal(value, type.scale)
        case int() if type.kind == "TIMESTAMP":
            return time_text(value, " ")
        case str() if len(value) > LONGEST_TEXT and not alone:
            return value[: LONGEST_TEXT - 1] + "…"
        case _:
            return plain(value, type)


def csv_field(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() if value == "" or any(char in value for char in '",\r\n'):
            return '"' + value.replace('"', '""') + '"'
        case _:
            return str(value)


def to_decimal(value: Fraction, scale: int) -> Decimal:
    """Exact for the type's values; a number beside them, such as a bound, rounds to its places."""
    return Decimal((int(value < 0), tuple(map(int, str(abs(round(value * 10**scale))))), -scale))


def day_text(days: int) -> str:
    try:
        return (_EPOCH + timedelta(days=days)).isoformat()
    except OverflowError:  # beyond the years that Python's calendar knows
        import numpy as np

        return str(np.datetime64(days, "D"))


def time_text(microseconds: int, separator: str) -> str:
    """Fractions of a second only where there are some."""
    try:
        return (_MIDNIGHT + timedelta(microseconds=microseconds)).replace(tzinfo=None).isoformat(separator)
    except OverflowError:
        import numpy as np

        whole = str(np.datetime64(microseconds, "us")).replace("T", separator)
        return whole.removesuffix(".000000")
