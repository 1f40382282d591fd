"""Roots, powers, exponentials and logarithms, all of FLOAT.

A square root is correctly rounded by IEEE 754 and so the same everywhere. The others are quantised to 40 significant
bits (`numbers.quantised`), so that the last bits of one mathematical library never meet a comparison.

The domains hold for every library whose results are within four units of the last place: a result at an end of an
interval is moved outward by as much and quantised as all results are, which mostly brings it back to where it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privql.domains import Domain, whole
from privql.domains.arithmetic import INF, Bound, Span, fitted, nearest, span
from privql.functions.scalar.declare import (
    Constants,
    DomainRule,
    Meaning,
    Resolved,
    ScalarFunction,
    Types,
    example,
    fixed,
    plain,
)
from privql.functions.scalar.numbers import quantised
from privql.kernel.scalars import FLOAT, Value, ValueType

_FOUR_UNITS = 2.0**-50


def library(function: Callable[..., float]) -> Meaning:
    """A function of the mathematical library: quantised, NULL outside its definition and range."""

    def meaning(*values: float) -> Value:
        try:
            return quantised(function(*values))
        except (ValueError, OverflowError):
            return None

    return plain(meaning)


def _root(value: float) -> float | None:
    return math.sqrt(value) if value >= 0 else None


def enclosed(function: Callable[..., float], *arguments: Bound) -> Span:
    """The least and the greatest that engines may find there; beyond the greatest FLOAT, an infinity."""
    try:
        exact = function(*(float(a) for a in arguments))
    except OverflowError:
        exact = INF
    if exact == 0 or not math.isfinite(exact):
        end = exact if math.isinf(exact) else 0
        return end, end
    margin = abs(exact) * _FOUR_UNITS
    return _end(math.nextafter(exact - margin, -INF)), _end(math.nextafter(exact + margin, INF))


def _end(value: float) -> Bound:
    rounded = quantised(value)
    return Fraction(rounded) if rounded is not None else math.copysign(INF, value)


def _increasing(function: Callable[[float], float], least: float) -> DomainRule:
    """An increasing function that is defined above `least`, where it falls without bound unless that is -∞."""

    def rule(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        low, high = nearest_ends(args[0])
        if high <= least:
            return whole(result, True)
        lowest = enclosed(function, low)[0] if low > least or least == -INF else -INF
        inferred = fitted(result, (lowest, enclosed(function, high)[1]), None, function is math.exp)
        return inferred.with_null(inferred.nullable or low <= least != -INF)

    return rule


def nearest_ends(domain: Domain) -> Span:
    low, high = span(domain)
    return nearest(low), nearest(high)


def _root_range(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    low, high = nearest_ends(args[0])
    if high < 0:
        return whole(result, True)
    ends = (math.sqrt(max(low, 0)), math.sqrt(high))
    exact = tuple(end if math.isinf(end) else Fraction(end) for end in ends)
    return fitted(result, (exact[0], exact[1]), None).with_null(low < 0)


def _logarithm(types: Types, constants: Constants) -> Resolved | None:
    return fixed("log10" if len(types) == 1 else "log", ((FLOAT,), FLOAT), ((FLOAT, FLOAT), FLOAT))(types, constants)


def _log(base: float, value: float) -> float | None:
    if base <= 0 or base == 1 or value <= 0:
        return None
    return quantised(math.log(value) / math.log(base))


def _log_range(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    (base, top), (low, high) = nearest_ends(args[0]), nearest_ends(args[1])
    if base != top or base <= 0 or base == 1 or high <= 0:
        return whole(result, True)

    def log(value: float) -> float:
        return math.log(value) / math.log(base)

    beyond = -INF if base > 1 else INF
    ends = [*(enclosed(log, low) if low > 0 else [beyond]), *enclosed(log, high)]
    return fitted(result, (min(ends), max(ends)), None).with_null(low <= 0)


def _power_range(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    base, exponent = nearest_ends(args[0]), nearest_ends(args[1])
    if base[0] > 0 or (base[0] == 0 and exponent[0] >= 0):
        # Monotone in each argument alone, so extreme at corners.
        corners = [enclosed(math.pow, x, y) for x in base for y in exponent]
        return fitted(result, (min(c[0] for c in corners), max(c[1] for c in corners)), None, overflow=True)
    power = exponent[0]
    if power != exponent[1] or power <= 0 or isinstance(power, float) or Fraction(power).denominator != 1:
        return whole(result, True)
    at_low, at_high = (enclosed(math.pow, max(end, -end), power) for end in base)
    if power % 2 == 1:
        most = -at_high[0] if base[1] < 0 else at_high[1]
        return fitted(result, (-at_low[1] if base[0] < 0 else at_low[0], most), None, overflow=True)
    least = at_high[0] if base[1] < 0 else 0
    return fitted(result, (least, max(at_low[1], at_high[1])), None, overflow=True)


_ONE = ("FLOAT -> FLOAT",)
_BITS = " The result is rounded to 40 significant bits."

FUNCTIONS = (
    ScalarFunction(
        "sqrt", ("SQRT",), "function", _ONE, fixed("sqrt", ((FLOAT,), FLOAT)), plain(_root), _root_range,
        "The square root, correctly rounded. NULL for a negative number.",
        example("SQRT(16)", 16.0, gives=4.0),
    ),
    ScalarFunction(
        "cbrt", ("CBRT",), "function", _ONE, fixed("cbrt", ((FLOAT,), FLOAT)), library(math.cbrt),
        _increasing(math.cbrt, -INF),
        "The cube root, of a negative number too." + _BITS,
        example("CBRT(-27)", -27.0, gives=-3.0),
    ),
    ScalarFunction(
        "exp", ("EXP",), "function", _ONE, fixed("exp", ((FLOAT,), FLOAT)), library(math.exp),
        _increasing(math.exp, -INF),
        "e to the power x." + _BITS + " NULL where it is too large for a FLOAT.",
        example("EXP(0)", 0.0, gives=1.0),
    ),
    ScalarFunction(
        "ln", ("LN",), "function", _ONE, fixed("ln", ((FLOAT,), FLOAT)), library(math.log), _increasing(math.log, 0.0),
        "The natural logarithm." + _BITS + " NULL for 0 and below.",
        example("LN(1)", 1.0, gives=0.0),
    ),
    ScalarFunction(
        "log", ("LOG",), "function", ("FLOAT -> FLOAT (as `LOG10`)", "FLOAT, FLOAT -> FLOAT"), _logarithm,
        plain(_log), _log_range,
        "`LOG(x)` is `LOG10(x)`; `LOG(b, x)` is the logarithm of x to base b, LN(x) / LN(b) before they"
        " are rounded." + _BITS + " NULL for x or b of 0 and below, and for b = 1.",
        example("LOG(2, 8)", 2.0, 8.0, gives=3.0),
    ),
    ScalarFunction(
        "log10", ("LOG10",), "function", _ONE, fixed("log10", ((FLOAT,), FLOAT)), library(math.log10),
        _increasing(math.log10, 0.0),
        "The logarithm to base 10." + _BITS + " NULL for 0 and below.",
        example("LOG10(1000)", 1000.0, gives=3.0),
    ),
    ScalarFunction(
        "log2", ("LOG2",), "function", _ONE, fixed("log2", ((FLOAT,), FLOAT)), library(math.log2),
        _increasing(math.log2, 0.0),
        "The logarithm to base 2." + _BITS + " NULL for 0 and below.",
        example("LOG2(8)", 8.0, gives=3.0),
    ),
    ScalarFunction(
        "power", ("POWER", "POW"), "function", ("FLOAT, FLOAT -> FLOAT",), fixed("power", ((FLOAT, FLOAT), FLOAT)),
        library(math.pow), _power_range,
        "x to the power y." + _BITS + " NULL where it is not real (a negative x, y not whole), not finite (0 to a"
        " negative power) or too large. 0 to the power 0 is 1.",
        example("POWER(2, 10)", 2.0, 10.0, gives=1024.0),
    ),
)  # fmt: skip
