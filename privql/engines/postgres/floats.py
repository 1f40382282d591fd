"""Arithmetic of FLOAT. PostgreSQL raises where a result is infinite, and where one that is not 0 rounds to 0.

Which that are is known before: by one comparison where one side is a constant, by the sizes of both in all but few rows
else. In those few the same is computed beside it, moved by a power of two to where nothing happens.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from sys import float_info

from privql.engines.postgres.expressions import double, let
from privql.engines.sql.expressions import Call, Spelled
from privql.kernel.scalars import FLOAT

MOST = float_info.max
_HALF_STEP = 2.0**970  # what is smaller, added to any FLOAT, leaves it finite
_NEAR, _FAR = "'1e-150'::float8", "'1e150'::float8"
_NOTHING, _ONE = double(0.0), double(1.0)
_LARGER, _SMALLER = double(2.0**500), double(2.0**-500)
_LEAST = double(2.0**-75)  # half of the least FLOAT there is, made 2^1000 times as large: this and less rounds to 0
_SPLIT = double(2.0**27 + 1)


def _known(x: Spelled) -> float | None:
    return None if x.value is None else float(x.value)  # type: ignore[arg-type]


def plus(call: Call, left: Spelled, right: Spelled, sign: str = "+") -> str:
    if any(known is not None and abs(known) < _HALF_STEP for known in map(_known, (left, right))):
        return f"({left} {sign} {right})"

    def body(a: Spelled, b: Spelled) -> str:
        below, whole, half = double(MOST / 2), f"({a} {sign} {b})", double(0.5)
        halves = f"abs({a} * {half} {sign} {b} * {half}) < {double(2.0**1023)}"
        return (
            f"CASE WHEN abs({a}) < {below} AND abs({b}) < {below} THEN {whole}"
            f" WHEN abs({a}) > {_ONE} AND abs({b}) > {_ONE} THEN CASE WHEN {halves} THEN {whole} END ELSE {whole} END"
        )

    return call.let((left, right), body)


def times(call: Call, left: Spelled, right: Spelled) -> str:
    for x, constant in ((left, _known(right)), (right, _known(left))):
        if constant is not None:
            return _scaled(call, x, "*", constant)
    return call.let((left, right), lambda a, b: _product(call, a, b))


def over(call: Call, left: Spelled, right: Spelled) -> str:
    constant = _known(right)
    if constant is not None:
        return _scaled(call, left, "/", constant)
    # A constant is bound, too: made larger where it stands, it would be computed before any CASE.
    return call.let((replace(left, leaf=left.leaf and left.value is None), right), lambda a, b: _quotient(a, b))


def scaled(call: Call, x: Spelled, sign: str, constant: float) -> Spelled:
    """A FLOAT times or over a constant; NULL beyond the range of FLOAT."""
    return Spelled(_scaled(call, x, sign, constant), FLOAT)


def _scaled(call: Call, x: Spelled, sign: str, constant: float) -> str:
    size, made = abs(constant), f"{sign} {double(constant)}"
    if size == 0:
        return f"({x} {made})" if sign == "*" else "NULL::float8"
    most, least = _most(sign, size), _least(sign, size)
    if most < MOST:
        return call.let((x,), lambda v: f"CASE WHEN {v} BETWEEN {double(-most)} AND {double(most)} THEN {v} {made} END")
    if least > 5e-324:
        return call.let(
            (x,),
            lambda v: (
                f"CASE WHEN {v} >= {double(least)} OR {v} <= {double(-least)} THEN {v} {made}"
                f" WHEN {v} IS NOT NULL THEN {_NOTHING} END"
            ),
        )
    return f"({x} {made})"


def _result(sign: str, value: float, size: float) -> float:
    return value * size if sign == "*" else value / size


def _most(sign: str, size: float) -> float:
    """The greatest FLOAT of which the result is finite."""
    exact = MOST / size if sign == "*" and size > 1 else MOST * size if sign == "/" and size < 1 else MOST
    while math.isinf(_result(sign, exact, size)):
        exact = math.nextafter(exact, 0)
    while exact < MOST and not math.isinf(_result(sign, math.nextafter(exact, math.inf), size)):
        exact = math.nextafter(exact, math.inf)
    return exact


def _least(sign: str, size: float) -> float:
    """The least FLOAT above 0 of which the result is not 0."""
    tiny = 5e-324
    half = Fraction(1, 2**1075)  # this and less rounds to 0
    exact = max(float(half / Fraction(size) if sign == "*" else half * Fraction(size)), tiny)
    while _result(sign, exact, size) == 0:
        exact = math.nextafter(exact, math.inf)
    while exact > tiny and _result(sign, math.nextafter(exact, 0), size) != 0:
        exact = math.nextafter(exact, 0)
    return exact


def _product(call: Call, a: Spelled, b: Spelled) -> str:
    shift = double(2.0**-512)
    grown = f"abs({a}) * {shift} * (abs({b}) * {shift}) < {_ONE}"
    tiny = double(1e-165)

    def shrunk(s: Spelled) -> str:
        exact = _above_half(call, f"abs({a}) * {_LARGER}", f"abs({b}) * {_LARGER}")
        return (
            f"CASE WHEN {s} > {_LEAST} THEN {a} * {b} WHEN {s} < {_LEAST} THEN {_NOTHING}"
            f" WHEN {exact} THEN {a} * {b} ELSE {_NOTHING} END"
        )

    return (
        f"CASE WHEN abs({a}) BETWEEN {_NEAR} AND {_FAR} AND abs({b}) BETWEEN {_NEAR} AND {_FAR} THEN {a} * {b}"
        f" WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN {a} = {_NOTHING} OR {b} = {_NOTHING} THEN {_NOTHING}"
        f" WHEN abs({a}) > {_FAR} OR abs({b}) > {_FAR} THEN"
        f" CASE WHEN abs({a}) < {_NEAR} OR abs({b}) < {_NEAR} THEN {a} * {b} WHEN {grown} THEN {a} * {b} END"
        f" WHEN abs({a}) < {tiny} AND abs({b}) < {tiny} THEN {_NOTHING}"
        f" ELSE {let(call, f'abs({a}) * {_LARGER} * (abs({b}) * {_LARGER})', shrunk, FLOAT)} END"
    )


def _above_half(call: Call, left: str, right: str) -> str:
    """Whether a product that rounds to just half of the least FLOAT is more: what rounding took away, exactly.

    Each factor is split in two halves of its digits, whose products are exact (Dekker's).
    """

    def high(x: Spelled) -> str:
        return f"({x} * {_SPLIT} - ({x} * {_SPLIT} - {x}))"

    def halves(x: Spelled, y: Spelled) -> str:
        return call.let((Spelled(high(x), FLOAT), Spelled(high(y), FLOAT)), lambda u, v: rest(x, u, y, v))

    def rest(x: Spelled, u: Spelled, y: Spelled, v: Spelled) -> str:
        products = f"{u} * {v} - {_LEAST} + {u} * ({y} - {v}) + ({x} - {u}) * {v} + ({x} - {u}) * ({y} - {v})"
        return f"{products} > {_NOTHING}"

    return call.let((Spelled(left, FLOAT), Spelled(right, FLOAT)), halves)


def _quotient(a: Spelled, b: Spelled) -> str:
    shift, unshift = double(2.0**-512), double(2.0**512)
    grown = f"abs({a}) * {shift} / (abs({b}) * {unshift}) < {_ONE}"
    shrunk = f"abs({a}) * {_LARGER} / (abs({b}) * {_SMALLER}) > {_LEAST}"
    both = f"abs({a}) > {_FAR} AND abs({b}) > {_FAR} OR abs({a}) < {_NEAR} AND abs({b}) < {_NEAR}"
    return (
        f"CASE WHEN abs({a}) BETWEEN {_NEAR} AND {_FAR} AND abs({b}) BETWEEN {_NEAR} AND {_FAR} THEN {a} / {b}"
        f" WHEN {a} IS NULL OR {b} IS NULL OR {b} = {_NOTHING} THEN NULL WHEN {a} = {_NOTHING} THEN {_NOTHING}"
        f" WHEN {both} THEN {a} / {b}"
        f" WHEN abs({a}) > {_FAR} AND abs({b}) < {double(1e-160)} THEN NULL"
        f" WHEN abs({a}) > {_FAR} OR abs({b}) < {_NEAR} THEN CASE WHEN {grown} THEN {a} / {b} END"
        f" WHEN abs({a}) < {double(1e-165)} AND abs({b}) > {double(1e165)} THEN {_NOTHING}"
        f" WHEN {shrunk} THEN {a} / {b} ELSE {_NOTHING} END"
    )


def nearest_whole(x: Spelled | str) -> str:
    """Of a name: a half away from zero, where PostgreSQL's own `round` takes the even one."""
    return f"CASE WHEN abs({x} - trunc({x})) >= {double(0.5)} THEN trunc({x}) + sign({x}) ELSE trunc({x}) END"
