"""CAST: the one spelling in which a text is a number, a date or a flag, and the one in which each is written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privql.functions.scalar import calendar, numbers, resolve_cast
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, TEXT, TIMESTAMP, decimal
from tests.functions.calling import cast


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7), (" 7 ", 7), ("+7", 7), ("-7.5", Fraction(-15, 2)), ("1e3", 1000), ("1E+3", 1000),
        ("25e-1", Fraction(5, 2)), ("", None), (" ", None), (".5", None), ("5.", None), ("1 2", None), ("\t7", None),
        ("7\n", None), ("0x1F", None), ("1_000", None), ("nan", None), ("inf", None), ("--1", None), ("1e", None),
        ("١", None), ("1,5", None),
        ("0" * 5000 + "7", 7), ("1e-9999", 0), ("9" * 401, None), ("1e" + "0" * 5000 + "2", 100),
    ],
)  # fmt: skip
def test_a_text_is_a_number_only_in_one_spelling(text: str, number: Fraction | int | None) -> None:
    assert numbers.read_number(text) == number
    assert cast(text, INT) == (None if number is None else numbers.half_away(Fraction(number)))


def test_text_becomes_the_nearest_double() -> None:
    assert cast("0.1", FLOAT) == 0.1
    assert cast("1e-9999", FLOAT) == 0.0
    assert cast("1e400", FLOAT) is None
    assert cast("9" * 400, FLOAT) is None
    assert cast(" 0x1p3", FLOAT) is None
    assert cast("infinity", FLOAT) is None


def test_numbers_round_half_away_when_cast() -> None:
    for value, wanted in (
        (2.5, 3),
        (-2.5, -3),
        (0.49999999999999994, 0),
        (9.2e18, 9200000000000000000),
        (9.3e18, None),
    ):
        assert cast(value, INT) == wanted
    assert cast(Fraction(-5, 2), INT) == -3
    assert cast(Fraction(12345, 1000), decimal(5, 2)) == Fraction(1235, 100)
    assert cast(Fraction(99999, 100), decimal(4, 1)) is None  # 1000.0 has one digit too many
    assert cast(0.285, decimal(10, 2)) == Fraction(28, 100)  # 0.285 * 100 is 28.499999999999996
    assert cast(123, decimal(2, 0)) is None


def test_values_are_written_in_one_way() -> None:
    assert cast(Fraction(-3, 2), TEXT, decimal(10, 2)) == "-1.50"
    assert cast(Fraction(0), TEXT, decimal(3, 3)) == "0.000"
    assert cast(Fraction(7), TEXT, decimal(3, 0)) == "7"
    assert cast(True, TEXT) == "true"
    assert cast(19782, TEXT, DATE) == "2024-02-29"
    assert cast(-1, TEXT, TIMESTAMP) == "1969-12-31 23:59:59.999999"
    assert cast(1_500_000, TEXT, TIMESTAMP) == "1970-01-01 00:00:01.5"
    assert cast(calendar.FIRST_DATE, TEXT, DATE) == "0001-01-01"
    assert resolve_cast(FLOAT, TEXT) is None


def test_dates_are_read_strictly() -> None:
    for text in (
        "2024-2-29",
        "2023-02-29",
        " 2024-02-29",
        "2024-02-29 ",
        "0000-01-01",
        "1900-02-29",
        "2024-13-01",
        "２024-01-01",
        "",
    ):
        assert cast(text, DATE) is None, text
        assert cast(text, TIMESTAMP) is None, text
    assert cast("2024-02-29", DATE) == 19782
    moments = {
        "2024-02-29": 0,
        "2024-02-29 00:01": 60_000_000,
        "2024-02-29T00:01:02": 62_000_000,
        "2024-02-29 00:01:02.5": 62_500_000,
    }
    for text, clock in moments.items():
        assert cast(text, TIMESTAMP) == 19782 * calendar.DAY + clock
    for late in (" 24:00", " 23:60", " 23:59:60", " 1:00", "  01:00", " 01:00:00.", " 01:00:00.1234567", " 01:00Z"):
        assert cast("2024-02-29" + late, TIMESTAMP) is None, late


def test_flags_are_read_as_postgresql_reads_them() -> None:
    for text in ("true", "T", " yes ", "y", "On", "1"):
        assert cast(text, BOOL) is True
    for text in ("false", "F", "no", "n", "OFF", "0"):
        assert cast(text, BOOL) is False
    for text in ("", "o", "2", "tru e", "\ttrue"):
        assert cast(text, BOOL) is None
