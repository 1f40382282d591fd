"""TIME_BUCKET: stretches of time of one width, on end."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from privql.domains import Domain, finite, whole
from privql.domains.arithmetic import INF, Bound, fitted, limits, span
from privql.functions.scalar import calendar
from privql.functions.scalar.declare import LISTED, Constants, Resolved, ScalarFunction, Types, const, example, padded
from privql.kernel.scalars import DATE, INTERVAL, TIMESTAMP, Value, ValueType

_NEW_YEAR, _MONDAY = 10957, 10959  # 2000-01-01, 2000-01-03


def _bucket_type(types: Types, constants: Constants) -> Resolved | None:
    """A width is months alone, or days and clock alone: a month and a day together have no one length."""
    if len(types) not in (2, 3) or types[0].kind != "INTERVAL":
        return None
    if not {t.kind for t in types[1:]} <= {"DATE", "TIMESTAMP", "NULL"}:
        return None
    known = padded(types, constants)
    match known[0]:
        case (int(months), 0, 0) if 0 < months <= 12 * 9999:
            daily = True
        case (0, int(days), int(micros)) if 0 < days * calendar.DAY + micros <= limits(TIMESTAMP)[1]:
            daily = (days * calendar.DAY + micros) % calendar.DAY == 0
        case _:
            return None
    if len(types) == 3 and known[2] is None:
        return None
    kind = DATE if daily and {t.kind for t in types[1:]} <= {"DATE", "NULL"} else TIMESTAMP
    return Resolved("time_bucket", (INTERVAL, *(kind for _ in types[1:])), kind)


def widths(type: ValueType, width: tuple[int, int, int], origin: int | None) -> tuple[bool, int, int]:
    """Whether a width counts months; how many of them, or of the type's days or microseconds; where one begins.

    Unless told otherwise, years begin in January, and weeks on a Monday.
    """
    months, days, micros = width
    if months:
        day = _NEW_YEAR if origin is None else origin if type == DATE else origin // calendar.DAY
        return True, months, calendar.ordinal("MONTH", day)
    size, scale = days * calendar.DAY + micros, calendar.DAY if type == DATE else 1
    return False, size // scale, _MONDAY * calendar.DAY // scale if origin is None else origin


def _bucket(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    width, value = values[:2]
    origin = values[2] if len(values) == 3 else None
    inside = calendar.date_or_null if result == DATE else calendar.time_or_null
    if any(inside(moment) is None for moment in values[1:]):
        return None
    monthly, size, begin = widths(result, width, origin)
    if not monthly:
        return inside((value - begin) // size * size + begin)
    day = value if result == DATE else value // calendar.DAY
    start = calendar.month_start((calendar.ordinal("MONTH", day) - begin) // size * size + begin)
    return start if start is None or result == DATE else start * calendar.DAY


def _bucket_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    constants = [arg.only for arg in (args[0], *args[2:]) if arg.only is not None]
    if len(constants) != len(args) - 1:
        return whole(result, True)
    width: Any = constants[0]
    origin: Any = constants[1] if len(constants) == 2 else None
    least, most = limits(result)
    low, high = (int(min(max(end, least), most)) for end in span(args[1]))
    monthly, size, begin = widths(result, width, origin)
    scale = calendar.DAY if result == TIMESTAMP else 1
    if monthly:
        number = [calendar.ordinal("MONTH", end // scale) for end in (low, high)]
        count = (number[1] - begin) // size - (number[0] - begin) // size + 1
        grid = Fraction(scale)
    else:
        count = (high - begin) // size - (low - begin) // size + 1
        grid = Fraction(math.gcd(size, begin))
    first, last = (_bucket(types, result, (width, end, *constants[1:])) for end in (low, high))
    if args[1].bounded and count <= LISTED:
        return finite(_buckets(monthly, size, begin, low, high, scale), first is None, grid)
    start: Bound = -INF if args[1].low is None else first if isinstance(first, int) else least
    end: Bound = INF if args[1].high is None or not isinstance(last, int) else last
    return fitted(result, (start, end), grid).with_null(first is None)


def _buckets(monthly: bool, size: int, begin: int, low: int, high: int, scale: int) -> list[int]:
    """The start of every stretch that begins in the calendar."""
    if not monthly:
        numbers = range((low - begin) // size, (high - begin) // size + 1)
        return [number * size + begin for number in numbers if number * size + begin >= calendar.FIRST_DATE * scale]
    first, last = (calendar.ordinal("MONTH", end // scale) for end in (low, high))
    months = range((first - begin) // size * size + begin, last + 1, size)
    found = map(calendar.month_start, months)
    return [start * scale for start in found if start is not None]


_LEAP_DAY = const(19782, DATE)  # 2024-02-29

FUNCTIONS = (
    ScalarFunction(
        "time_bucket", ("TIME_BUCKET", "DATE_BIN"), "function",
        ("INTERVAL, DATE -> DATE (a width of whole days or months)", "INTERVAL, TIMESTAMP -> TIMESTAMP",
         "INTERVAL, DATE, DATE -> DATE", "INTERVAL, TIMESTAMP, TIMESTAMP -> TIMESTAMP"),
        _bucket_type, _bucket, _bucket_domain,
        "`TIME_BUCKET(width, x)`: the start of the stretch of that width that x lies in. The width is constant, and"
        " either of months (and years) or of weeks, days and time. One stretch begins at the third argument, a constant"
        " (of which months take the month); without one, on Monday, 2000-01-03, and those of months in January 2000."
        " NULL for a start before the calendar's.",
        example("TIME_BUCKET(INTERVAL '2 weeks', DATE '2024-02-29')", (0, 14, 0), _LEAP_DAY, gives=19779),
        constant_args=(0, 2),
    ),
)  # fmt: skip
