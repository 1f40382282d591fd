"""Spellings of arithmetic, rounding and powers.

Without ANSI mode (`session.MEANING`) a division by zero and a DECIMAL that overflows are NULL, as they are to be. What
then wraps silently is INT: there `try_add` and its like stand, or `nullif(…, the least INT)`, which is all that -x and
abs(x) can wrap to. DECIMAL follows Spark's own result types where they are the language's (`allowPrecisionLoss` is
off), and is cast to them where they are wider.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from privql.engines.spark.expressions import LEAST, double, literal, type_name, wide
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.angles import DEGREES, RADIANS
from privql.functions.scalar.numbers import INT_MAX, INT_MIN
from privql.kernel.scalars import FLOAT, INT

_WHOLE = double(2.0**52)  # from here on a double has no fraction


def finite(number: str) -> str:
    """NaN is above all numbers here."""
    return f"(abs({number}) <= {double(sys.float_info.max)})"


def least_units(x: Spelled) -> str:
    """A DECIMAL as a whole number of its least unit, an INT as it is."""
    if x.type == INT or not x.type.scale:
        return wide(x)
    if x.type.precision + 2 * x.type.scale < 38:
        return wide(f"({x} * CAST('{10**x.type.scale}' AS DECIMAL({x.type.scale + 1},0)))")
    return wide(f"replace({plain(x)}, '.', '')")


def plain(x: Spelled) -> str:
    """A DECIMAL as text, which as `CAST` writes it may have an exponent."""
    return f"TRY_CAST({x} AS STRING)"


def _whole(sign: str, checked: str, left: Spelled, right: Spelled, low: int, high: int) -> Spelled:
    """INT arithmetic: plain where the result is proved to fit."""
    if low >= INT_MIN and high <= INT_MAX:
        return Spelled(f"({left} {sign} {right})", INT, low=low, high=high)
    return Spelled(f"{checked}({left}, {right})", INT)


def _double(sql: str) -> Spelled:
    return Spelled(sql, FLOAT, loose=True)


def add(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == INT:
        return _whole("+", "try_add", left, right, left.low + right.low, left.high + right.high)
    return _double(f"({left} + {right})") if call.result == FLOAT else _decimal_sum("+", call)


def sub(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == INT:
        return _whole("-", "try_subtract", left, right, left.low - right.high, left.high - right.low)
    return _double(f"({left} - {right})") if call.result == FLOAT else _decimal_sum("-", call)


def _decimal_sum(sign: str, call: Call) -> str:
    left, right = call.args
    digits = max(a.type.precision - a.type.scale for a in call.args) + call.result.scale + 1
    if digits <= 38:
        return f"({left} {sign} {right})"
    to = type_name(call.result)
    return f"CAST((CAST({left} AS {to}) {sign} CAST({right} AS {to})) AS {to})"


def mul(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == INT:
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        return _whole("*", "try_multiply", left, right, min(corners), max(corners))
    if call.result == FLOAT:
        return _double(f"({left} * {right})")
    return f"CAST(({left} * {right}) AS {type_name(call.result)})"


def neg(call: Call) -> Spelled | str:
    (arg,) = call.args
    if call.result == INT:
        if arg.low > INT_MIN:
            return Spelled(f"(- {arg})", INT, low=-arg.high, high=-arg.low)
        return f"nullif((- {arg}), {LEAST})"
    if call.result == FLOAT:
        return Spelled(f"(- {arg})", FLOAT, loose=arg.loose)
    return _negative(arg)


def _negative(x: Spelled) -> str:
    """A difference: Spark's own sign keeps 34 digits of a DECIMAL, and fails where the rounded one does not fit."""
    zero = literal(Fraction(0), x.type)
    return f"CAST(({zero} - {x}) AS {type_name(x.type)})"


def absolute(call: Call) -> Spelled | str:
    (arg,) = call.args
    if call.result == INT and arg.low == INT_MIN:
        return f"nullif(abs({arg}), {LEAST})"
    if call.result.kind == "DECIMAL":
        return call.let((arg,), lambda x: f"CASE WHEN {x} < 0 THEN {_negative(x)} ELSE {x} END")
    return Spelled(f"abs({arg})", call.result, loose=arg.loose)


def div(call: Call) -> Spelled | str:
    return _double(f"({call.args[0]} / {call.args[1]})")


def int_div(call: Call) -> Spelled | str:
    """Only the least INT by -1 does not fit."""
    left, right = call.args
    if left.low > INT_MIN or right.low > -1 or right.high < -1:
        return f"({left} div {right})"
    return call.let(call.args, lambda x, y: f"CASE WHEN {y} = -1L THEN nullif((- {x}), {LEAST}) ELSE {x} div {y} END")


def mod(call: Call) -> str:
    return f"({call.args[0]} % {call.args[1]})"


def sign(call: Call) -> str:
    return f"CAST(sign({call.args[0]}) AS BIGINT)"


