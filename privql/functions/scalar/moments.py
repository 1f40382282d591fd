"""Dates and moments made of numbers, and those at the end of a month or the start of a stretch of time."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from itertools import product
from typing import Any

from privql.domains import Domain, finite
from privql.domains.arithmetic import INF, fitted, limits, span
from privql.functions.scalar import calendar
from privql.functions.scalar.dates import starts
from privql.functions.scalar.declare import (
    LISTED,
    SMALL,
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    const,
    example,
    fixed,
)
from privql.kernel.scalars import DATE, INT, TIMESTAMP, Value, ValueType, decimal

SECONDS = decimal(8, 6)


def _date(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    return _day(*values)


def _day(year: int, month: int, day: int) -> int | None:
    if not (1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= calendar.days_in(year, month)):
        return None
    return calendar.day_of(datetime.date(year, month, day))


def _timestamp(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    hour, minute, second = values[3:]
    day = _day(*values[:3])
    if day is None or not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second < 60):
        return None
    return day * calendar.DAY + sum(int(n * size) for n, size in zip(values[3:], _CLOCK, strict=True))


def _last_day(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    (value,) = values
    day = value if types[0] == DATE else value // calendar.DAY
    return None if calendar.date_or_null(day) is None else calendar.last_day(day)


def _last_day_type(types: Types, constants: Constants) -> Resolved | None:
    if len(types) != 1 or types[0].kind not in ("DATE", "TIMESTAMP", "NULL"):
        return None
    return Resolved("last_day", (DATE if types[0].kind == "NULL" else types[0],), DATE)


# ---- domains


def _small(args: tuple[Domain, ...]) -> list[tuple[Value, ...]] | None:
    """Every combination of arguments, if there are not too many."""
    found = [arg.members(SMALL) for arg in args]
    choices = [some for some in found if some is not None]
    few = len(choices) == len(args) and math.prod(map(len, choices)) <= LISTED
    return list(product(*choices)) if few else None


def _date_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    combined = _small(args)
    if combined is not None:
        found = {_date(types, result, values) for values in combined}
        return finite(found, None in found, Fraction(1))
    return _days_made(args)


def _days_made(args: tuple[Domain, ...]) -> Domain:
    """Between the first day of the first month and the last of the last one."""
    ends, sure = [], True
    for arg, (least, most), safe in zip(args, ((1, 9999), (1, 12), (1, 31)), (9999, 12, 28), strict=True):
        low, high = span(arg)
        sure = sure and least <= low and high <= safe
        ends.append((max(low, least), min(high, most)))
    if any(low > high for low, high in ends):
        return finite((), True, Fraction(1))
    (year, until_year), (month, until_month), (day, until_day) = ((int(low), int(high)) for low, high in ends)
    first = calendar.day_of(datetime.date(year, month, 1)) + day - 1
    last = calendar.day_of(datetime.date(until_year, until_month, 1))
    last += min(until_day, calendar.days_in(until_year, until_month)) - 1
    return fitted(DATE, (first, last), None).with_null(not sure)


def _timestamp_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    days = _days_made(args[:3])
    low, high = span(days)
    sure, first, last = not days.nullable, 0, 0
    mosts: tuple[int | Fraction, ...] = (23, 59, Fraction(59_999_999, 1_000_000))
    for arg, most, size in zip(args[3:], mosts, _CLOCK, strict=True):
        least, greatest = span(arg)
        sure = sure and least >= 0 and greatest <= most
        first += int(min(max(least, 0), most) * size)
        last += int(max(min(greatest, most), 0) * size)
    if days.empty:
        return finite((), True, Fraction(1))
    made = fitted(result, (low * calendar.DAY + first, high * calendar.DAY + last), None)
    return made.with_null(not sure)


def _last_day_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    first, last = _days(types[0], args[0])
    months = starts("MONTH", first, last, LISTED)
    if months is not None and args[0].bounded:
        return finite([calendar.last_day(day) for day in months], False, Fraction(1))
    low = -INF if args[0].low is None else calendar.last_day(first)
    return fitted(result, (low, INF if args[0].high is None else calendar.last_day(last)), None)


def _days(type: ValueType, domain: Domain) -> tuple[int, int]:
    least, most = limits(type)
    low, high = span(domain)
    scale = 1 if type == DATE else calendar.DAY
    return int(min(max(low, least), most)) // scale, int(max(min(high, most), least)) // scale


_CLOCK = (calendar.CLOCK["HOUR"], calendar.CLOCK["MINUTE"], calendar.CLOCK["SECOND"])
_HALF_PAST_NINE = 19782 * calendar.DAY + 34_200_000_000

FUNCTIONS = (
    ScalarFunction(
        "make_date", ("MAKE_DATE",), "function", ("INT, INT, INT -> DATE",),
        fixed("make_date", ((INT, INT, INT), DATE)), _date, _date_domain,
        "The day of a year, a month and a day of the month. NULL if there is no such day.",
        example("MAKE_DATE(2024, 2, 29)", 2024, 2, 29, gives=19782),
    ),
    ScalarFunction(
        "make_timestamp", ("MAKE_TIMESTAMP",), "function", ("INT, INT, INT, INT, INT, DECIMAL(8,6) -> TIMESTAMP",),
        fixed("make_timestamp", ((INT, INT, INT, INT, INT, SECONDS), TIMESTAMP)), _timestamp, _timestamp_domain,
        "The moment of a year, a month, a day, an hour, a minute and a second. NULL if there is none.",
        example("MAKE_TIMESTAMP(2024, 2, 29, 9, 30, 0)", 2024, 2, 29, 9, 30, 0, gives=_HALF_PAST_NINE),
    ),
    ScalarFunction(
        "last_day", ("LAST_DAY",), "function", ("DATE -> DATE", "TIMESTAMP -> DATE"), _last_day_type, _last_day,
        _last_day_domain,
        "The last day of the month.",
        example("LAST_DAY(DATE '2024-02-01')", const(19754, DATE), gives=19782),
    ),
)  # fmt: skip
