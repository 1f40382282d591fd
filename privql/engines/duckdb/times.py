"""Spellings of dates and times, kept between 0001-01-01 and 9999-12-31.

DuckDB's own calendar goes on to the year 294247 and back to 290308 BC; so every sum is computed there, and only then
compared with the ends of ours. INTERVALs are constants, added in two steps because a month's end must be found first.
"""

from __future__ import annotations

from privql.domains.arithmetic import DAY, FIRST_DATE, LAST_DATE
from privql.engines.duckdb.expressions import EPOCH
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.engines.sql.moments import minus, plus
from privql.functions.scalar.calendar import DATE_FIELDS, MONTHS, TIME_FIELDS
from privql.kernel.scalars import DATE, INT, TIMESTAMP, ValueType

_PARTS = {"DOW": "dayofweek", "DOY": "dayofyear"}  # as DuckDB calls them; Sunday is 0
_FIRST, _LAST = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"


def date_in_calendar(call: Call, value: Spelled) -> str:
    return call.let((value,), lambda d: f"CASE WHEN {d} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {d} END")


def time_in_calendar(call: Call, value: Spelled) -> str:
    return call.let((value,), lambda t: f"CASE WHEN {t} BETWEEN {_FIRST} AND {_LAST} THEN {t} END")


def moved(call: Call, start: Spelled, interval: object, sign: int) -> str:
    if not isinstance(interval, tuple):
        return "CAST(NULL AS TIMESTAMP)"
    months, days, micros = interval
    sql = f"CAST({start} AS TIMESTAMP)"
    if months:
        sql = time_in_calendar(call, Spelled(f"({sql} + to_months({sign * months}))", TIMESTAMP))
    rest = sign * (days * DAY + micros)
    return time_in_calendar(call, Spelled(f"({sql} + to_microseconds(BIGINT '{rest}'))", TIMESTAMP)) if rest else sql


def days_later(call: Call, start: Spelled, days: Spelled, sign: str) -> str:
    """The sum is in days since 1970; only one that is in the calendar is made a date."""
    day = Spelled(f"(CAST({start} - {EPOCH} AS HUGEINT) {sign} CAST({days} AS HUGEINT))", INT)
    inside = call.let((day,), lambda d: f"CASE WHEN {d} BETWEEN {FIRST_DATE} AND {LAST_DATE} THEN {d} END")
    return f"({EPOCH} + CAST({inside} AS INTEGER))"


def _days_between(left: Spelled, right: Spelled) -> str:
    return f"CAST({left} - {right} AS BIGINT)"


add, sub = plus(moved, days_later), minus(moved, days_later, _days_between)


def extract(call: Call) -> str:
    field, moment = call.args[0].value, call.args[1]
    if field not in DATE_FIELDS and field not in TIME_FIELDS:
        return call.null
    match field, moment.type:
        case "EPOCH", type if type == DATE:
            return f"(CAST({moment} - {EPOCH} AS BIGINT) * 86400)"
        case "EPOCH", _:
            return f"(CAST(epoch_us({moment}) AS DECIMAL(18,0)) * DECIMAL(7,6) '0.000001')"
        case "SECOND", _:
            return f"CAST(CAST(microsecond({moment}) AS DECIMAL(8,0)) * DECIMAL(7,6) '0.000001' AS DECIMAL(8,6))"
        case "MILLISECOND", _:
            return f"CAST(CAST(microsecond({moment}) AS DECIMAL(8,0)) * DECIMAL(4,3) '0.001' AS DECIMAL(8,3))"
        case _:
            return f"CAST({_PARTS.get(str(field), field)}({moment}) AS BIGINT)"


def date_trunc(call: Call) -> str:
    unit, moment = call.args[0].value, call.args[1]
    if not isinstance(unit, str):
        return call.null
    if unit in ("DECADE", "CENTURY", "MILLENNIUM"):  # which DuckDB lets begin in years that end in 0
        months, shift = MONTHS[unit], 0 if unit == "DECADE" else 12
        number = f"(({month_number(moment)} - {shift}) // {months})"
        return month_start(call, Spelled(f"{number} * {months} + {shift}", INT), moment.type)
    return f"CAST(date_trunc('{unit.lower()}', {moment}) AS {moment.type.kind})"


def month_number(moment: Spelled) -> str:
    """Months since January of a year 0."""
    return f"(date_diff('month', DATE '0001-01-01', {moment}) + 12)"


def month_start(call: Call, number: Spelled, type: ValueType) -> str:
    """The start of a month by its number; NULL outside the calendar."""
    return call.let(
        (number,),
        lambda n: (
            f"CASE WHEN {n} BETWEEN 12 AND {12 * 9999 + 11}"
            f" THEN CAST(DATE '0001-01-01' + to_months(CAST({n} - 12 AS INTEGER)) AS {type.kind}) END"
        ),
    )


SPELLINGS: dict[str, Spelling] = {"extract": extract, "date_trunc": date_trunc}
