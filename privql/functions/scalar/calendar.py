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

DATE_FIELDS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY", "ISOYEAR", "EPOCH")
TIME_FIELDS = ("HOUR", "MINUTE", "SECOND")
DATE_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
CLOCK_UNITS = {"DAY": DAY, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}

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
        case _:
            raise AssertionError(field)


def truncated(unit: str, day: int) -> int:
    """The first day of the year, quarter, month or week (from Monday) that a day lies in."""
    date = civil(day)
    match unit:
        case "YEAR":
            return day_of(date.replace(month=1, day=1))
        case "QUARTER":
            return day_of(date.replace(month=(date.month + 2) // 3 * 3 - 2, day=1))
        case "MONTH":
            return day_of(date.replace(day=1))
        case "WEEK":
            return day - date.weekday()
        case _:
            return day


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
