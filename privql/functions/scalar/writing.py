"""Dates as texts and texts as dates, in a constant format: STRFTIME, TO_CHAR, STRPTIME, TO_TIMESTAMP and TO_DATE."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from privql.domains import Domain, finite, whole
from privql.domains.arithmetic import limits, span
from privql.functions.scalar import calendar
from privql.functions.scalar.dates import starts
from privql.functions.scalar.declare import (
    LISTED,
    Constants,
    Meaning,
    Resolved,
    ScalarFunction,
    Types,
    Typing,
    anything_or_null,
    const,
    example,
    padded,
)
from privql.functions.scalar.formats import CODES, PATTERNS, Format, Piece, codes, patterns, written
from privql.kernel.scalars import DATE, TEXT, TIMESTAMP, Value, ValueType

_READ: dict[str, Callable[[str], Format | None]] = {
    "strftime": codes, "to_char": patterns, "strptime": codes, "to_timestamp": patterns, "to_date": patterns,
}  # fmt: skip


def format_of(op: str, text: Value) -> Format | None:
    return _READ[op](text) if isinstance(text, str) else None


def _writes(op: str) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        if len(types) != 2 or types[0].kind not in ("DATE", "TIMESTAMP", "NULL") or types[1] != TEXT:
            return None
        format = format_of(op, padded(types, constants)[1])
        return None if format is None else Resolved(op, (TIMESTAMP, TEXT), TEXT)

    return typing


def _write(op: str) -> Meaning:
    def meaning(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
        format = format_of(op, values[1])
        return None if format is None else written(format, values[0])

    return meaning


# ---- where the texts lie

_CALENDAR = {"YEAR": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "WEEK": "WEEK", "ISOYEAR": "WEEK"}
_LEAP_YEAR = range(19723, 19723 + 366)  # 2024
# Fields that come round again, and days that show all that they can be together.
_ROUNDS: tuple[tuple[frozenset[str], Sequence[int]], ...] = (
    (frozenset(), range(1)),
    (frozenset({"DOW", "ISODOW"}), range(7)),
    (frozenset({"MONTH", "QUARTER"}), [calendar.day_of(calendar.civil(19723).replace(month=m)) for m in range(1, 13)]),
    (frozenset({"WEEK"}), range(18262, 18262 + 366, 7)),  # 2020, which has 53
    (frozenset({"MONTH", "QUARTER", "DAY"}), _LEAP_YEAR),
    (frozenset({"DOY"}), _LEAP_YEAR),
)
_CLOCKS: tuple[tuple[frozenset[str], range], ...] = (
    (frozenset(), range(1)),
    (frozenset({"SECOND"}), range(0, calendar.CLOCK["MINUTE"], calendar.CLOCK["SECOND"])),
    (frozenset({"MINUTE"}), range(0, calendar.CLOCK["HOUR"], calendar.CLOCK["MINUTE"])),
    (frozenset({"HOUR"}), range(0, calendar.DAY, calendar.CLOCK["HOUR"])),
    (frozenset({"MINUTE", "SECOND"}), range(0, calendar.CLOCK["HOUR"], calendar.CLOCK["SECOND"])),
    (frozenset({"HOUR", "MINUTE"}), range(0, calendar.DAY, calendar.CLOCK["MINUTE"])),
)


def _texts(op: str) -> Callable[[Types, ValueType, tuple[Domain, ...]], Domain]:
    def domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        format = None if args[1].only is None else format_of(op, args[1].only)
        if format is None:
            return whole(result, True)
        found = _moments(frozenset(p.field for p in format if isinstance(p, Piece)), args[0])
        return whole(result, False) if found is None else finite([written(format, m) for m in found], False)

    return domain


def _moments(fields: frozenset[str], domain: Domain) -> list[int] | None:
    """Moments that show every text: all there are, or those of one round where there are many more."""
    least, most = limits(TIMESTAMP)
    low, high = span(domain)
    first, last = int(min(max(low, least), most)), int(max(min(high, most), least))
    clock = fields & {*calendar.CLOCK}
    days = next((days for round, days in _ROUNDS if fields - clock <= round), None)
    times = next((times for round, times in _CLOCKS if clock <= round), None)
    once = None if days is None or times is None else len(days) * len(times)
    every = _every(fields - clock, clock, first, last, LISTED if once is None else min(LISTED, 4 * once))
    if every is not None or days is None or times is None or len(days) * len(times) > LISTED:
        return every
    return [day * calendar.DAY + time for day in days for time in times]


def _every(days: frozenset[str], clock: frozenset[str], first: int, last: int, limit: int) -> list[int] | None:
    if clock:
        size = min(calendar.CLOCK[field] for field in clock)
        numbers = range(first // size, last // size + 1)
        return [number * size for number in numbers] if len(numbers) <= limit else None
    units = {_CALENDAR.get(field, "DAY") for field in days}
    unit = "DAY" if "WEEK" in units and len(units) > 1 else min(units, key=_FINER.index, default="MILLENNIUM")
    found = starts(unit, first // calendar.DAY, last // calendar.DAY, limit)
    return None if found is None else [day * calendar.DAY for day in found]


_FINER = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "MILLENNIUM")


# ---- reading

_DIGITS = {"YEAR": 4, "MONTH": 2, "DAY": 2, "HOUR": 2, "MINUTE": 2, "SECOND": 2}


def reading(op: str, text: Value) -> tuple[str, str] | None:
    """The expression that a text must match in full, and what it is rewritten to: as a TIMESTAMP is written.

    A format must say the year, and what it says must go down to its last part without a gap.
    """
    format = format_of(op, text)
    if format is None:
        return None
    pieces = [piece for piece in format if isinstance(piece, Piece)]
    fields = [piece.field for piece in pieces]
    exact = all(piece.digits == _DIGITS.get(piece.field) and not piece.of and not piece.names for piece in pieces)
    if not exact or sorted(fields) != sorted(list(_DIGITS)[: max(len(fields), 1)]):
        return None
    if any(character < " " for piece in format if isinstance(piece, str) for character in piece):
        return None
    expression = "".join(re.escape(p) if isinstance(p, str) else f"([0-9]{{{p.digits}}})" for p in format)
    place = {field: f"\\{at}" for at, field in enumerate(fields, 1)}
    year, month, day, hour, minute, second = (place.get(field) for field in _DIGITS)
    clock = f" {hour}:{minute or '00'}:{second or '00'}" if hour else ""
    return expression, f"{year}-{month or '01'}-{day or '01'}{clock}"


def _reads(op: str, result: ValueType) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        if len(types) != 2 or types[0].kind not in ("TEXT", "NULL") or types[1] != TEXT:
            return None
        read = reading(op, padded(types, constants)[1])
        return None if read is None else Resolved(op, (TEXT, TEXT), result)

    return typing


def _read(op: str) -> Meaning:
    def meaning(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
        read = reading(op, values[1])
        found = None if read is None else re.fullmatch(read[0], values[0], re.ASCII)
        moment = None if found is None or read is None else calendar.read_timestamp(found.expand(read[1]))
        return moment // calendar.DAY if moment is not None and result == DATE else moment

    return meaning


_LEAP_DAY = const(19782, DATE)  # 2024-02-29
_WRITES, _READS = ("DATE, TEXT -> TEXT", "TIMESTAMP, TEXT -> TEXT"), "TEXT, TEXT -> TIMESTAMP"
_STRICT = (
    " The format is constant, says the year, and goes down from it without a gap: to the month, the day, the hour, the"
    " minute or the second, each in all its digits. What is not written so to the letter is NULL."
)


def _shown(known: Sequence[str]) -> str:
    return ", ".join(f"`{code}`" for code in known)


FUNCTIONS = (
    ScalarFunction(
        "strftime", ("STRFTIME", "DAYNAME", "MONTHNAME"), "function", _WRITES, _writes("strftime"), _write("strftime"),
        _texts("strftime"),
        f"A date as text, in a constant format of {_shown(CODES)}; all else stands for itself. `DAYNAME(x)` is"
        " `STRFTIME(x, '%A')`, `MONTHNAME(x)` is `STRFTIME(x, '%B')`. Names are English.",
        example("STRFTIME(DATE '2024-02-29', '%d %B %Y')", _LEAP_DAY, "%d %B %Y", gives="29 February 2024"),
        constant_args=(1,), given=(("DAYNAME", 1, "%A"), ("MONTHNAME", 1, "%B")),
    ),
    ScalarFunction(
        "to_char", ("TO_CHAR",), "function", _WRITES, _writes("to_char"), _write("to_char"), _texts("to_char"),
        f"A date as text, in a constant format of PostgreSQL's {_shown(PATTERNS)}. Other letters stand in double"
        " quotes, all else for itself.",
        example("TO_CHAR(DATE '2024-02-29', 'DD.MM.YYYY')", _LEAP_DAY, "DD.MM.YYYY", gives="29.02.2024"),
        constant_args=(1,),
    ),
    ScalarFunction(
        "strptime", ("STRPTIME",), "function", (_READS,), _reads("strptime", TIMESTAMP), _read("strptime"),
        anything_or_null,
        "The moment that a text spells in a format of `STRFTIME`." + _STRICT,
        example("STRPTIME('29/02/2024', '%d/%m/%Y')", "29/02/2024", "%d/%m/%Y", gives=19782 * calendar.DAY),
        constant_args=(1,),
    ),
    ScalarFunction(
        "to_timestamp", ("TO_TIMESTAMP",), "function", (_READS,), _reads("to_timestamp", TIMESTAMP),
        _read("to_timestamp"), anything_or_null,
        "The moment that a text spells in a format of `TO_CHAR`." + _STRICT,
        example("TO_TIMESTAMP('29.02.2024', 'DD.MM.YYYY')", "29.02.2024", "DD.MM.YYYY", gives=19782 * calendar.DAY),
        constant_args=(1,),
    ),
    ScalarFunction(
        "to_date", ("TO_DATE",), "function", ("TEXT, TEXT -> DATE",), _reads("to_date", DATE), _read("to_date"),
        anything_or_null,
        "The day that a text spells in a format of `TO_CHAR`." + _STRICT,
        example("TO_DATE('29.02.2024', 'DD.MM.YYYY')", "29.02.2024", "DD.MM.YYYY", gives=19782),
        constant_args=(1,),
    ),
)  # fmt: skip
