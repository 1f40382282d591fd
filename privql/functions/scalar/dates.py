"""Parts of dates and times."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privql.functions.scalar import calendar
from privql.functions.scalar.declare import (
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    anything_or_null,
    const,
    example,
    padded,
)
from privql.kernel.scalars import DATE, INT, TEXT, TIMESTAMP, Value, ValueType, decimal

SECONDS, SECONDS_SINCE_1970 = decimal(8, 6), decimal(18, 6)


def _extraction(types: Types, constants: Constants) -> Resolved | None:
    if len(types) != 2 or types[0].kind != "TEXT":
        return None
    field = padded(types, constants)[0]
    kind = TIMESTAMP if types[1].kind == "NULL" else types[1]
    if kind.kind not in ("DATE", "TIMESTAMP"):
        return None
    if field not in calendar.DATE_FIELDS and (kind == DATE or field not in calendar.TIME_FIELDS):
        return None
    result = INT
    if kind == TIMESTAMP and field in ("SECOND", "EPOCH"):
        result = SECONDS if field == "SECOND" else SECONDS_SINCE_1970
    return Resolved("extract", (TEXT, kind), result)


def _truncation(types: Types, constants: Constants) -> Resolved | None:
    if len(types) != 2 or types[0].kind != "TEXT":
        return None
    unit = padded(types, constants)[0]
    kind = TIMESTAMP if types[1].kind == "NULL" else types[1]
    if kind.kind not in ("DATE", "TIMESTAMP"):
        return None
    if unit not in calendar.DATE_UNITS and (kind == DATE or unit not in calendar.CLOCK_UNITS):
        return None
    return Resolved("date_trunc", (TEXT, kind), kind)


def field_of(kind: ValueType, field: str, value: int) -> int | Fraction | None:
    day, clock = (value, 0) if kind == DATE else divmod(value, calendar.DAY)
    if calendar.date_or_null(day) is None:
        return None
    match field:
        case "EPOCH":
            return day * 86400 if kind == DATE else Fraction(value, 1_000_000)
        case "HOUR":
            return clock // 3_600_000_000
        case "MINUTE":
            return clock // 60_000_000 % 60
        case "SECOND":
            return Fraction(clock % 60_000_000, 1_000_000)
        case _:
            return calendar.date_field(field, day)


def start_of(kind: ValueType, unit: str, value: int) -> int | None:
    day, clock = (value, 0) if kind == DATE else divmod(value, calendar.DAY)
    if calendar.date_or_null(day) is None:
        return None
    if kind == DATE:
        return calendar.truncated(unit, day)
    if unit in calendar.CLOCK_UNITS:
        return value - clock % calendar.CLOCK_UNITS[unit]
    return calendar.truncated(unit, day) * calendar.DAY


def _field(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    field, value = values
    known = field in calendar.DATE_FIELDS or field in calendar.TIME_FIELDS
    return field_of(types[1], field, value) if known else None


def _start(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    unit, value = values
    known = unit in calendar.DATE_UNITS or unit in calendar.CLOCK_UNITS
    return start_of(types[1], unit, value) if known else None


_LEAP_DAY = const(19782, DATE)  # 2024-02-29

FUNCTIONS = (
    ScalarFunction(
        "extract", ("EXTRACT", "DATE_PART"), "function",
        ("TEXT, DATE -> INT", "TEXT, TIMESTAMP -> INT", "TEXT, TIMESTAMP -> DECIMAL(8,6) (SECOND)",
         "TEXT, TIMESTAMP -> DECIMAL(18,6) (EPOCH)"),
        _extraction, _field, anything_or_null,
        "`EXTRACT(field FROM x)`. Of a DATE or a TIMESTAMP: YEAR, QUARTER, MONTH, WEEK (of ISO 8601), DAY, DOW (Sunday"
        " is 0), ISODOW (Sunday is 7), DOY, ISOYEAR and EPOCH (seconds since 1970). Of a TIMESTAMP also HOUR, MINUTE"
        " and SECOND. SECOND and EPOCH of a TIMESTAMP keep the fraction.",
        example("EXTRACT(DOY FROM DATE '2024-02-29')", "DOY", _LEAP_DAY, gives=60), constant_args=(0,),
    ),
    ScalarFunction(
        "date_trunc", ("DATE_TRUNC",), "function", ("TEXT, DATE -> DATE", "TEXT, TIMESTAMP -> TIMESTAMP"), _truncation,
        _start, anything_or_null,
        "The start of the YEAR, QUARTER, MONTH, WEEK (Monday) or DAY, of a TIMESTAMP also of the HOUR, MINUTE or"
        " SECOND. A DATE stays a DATE.",
        example("DATE_TRUNC('MONTH', DATE '2024-02-29')", "MONTH", _LEAP_DAY, gives=19754), constant_args=(0,),
    ),
)  # fmt: skip
