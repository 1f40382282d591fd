"""Spellings of dates made of numbers, of the time between two moments, and of stretches of time.

All is reckoned in whole numbers, of months, days or microseconds: DuckDB's `date_diff` of hours rounds toward 1970, its
`make_date` throws where there is no such day. Only a number inside the calendar is made a date again.
"""

from __future__ import annotations

from privql.domains.arithmetic import FIRST_DATE, LAST_DATE
from privql.engines.duckdb.expressions import EPOCH
from privql.engines.duckdb.times import month_number, month_start
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.buckets import widths
from privql.functions.scalar.calendar import CLOCK, DAY, DAYS, FIRST_TIME, LAST_TIME, MONTHS
from privql.kernel.scalars import DATE, INT, TIMESTAMP, ValueType


def _units(unit: str, type: ValueType, moment: Spelled) -> str:
    """Which unit since 1970 a moment lies in, or as far as differences go."""
    if unit in MONTHS:
        shift = 12 if unit in ("CENTURY", "MILLENNIUM") else 0
        return f"(({month_number(moment)} - {shift}) // {MONTHS[unit]})"
    if unit == "DAY":
        return _days(type, moment)
    if unit == "WEEK":
        return f"(({_days(type, moment)} - {FIRST_DATE}) // 7)"
    size = CLOCK[unit]
    return f"((epoch_us({moment}) - {FIRST_TIME}) // {size})"


def _days(type: ValueType, moment: Spelled) -> str:
    return f"CAST({moment if type == DATE else f'CAST({moment} AS DATE)'} - {EPOCH} AS BIGINT)"


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
        return f"(({months}) // {MONTHS[unit.value]})"
    if start.type == DATE:
        return f"(CAST({end} - {start} AS BIGINT) // {DAYS[unit.value]})"
    size = CLOCK[unit.value] if unit.value in CLOCK else DAYS[unit.value] * DAY
    return f"((epoch_us({end}) - epoch_us({start})) // {size})"


def _whole_months(start: Spelled, end: Spelled) -> str:
    """Those between the months, but for the last if its day - the month's last, where it has none - is not reached."""
    reached = f"least(day({start}), day(last_day({end})))"
    late = f"{reached} > day({end})"
    if start.type == TIMESTAMP:
        late += f" OR ({reached} = day({end}) AND CAST({start} AS TIME) > CAST({end} AS TIME))"
    return f"{month_number(end)} - {month_number(start)} - CASE WHEN {late} THEN 1 ELSE 0 END"


def _between(value: Spelled, low: int, high: int) -> str:
    return f"{value} BETWEEN {low} AND {high}"


def _inside(value: Spelled, low: int, high: int) -> str:
    return f"CASE WHEN {_between(value, low, high)} THEN CAST({value} AS INTEGER) END"


def make_date(call: Call) -> str:
    return call.let(call.args, _made)


def _made(year: Spelled, month: Spelled, day: Spelled) -> str:
    """Only where the numbers can be a day is one made; the month's length is asked of its first."""
    y, m = _inside(year, 1, 9999), _inside(month, 1, 12)
    first = f"make_date({y}, {m}, 1)"
    return f"CASE WHEN {day} <= day(last_day({first})) THEN {first} + ({_inside(day, 1, 31)} - 1) END"


def make_timestamp(call: Call) -> str:
    def made(*parts: Spelled) -> str:
        hour, minute, second = parts[3:]
        clock = f"{hour} * {CLOCK['HOUR']} + {minute} * {CLOCK['MINUTE']} + CAST({second} * 1000000 AS BIGINT)"
        inside = f"{_between(hour, 0, 23)} AND {_between(minute, 0, 59)} AND {second} >= 0 AND {second} < 60"
        return f"CASE WHEN {inside} THEN CAST({_made(*parts[:3])} AS TIMESTAMP) + to_microseconds({clock}) END"

    return call.let(call.args, made)


def last_day(call: Call) -> str:
    return f"last_day({call.args[0]})"


def time_bucket(call: Call) -> str:
    width, moment = call.args[:2]
    origin = call.args[2].value if len(call.args) == 3 else None
    if not isinstance(width.value, tuple) or (len(call.args) == 3 and not isinstance(origin, int)):
        return call.null
    assert origin is None or isinstance(origin, int)
    monthly, size, begin = widths(call.result, width.value, origin)
    if monthly:
        number = Spelled(_floor(call, Spelled(month_number(moment), INT), size, begin), INT)
        return month_start(call, number, call.result)
    if call.result == DATE:
        day = Spelled(_floor(call, Spelled(_days(DATE, moment), INT), size, begin), INT)
        inside = call.let((day,), lambda d: f"CASE WHEN {_between(d, FIRST_DATE, LAST_DATE)} THEN {d} END")
        return f"({EPOCH} + CAST({inside} AS INTEGER))"
    time = Spelled(_floor(call, Spelled(f"epoch_us({moment})", INT), size, begin), INT)
    inside = call.let((time,), lambda t: f"CASE WHEN {_between(t, FIRST_TIME, LAST_TIME)} THEN {t} END")
    return f"make_timestamp({inside})"


def _floor(call: Call, number: Spelled, size: int, begin: int) -> str:
    """The greatest of `begin`, and whole sizes from it, that is not above."""
    return call.let((number,), lambda n: f"({n} - ((({n} - {begin}) % {size}) + {size}) % {size})")


SPELLINGS: dict[str, Spelling] = {
    "date_diff": date_diff,
    "whole_units": whole_units,
    "make_date": make_date,
    "make_timestamp": make_timestamp,
    "last_day": last_day,
    "time_bucket": time_bucket,
}