def _to_whole(function: str) -> Spelling:
    """Of a double, these make an INT, which the great ones, that are whole as they are, would not fit."""

    def spelling(call: Call) -> Spelled | str:
        (arg,) = call.args
        if call.result == FLOAT:
            made = call.let(
                (arg,), lambda x: f"CASE WHEN abs({x}) < {_WHOLE} THEN CAST({function}({x}) AS DOUBLE) ELSE {x} END"
            )
            return Spelled(made, FLOAT, loose=arg.loose)
        if arg.type.scale == 0:
            return arg
        return f"CAST({function}({arg}) AS {type_name(call.result)})"

    return spelling


def rounded(call: Call) -> Spelled | str:
    arg = call.args[0]
    places = call.args[1].value if len(call.args) == 2 else 0
    if not isinstance(places, int):
        return call.null
    if call.result == FLOAT:
        return _double(_rounded_double(call, arg, places))
    if places >= arg.type.scale:
        return arg
    if arg.type == INT:
        return f"TRY_CAST({_rounded_below_one(f'CAST({arg} AS DECIMAL(19,0))', 19, places)} AS BIGINT)"
    if places >= 0:
        return f"CAST(round({arg}, {places}) AS {type_name(call.result)})"
    whole = arg.type.precision - arg.type.scale
    return f"CAST({_rounded_below_one(arg.sql, whole, places)} AS {type_name(call.result)})"


def _rounded_below_one(x: str, digits: int, places: int) -> str:
    return f"round({x}, {places})" if -places <= digits else f"({x} * CAST('0' AS DECIMAL(1,0)))"


def truncated(call: Call) -> Spelled | str:
    """To places by taking off the remainder, which is exact in every width."""
    arg = call.args[0]
    if call.result == FLOAT:
        made = call.let(
            (arg,), lambda x: f"CASE WHEN abs({x}) < {_WHOLE} THEN CAST(CAST({x} AS BIGINT) AS DOUBLE) ELSE {x} END"
        )
        return Spelled(made, FLOAT, loose=arg.loose)
    places = call.args[1].value if len(call.args) == 2 else 0
    if not isinstance(places, int):
        return call.null
    if places >= arg.type.scale:
        return arg
    fits = -places < (19 if arg.type == INT else arg.type.precision - arg.type.scale)
    unit = literal(Fraction(10) ** -places if arg.type != INT else 10**-places, arg.type) if fits else None
    rest = call.let((arg,), lambda x: f"{x} - {x if unit is None else f'{x} % {unit}'}")
    return f"CAST(({rest}) AS {type_name(call.result)})"


def _rounded_double(call: Call, arg: Spelled, places: int) -> str:
    if places == 0:
        return f"round({arg}, 0)"
    power = double(float(10 ** abs(places)))
    there, back = ("*", "/") if places > 0 else ("/", "*")

    def body(x: Spelled) -> str:
        scaled = f"({x} {there} {power})"
        return f"CASE WHEN {finite(scaled)} THEN round({scaled}, 0) {back} {power} ELSE {x} END"

    return call.let((arg,), body)


def _quantised(call: Call, value: str) -> Spelled:
    """Veltkamp's splitting, as `privql.functions.scalar.numbers.quantised`; not finite where that is NULL."""
    return _double(call.let((Spelled(value, FLOAT),), lambda v: f"({v} * 8193.0D - ({v} * 8193.0D - {v}))"))


def _library(function: str) -> Spelling:
    return lambda call: _quantised(call, f"{function}({', '.join(arg.sql for arg in call.args)})")


def logarithm(call: Call) -> Spelled:
    def body(base: Spelled, x: Spelled) -> str:
        return f"CASE WHEN {base} > 0D AND {x} > 0D THEN ln({x}) / ln({base}) END"

    return _quantised(call, call.let(call.args, body))


def decimal_to_double(arg: Spelled) -> str:
    """Correctly rounded: one division of two doubles that are exact, or else through the text of the number."""
    if arg.type.precision <= 15:
        return f"CAST({arg} AS DOUBLE)"
    return f"CAST({plain(arg)} AS DOUBLE)"


SPELLINGS: dict[str, Spelling] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "neg": neg,
    "abs": absolute,
    "div": div,
    "int_div": int_div,
    "mod": mod,
    "sign": sign,
    "floor": _to_whole("floor"),
    "ceil": _to_whole("ceil"),
    "trunc": truncated,
    "round": rounded,
    "sqrt": lambda call: _double(f"sqrt({call.args[0]})"),
    "exp": _library("exp"),
    "ln": _library("ln"),
    "log10": _library("log10"),
    "log2": _library("log2"),
    "power": _library("pow"),
    "log": logarithm,
    **{name: _library(name) for name in ("cbrt", "sin", "cos", "tan", "asin", "acos", "atan")},
    "atan2": lambda call: _quantised(call, f"atan2({call.args[0]} + 0.0D, {call.args[1]} + 0.0D)"),
    "pi": lambda call: literal(math.pi, FLOAT),
    "degrees": lambda call: _double(f"({call.args[0]} * {literal(DEGREES, FLOAT)})"),
    "radians": lambda call: _double(f"({call.args[0]} * {literal(RADIANS, FLOAT)})"),
}
