"""Spellings of dates made of numbers, of the time between two moments, and of stretches of time.

All is reckoned in whole numbers, of months, days or microseconds. Only a number inside the calendar is made a date.
"""

from __future__ import annotations

from privql.domains.arithmetic import FIRST_DATE, LAST_DATE
from privql.engines.postgres.expressions import EPOCH, between, let
from privql.engines.postgres.times import clock_of, days_of, micros_of, moment_at, month_number, month_start_of
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.buckets import widths
from privql.functions.scalar.calendar import CLOCK, DAY, DAYS, FIRST_TIME, LAST_TIME, MONTHS
from privql.kernel.scalars import DATE, INT, TIMESTAMP


def _units(unit: str, moment: Spelled) -> str:
    """Which unit since 1970 a moment lies in, or as far as differences go."""
    if unit in MONTHS:
        shift = 12 if unit in ("CENTURY", "MILLENNIUM") else 0
        return f"(({month_number(moment)} - {shift}) / {MONTHS[unit]})"
    if unit == "DAY":
        return days_of(moment)
    if unit == "WEEK":
        return f"(({days_of(moment)} - ({FIRST_DATE})) / 7)"
    return f"(({micros_of(moment)} - ({FIRST_TIME})) / {CLOCK[unit]})"


def date_diff(call: Call) -> str:
    unit = call.args[0].value
    if not isinstance(unit, str):
        return call.null
    return call.let(call.args[1:], lambda start, end: f"({_units(unit, end)} - {_units(unit, start)})")


def whole_units(call: Call) -> str:
    unit = call.args[0].value
    if not isinstance(unit, str):
        return call.null

    def body(a: Spelled, b: Spelled) -> str:
        if unit in MONTHS:
            months = f"CASE WHEN {a} <= {b} THEN {_whole_months(a, b)} ELSE -({_whole_months(b, a)}) END"
            return f"(({months}) / {MONTHS[unit]})"
        if a.type == DATE:
            return f"(({b} - {a})::bigint / {DAYS[unit]})"
        size = CLOCK[unit] if unit in CLOCK else DAYS[unit] * DAY
        return f"(({micros_of(b)} - {micros_of(a)}) / {size})"

    return call.let(call.args[1:], body)


def _last_day(moment: Spelled | str) -> str:
    """Of a month; that of the calendar's last ends where the server's goes on."""
    return f"(date_trunc('month', {moment}::timestamp) + INTERVAL '1 month -1 day')::date"


def _whole_months(start: Spelled, end: Spelled) -> str:
    """Those between the months, but for the last if its day - the month's last, where it has none - is not reached."""
    reached = f"least(EXTRACT(DAY FROM {start}), EXTRACT(DAY FROM {_last_day(end)}))"
    late = f"{reached} > EXTRACT(DAY FROM {end})"
    if start.type == TIMESTAMP:
        late += f" OR ({reached} = EXTRACT(DAY FROM {end}) AND {clock_of(start)} > {clock_of(end)})"
    return f"{month_number(end)} - {month_number(start)} - CASE WHEN {late} THEN 1 ELSE 0 END"


def make_date(call: Call) -> str:
    return call.let(call.args, made_date)


def made_date(year: Spelled, month: Spelled, day: Spelled) -> str:
    """Only where the numbers can be a day is one made; the month's length is asked of its first."""
    first = f"make_date({year}::integer, {month}::integer, 1)"
    known = f"{between(year, 1, 9999)} AND {between(month, 1, 12)} AND {between(day, 1, 31)}"
    exists = f"{day} <= 28 OR {day} <= EXTRACT(DAY FROM {_last_day(first)})"
    made = f"{first} + ({day}::integer - 1)"
    return f"CASE WHEN {known} THEN CASE WHEN {exists} THEN {made} END END"


def make_timestamp(call: Call) -> str:
    def made(*parts: Spelled) -> str:
        hour, minute, second = parts[3:]
        clock = f"{hour} * {CLOCK['HOUR']} + {minute} * {CLOCK['MINUTE']} + ({second} * 1000000)::bigint"
        inside = f"{between(hour, 0, 23)} AND {between(minute, 0, 59)} AND {second} >= 0 AND {second} < 60"
        day = f"({made_date(*parts[:3])})::timestamp"
        return f"CASE WHEN {inside} THEN {day} + ({clock})::float8 * INTERVAL '1 microsecond' END"

    return call.let(call.args, made)


def time_bucket(call: Call) -> str:
    width, moment = call.args[:2]
    origin = call.args[2].value if len(call.args) == 3 else None
    if not isinstance(width.value, tuple) or (len(call.args) == 3 and not isinstance(origin, int)):
        return call.null
    assert origin is None or isinstance(origin, int)
    monthly, size, begin = widths(call.result, width.value, origin)

    def body(m: Spelled) -> str:
        if monthly:
            return month_start_of(call, _floor(call, month_number(m), size, begin), call.result)
        if call.result == DATE:
            day = _floor(call, days_of(m), size, begin)
            made = f"{EPOCH} + {{}}::integer"
            return let(call, day, lambda d: _inside(d, FIRST_DATE, LAST_DATE, made.format(d)), INT)
        micros = _floor(call, micros_of(m), size, begin)
        return let(call, micros, lambda t: _inside(t, FIRST_TIME, LAST_TIME, moment_at(t)), INT)

    return call.let((moment,), body)


def _inside(value: Spelled, low: int, high: int, made: str) -> str:
    return f"CASE WHEN {between(value, low, high)} THEN {made} END"


def _floor(call: Call, number: str, size: int, begin: int) -> str:
    """The greatest of `begin`, and whole sizes from it, that is not above."""
    return let(call, number, lambda n: f"({n} - ((({n} - ({begin})) % {size}) + {size}) % {size})", INT)


SPELLINGS: dict[str, Spelling] = {
    "date_diff": date_diff,
    "whole_units": whole_units,
    "make_date": make_date,
    "make_timestamp": make_timestamp,
    "last_day": lambda call: _last_day(call.args[0]),
    "time_bucket": time_bucket,
}
