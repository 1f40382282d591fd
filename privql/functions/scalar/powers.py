"""Roots, powers, exponentials and logarithms, all of FLOAT.

A square root is correctly rounded by IEEE 754 and so the same everywhere. The others are quantised to 40 significant
bits (`numbers.quantised`), so that the last bits of one mathematical library never meet a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from privql.functions.scalar.declare import (
    Meaning,
    ScalarFunction,
    anything_or_null,
    example,
    fixed,
    plain,
)
from privql.functions.scalar.numbers import quantised
from privql.kernel.scalars import FLOAT, Value


def _library(function: Callable[..., float]) -> Meaning:
    """A function of the mathematical library: quantised, NULL outside its definition and range."""

    def meaning(*values: float) -> Value:
        try:
            return quantised(function(*values))
        except (ValueError, OverflowError):
            return None

    return plain(meaning)


def _root(value: float) -> float | None:
    return math.sqrt(value) if value >= 0 else None


_ONE = ("FLOAT -> FLOAT",)
_BITS = " The result is rounded to 40 significant bits."

FUNCTIONS = (
    ScalarFunction(
        "sqrt", ("SQRT",), "function", _ONE, fixed("sqrt", ((FLOAT,), FLOAT)), plain(_root), anything_or_null,
        "The square root, correctly rounded. NULL for a negative number.",
        example("SQRT(16)", 16.0, gives=4.0),
    ),
    ScalarFunction(
        "exp", ("EXP",), "function", _ONE, fixed("exp", ((FLOAT,), FLOAT)), _library(math.exp), anything_or_null,
        "e to the power x." + _BITS + " NULL where it is too large for a FLOAT.",
        example("EXP(0)", 0.0, gives=1.0),
    ),
    ScalarFunction(
        "ln", ("LN",), "function", _ONE, fixed("ln", ((FLOAT,), FLOAT)), _library(math.log), anything_or_null,
        "The natural logarithm." + _BITS + " NULL for 0 and below.",
        example("LN(1)", 1.0, gives=0.0),
    ),
    ScalarFunction(
        "log10", ("LOG", "LOG10"), "function", _ONE, fixed("log10", ((FLOAT,), FLOAT)), _library(math.log10),
        anything_or_null,
        "The logarithm to base 10." + _BITS + " NULL for 0 and below.",
        example("LOG10(1000)", 1000.0, gives=3.0),
    ),
    ScalarFunction(
        "log2", ("LOG2",), "function", _ONE, fixed("log2", ((FLOAT,), FLOAT)), _library(math.log2), anything_or_null,
        "The logarithm to base 2." + _BITS + " NULL for 0 and below.",
        example("LOG2(8)", 8.0, gives=3.0),
    ),
    ScalarFunction(
        "power", ("POWER", "POW"), "function", ("FLOAT, FLOAT -> FLOAT",), fixed("power", ((FLOAT, FLOAT), FLOAT)),
        _library(math.pow), anything_or_null,
        "x to the power y." + _BITS + " NULL where it is not real (a negative x, y not whole), not finite (0 to a"
        " negative power) or too large. 0 to the power 0 is 1.",
        example("POWER(2, 10)", 2.0, 10.0, gives=1024.0),
    ),
)  # fmt: skip
