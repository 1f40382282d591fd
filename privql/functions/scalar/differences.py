"""How far apart two moments are, in units of the calendar or of the clock; and sums that are called by a name."""

from __future__ import annotations

from typing import Any

from privql.domains import Domain, whole
from privql.domains.arithmetic import fitted, limits, span
from privql.functions.scalar import arithmetic, calendar
from privql.functions.scalar.declare import Constants, Resolved, ScalarFunction, Types, Typing, const, example, padded
from privql.kernel.scalars import DATE, INT, TEXT, TIMESTAMP, Value, ValueType


def _between(op: str) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        kinds = {t.kind for t in types[1:]} - {"NULL"}
        if len(types) != 3 or types[0].kind != "TEXT" or not kinds <= {"DATE", "TIMESTAMP"}:
            return None
        unit = padded(types, constants)[0]
        if unit in calendar.CLOCK or (unit in calendar.DATE_UNITS and kinds != {"DATE"}):
            return Resolved(op, (TEXT, TIMESTAMP, TIMESTAMP), INT)
        return Resolved(op, (TEXT, DATE, DATE), INT) if unit in calendar.DATE_UNITS else None

    return typing


def _shifted(op: str) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        kinds = [t.kind for t in types]
        shifts = len(kinds) == 2 and kinds[0] in ("DATE", "TIMESTAMP") and kinds[1] in ("INTERVAL", "INT", "NULL")
        return _SUMS[op].typing(types, constants) if shifts else None

    return typing


def _split(type: ValueType, value: int) -> tuple[int, int]:
    """Day and clock."""
    return (value, 0) if type == DATE else divmod(value, calendar.DAY)


def _known(type: ValueType, unit: object, *values: int) -> bool:
    inside = calendar.date_or_null if type == DATE else calendar.time_or_null
    units = calendar.DATE_UNITS if type == DATE else (*calendar.DATE_UNITS, *calendar.CLOCK)
    return unit in units and all(inside(value) is not None for value in values)


def _begun(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    unit, start, end = values
    if not _known(types[1], unit, start, end):
        return None
    return number_of(types[1], unit, end) - number_of(types[1], unit, start)


def number_of(type: ValueType, unit: str, value: int) -> int:
    """The number of the unit that a moment lies in."""
    if unit in calendar.CLOCK:
        return value // calendar.CLOCK[unit]
    return calendar.ordinal(unit, _split(type, value)[0])


def _complete(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    unit, start, end = values
    if not _known(types[1], unit, start, end):
        return None
    if unit in calendar.MONTHS:
        months = calendar.whole_months(_split(types[1], start), _split(types[1], end))
        return arithmetic.quotient(months, calendar.MONTHS[unit])
    size = calendar.CLOCK[unit] if unit in calendar.CLOCK else calendar.DAYS[unit]
    if types[1] == TIMESTAMP and unit in calendar.DAYS:
        size *= calendar.DAY
    return arithmetic.quotient(end - start, size)


# ---- domains


def _ends(domain: Domain, type: ValueType) -> tuple[int, int]:
    least, most = limits(type)
    low, high = span(domain)
    return int(max(low, least)), int(min(high, most))


def _begun_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    unit, type = _unit(args[0]), types[1]
    if unit is None:
        return whole(result, True)
    (first, last), (since, until) = _ends(args[1], type), _ends(args[2], type)
    low = number_of(type, unit, since) - number_of(type, unit, last)
    return fitted(result, (low, number_of(type, unit, until) - number_of(type, unit, first)), None)


def _complete_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """The ends of days tell the months between them.

    A clock may take one month away from those between two days, never add one: the next day counts as that.
    """
    unit, type = _unit(args[0]), types[1]
    if unit is None:
        return whole(result, True)
    (first, last), (since, until) = _ends(args[1], type), _ends(args[2], type)
    if type == TIMESTAMP and unit in calendar.MONTHS:
        (first, last), (since, until) = (
            (a // calendar.DAY, b // calendar.DAY) for a, b in ((first, last), (since, until))
        )
        since -= last < since
        first -= first > until
        type = DATE
    low, high = (_complete((TEXT, type, type), result, (unit, a, b)) for a, b in ((last, since), (first, until)))
    assert isinstance(low, int) and isinstance(high, int)
    return fitted(result, (low, high), None)


def _unit(domain: Domain) -> str | None:
    return None if domain.only is None else str(domain.only)


_SUMS = {function.op: function for function in arithmetic.FUNCTIONS if function.op in ("add", "sub")}
_LEAP_DAY, _NEW_YEAR = const(19782, DATE), const(20089, DATE)  # 2024-02-29, 2025-01-01
_SIGNATURES = ("TEXT, DATE, DATE -> INT", "TEXT, TIMESTAMP, TIMESTAMP -> INT")

FUNCTIONS = (
    ScalarFunction(
        "date_diff", ("DATE_DIFF", "DATEDIFF"), "function", _SIGNATURES, _between("date_diff"), _begun, _begun_domain,
        "`DATE_DIFF(unit, a, b)`: how many units begin after a and not after b; below 0 if b is before a. The unit is"
        " one of `DATE_TRUNC`. From New Year's Eve to New Year's Day it is one year.",
        example("DATE_DIFF('YEAR', DATE '2024-02-29', DATE '2025-01-01')", "YEAR", _LEAP_DAY, _NEW_YEAR, gives=1),
        constant_args=(0,),
    ),
    ScalarFunction(
        "whole_units", ("DATESUB", "TIMESTAMPDIFF"), "function", _SIGNATURES, _between("whole_units"), _complete,
        _complete_domain,
        "`DATESUB(unit, a, b)`: how many whole units lie between a and b, as one counts age: the most that can be added"
        " to a without passing b, with months clamped to their last day; below 0, as many from b to a. The unit is one"
        " of `DATE_TRUNC`.",
        example("DATESUB('YEAR', DATE '2024-02-29', DATE '2025-01-01')", "YEAR", _LEAP_DAY, _NEW_YEAR, gives=0),
        constant_args=(0,),
    ),
    ScalarFunction(
        "date_add", ("DATE_ADD",), "function",
        ("DATE, INTERVAL -> TIMESTAMP", "TIMESTAMP, INTERVAL -> TIMESTAMP", "DATE, INT -> DATE"),
        _shifted("add"), _SUMS["add"].meaning, _SUMS["add"].domain,
        "`DATE_ADD(x, y)` is `x + y`.",
        example("DATE_ADD(DATE '2024-02-29', 7)", _LEAP_DAY, 7, gives=19789),
    ),
    ScalarFunction(
        "date_sub", ("DATE_SUB",), "function",
        ("DATE, INTERVAL -> TIMESTAMP", "TIMESTAMP, INTERVAL -> TIMESTAMP", "DATE, INT -> DATE"),
        _shifted("sub"), _SUMS["sub"].meaning, _SUMS["sub"].domain,
        "`DATE_SUB(x, y)` is `x - y`. The time between two dates is `DATE_DIFF` or `DATESUB`.",
        example("DATE_SUB(DATE '2024-02-29', 7)", _LEAP_DAY, 7, gives=19775),
    ),
)  # fmt: skip
