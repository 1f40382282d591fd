"""Dates and times against Python's own calendar, and by brute force; where their groups are listed, none is missing."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from random import Random

import pytest

from privql.domains import Domain, finite, interval
from privql.functions.scalar import calendar, evaluate, infer, resolve
from privql.functions.scalar.calendar import CLOCK, DAY
from privql.kernel.scalars import DATE, INT, INTERVAL, TEXT, TIMESTAMP, Value, ValueType
from tests.functions.calling import call
from tests.functions.test_tightness import dates, day, inferred, members, moments, of, one, shown

FIRST, LAST = calendar.FIRST_DATE, calendar.LAST_DATE


def _datetime(moment: int) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=moment)  # noqa: DTZ001 - UTC throughout


def test_a_date_is_made_of_every_number_that_is_one() -> None:
    for year in (-1, 0, 1, 1900, 2000, 2023, 2024, 9999, 10_000, 2**62):
        for month in (-1, 0, 1, 2, 12, 13):
            for number in (-1, 0, 1, 28, 29, 30, 31, 32, 2**40):
                try:
                    wanted: int | None = calendar.day_of(datetime.date(year, month, number))
                except (ValueError, OverflowError):
                    wanted = None
                assert call("make_date", year, month, number) == wanted, (year, month, number)


def test_a_timestamp_is_made_of_what_a_clock_shows() -> None:
    at = (2024, 2, 29, 23, 59)
    assert call("make_timestamp", *at, Fraction(59_999_999, 10**6)) == 19783 * DAY - 1
    assert call("make_timestamp", *at, 60) is None and call("make_timestamp", *at, -1) is None
    assert (
        call("make_timestamp", 2024, 2, 29, 24, 0, 0) is None and call("make_timestamp", 2023, 2, 29, 1, 1, 1) is None
    )
    assert call("make_timestamp", *at, Fraction(599_999_999, 10**7)) is None  # rounds to 60 seconds


def test_whole_units_are_the_most_that_can_be_added() -> None:
    """And no more; back in time, as many below zero."""
    random = Random(11)
    ends = [
        day("2024-02-28"),
        day("2024-02-29"),
        day("2024-03-01"),
        day("2024-01-31"),
        day("2023-12-31"),
        day("2020-02-29"),
    ]
    for _ in range(600):
        unit = random.choice(("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR"))
        step = {"YEAR": (12, 0, 0), "QUARTER": (3, 0, 0), "MONTH": (1, 0, 0), "WEEK": (0, 7, 0), "DAY": (0, 1, 0)}.get(
            unit, (0, 0, 3_600_000_000)
        )
        type = TIMESTAMP if unit == "HOUR" or random.random() < 0.5 else DATE
        clocks = (0, 1, 43_200_000_000, DAY - 1) if type == TIMESTAMP else (0,)
        a, b = (
            (random.choice(ends) + random.randint(-40, 40) * (unit != "HOUR")) * (DAY if type == TIMESTAMP else 1)
            + random.choice(clocks)
            for _ in range(2)
        )
        start, end = sorted((a, b))
        count = call("whole_units", unit, start, end, types=(TEXT, type, type))
        assert isinstance(count, int) and count >= 0
        assert call("whole_units", unit, end, start, types=(TEXT, type, type)) == -count
        months, days, micros = step
        reached, beyond = (
            call("add", start, (months * n, days * n, micros * n), types=(type, INTERVAL)) for n in (count, count + 1)
        )
        assert isinstance(reached, int) and isinstance(beyond, int)
        assert reached <= end * (DAY if type == DATE else 1) < beyond, (unit, start, end)


def test_a_difference_counts_the_units_that_begin() -> None:
    random = Random(12)
    for _ in range(300):
        a, b = (random.randint(FIRST * DAY, LAST * DAY) for _ in range(2))
        if random.random() < 0.5:
            b = a + random.randint(-40 * DAY, 40 * DAY)
        if not FIRST * DAY <= b <= LAST * DAY:
            continue
        first, last = _datetime(a), _datetime(b)
        wanted = {
            "YEAR": last.year - first.year,
            "MONTH": (last.year - first.year) * 12 + last.month - first.month,
            "WEEK": ((b // DAY - 4) // 7) - ((a // DAY - 4) // 7),  # 1970-01-05 was a Monday
            "DAY": b // DAY - a // DAY,
            "HOUR": b // 3_600_000_000 - a // 3_600_000_000,
            "MICROSECOND": b - a,
        }
        for unit, count in wanted.items():
            assert call("date_diff", unit, a, b, types=(TEXT, TIMESTAMP, TIMESTAMP)) == count, (unit, a, b)
    century = day("2001-01-01")
    for unit in ("CENTURY", "MILLENNIUM", "DECADE"):
        assert call("date_diff", unit, century - 1, century, types=(TEXT, DATE, DATE)) == (unit != "DECADE")


@pytest.mark.parametrize(
    ("width", "origin"),
    [((0, 7, 0), None), ((0, 14, 0), 19782), ((3, 0, 0), None), ((5, 0, 0), 19782), ((0, 1, 3_600_000_000), None)],
)
def test_every_moment_lies_in_its_stretch(width: tuple[int, int, int], origin: int | None) -> None:
    random = Random(13)
    type = DATE if width[2] == 0 else TIMESTAMP
    scale = 1 if type == DATE else DAY
    given: tuple[Value, ...] = () if origin is None else (origin * scale,)
    types = (INTERVAL, *(type for _ in range(1 + len(given))))
    for _ in range(200):
        moment = random.randint(-30_000 * scale, 30_000 * scale)
        start = call("time_bucket", width, moment, *given, types=types)
        assert isinstance(start, int)
        end = call("add", start, width, types=(type, INTERVAL))
        assert isinstance(end, int)
        assert start <= moment and moment * DAY // scale < end
        assert call("time_bucket", width, start, *given, types=types) == start
    if origin is not None and not width[0]:
        assert call("time_bucket", width, origin * scale, *given, types=types) == origin * scale


def test_texts_are_what_python_writes() -> None:
    random = Random(14)
    for _ in range(300):
        moment = random.randint(calendar.day_of(datetime.date(1000, 1, 1)), LAST) * DAY + random.randrange(DAY)
        for code in ("%Y-%m-%d", "%y %b %B %a %A", "%d %j %H:%M:%S.%f", "%u %w %G-W%V", "%F %T", "100%%"):
            assert call("strftime", moment, code, types=(TIMESTAMP, TEXT)) == _datetime(moment).strftime(code)
    assert call("strftime", FIRST, "%Y|%-m|%-d|%-H", types=(DATE, TEXT)) == "0001|1|1|0"
    shown = call("to_char", 19782, 'FMDD. FMMonth YYYY, Month|DAY|dy|Mon "Qu"Q IYYY-IW', types=(DATE, TEXT))
    assert shown == "29. February 2024, February |THURSDAY |thu|Feb Qu1 2024-09"
    for bad in ("%Q", "%", "%-Y"):
        assert resolve("strftime", (DATE, TEXT), (None, bad)) is None
    for bad in ("year", "HH", "YYYYx", '"open'):
        assert resolve("to_char", (DATE, TEXT), (None, bad)) is None


def test_texts_are_read_to_the_letter() -> None:
    for text, format, wanted in (
        ("29.02.2024", "%d.%m.%Y", 19782), ("29.2.2024", "%d.%m.%Y", None), ("29.02.2023", "%d.%m.%Y", None),
        (" 29.02.2024", "%d.%m.%Y", None), ("29x02x2024", "%d.%m.%Y", None), ("202402", "%Y%m", 19754),
        ("2024", "%Y", 19723), ("٢024", "%Y", None), ("0000", "%Y", None), ("2024-02-29 24", "%F %H", None),
    ):  # fmt: skip
        found = call("strptime", text, format)
        assert found == (None if wanted is None else wanted * DAY), (text, format)
    assert call("strptime", "2024-02-29 09:30", "%F %H:%M") == 19782 * DAY + 34_200_000_000
    assert call("to_date", "20240229", "YYYYMMDD") == 19782
    for bad in ("%d.%m", "%Y-%d", "%Y %Y", "%Y %H", "%Y %b", "", "%y", "%Y\n"):
        assert resolve("strptime", (TEXT, TEXT), (None, bad)) is None, bad


def test_units_have_many_names() -> None:
    for word, name in (
        ("years", "YEAR"),
        ("Mon", "MONTH"),
        ("secs", "SECOND"),
        ("centuries", "CENTURY"),
        ("dow", "DOW"),
    ):
        assert calendar.named(word) == name


def test_intervals_are_made_of_constants() -> None:
    for op, values, wanted in (
        ("add", ((1, 2, 3), (0, 0, 1)), (1, 2, 4)), ("sub", ((1, 2, 3), (0, 3, 1)), (1, -1, 2)),
        ("mul", ((1, 2, 3), -2), (-2, -4, -6)), ("mul", (3, (0, 1, 0)), (0, 3, 0)), ("neg", ((1, -2, 3),), (-1, 2, -3)),
    ):  # fmt: skip
        assert call(op, *values) == wanted
    assert resolve("mul", (INTERVAL, INT), ((1, 0, 0), None)) is None
    assert resolve("mul", (INTERVAL, INT), ((1, 0, 0), 10**9)) is None
    assert resolve("mul", (INTERVAL, INTERVAL), ((1, 0, 0), (1, 0, 0))) is None


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (inferred("extract", one("DECADE", TEXT), dates("1992-01-01", "1998-12-31")), "{199}"),
        (inferred("extract", one("CENTURY", TEXT), dates("2000-12-31", "2001-01-01")), "[20, 21]"),
        (inferred("extract", one("DOY", TEXT), dates("2024-02-01", "2024-12-31")), "[32, 366]"),
        (inferred("extract", one("WEEK", TEXT), dates("2024-01-01", "2024-03-31")), "{1, 2, 3, 4, 5, 6, … 13 values}"),
        (inferred("extract", one("MILLISECOND", TEXT), moments("2024-01-01", "2024-01-02")), "[0, 59999.999]"),
        (inferred("date_diff", one("MONTH", TEXT), dates("2024-01-31", "2024-01-31"),
                  dates("2024-02-01", "2024-12-31")), "[1, 11]"),
        (inferred("whole_units", one("YEAR", TEXT), dates("1950-01-01", "2006-12-31"),
                  dates("2024-12-31", "2024-12-31")), "[18, 74]"),
        (inferred("whole_units", one("MONTH", TEXT), moments("2024-01-31", "2024-01-31"),
                  moments("2024-02-01", "2024-03-31")), "[0, 2]"),
        (inferred("date_diff", one("HOUR", TEXT), dates("2024-01-01", "2024-01-02"), dates("2024-01-02", "2024-01-02")),
         "[0, 24]"),
        (inferred("make_date", of(INT, 2024, 2025), of(INT, 1, 12), one(1, INT)).with_null(False), None),
        (inferred("make_date", of(INT, 1, 9999), of(INT, 1, 12), of(INT, 1, 31)), f"[{FIRST}, {LAST}] or NULL"),
        (inferred("make_date", of(INT, 1, 9999), of(INT, 1, 12), of(INT, 1, 28)), f"[{FIRST}, {LAST - 3}]"),
        (inferred("make_date", of(INT, 1, 9999), of(INT, 1, 12), of(INT, 1, 29)), f"[{FIRST}, {LAST - 2}] or NULL"),
        (inferred("strftime", dates("1900-01-01", "2100-12-31"), one("%A", TEXT)),
         "{'Friday', 'Monday', 'Saturday', 'Sunday', 'Thursday', 'Tuesday', … 7 values}"),
        (inferred("strftime", dates("1900-01-01", "2100-12-31"), one("%V", TEXT)),
         "{'01', '02', '03', '04', '05', '06', … 53 values}"),
        (inferred("strftime", dates("2024-02-27", "2024-03-01"), one("%m", TEXT)), "{'02', '03'}"),
        (inferred("strftime", moments("2024-01-01", "2024-01-01"), one("%G", TEXT)), "{'2024'}"),
        (inferred("strftime", of(TIMESTAMP, None, None), one("%H:00", TEXT)).with_null(False), None),
    ],
)  # fmt: skip
def test_a_domain_of_dates_is_as_tight_as_can_be(found: Domain, wanted: str | None) -> None:
    if wanted is None:
        assert found.values is not None and len(found.values) == 24
    else:
        assert shown(found) == wanted


def test_ages_of_moments_lie_where_they_are_said_to_lie() -> None:
    """Near the days on which a month is full, where the clock decides, and months are of different lengths."""
    random = Random(16)
    for _ in range(1500):
        unit = random.choice(("MONTH", "QUARTER", "YEAR"))
        ends = []
        for _ in range(2):
            low = calendar.add_months(day("2023-01-31") - random.choice((0, 1, 2, 3)), random.choice((0, 1, 2, 3, 12)))
            assert low is not None
            first = low * DAY + random.choice((0, 1, DAY // 2, DAY - 1))
            ends.append((first, first + random.choice((0, 1, DAY // 2, DAY, 2 * DAY))))
        domains = tuple(interval(a, b, False, Fraction(1)) for a, b in ends)
        types = (TEXT, TIMESTAMP, TIMESTAMP)
        found = infer("whole_units", types, INT, (one(unit, TEXT)[1], *domains))
        for _ in range(6):
            a, b = (random.choice((low, high, random.randint(low, high))) for low, high in ends)
            assert evaluate("whole_units", types, INT, (unit, a, b)) in found, (unit, a, b, found)


def test_moments_that_are_moved_lie_between_their_moved_ends() -> None:
    """And reach them, on a grid as coarse as it can be; only months may bring moments a day nearer to each other."""
    random = Random(17)
    hour = CLOCK["HOUR"]
    for _ in range(600):
        type, op = random.choice((DATE, TIMESTAMP)), random.choice(("add", "sub"))
        width = random.choice((0, 0, 1, -13)), random.choice((0, 2, -31)), random.choice((0, hour, -90 * hour, 1))
        step = 1 if type == DATE else random.choice((1, hour, DAY))
        first = random.choice((FIRST + 20, day("2024-01-27"), LAST - 60)) * (1 if type == DATE else DAY)
        last = first + step * random.choice((0, 3, 40))
        types, constant = (type, INTERVAL), finite([width], False)
        found = infer(op, types, TIMESTAMP, (interval(first, last, False, Fraction(step)), constant))
        moved = [evaluate(op, types, TIMESTAMP, (start, width)) for start in range(first, last + 1, step)[:41]]
        assert all(moment in found for moment in moved), (op, type, width, first, last, found)
        moments = [moment for moment in moved if isinstance(moment, int)]
        if len(moments) < len(moved):
            continue
        assert found.low is not None and found.high is not None and not found.nullable
        slack = DAY if type == TIMESTAMP and width[0] else 1
        assert min(moments) - found.low < slack and found.high - max(moments) < slack, (op, type, width, first, found)
        if len(moments) > 1 and slack == 1:
            assert found.grid == math.gcd(*moments), (op, type, width, first, last, found)


def _listed(op: str, kind: ValueType, domain: Domain, before: tuple[Value, ...], after: tuple[Value, ...]) -> Domain:
    constants = (*((TEXT if isinstance(v, str) else INTERVAL, v) for v in before),)
    types = (*(t for t, _ in constants), kind, *(TEXT for _ in after))
    resolved = resolve(op, types, (*before, None, *after))
    assert resolved is not None
    if resolved.arg_types[len(before)] != kind:
        domain = infer("cast", (kind,), resolved.arg_types[len(before)], (domain,))
    ends = (*(one(v, t)[1] for t, v in constants), domain, *(one(v, TEXT)[1] for v in after))
    return infer(resolved.op, resolved.arg_types, resolved.result, ends)


def test_groups_of_bounded_dates_are_listed_without_gap_or_excess() -> None:
    """Day by day, on random stretches: the list is what the days give, no more and no less."""
    random = Random(15)
    calls: list[tuple[str, tuple[Value, ...], tuple[Value, ...]]] = [
        *(("date_trunc", (unit,), ()) for unit in calendar.DATE_UNITS),
        *(("extract", (field,), ()) for field in ("YEAR", "QUARTER", "MONTH", "WEEK", "ISOYEAR", "DECADE", "CENTURY")),
        ("last_day", (), ()),
        *(("time_bucket", (width,), ()) for width in ((1, 0, 0), (5, 0, 0), (24, 0, 0), (0, 7, 0), (0, 10, 0))),
        *(("strftime", (), (format,)) for format in ("%Y-%m", "%A", "%B", "%G-W%V", "%F", "%Y %V", "%m-%d")),
        ("to_char", (), ("YYYY-\"Q\"Q",)),
    ]  # fmt: skip
    for op, before, after in calls:
        for _ in range(6):
            low = random.choice((FIRST, LAST - 800, random.randint(-30_000, 40_000)))
            high = min(low + random.choice((0, 1, 6, 31, 364, 700)), LAST)
            domain = interval(low, high, False, Fraction(1))
            found = members(_listed(op, DATE, domain, before, after).with_null(False))
            types = (*(TEXT if isinstance(v, str) else INTERVAL for v in before), DATE, *(TEXT for _ in after))
            resolved = resolve(op, types, (*before, None, *after))
            assert resolved is not None
            scale = DAY if resolved.arg_types[len(before)] == TIMESTAMP else 1
            wanted = {
                evaluate(op, resolved.arg_types, resolved.result, (*before, d * scale, *after))
                for d in range(low, high + 1)
            }
            assert set(found) == wanted - {None}, (op, before, after, low, high)
