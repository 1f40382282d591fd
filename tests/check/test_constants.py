"""Numbers as they are written, and the values that are bound to parameters."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from privql.check.constants import number, parameter
from privql.check.typed import Context, Typed
from privql.diagnostics import PrivQLError, Span
from privql.kernel.scalars import BOOL, DATE, FLOAT, INT, NULL, TEXT, TIMESTAMP, Const, Value, ValueType, decimal
from privql.syntax import ast
from tests.soundness.world import environment

ENV = environment()
HERE = Span(0, 1)


def meant(typed: Typed) -> tuple[ValueType, Value]:
    assert isinstance(typed.term, Const) and typed.constant and typed.term.type == typed.type
    return typed.type, typed.term.value


@pytest.mark.parametrize("digit", ["1", "9", "0"])
@pytest.mark.parametrize("digits", [1, 2, 18, 19, 20, 37, 38, 39, 40])
def test_a_number_is_whole_of_64_bits_or_exact_with_38_digits(digits: int, digit: str) -> None:
    for point in range(digits + 1):
        whole, fraction = digit * (digits - point), digit * point
        for text in {f"{whole}.{fraction}", f"00{whole}.{fraction}"} | ({f"0{whole}"} if not fraction else set()):
            value = Fraction(int(whole + fraction), 10**point)
            counted = digits if digit != "0" else point
            if not fraction and value < 2**63:
                assert meant(number(text, HERE)) == (INT, value)
            elif counted <= 38:
                assert meant(number(text, HERE)) == (decimal(counted, point), value)
            else:
                with pytest.raises(PrivQLError) as refused:
                    number(text, HERE)
                assert refused.value.diagnostics[0].label == f"{counted} digits"


def test_the_greatest_of_64_bits() -> None:
    assert meant(number(str(2**63 - 1), HERE)) == (INT, 2**63 - 1)
    assert meant(number(str(2**63), HERE)) == (decimal(19, 0), 2**63)
    assert meant(number("1.7e308", HERE)) == (FLOAT, 1.7e308)
    with pytest.raises(PrivQLError, match="too large for FLOAT"):
        number("1.8e308", HERE)


BOUND: list[tuple[object, tuple[ValueType, Value]]] = [
    (None, (NULL, None)),
    (True, (BOOL, True)),
    (7, (INT, 7)),
    (-(2**63) + 1, (INT, -(2**63) + 1)),
    (-1.5, (FLOAT, -1.5)),
    ("5", (TEXT, "5")),
    (datetime.date(1969, 12, 31), (DATE, -1)),
    (datetime.datetime.fromisoformat("1970-01-02T00:00:00.000001"), (TIMESTAMP, 86_400_000_001)),
    (Decimal("5"), (INT, 5)),
    (Decimal("-5"), (INT, -5)),
    (Decimal("-5.0"), (decimal(2, 1), Fraction(-5))),
    (Decimal("0.00"), (decimal(2, 2), Fraction(0))),
    (Decimal("1E+3"), (INT, 1000)),
    (Decimal("-1E+37"), (decimal(38, 0), Fraction(-(10**37)))),
    (Decimal("-1E-38"), (decimal(38, 38), Fraction(-1, 10**38))),
    (Decimal("-1234567890.1234567890123456789012345678"),
     (decimal(38, 28), Fraction(-12345678901234567890123456789012345678, 10**28))),
    (Decimal(-(2**63)), (decimal(19, 0), Fraction(-(2**63)))),
]  # fmt: skip


def bound(value: object) -> Typed:
    return parameter(ast.Param("x", span=HERE), Context(replace(ENV, params={"x": value})))


@pytest.mark.parametrize(("value", "expected"), BOUND, ids=[repr(value) for value, _ in BOUND])
def test_a_parameter_is_the_literal_that_it_stands_for(value: object, expected: tuple[ValueType, Value]) -> None:
    found = meant(bound(value))
    assert found == expected and type(found[1]) is type(expected[1])


@pytest.mark.parametrize(
    "value",
    [2**63, -(2**63), math.nan, math.inf, Decimal("NaN"), Decimal("1E+38"), Decimal("1E-39"), Decimal("1E+999999999"),
     b"5", [5], (5,)],
    ids=repr,
)  # fmt: skip
def test_a_parameter_without_a_literal_is_refused(value: object) -> None:
    with pytest.raises(PrivQLError):
        bound(value)
