"""Angles: degrees, radians, and the functions of trigonometry, quantised as logarithms are (`powers`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privql.domains import Domain, interval
from privql.domains import arithmetic as ends
from privql.domains.arithmetic import fitted, span
from privql.functions.scalar.declare import DomainRule, ScalarFunction, Types, anything, example, fixed, plain
from privql.functions.scalar.numbers import double
from privql.functions.scalar.powers import enclosed, library, nearest_ends
from privql.kernel.scalars import FLOAT, ValueType

DEGREES, RADIANS = 180 / math.pi, math.pi / 180  # as doubles, one multiplication each


def _scaled(factor: float) -> Callable[[float], float | None]:
    return lambda value: double(value * factor)


def _direction(y: float, x: float) -> float:
    """Zeros of either sign are one number, and must have one angle."""
    return math.atan2(y + 0.0, x + 0.0)


# ---- domains


def _scaled_range(factor: float) -> DomainRule:
    def rule(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        exact = Fraction(factor)
        return fitted(result, ends.times(span(args[0]), (exact, exact)), None, factor > 1)

    return rule


def _unit(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return interval(-1, 1, False, None)


def _monotone(function: Callable[[float], float], least: float, most: float) -> DomainRule:
    """A monotone function that is defined from `least` to `most`, and NULL elsewhere."""

    def rule(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        low, high = nearest_ends(args[0])
        if low > most or high < least:
            return Domain(values=(), nullable=True)
        found = [*enclosed(function, max(low, least)), *enclosed(function, min(high, most))]
        return fitted(result, (min(found), max(found)), None).with_null(low < least or high > most)

    return rule


def _directions(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    _, most = enclosed(math.atan2, 0, -1)
    low, high = nearest_ends(args[0])
    return fitted(result, (-most if low < 0 else 0, most if high >= 0 else 0), None)


_ONE = ("FLOAT -> FLOAT",)
_BITS = " The result is rounded to 40 significant bits."


def _angle(op: str, function: Callable[[float], float], domain: DomainRule, doc: str, null: str = "") -> ScalarFunction:
    return ScalarFunction(
        op, (op.upper(),), "function", _ONE, fixed(op, ((FLOAT,), FLOAT)), library(function), domain,
        doc + _BITS + null,
        example(f"{op.upper()}({'1' if op == 'acos' else '0'})", float(op == "acos"), gives=float(op == "cos")),
    )  # fmt: skip


_OUTSIDE = " NULL outside [-1, 1]."

FUNCTIONS = (
    ScalarFunction(
        "pi", ("PI",), "function", ("() -> FLOAT",), fixed("pi", ((), FLOAT)), plain(lambda: math.pi), anything,
        "The FLOAT nearest to π.",
        example("PI()", gives=math.pi),
    ),
    ScalarFunction(
        "degrees", ("DEGREES",), "function", _ONE, fixed("degrees", ((FLOAT,), FLOAT)), plain(_scaled(DEGREES)),
        _scaled_range(DEGREES),
        "An angle of radians in degrees: x times the FLOAT nearest to 180 / π. NULL where that does not fit.",
        example("DEGREES(PI())", math.pi, gives=180.0),
    ),
    ScalarFunction(
        "radians", ("RADIANS",), "function", _ONE, fixed("radians", ((FLOAT,), FLOAT)), plain(_scaled(RADIANS)),
        _scaled_range(RADIANS),
        "An angle of degrees in radians: x times the FLOAT nearest to π / 180.",
        example("RADIANS(180)", 180.0, gives=math.pi),
    ),
    _angle("sin", math.sin, _unit, "The sine of an angle in radians."),
    _angle("cos", math.cos, _unit, "The cosine of an angle in radians."),
    _angle("tan", math.tan, anything, "The tangent of an angle in radians."),
    _angle("asin", math.asin, _monotone(math.asin, -1, 1), "The angle from -π/2 to π/2 with this sine.", _OUTSIDE),
    _angle("acos", math.acos, _monotone(math.acos, -1, 1), "The angle from 0 to π with this cosine.", _OUTSIDE),
    _angle("atan", math.atan, _monotone(math.atan, -math.inf, math.inf), "The angle with this tangent."),
    ScalarFunction(
        "atan2", ("ATAN2",), "function", ("FLOAT, FLOAT -> FLOAT",), fixed("atan2", ((FLOAT, FLOAT), FLOAT)),
        library(_direction), _directions,
        "`ATAN2(y, x)`: the angle of the point (x, y) seen from the origin, from -π to π; 0 for the origin itself."
        + _BITS,
        example("ATAN2(0, 1)", 0.0, 1.0, gives=0.0),
    ),
)  # fmt: skip
