"""Parts of dates and times."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from privql.domains import Domain, finite, grid_of, whole
from privql.domains.arithmetic import INF, Bound, Span, fitted, limits, span
from privql.functions.scalar import calendar
from privql.functions.scalar.declare import (
    LISTED,
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    const,
    example,
    padded,
)
from privql.kernel.scalars import DATE, INT, TEXT, TIMESTAMP, Value, ValueType, decimal

# Fields of a TIMESTAMP that are no INT.
_FRACTIONS = {"SECOND": decimal(8, 6), "MILLISECOND": decimal(8, 3), "EPOCH": decimal(18, 6)}
# A part of a minute, in microseconds.
_PARTS = {"SECOND": 1_000_000, "MILLISECOND": 1000, "MICROSECOND": 1}


def _extraction(types: Types, constants: Constants) -> Resolved | None:
    if len(types) != 2 or types[0].kind != "TEXT":
        return None
    field = padded(types, constants)[0]
    kind = TIMESTAMP if types[1].kind == "NULL" else types[1]
    if kind.kind not in ("DATE", "TIMESTAMP"):
        return None
    if field not in calendar.DATE_FIELDS and (kind == DATE or field not in calendar.TIME_FIELDS):
        return None
    return Resolved("extract", (TEXT, kind), INT if kind == DATE else _FRACTIONS.get(str(field), INT))


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
        case "SECOND" | "MILLISECOND":
            return Fraction(clock % 60_000_000, _PARTS[field])
        case "MICROSECOND":
            return clock % 60_000_000
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
    start = calendar.truncated(unit, day)
    return None if start is None else start * calendar.DAY


def _field(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    field, value = values
    known = field in calendar.DATE_FIELDS or field in calendar.TIME_FIELDS
    return field_of(types[1], field, value) if known else None


def _start(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    unit, value = values
    known = unit in calendar.DATE_UNITS or unit in calendar.CLOCK_UNITS
    return start_of(types[1], unit, value) if known else None


# ---- domains

_RANGES: dict[str, Span] = {
    "QUARTER": (1, 4), "MONTH": (1, 12), "WEEK": (1, 53), "DAY": (1, 31), "DOW": (0, 6), "ISODOW": (1, 7),
    "DOY": (1, 366), "HOUR": (0, 23), "MINUTE": (0, 59), "SECOND": (0, Fraction(59_999_999, 1_000_000)),
    "MILLISECOND": (0, Fraction(59_999_999, 1000)), "MICROSECOND": (0, 59_999_999),
}  # fmt: skip
# A field of the clock repeats with the unit above it: within one such unit it only grows.
_MINUTE, _HOUR = calendar.CLOCK["MINUTE"], calendar.CLOCK["HOUR"]
_REPEATS = {"HOUR": (calendar.DAY, _HOUR), "MINUTE": (_HOUR, _MINUTE)} | {f: (_MINUTE, n) for f, n in _PARTS.items()}


def _first_and_last(domain: Domain, kind: ValueType) -> tuple[int, int]:
    """Open ends stand for those of the calendar."""
    least, most = limits(kind)
    low, high = span(domain)
    return int(min(max(low, least), most)), int(max(min(high, most), least))


def _field_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    if args[0].values is None or len(args[0].values) != 1:
        return whole(result, True)
    field, kind = str(args[0].values[0]), types[1]
    first, last = _first_and_last(args[1], kind)
    at_first, at_last = field_of(kind, field, first), field_of(kind, field, last)
    grid = args[1].grid or Fraction(1)
    assert at_first is not None and at_last is not None
    match field:
        case "EPOCH":
            return fitted(result, (at_first, at_last), grid * 86400 if kind == DATE else grid / 1_000_000)
        case "YEAR" | "ISOYEAR" | "DECADE" | "CENTURY" | "MILLENNIUM":
            return fitted(result, (at_first, at_last), None)
        case "HOUR" | "MINUTE" | "SECOND" | "MILLISECOND" | "MICROSECOND":
            unit, size = _REPEATS[field]
            if grid % unit == 0:
                return fitted(result, (0, 0), None)
            step = Fraction(math.gcd(int(grid), unit), size)
            whole_step = step if field in _PARTS or step.denominator == 1 else None
            return fitted(result, (at_first, at_last) if first // unit == last // unit else _RANGES[field], whole_step)
        case _:
            days = (first, last) if kind == DATE else (first // calendar.DAY, last // calendar.DAY)
            return _date_field_domain(field, result, *days)


def _date_field_domain(field: str, result: ValueType, first: int, last: int) -> Domain:
    """A short stretch of days is gone through day by day, or month by month."""
    if field in ("MONTH", "QUARTER"):
        found = starts("MONTH", first, last, 12)
    elif field == "WEEK":
        found = starts("WEEK", first, last, 400)  # in any longer stretch there is a week 53
    elif field == "DOY" and calendar.ordinal("YEAR", first) == calendar.ordinal("YEAR", last):
        return fitted(result, (calendar.date_field(field, first), calendar.date_field(field, last)), None)
    else:
        found = list(range(first, last + 1)) if last - first < 31 else None
    if found is None:
        return fitted(result, _RANGES[field], None)
    return finite([calendar.date_field(field, day) for day in found], False, grid_of(result))


def starts(unit: str, first: int, last: int, limit: int) -> list[int] | None:
    """The starts of the units that a stretch of days touches, if there are not too many."""
    numbers = range(calendar.ordinal(unit, first), calendar.ordinal(unit, last) + 1)
    if len(numbers) > limit:
        return None
    found = (calendar.start(unit, number) for number in numbers)
    return [start for start in found if start is not None]


def _start_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    if args[0].values is None or len(args[0].values) != 1:
        return whole(result, True)
    unit, kind, domain = str(args[0].values[0]), types[1], args[1]
    least, most = _first_and_last(domain, kind)
    if unit in calendar.CLOCK:
        step = Fraction(calendar.CLOCK[unit])
        if domain.grid is not None and domain.grid % step == 0:
            return domain
        return fitted(result, _open_as(domain, least // step * step, most // step * step), step)
    clock = 1 if kind == DATE else calendar.DAY
    first, last = least // clock, most // clock
    early = calendar.truncated(unit, first) is None  # the decade of the years 1 to 9
    if unit != "DAY" and domain.bounded:
        listed = starts(unit, first, last, LISTED)
        if listed is not None:
            return finite([start * clock for start in listed], early, Fraction(clock))
    low, high = (
        calendar.FIRST_DATE if day is None else day for day in (calendar.truncated(unit, d) for d in (first, last))
    )
    return fitted(result, _open_as(domain, low * clock, high * clock), Fraction(clock)).with_null(early)


def _open_as(domain: Domain, low: Bound, high: Bound) -> Span:
    return (-INF if domain.low is None else low), (INF if domain.high is None else high)


_LEAP_DAY = const(19782, DATE)  # 2024-02-29

# What a field may also be asked for by: `YEAR(x)` is `EXTRACT(YEAR FROM x)`.
_BY_FIELD = tuple((field, 0, field) for field in (*calendar.DATE_FIELDS, *calendar.TIME_FIELDS))
_BY_FIELD += (("DAYOFMONTH", 0, "DAY"), ("DAYOFYEAR", 0, "DOY"), ("WEEKOFYEAR", 0, "WEEK"))

FUNCTIONS = (
    ScalarFunction(
        "extract", ("EXTRACT", "DATE_PART", *(name for name, _, _ in _BY_FIELD)), "function",
        ("TEXT, DATE -> INT", "TEXT, TIMESTAMP -> INT", "TEXT, TIMESTAMP -> DECIMAL(8,6) (SECOND)",
         "TEXT, TIMESTAMP -> DECIMAL(8,3) (MILLISECOND)", "TEXT, TIMESTAMP -> DECIMAL(18,6) (EPOCH)"),
        _extraction, _field, _field_domain,
        "`EXTRACT(field FROM x)`, `DATE_PART('field', x)` or, by the field's own name, `YEAR(x)` (as DAYOFMONTH,"
        " DAYOFYEAR and WEEKOFYEAR, too). Of a DATE or a TIMESTAMP: YEAR, QUARTER, MONTH, WEEK (of ISO 8601), DAY, DOW"
        " (Sunday is 0), ISODOW (Sunday is 7), DOY, ISOYEAR, DECADE (the year divided by 10), CENTURY and MILLENNIUM"
        " (the 21st and the 3rd begin in 2001), and EPOCH (seconds since 1970). Of a TIMESTAMP also HOUR, MINUTE,"
        " SECOND, MILLISECOND and MICROSECOND; these three are of the minute, and SECOND, MILLISECOND and EPOCH keep"
        " the fraction. Plurals and the short forms of PostgreSQL are taken, too.",
        example("EXTRACT(DOY FROM DATE '2024-02-29')", "DOY", _LEAP_DAY, gives=60), constant_args=(0,),
        given=_BY_FIELD,
    ),
    ScalarFunction(
        "date_trunc", ("DATE_TRUNC",), "function", ("TEXT, DATE -> DATE", "TEXT, TIMESTAMP -> TIMESTAMP"), _truncation,
        _start, _start_domain,
        "The start of the MILLENNIUM, CENTURY (2001 for both today), DECADE (2020), YEAR, QUARTER, MONTH, WEEK"
        " (Monday) or DAY, of a TIMESTAMP also of the HOUR, MINUTE, SECOND, MILLISECOND or MICROSECOND. A DATE stays a"
        " DATE. NULL for the decade of the years 1 to 9, which begins before the calendar.",
        example("DATE_TRUNC('MONTH', DATE '2024-02-29')", "MONTH", _LEAP_DAY, gives=19754), constant_args=(0,),
    ),
)  # fmt: skip
