"""Spellings of dates and times, kept between 0001-01-01 and 9999-12-31.

A TIMESTAMP is one of Spark's with a time zone, in a session whose zone is UTC: microseconds since 1970, to which and
from which it is converted for nothing. Sums are computed in days and microseconds, and only one that is in the
calendar becomes a date. INTERVALs are constants, added in two steps because a month's end must be found first.
"""

from __future__ import annotations

from privql.domains.arithmetic import DAY, FIRST_DATE, LAST_DATE
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.engines.sql.moments import minus, plus
from privql.functions.scalar.calendar import CLOCK, DATE_FIELDS, FIRST_TIME, LAST_TIME, MONTHS, TIME_FIELDS
from privql.kernel.scalars import DATE, INT, ValueType

_EPOCH = "timestamp_micros(0L)"


def days(moment: Spelled | str, type: ValueType) -> str:
    """Days since 1970, as an INT."""
    return f"CAST(unix_date({moment if type == DATE else f'CAST({moment} AS DATE)'}) AS BIGINT)"


def micros(moment: Spelled | str) -> str:
    return f"unix_micros({moment})"


def clock(moment: Spelled | str) -> str:
    """Microseconds since midnight."""
    return f"pmod({micros(moment)}, {DAY}L)"


def to_date(call: Call, number: str) -> str:
    """The date of a number of days; NULL outside the calendar."""
    inside = call.let(
        (Spelled(number, INT),), lambda d: f"CASE WHEN {d} BETWEEN {FIRST_DATE}L AND {LAST_DATE}L THEN {d} END"
    )
    return f"date_from_unix_date(CAST({inside} AS INT))"


def to_time(call: Call, number: str) -> str:
    """The moment of a number of microseconds; NULL outside the calendar."""
    inside = call.let(
        (Spelled(number, INT),), lambda t: f"CASE WHEN {t} BETWEEN {FIRST_TIME}L AND {LAST_TIME}L THEN {t} END"
    )
    return f"timestamp_micros({inside})"


def moved(call: Call, start: Spelled, interval: object, sign: int) -> str:
    if not isinstance(interval, tuple):
        return "CAST(NULL AS TIMESTAMP)"
    months, days_, rest = interval
    sql = f"CAST({start} AS TIMESTAMP)"
    if months:
        sql = to_time(call, micros(f"({sql} + make_ym_interval(0, {sign * months}))"))
    rest = sign * (days_ * DAY + rest)
    return to_time(call, f"({micros(sql)} + ({rest}L))") if rest else sql


def days_later(call: Call, start: Spelled, number: Spelled, sign: str) -> str:
    checked = "try_add" if sign == "+" else "try_subtract"
    return to_date(call, f"{checked}({days(start, DATE)}, {number})")


def _days_between(left: Spelled, right: Spelled) -> str:
    return f"({days(left, DATE)} - {days(right, DATE)})"


add, sub = plus(moved, days_later), minus(moved, days_later, _days_between)


def field(name: str, moment: Spelled | str) -> str:
    """A field of a date, or of a TIMESTAMP's date; not of a clock."""
    match name:
        case "DOW":
            return f"(dayofweek({moment}) - 1)"
        case "ISODOW":
            return f"(weekday({moment}) + 1)"
        case "DOY":
            return f"dayofyear({moment})"
        case "WEEK":
            return f"weekofyear({moment})"
        case "ISOYEAR":
            return f"extract(YEAROFWEEK FROM {moment})"
        case "DECADE":
            return f"(year({moment}) div 10)"
        case "CENTURY" | "MILLENNIUM":
            return f"((year({moment}) - 1) div {MONTHS[name] // 12} + 1)"
        case _:
            return f"{name.lower()}({moment})"


def clock_field(name: str, moment: Spelled | str) -> str:
    """Whole hours, minutes or, of the minute, microseconds."""
    match name:
        case "HOUR":
            return f"({clock(moment)} div {CLOCK['HOUR']}L)"
        case "MINUTE":
            return f"(pmod({micros(moment)}, {CLOCK['HOUR']}L) div {CLOCK['MINUTE']}L)"
        case _:
            return f"pmod({micros(moment)}, {CLOCK['MINUTE']}L)"


def extract(call: Call) -> str:
    name, moment = str(call.args[0].value), call.args[1]
    if name not in DATE_FIELDS and name not in TIME_FIELDS:
        return call.null
    match name, moment.type:
        case "EPOCH", type if type == DATE:
            return f"({days(moment, DATE)} * 86400L)"
        case "EPOCH", _:
            return _parts(micros(moment), 18, 6)
        case "SECOND", _:
            return _parts(clock_field(name, moment), 8, 6)
        case "MILLISECOND", _:
            return _parts(clock_field(name, moment), 8, 3)
        case (("HOUR" | "MINUTE" | "MICROSECOND"), _):
            return clock_field(name, moment)
        case _:
            return f"CAST({field(name, moment)} AS BIGINT)"


def _parts(micros: str, digits: int, scale: int) -> str:
    unit = f"CAST('0.{'0' * (scale - 1)}1' AS DECIMAL({scale},{scale}))"
    return f"CAST((CAST({micros} AS DECIMAL({digits},0)) * {unit}) AS DECIMAL({digits},{scale}))"


def date_trunc(call: Call) -> str:
    unit, moment = call.args[0].value, call.args[1]
    if not isinstance(unit, str):
        return call.null
    if unit in ("DECADE", "CENTURY", "MILLENNIUM"):
        months, shift = MONTHS[unit], 0 if unit == "DECADE" else 12
        number = f"(({month_number(moment)} - {shift}L) div {months}L)"
        return month_start(call, Spelled(f"({number} * {months}L + {shift}L)", INT), moment.type)
    if moment.type == DATE and unit == "DAY":
        return moment.sql
    if unit in CLOCK:
        start = call.let((moment,), lambda t: f"{micros(t)} - pmod({micros(t)}, {CLOCK[unit]}L)")
        return f"timestamp_micros({start})"
    return f"CAST(date_trunc('{unit}', {moment}) AS {moment.type.kind})"


def month_number(moment: Spelled | str) -> str:
    """Months since January of a year 0."""
    return f"(timestampdiff(MONTH, timestamp_micros({FIRST_TIME}L), CAST({moment} AS TIMESTAMP)) + 12L)"


def month_start(call: Call, number: Spelled, type: ValueType) -> str:
    """The start of a month by its number; NULL outside the calendar."""

    def body(n: Spelled) -> str:
        first = f"make_date(CAST({n} div 12L AS INT), CAST({n} % 12L AS INT) + 1, 1)"
        return f"CASE WHEN {n} BETWEEN 12L AND {12 * 9999 + 11}L THEN CAST({first} AS {type.kind}) END"

    return call.let((number,), body)


SPELLINGS: dict[str, Spelling] = {"extract": extract, "date_trunc": date_trunc}
