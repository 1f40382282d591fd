"""What a text says of a length of time, in all of its spellings, and that nothing else is read as one."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from random import Random

import pytest

from privql.check.intervals import Interval, read
from privql.diagnostics import PrivQLError, Span

HOUR, MINUTE, SECOND = 3_600_000_000, 60_000_000, 1_000_000
# In months, in days or in microseconds, and ISO's letter.
UNITS = {
    "millennium": (12_000, 0, 0, ""),
    "century": (1200, 0, 0, ""),
    "decade": (120, 0, 0, ""),
    "quarter": (3, 0, 0, ""),
    "YEAR": (12, 0, 0, "Y"),
    "Months": (1, 0, 0, "M"),
    "weeks": (0, 7, 0, "W"),
    "day": (0, 1, 0, "D"),
    "hrs": (0, 0, HOUR, "H"),
    "mins": (0, 0, MINUTE, "M"),
    "second": (0, 0, SECOND, "S"),
    "ms": (0, 0, 1000, ""),
    "us": (0, 0, 1, ""),
}
LONGEST = 120_000, 4_000_000, 4_000_000 * 24 * HOUR
CALENDAR, CLOCK = ("YEAR", "Months", "weeks", "day"), ("hrs", "mins", "second")
AMOUNTS = ("0", "1", "-3", "+2", "17", ".5", "1.5", "-0.25", "2.", "-.125", "1.0000001", "0.3333333333")


def wanted(amount: str, unit: str) -> Interval | None:
    months, days, micros, _ = UNITS[unit]
    of_months, of_days = Fraction(amount) * months, Fraction(amount) * days
    if days and of_days.denominator != 1:
        micros = days * 24 * HOUR
    of_micros = Fraction(amount) * micros
    found = of_months, Fraction(0) if micros else of_days, of_micros
    if any(part.denominator != 1 for part in found):
        return None
    return int(found[0]), int(found[1]), int(found[2])


def summed(parts: list[Interval | None], turn: int = 1) -> Interval | None:
    meant = [part for part in parts if part is not None]
    months, days, micros = (turn * sum(part[at] for part in meant) for at in range(3))
    longer = any(abs(size) > most for size, most in zip((months, days, micros), LONGEST, strict=True))
    return None if longer or len(meant) < len(parts) else (months, days, micros)


def said(text: str, unit: str | None = None) -> Interval | None:
    with suppress(PrivQLError):
        return read(text, unit, Span(0, 1))
    return None


@pytest.mark.parametrize("unit", UNITS)
def test_an_amount_of_a_unit_is_whole_months_days_or_microseconds(unit: str) -> None:
    """A part of a day is so many hours; a part of a month is nothing that is known."""
    for amount in AMOUNTS:
        expected, back = (summed([wanted(amount, unit)], turn) for turn in (1, -1))
        assert said(amount, unit) == said(f" {amount} ", unit.upper()) == expected, (amount, unit)
        assert said(f"{amount} {unit}") == said(f"{amount}{unit}  ") == expected, (amount, unit)
        assert said(f"{amount} {unit} ago") == said(f"{amount}  {unit}\tAGO ") == back, (amount, unit)


def clock(choice: Random) -> tuple[str, Interval]:
    hours, minutes, seconds, micros = (choice.randrange(most) for most in (30, 60, 60, 10**6))
    turn = choice.choice((1, -1))
    sign = "-" if turn < 0 else choice.choice(("", "+"))
    shown, total = f"{sign}{hours}:{minutes:02}", hours * HOUR + minutes * MINUTE
    if choice.random() < 0.7:
        shown, total = f"{shown}:{seconds:02}", total + seconds * SECOND
        if choice.random() < 0.5:
            shown, total = f"{shown}.{micros:06}", total + micros
    return shown, (0, 0, turn * total)


def years_and_months(choice: Random) -> tuple[str, Interval]:
    years, months, turn = choice.randrange(40), choice.randrange(12), choice.choice((1, -1))
    sign = "-" if turn < 0 else choice.choice(("", "+"))
    return f"{sign}{years}-{months}", (turn * (12 * years + months), 0, 0)


def amount_of(choice: Random) -> tuple[str, Interval | None]:
    amount, unit = choice.choice(AMOUNTS), choice.choice(list(UNITS))
    return f"{amount} {unit}", wanted(amount, unit)


def test_parts_behind_each_other_are_added_up() -> None:
    choice = Random(41)
    read_all = 0
    for _ in range(500):
        parts = [choice.choice((clock, years_and_months, amount_of))(choice) for _ in range(choice.choice((1, 2, 3)))]
        turn, ago = choice.choice(((1, ""), (-1, " ago")))
        text = " ".join(shown for shown, _ in parts) + ago
        total = summed([part for _, part in parts], turn)
        assert said(text) == total, text
        read_all += total is not None
    assert read_all > 200


def test_the_standards_own_spelling() -> None:
    choice = Random(42)
    for _ in range(300):
        taken = [unit for unit in CALENDAR + CLOCK if choice.random() < 0.4]
        parts = [(choice.choice(AMOUNTS), unit) for unit in taken]
        days, hours = (
            "".join(f"{amount}{UNITS[unit][3]}" for amount, unit in parts if unit in of) for of in (CALENDAR, CLOCK)
        )
        text = f"P{days}T{hours}" if hours else f"P{days}"
        total = summed([wanted(*part) for part in parts]) if parts else None
        assert said(text) == said(f" {text.lower()} ") == total, text


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "3", "day", "3 fortnights", "1-12", "1-2-3", "4:60", "4:05:60", "4:05:06.1234567", "4:", "1 day x",
        "1e3 days", "1 day2", "1 dayago", "ago", "P", "PT", "P1", "P1DT", "P1H", "PT1D", "P1M1Y", "1.2.3 days", "½ day",
        "٣ days", "1/2 day", "0" * 21 + " days",
    ],
)  # fmt: skip
def test_what_says_no_length(text: str) -> None:
    assert said(text) is None


@pytest.mark.parametrize(
    ("most", "unit"), [(120_000, "month"), (10_000, "year"), (4_000_000, "day"), (96_000_000, "hour")]
)
def test_what_is_longer_than_the_calendar_is_refused(most: int, unit: str) -> None:
    for sign in ("", "-"):
        assert said(f"{sign}{most} {unit}") is not None
        with pytest.raises(PrivQLError, match="longer than the calendar"):
            read(f"{sign}{most + 1} {unit}", None, Span(0, 1))
    assert said(f"-{most} {unit} {most} {unit} 1 {unit}") == said(f"1 {unit}")
