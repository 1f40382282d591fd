"""Spellings of arithmetic, rounding and powers.

INT is computed in 128 bits and TRY_CAST back, which neither throws nor branches on the data. DECIMAL follows DuckDB's
own result types, which are the language's, but for two traps: a product of two that fit 64 bits is kept in 64 bits and
overflows at 18 digits, so one factor is widened; and beyond 38 digits it throws, so there TRY stands.
"""

from __future__ import annotations

import math
from fractions import Fraction

from privql.engines.duckdb.expressions import huge, literal, type_name
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.angles import DEGREES, RADIANS
from privql.functions.scalar.numbers import INT_MAX, INT_MIN
from privql.kernel.scalars import FLOAT, INT


def least_units(x: Spelled) -> str:
    """A DECIMAL as a whole number of its least unit, an INT as it is."""
    return huge(x if x.type == INT else f"replace(CAST({x} AS VARCHAR), '.', '')")


def narrow(sql: str) -> str:
    return f"TRY_CAST({sql} AS BIGINT)"


def _whole(sign: str, left: Spelled, right: Spelled, low: int, high: int) -> Spelled:
    """INT arithmetic: plain where the result is proved to fit, else by way of 128 bits."""
    if low >= INT_MIN and high <= INT_MAX:
        return Spelled(f"({left} {sign} {right})", INT, low=low, high=high)
    return Spelled(narrow(f"({huge(left)} {sign} {huge(right)})"), INT)


def _double(sql: str) -> Spelled:
    return Spelled(sql, FLOAT, loose=True)


