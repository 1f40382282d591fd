"""Spellings of dates and times, kept between 0001-01-01 and 9999-12-31.

The server's calendar reaches from 4713 BC to 294276, and raises beyond. Where a sum lies is known from where it starts:
INTERVALs are constants, so that the first and the last start of which the sum is in our calendar are, too.
"""

from __future__ import annotations

from privql.domains.arithmetic import DAY, FIRST_DATE, LAST_DATE
from privql.engines.postgres.expressions import EPOCH, between, let, literal, null
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.engines.sql.moments import minus, plus
from privql.functions.scalar.calendar import (
    CLOCK,
    DATE_FIELDS,
    FIRST_TIME,
    LAST_TIME,
    MONTHS,
    TIME_FIELDS,
    month_start,
)
from privql.kernel.scalars import DATE, INT, TIMESTAMP, ValueType

_FIRST_MONTH, _MONTHS = 12, 12 * 9999  # counted from January of a year 0
_SPAN = LAST_DATE - FIRST_DATE


def interval(micros: int) -> str:
    """So many microseconds: written out as days and a clock, since one number may be read with 32 bits."""
    days, clock = divmod(micros, DAY)
    seconds, rest = divmod(clock, 1_000_000)
    return f"INTERVAL '{days} days {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:06}'"


def moved(call: Call, start: Spelled, interval_of: object, sign: int) -> str:
    if not isinstance(interval_of, tuple):
        return null(TIMESTAMP)
    months, days, micros = interval_of
    sql = start.sql if start.type == TIMESTAMP else f"{start}::timestamp"
    if months:
        sql = let(call, sql, lambda t: _months_later(t, sign * months), TIMESTAMP)
    rest = sign * (days * DAY + micros)
    return let(call, sql, lambda t: _later(t, rest), TIMESTAMP) if rest else sql


def _months_later(t: Spelled, months: int) -> str:
    first, last = max(_FIRST_MONTH, _FIRST_MONTH - months), min(_MONTHS + 11, _MONTHS + 11 - months)
    if first > last:
        return null(TIMESTAMP)
    begin, end = month_start(first), month_start(last + 1)
    inside = f"{t} >= {literal((begin or FIRST_DATE) * DAY, TIMESTAMP)}"
    if end is not None:
        inside += f" AND {t} < {literal(end * DAY, TIMESTAMP)}"
    return f"CASE WHEN {inside} THEN {t} + INTERVAL '{months} months' END"


def _later(t: Spelled, micros: int) -> str:
    first, last = max(FIRST_TIME, FIRST_TIME - micros), min(LAST_TIME, LAST_TIME - micros)
    if first > last:
        return null(TIMESTAMP)
    inside = f"{t} BETWEEN {literal(first, TIMESTAMP)} AND {literal(last, TIMESTAMP)}"
    return f"CASE WHEN {inside} THEN {t} + {interval(micros)} END"


def days_later(call: Call, start: Spelled, days: Spelled, sign: str) -> str:
    def body(d: Spelled, n: Spelled) -> str:
        day = f"({d} - {EPOCH}) {sign} {n}::integer"
        made = f"CASE WHEN {day} BETWEEN {FIRST_DATE} AND {LAST_DATE} THEN {d} {sign} {n}::integer END"
        return f"CASE WHEN {between(n, -_SPAN, _SPAN)} THEN {made} END"

    return call.let((start, days), body)


def _days_between(left: Spelled, right: Spelled) -> str:
    return f"({left} - {right})::bigint"


add, sub = plus(moved, days_later), minus(moved, days_later, _days_between)


def days_of(moment: Spelled) -> str:
    """Days since 1970."""
    return f"({moment if moment.type == DATE else f'{moment}::date'} - {EPOCH})::bigint"


def clock_of(moment: Spelled) -> str:
    """Microseconds since midnight, of a name."""
    return (
        f"(EXTRACT(HOUR FROM {moment})::bigint * {CLOCK['HOUR']} + EXTRACT(MINUTE FROM {moment})::bigint"
        f" * {CLOCK['MINUTE']} + EXTRACT(MICROSECOND FROM {moment})::bigint)"
    )


def micros_of(moment: Spelled) -> str:
    """Microseconds since 1970, of a name: the server's EPOCH is a float before version 14."""
    return f"({days_of(moment)} * {DAY} + {clock_of(moment)})"


def moment_at(micros: Spelled | str) -> str:
    """A moment by its microseconds since 1970, of a name; they must be in the calendar."""
    return (
        f"(TIMESTAMP '1970-01-01' + ({micros} / {DAY})::float8 * INTERVAL '1 day'"
        f" + ({micros} % {DAY})::float8 * INTERVAL '1 microsecond')"
    )


def extract(call: Call) -> str:
    field, moment = call.args[0].value, call.args[1]
    if field not in DATE_FIELDS and field not in TIME_FIELDS:
        return call.null
    match field, moment.type:
        case "EPOCH", type if type == DATE:
            return f"({days_of(moment)} * 86400)"
        case "EPOCH", _:
            return call.let((moment,), lambda t: f"{micros_of(t)}::numeric * '0.000001'::numeric")
        case "SECOND", _:
            return f"EXTRACT(MICROSECOND FROM {moment})::bigint * '0.000001'::numeric"
        case "MILLISECOND", _:
            return f"EXTRACT(MICROSECOND FROM {moment})::bigint * '0.001'::numeric"
        case _:
            return f"EXTRACT({field} FROM {moment})::bigint"


def date_trunc(call: Call) -> str:
    unit, moment = call.args[0].value, call.args[1]
    if not isinstance(unit, str):
        return call.null
    if unit == "DECADE":  # that of the years 1 to 9 begins before the calendar
        return call.let((moment,), lambda m: _decade(call, m))
    stamp = moment.sql if moment.type == TIMESTAMP else f"{moment}::timestamp"
    return f"date_trunc('{unit.lower()}', {stamp})::{call.result.kind.lower()}"


def _decade(call: Call, moment: Spelled) -> str:
    size = MONTHS["DECADE"]
    return month_start_of(call, f"{month_number(moment)} / {size} * {size}", call.result)


def month_number(moment: Spelled) -> str:
    """Months since January of a year 0, of a name."""
    return f"(EXTRACT(YEAR FROM {moment})::bigint * 12 + EXTRACT(MONTH FROM {moment})::bigint - 1)"


def month_start_of(call: Call, number: str, type: ValueType) -> str:
    """The start of a month by its number; NULL outside the calendar."""

    def body(n: Spelled) -> str:
        made = f"make_date(({n} / 12)::integer, ({n} % 12)::integer + 1, 1)::{type.kind.lower()}"
        return f"CASE WHEN {between(n, _FIRST_MONTH, _MONTHS + 11)} THEN {made} END"

    return let(call, number, body, INT)


SPELLINGS: dict[str, Spelling] = {"extract": extract, "date_trunc": date_trunc}
