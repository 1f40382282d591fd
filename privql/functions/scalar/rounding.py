"""Size, sign and rounding of numbers; every half goes away from zero."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from privql.functions.scalar import ranges
from privql.functions.scalar.declare import (
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    Typing,
    example,
    numeric,
    padded,
    plain,
    wide,
)
from privql.functions.scalar.numbers import exact, half_away, rounded_double
from privql.kernel.scalars import FLOAT, INT, Value, ValueType

MOST_PLACES = 22  # 10^22 is the last power of ten that a double holds exactly


def _one_number(op: str, result: ValueType | None = None) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        shared = numeric(types, constants) if len(types) == 1 else None
        return None if shared is None else Resolved(op, (shared,), result or shared)

    return typing


def _whole(op: str) -> Typing:
    """A DECIMAL loses its fraction and may gain a digit before the point."""

    def typing(types: Types, constants: Constants) -> Resolved | None:
        shared = numeric(types, constants) if len(types) == 1 else None
        if shared is None:
            return None
        return Resolved(op, (shared,), _rounded_type(shared, 0))

    return typing


def _rounded_type(type: ValueType, places: int) -> ValueType:
    if type.kind != "DECIMAL" or places >= type.scale:
        return type
    kept = max(places, 0)
    return wide(type.precision - type.scale + 1, kept)


def _truncating(types: Types, constants: Constants) -> Resolved | None:
    """To places only of what is exact: a FLOAT times a power of ten may fall just short of what it stands for."""
    if len(types) == 1:
        return _whole("trunc")(types, constants)
    resolved = _rounding(types, constants)
    exactly = resolved is not None and len(types) == 2 and resolved.arg_types[0] != FLOAT
    return Resolved("trunc", resolved.arg_types, resolved.result) if resolved is not None and exactly else None


def _truncated(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    if len(values) == 1:
        return _in_type(math.trunc)(types, result, values)  # type: ignore[no-any-return]
    value, places = values
    power = Fraction(10) ** places
    return exact(math.trunc(value * power) / power, result) if abs(places) <= MOST_PLACES else None


def _rounding(types: Types, constants: Constants) -> Resolved | None:
    shared = numeric(types[:1], constants[:1])
    if shared is None or len(types) not in (1, 2):
        return None
    if len(types) == 1:
        return Resolved("round", (shared,), _rounded_type(shared, 0))
    places = padded(types, constants)[1]
    if types[1] != INT or not isinstance(places, int) or abs(places) > MOST_PLACES:
        return None
    return Resolved("round", (shared, INT), _rounded_type(shared, places))


def _rounded(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    value, places = values if len(values) == 2 else (values[0], 0)
    if abs(places) > MOST_PLACES:
        return None
    if result == FLOAT:
        return rounded_double(value, places)
    power = Fraction(10) ** places
    return exact(half_away(value * power) / power, result)


def _in_type(function: Any) -> Any:
    def meaning(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
        whole = function(values[0])
        return float(whole) if result == FLOAT else exact(whole, result)

    return meaning


def _sign(value: int | float | Fraction) -> int:
    return (value > 0) - (value < 0)


_SAME = ("INT -> INT", "DECIMAL(p,s) -> DECIMAL(p,s)", "FLOAT -> FLOAT")
_WHOLE = ("INT -> INT", "DECIMAL(p,s) -> DECIMAL(p-s+1,0)", "FLOAT -> FLOAT")

FUNCTIONS = (
    ScalarFunction(
        "abs", ("ABS",), "function", _SAME, _one_number("abs"), _in_type(abs), ranges.absolute,
        "The size of a number. NULL for the least INT.",
        example("ABS(-3)", -3, gives=3),
    ),
    ScalarFunction(
        "sign", ("SIGN",), "function", ("INT -> INT", "DECIMAL(p,s) -> INT", "FLOAT -> INT"), _one_number("sign", INT),
        plain(_sign), ranges.sign,
        "-1, 0 or 1.",
        example("SIGN(-2.5)", Fraction(-5, 2), gives=-1),
    ),
    ScalarFunction(
        "floor", ("FLOOR",), "function", _WHOLE, _whole("floor"), _in_type(math.floor), ranges.to_whole(math.floor),
        "The greatest whole number not above x.",
        example("FLOOR(-2.5)", Fraction(-5, 2), gives=Fraction(-3)),
    ),
    ScalarFunction(
        "ceil", ("CEIL", "CEILING"), "function", _WHOLE, _whole("ceil"), _in_type(math.ceil),
        ranges.to_whole(math.ceil),
        "The least whole number not below x.",
        example("CEIL(2.1)", Fraction(21, 10), gives=Fraction(3)),
    ),
    ScalarFunction(
        "trunc", ("TRUNC",), "function", (*_WHOLE, "INT, INT -> INT", "DECIMAL(p,s), INT -> DECIMAL(p-s+1+n,n)"),
        _truncating, _truncated, ranges.truncated,
        "x without its fraction, or with `n` the next multiple of 10^-n: rounded toward zero. `n` is a constant from"
        f" -{MOST_PLACES} to {MOST_PLACES}, and x no FLOAT then.",
        example("TRUNC(-2.5)", Fraction(-5, 2), gives=Fraction(-2)), constant_args=(1,),
    ),
    ScalarFunction(
        "round", ("ROUND",), "function",
        (*_WHOLE, "INT, INT -> INT", "DECIMAL(p,s), INT -> DECIMAL(p-s+1+n,n)", "FLOAT, INT -> FLOAT"), _rounding,
        _rounded, ranges.rounded,
        "The nearest whole number, or with `n` the nearest multiple of 10^-n; a half goes away from zero. `n` is a"
        f" constant from -{MOST_PLACES} to {MOST_PLACES}. Of a FLOAT, x * 10^n is rounded and divided by 10^n again.",
        example("ROUND(-2.345, 2)", Fraction(-2345, 1000), 2, gives=Fraction(-235, 100)), constant_args=(1,),
    ),
)  # fmt: skip