def add(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == INT:
        return _whole("+", left, right, left.low + right.low, left.high + right.high)
    return _double(f"({left} + {right})") if call.result == FLOAT else _decimal_sum("+", call)


def sub(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == INT:
        return _whole("-", left, right, left.low - right.high, left.high - right.low)
    return _double(f"({left} - {right})") if call.result == FLOAT else _decimal_sum("-", call)


def _decimal_sum(sign: str, call: Call) -> str:
    left, right = call.args
    digits = max(a.type.precision - a.type.scale for a in call.args) + call.result.scale + 1
    if digits <= 38:
        return f"({left} {sign} {right})"
    to = type_name(call.result)
    return f"TRY(TRY_CAST({left} AS {to}) {sign} TRY_CAST({right} AS {to}))"


def mul(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == INT:
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        return _whole("*", left, right, min(corners), max(corners))
    if call.result == FLOAT:
        return _double(f"({left} * {right})")
    digits = left.type.precision + right.type.precision
    if digits <= 18:
        return f"({left} * {right})"
    wide = f"CAST({left} AS DECIMAL({max(left.type.precision, 19)},{left.type.scale})) * {right}"
    to = type_name(call.result)
    if max(left.type.precision, 19) + right.type.precision <= 38:
        return f"CAST(({wide}) AS {to})" if digits < 38 else f"({wide})"
    return f"TRY({wide})" if digits >= 38 else f"TRY_CAST(TRY({wide}) AS {to})"


def neg(call: Call) -> Spelled | str:
    (arg,) = call.args
    if call.result == INT:
        if arg.low > INT_MIN:
            return Spelled(f"(- {arg})", INT, low=-arg.high, high=-arg.low)
        return narrow(f"(- {huge(arg)})")
    return Spelled(f"(- {arg})", call.result, loose=arg.loose)


def absolute(call: Call) -> Spelled | str:
    (arg,) = call.args
    if call.result == INT and arg.low == INT_MIN:
        return narrow(f"abs({huge(arg)})")
    return Spelled(f"abs({arg})", call.result, loose=arg.loose)


def div(call: Call) -> Spelled | str:
    return _double(f"({call.args[0]} / {call.args[1]})")


def int_div(call: Call) -> Spelled | str:
    left, right = call.args
    if left.low > INT_MIN or right.low > -1 or right.high < -1:
        return f"({left} // {right})"
    return narrow(f"({huge(left)} // {huge(right)})")


def mod(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result != INT or left.low > INT_MIN or right.low > -1 or right.high < -1:
        return f"({left} % {right})"
    return narrow(f"({huge(left)} % {huge(right)})")


def sign(call: Call) -> str:
    return f"CAST(sign({call.args[0]}) AS BIGINT)"


def _to_whole(function: str) -> Spelling:
    def spelling(call: Call) -> Spelled | str:
        (arg,) = call.args
        if call.result == FLOAT:
            return Spelled(f"{function}({arg})", FLOAT, loose=arg.loose)
        if arg.type.scale == 0:
            return arg
        return f"TRY_CAST({function}({arg}) AS {type_name(call.result)})"

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
    if places >= 0:
        return f"TRY_CAST(round({arg}, {places}) AS {type_name(call.result)})"
    whole = arg.sql if arg.type == INT else f"trunc({arg})"
    half = Spelled(f"({huge(whole)} // {huge(5 * 10 ** (-places - 1))})", INT)
    exact = call.let((half,), lambda h: f"(({h} // {huge(2)}) + ({h} % {huge(2)})) * {huge(10**-places)}")
    return f"TRY_CAST({exact} AS {type_name(call.result)})"


def truncated(call: Call) -> Spelled | str:
    """To places by taking off the remainder, which is exact in every width."""
    if len(call.args) == 1:
        return _to_whole("trunc")(call)
    arg, places = call.args[0], call.args[1].value
    if not isinstance(places, int):
        return call.null
    if places >= arg.type.scale:
        return arg
    fits = -places < (19 if arg.type == INT else arg.type.precision - arg.type.scale)
    unit = literal(Fraction(10) ** -places if arg.type != INT else 10**-places, arg.type) if fits else None
    rest = call.let(call.args[:1], lambda x: f"{x} - {x if unit is None else f'{x} % {unit}'}")
    return f"TRY_CAST(({rest}) AS {type_name(call.result)})"


def _rounded_double(call: Call, arg: Spelled, places: int) -> str:
    if places == 0:
        return f"round({arg})"
    power = f"DOUBLE '{float(10 ** abs(places))!r}'"
    there, back = ("*", "/") if places > 0 else ("/", "*")
    return call.let(
        (arg,),
        lambda x: (
            f"CASE WHEN isfinite({x} {there} {power}) THEN round({x} {there} {power}) {back} {power} ELSE {x} END"
        ),
    )


def _quantised(call: Call, value: str) -> Spelled:
    """Veltkamp's splitting, as `privql.functions.scalar.numbers.quantised`; not finite where that is NULL."""
    split = "DOUBLE '8193.0'"
    return _double(call.let((Spelled(value, FLOAT),), lambda v: f"({v} * {split} - ({v} * {split} - {v}))"))


def _library(function: str) -> Spelling:
    return lambda call: _quantised(call, f"{function}({', '.join(arg.sql for arg in call.args)})")


def logarithm(call: Call) -> Spelled:
    def body(base: Spelled, x: Spelled) -> str:
        return f"CASE WHEN {base} > 0 AND {x} > 0 THEN ln({x}) / ln({base}) END"

    return _quantised(call, call.let(call.args, body))


def decimal_to_double(arg: Spelled) -> str:
    """Correctly rounded: one division of two doubles that are exact, or else through the text of the number."""
    if arg.type.precision <= 15:
        return f"CAST({arg} AS DOUBLE)"
    return f"CAST(CAST({arg} AS VARCHAR) AS DOUBLE)"


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
    "atan2": lambda call: _quantised(call, f"atan2({call.args[0]} + DOUBLE '0.0', {call.args[1]} + DOUBLE '0.0')"),
    "pi": lambda call: literal(math.pi, FLOAT),
    "degrees": lambda call: _double(f"({call.args[0]} * {literal(DEGREES, FLOAT)})"),
    "radians": lambda call: _double(f"({call.args[0]} * {literal(RADIANS, FLOAT)})"),
}
