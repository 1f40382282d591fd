"""Spellings of what a mathematical library computes, quantised as everywhere (`privql.functions.scalar.numbers`).

PostgreSQL raises outside a function's definition and beyond the range of FLOAT, on either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from privql.engines.postgres import floats
from privql.engines.postgres.expressions import double, let
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.kernel.scalars import FLOAT

_ZERO, _ONE = double(0.0), double(1.0)
_LAST_EXPONENT = 709.0  # e to the power of more, quantised, is none
_LEAST_EXPONENT = -745.133219101941  # of less, it is nearer to 0 than to the least FLOAT
_LEAST = double(5e-324)


def _quantised(call: Call, value: str, bounded: bool = True) -> str:
    """Veltkamp's splitting. What is not `bounded` may be too large for it, which is NULL."""
    split = double(8193.0)

    def body(v: Spelled) -> str:
        made = f"({v} * {split} - ({v} * {split} - {v}))"
        return made if bounded else f"CASE WHEN abs({v}) <= {_most(8193.0)} THEN {made} END"

    return let(call, value, body, FLOAT)


def _most(factor: float) -> str:
    most = floats.MOST / factor
    while math.isinf(most * factor):
        most = math.nextafter(most, 0)
    while not math.isinf(math.nextafter(most, math.inf) * factor):
        most = math.nextafter(most, math.inf)
    return double(most)


def _library(function: str, defined: Callable[[Spelled], str] | None = None) -> Spelling:
    def spelling(call: Call) -> str:
        (arg,) = call.args
        if defined is None:
            return _quantised(call, f"{function}({arg})")
        return _quantised(call, call.let((arg,), lambda x: f"CASE WHEN {defined(x)} THEN {function}({x}) END"))

    return spelling


def _positive(x: Spelled) -> str:
    return f"{x} > {_ZERO}"


def _unit(x: Spelled) -> str:
    return f"{x} BETWEEN {double(-1.0)} AND {_ONE}"


def root(call: Call) -> str:
    return call.let(call.args, lambda x: f"CASE WHEN {x} >= {_ZERO} THEN sqrt({x}) END")


def exponential(call: Call) -> str:
    def body(x: Spelled) -> str:
        least, most = double(_LEAST_EXPONENT), double(_LAST_EXPONENT)
        return f"CASE WHEN {x} BETWEEN {least} AND {most} THEN exp({x}) WHEN {x} < {least} THEN {_ZERO} END"

    return _quantised(call, call.let(call.args, body), bounded=False)


def logarithm(call: Call) -> str:
    def body(base: Spelled, x: Spelled) -> str:
        """CASE in CASE: a constant logarithm is computed before any row is."""
        return (
            f"CASE WHEN {base} > {_ZERO} AND {base} <> {_ONE} THEN"
            f" CASE WHEN {x} > {_ZERO} THEN ln({x}) / ln({base}) END END"
        )

    return _quantised(call, call.let(call.args, body))


def power(call: Call) -> str:
    """Its logarithm tells whether it is too large, or too near to 0, before it is computed."""

    def body(x: Spelled, y: Spelled) -> str:
        return (
            f"CASE WHEN {y} = {_ZERO} OR {x} = {_ONE} THEN CASE WHEN {x} = {x} AND {y} = {y} THEN {_ONE} END"
            f" WHEN {x} = {_ZERO} THEN CASE WHEN {y} > {_ZERO} THEN {_ZERO} END"
            f" WHEN {x} > {_ZERO} OR {y} = floor({y}) THEN {let(call, _exponent(x, y), lambda e: made(x, y, e), FLOAT)}"
            " END"
        )

    def made(x: Spelled, y: Spelled, e: Spelled) -> str:
        even = f"floor(trunc({y}) * {double(0.5)}) * {double(2.0)} = trunc({y})"
        sign = f"CASE WHEN {x} > {_ZERO} OR {even} THEN {_ONE} ELSE {double(-1.0)} END"
        return (
            f"CASE WHEN {e} BETWEEN {double(-745.0)} AND {double(_LAST_EXPONENT)} THEN power({x}, {y})"
            f" WHEN {e} < {double(_LEAST_EXPONENT)} THEN {_ZERO}"
            f" WHEN {e} < {_ZERO} THEN {sign} * {_LEAST} END"
        )

    return _quantised(call, call.let(call.args, body), bounded=False)


def _exponent(x: Spelled, y: Spelled) -> str:
    """y * ln |x|; of a y that is out of all proportion, what is on the same side of every bound."""
    tiny, huge = double(1e-30), double(1e20)
    size = f"CASE WHEN abs({y}) < {tiny} THEN {tiny} WHEN abs({y}) > {huge} THEN {huge} ELSE abs({y}) END"
    return f"ln(abs({x})) * sign({y}) * {size}"


SPELLINGS: dict[str, Spelling] = {
    "sqrt": root,
    "exp": exponential,
    "ln": _library("ln", _positive),
    "log10": _library("log10", _positive),
    "log2": lambda call: _quantised(
        call,
        call.let(call.args, lambda x: f"CASE WHEN {_positive(x)} THEN ln({x}) / {double(math.log(2))} END"),
    ),
    "power": power,
    "log": logarithm,
    **{name: _library(name) for name in ("cbrt", "sin", "cos", "tan", "atan")},
    "asin": _library("asin", _unit),
    "acos": _library("acos", _unit),
    "atan2": lambda call: _quantised(call, f"atan2({call.args[0]} + {_ZERO}, {call.args[1]} + {_ZERO})"),
}
