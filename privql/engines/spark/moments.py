"""Spellings of dates made of numbers, of the time between two moments, and of stretches of time.

All is reckoned in whole numbers, of months, days or microseconds.
"""

from __future__ import annotations

from privql.domains.arithmetic import FIRST_DATE
from privql.engines.spark.times import clock, days, micros, month_number, month_start, to_date, to_time
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.buckets import widths
from privql.functions.scalar.calendar import CLOCK, DAY, DAYS, FIRST_TIME, MONTHS
from privql.kernel.scalars import DATE, INT, TIMESTAMP, ValueType


def _units(unit: str, type: ValueType, moment: Spelled) -> str:
    """Which unit since 1970 a moment lies in, or as far as differences go."""
    if unit in MONTHS:
        shift = 12 if unit in ("CENTURY", "MILLENNIUM") else 0
        return f"(({month_number(moment)} - {shift}L) div {MONTHS[unit]}L)"
    if unit == "DAY":
        return days(moment, type)
    if unit == "WEEK":
        return f"(({days(moment, type)} - ({FIRST_DATE}L)) div 7L)"
    return f"(({micros(moment)} - ({FIRST_TIME}L)) div {CLOCK[unit]}L)"


def date_diff(call: Call) -> str:
    unit, start, end = call.args
    if not isinstance(unit.value, str):
        return call.null
    return f"({_units(unit.value, end.type, end)} - {_units(unit.value, start.type, start)})"


def whole_units(call: Call) -> str:
    unit, start, end = call.args
    if not isinstance(unit.value, str):
        return call.null
    if unit.value in MONTHS:
        months = call.let(
            (start, end),
            lambda a, b: f"CASE WHEN {a} <= {b} THEN {_whole_months(a, b)} ELSE -({_whole_months(b, a)}) END",
        )
        return f"(({months}) div {MONTHS[unit.value]}L)"
    if start.type == DATE:
        return f"(({days(end, DATE)} - {days(start, DATE)}) div {DAYS[unit.value]}L)"
    size = CLOCK[unit.value] if unit.value in CLOCK else DAYS[unit.value] * DAY
    return f"(({micros(end)} - {micros(start)}) div {size}L)"


def _whole_months(start: Spelled, end: Spelled) -> str:
    """Those between the months, but for the last if its day - the month's last, where it has none - is not reached."""
    reached = f"least(day({start}), day(last_day(CAST({end} AS DATE))))"
    late = f"{reached} > day({end})"
    if start.type == TIMESTAMP:
        late += f" OR ({reached} = day({end}) AND {clock(start)} > {clock(end)})"
    return f"({month_number(end)} - {month_number(start)} - CASE WHEN {late} THEN 1L ELSE 0L END)"


def _between(value: Spelled, low: int, high: int) -> str:
    return f"{value} BETWEEN {low}L AND {high}L"


def _inside(value: Spelled, low: int, high: int) -> str:
    return f"CASE WHEN {_between(value, low, high)} THEN CAST({value} AS INT) END"


def make_date(call: Call) -> str:
    return call.let(call.args, _made)


def _made(year: Spelled, month: Spelled, day: Spelled) -> str:
    return f"make_date({_inside(year, 1, 9999)}, {_inside(month, 1, 12)}, {_inside(day, 1, 31)})"


def make_timestamp(call: Call) -> str:
    def made(*parts: Spelled) -> str:
        hour, minute, second = parts[3:]
        seconds = f"CAST(({second} * CAST('1000000' AS DECIMAL(7,0))) AS BIGINT)"
        time = f"{hour} * {CLOCK['HOUR']}L + {minute} * {CLOCK['MINUTE']}L + {seconds}"
        inside = f"{_between(hour, 0, 23)} AND {_between(minute, 0, 59)} AND {second} >= 0 AND {second} < 60"
        return f"CASE WHEN {inside} THEN timestamp_micros({days(_made(*parts[:3]), DATE)} * {DAY}L + {time}) END"

    return call.let(call.args, made)


def last_day(call: Call) -> str:
    return f"last_day(CAST({call.args[0]} AS DATE))"


def time_bucket(call: Call) -> str:
    width, moment = call.args[:2]
    origin = call.args[2].value if len(call.args) == 3 else None
    if not isinstance(width.value, tuple) or (len(call.args) == 3 and not isinstance(origin, int)):
        return call.null
    assert origin is None or isinstance(origin, int)
    monthly, size, begin = widths(call.result, width.value, origin)
    if monthly:
        return month_start(call, Spelled(_floor(call, month_number(moment), size, begin), INT), call.result)
    if call.result == DATE:
        return to_date(call, _floor(call, days(moment, DATE), size, begin))
    return to_time(call, _floor(call, micros(moment), size, begin))


def _floor(call: Call, number: str, size: int, begin: int) -> str:
    """The greatest of `begin`, and whole sizes from it, that is not above."""
    return f"({call.let((Spelled(number, INT),), lambda n: f'({n} - pmod({n} - ({begin}L), {size}L))')})"


SPELLINGS: dict[str, Spelling] = {
    "date_diff": date_diff,
    "whole_units": whole_units,
    "make_date": make_date,
    "make_timestamp": make_timestamp,
    "last_day": last_day,
    "time_bucket": time_bucket,
}
