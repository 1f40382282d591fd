"""Parts of dates and times."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privql.domains import Domain, finite, grid_of, whole
from privql.domains.arithmetic import INF, Span, fitted, limits, span
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


# ---- domains

_RANGES: dict[str, Span] = {
    "QUARTER": (1, 4), "MONTH": (1, 12), "WEEK": (1, 53), "DAY": (1, 31), "DOW": (0, 6), "ISODOW": (1, 7),
    "DOY": (1, 366), "HOUR": (0, 23), "MINUTE": (0, 59), "SECOND": (0, Fraction(59_999_999, 1_000_000)),
}  # fmt: skip
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
# A field of the clock repeats with the unit above it: within one such unit it only grows.
_REPEATS = {"HOUR": calendar.DAY, "MINUTE": calendar.CLOCK_UNITS["HOUR"], "SECOND": calendar.CLOCK_UNITS["MINUTE"]}


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
        case "YEAR" | "ISOYEAR":
            return fitted(result, (at_first, at_last), None)
        case "HOUR" | "MINUTE" | "SECOND":
            unit = _REPEATS[field]
            step = Fraction(1) if field == "SECOND" and grid % 1_000_000 == 0 else None
            if grid % unit == 0:
                return fitted(result, (0, 0), None)
            return fitted(result, (at_first, at_last) if first // unit == last // unit else _RANGES[field], step)
        case _:
            days = (first, last) if kind == DATE else (first // calendar.DAY, last // calendar.DAY)
            return _date_field_domain(field, result, *days)


def _date_field_domain(field: str, result: ValueType, first: int, last: int) -> Domain:
    """A short stretch of days is gone through day by day, or month by month."""
    if field in ("MONTH", "QUARTER"):
        start = calendar.truncated("MONTH", first)
        found = _starts("MONTH", start, last, 12)
    else:
        found = list(range(first, last + 1)) if last - first < 31 else None
    if found is None:
        return fitted(result, _RANGES[field], None)
    return finite([calendar.date_field(field, day) for day in found], False, grid_of(result))


def _starts(unit: str, first: int, last: int, limit: int) -> list[int] | None:
    """The starts of years, quarters, months or weeks from a first one on, if there are not too many."""
    found: list[int] = []
    start: int | None = first
    while start is not None and start <= last:
        if len(found) == limit:
            return None
        found.append(start)
        start = start + 7 if unit == "WEEK" else calendar.add_months(start, _MONTHS[unit])
    return found


def _start_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    if args[0].values is None or len(args[0].values) != 1:
        return whole(result, True)
    unit, kind, domain = str(args[0].values[0]), types[1], args[1]
    first, last = (start_of(kind, unit, moment) for moment in _first_and_last(domain, kind))
    assert first is not None and last is not None
    clock = 1 if kind == DATE else calendar.DAY
    if unit != "DAY" and unit not in calendar.CLOCK_UNITS and domain.bounded:
        starts = _starts(unit, first // clock, last // clock, LISTED)
        if starts is not None:
            return finite([start * clock for start in starts], False, Fraction(clock))
    step = Fraction(clock if kind == DATE or unit not in calendar.CLOCK_UNITS else calendar.CLOCK_UNITS[unit])
    if unit in calendar.CLOCK_UNITS and domain.grid is not None and domain.grid % step == 0:
        return domain
    ends = (first if domain.low is not None else -INF), (last if domain.high is not None else INF)
    return fitted(result, ends, step)


_LEAP_DAY = const(19782, DATE)  # 2024-02-29

FUNCTIONS = (
    ScalarFunction(
        "extract", ("EXTRACT", "DATE_PART"), "function",
        ("TEXT, DATE -> INT", "TEXT, TIMESTAMP -> INT", "TEXT, TIMESTAMP -> DECIMAL(8,6) (SECOND)",
         "TEXT, TIMESTAMP -> DECIMAL(18,6) (EPOCH)"),
        _extraction, _field, _field_domain,
        "`EXTRACT(field FROM x)`. Of a DATE or a TIMESTAMP: YEAR, QUARTER, MONTH, WEEK (of ISO 8601), DAY, DOW (Sunday"
        " is 0), ISODOW (Sunday is 7), DOY, ISOYEAR and EPOCH (seconds since 1970). Of a TIMESTAMP also HOUR, MINUTE"
        " and SECOND. SECOND and EPOCH of a TIMESTAMP keep the fraction.",
        example("EXTRACT(DOY FROM DATE '2024-02-29')", "DOY", _LEAP_DAY, gives=60), constant_args=(0,),
    ),
    ScalarFunction(
        "date_trunc", ("DATE_TRUNC",), "function", ("TEXT, DATE -> DATE", "TEXT, TIMESTAMP -> TIMESTAMP"), _truncation,
        _start, _start_domain,
        "The start of the YEAR, QUARTER, MONTH, WEEK (Monday) or DAY, of a TIMESTAMP also of the HOUR, MINUTE or"
        " SECOND. A DATE stays a DATE.",
        example("DATE_TRUNC('MONTH', DATE '2024-02-29')", "MONTH", _LEAP_DAY, gives=19754), constant_args=(0,),
    ),
)  # fmt: skip
