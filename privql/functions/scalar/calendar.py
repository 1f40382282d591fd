"""The calendar: proleptic Gregorian, 0001-01-01 to 9999-12-31, UTC, without leap seconds.

A DATE is days since 1970-01-01, a TIMESTAMP microseconds since then. What would lie outside is NULL.
"""

from __future__ import annotations

import datetime
import re

from privql.domains.arithmetic import DAY as DAY  # microseconds
from privql.domains.arithmetic import FIRST_DATE as FIRST_DATE
from privql.domains.arithmetic import LAST_DATE as LAST_DATE

EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST_TIME, LAST_TIME = FIRST_DATE * DAY, LAST_DATE * DAY + DAY - 1

# What lengths of time are called; a text may also write one in the plural, or shorter.
MONTHS = {"MILLENNIUM": 12_000, "CENTURY": 1200, "DECADE": 120, "YEAR": 12, "QUARTER": 3, "MONTH": 1}
DAYS = {"WEEK": 7, "DAY": 1}
CLOCK = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "MILLISECOND": 1000, "MICROSECOND": 1}

DATE_UNITS = (*MONTHS, *DAYS)
CLOCK_UNITS = {"DAY": DAY, **CLOCK}
DATE_FIELDS = (
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY", "ISOYEAR", "DECADE", "CENTURY", "MILLENNIUM",
    "EPOCH",
)  # fmt: skip
TIME_FIELDS = tuple(CLOCK)

_SHORT = {
    "YEAR": "Y YR YRS", "MONTH": "MON MONS", "WEEK": "W", "DAY": "D DAYOFMONTH", "HOUR": "H HR HRS",
    "MINUTE": "M MIN MINS", "SECOND": "S SEC SECS", "MILLISECOND": "MS MSEC MSECS", "MICROSECOND": "US USEC USECS",
    "CENTURY": "CENTURIES", "MILLENNIUM": "MILLENNIA", "DOY": "DAYOFYEAR",
}  # fmt: skip
_NAMED = {short: name for name, shorts in _SHORT.items() for short in shorts.split()}
_NAMED |= {name + "S": name for name in (*DATE_UNITS, *CLOCK)}

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?", re.ASCII)


def civil(day: int) -> datetime.date:
    return datetime.date.fromordinal(day + EPOCH)


def day_of(date: datetime.date) -> int:
    return date.toordinal() - EPOCH


def date_or_null(day: int) -> int | None:
    return day if FIRST_DATE <= day <= LAST_DATE else None


def time_or_null(moment: int) -> int | None:
    return moment if FIRST_TIME <= moment <= LAST_TIME else None


def add_months(day: int, months: int) -> int | None:
    """The same day of a later month, or that month's last day if it has no such day."""
    date = civil(day)
    month = date.year * 12 + date.month - 1 + months
    year, month = month // 12, month % 12 + 1
    if not 1 <= year <= 9999:
        return None
    return day_of(datetime.date(year, month, min(date.day, days_in(year, month))))


def moved(kind: str, start: int, interval: tuple[int, int, int], sign: int) -> int | None:
    """Months first, clamped to the month's end; then days and time. NULL if either step leaves the calendar."""
    months, days, micros = interval
    day, clock = (start, 0) if kind == "DATE" else divmod(start, DAY)
    later = add_months(day, sign * months)
    if later is None:
        return None
    return time_or_null((later + sign * days) * DAY + clock + sign * micros)


def days_in(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def named(word: str) -> str:
    """A unit or a field of time as it is called here, from any case, a plural or a short form."""
    word = word.upper()
    return _NAMED.get(word, word)


def date_field(field: str, day: int) -> int:
    date = civil(day)
    match field:
        case "YEAR":
            return date.year
        case "QUARTER":
            return (date.month + 2) // 3
        case "MONTH":
            return date.month
        case "WEEK":
            return date.isocalendar().week
        case "DAY":
            return date.day
        case "DOW":
            return date.isoweekday() % 7
        case "ISODOW":
            return date.isoweekday()
        case "DOY":
            return date.timetuple().tm_yday
        case "ISOYEAR":
            return date.isocalendar().year
        case "DECADE":
            return date.year // 10
        case "CENTURY" | "MILLENNIUM":
            return (date.year - 1) // (MONTHS[field] // 12) + 1
        case _:
            raise AssertionError(field)


def truncated(unit: str, day: int) -> int | None:
    """The first day of the unit that a day lies in; weeks begin on Monday, the 21st century in 2001.

    NULL for the decade of the years 1 to 9, which would begin in a year 0.
    """
    return start(unit, ordinal(unit, day))


_SHIFTED = {"CENTURY": 12, "MILLENNIUM": 12}  # counted from the year 1, not from 0


def ordinal(unit: str, day: int) -> int:
    """The number of the unit that a day lies in; the next one has the next number."""
    if unit in DAYS:
        return (day - FIRST_DATE) // DAYS[unit]  # 0001-01-01 is a Monday
    date = civil(day)
    return (date.year * 12 + date.month - 1 - _SHIFTED.get(unit, 0)) // MONTHS[unit]


def start(unit: str, number: int) -> int | None:
    """The first day of the unit that has this number."""
    if unit in DAYS:
        return date_or_null(FIRST_DATE + number * DAYS[unit])
    return month_start(number * MONTHS[unit] + _SHIFTED.get(unit, 0))


def month_start(months: int) -> int | None:
    """The first day of a month counted from January of a year 0."""
    year, month = divmod(months, 12)
    return day_of(datetime.date(year, month + 1, 1)) if 1 <= year <= 9999 else None


def last_day(day: int) -> int:
    """The last day of its month."""
    date = civil(day)
    return day - date.day + days_in(date.year, date.month)


def whole_months(start: tuple[int, int], end: tuple[int, int]) -> int:
    """The most months that can be added to a day and clock without passing another; back in time, as many below 0."""
    if end < start:
        return -whole_months(end, start)
    since, until = civil(start[0]), civil(end[0])
    months = (until.year - since.year) * 12 + until.month - since.month
    reached = min(since.day, days_in(until.year, until.month))
    return months - ((reached, start[1]) > (until.day, end[1]))


def read_date(text: str) -> int | None:
    """`YYYY-MM-DD`, nothing before or behind."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day = map(int, found.groups())
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= days_in(year, month)):
        return None
    return day_of(datetime.date(year, month, day))


def read_timestamp(text: str) -> int | None:
    """`YYYY-MM-DD`, then perhaps a space or T and `HH:MM`, `HH:MM:SS` or `HH:MM:SS.f` with up to six digits."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    date, hour, minute, second, fraction = found.groups()
    day = read_date(date)
    clock = [int(part or 0) for part in (hour, minute, second)]
    if day is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    seconds = clock[0] * 3600 + clock[1] * 60 + clock[2]
    return day * DAY + seconds * 1_000_000 + int((fraction or "").ljust(6, "0"))


def write_date(day: int) -> str:
    return civil(day).isoformat()


def write_timestamp(moment: int) -> str:
    """`YYYY-MM-DD HH:MM:SS`, with a fraction only where there is one, without its trailing zeros."""
    day, rest = divmod(moment, DAY)
    seconds, micros = divmod(rest, 1_000_000)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    return f"{write_date(day)} {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"
