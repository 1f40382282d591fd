"""Spellings of CAST. What a text must look like is asked of a pattern first: Spark reads more than the language."""

from __future__ import annotations

from privql.engines.spark.expressions import double, text, type_name, wide
from privql.engines.spark.numbers import decimal_to_double, plain
from privql.engines.sql.casts import A_DATE, A_FLOAT, A_NUMBER, A_TIMESTAMP, WITH_EXPONENT, truth
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.engines.sql.texts import lowered
from privql.functions.scalar.numbers import INT_MAX
from privql.kernel.scalars import FLOAT, ValueType

_LIMB = 2.0**48


def cast(call: Call) -> Spelled | str:
    (arg,) = call.args
    target = type_name(call.result)
    if arg.type.kind == "NULL":
        return call.null
    if arg.type == call.result:
        return arg
    match arg.type.kind, call.result.kind:
        case "TEXT", "INT" | "DECIMAL" | "FLOAT" | "BOOL" | "DATE" | "TIMESTAMP":
            return _read(call, arg)
        case "FLOAT", "INT":
            return _to_int(arg.sql)
        case "FLOAT", "DECIMAL":
            return _to_decimal(call, arg.sql, call.result)
        case "DECIMAL", "FLOAT":
            return decimal_to_double(arg)
        case "DECIMAL", "INT":
            return f"TRY_CAST({arg if not arg.type.scale else f'round({arg}, 0)'} AS BIGINT)"
        case "DECIMAL", "TEXT":
            return plain(arg)
        case _:
            return f"TRY_CAST({arg} AS {target})"


def _to_int(x: str) -> str:
    """Of all doubles 2^63 alone is too great and yet taken, for the greatest INT, which no other becomes."""
    return f"nullif(TRY_CAST(round({x}, 0) AS BIGINT), {INT_MAX}L)"


def _to_decimal(call: Call, x: str, type: ValueType) -> str:
    """By the exact integer that a double is: Spark would take its shortest spelling."""
    scaled = Spelled(f"round({x} * {double(float(10**type.scale))}, 0)", FLOAT)
    unit = f"CAST('{_unit(type.scale)}' AS DECIMAL({type.scale + 1},{type.scale}))"
    if type.precision <= 18:
        whole = f"CAST(TRY_CAST({scaled} AS BIGINT) AS DECIMAL(19,0))"
        return f"CAST(({whole} * {unit}) AS {type_name(type)})"

    def body(w: Spelled) -> str:
        high = f"CAST({w} / {double(_LIMB**2)} AS BIGINT)"
        rest = f"({w} - CAST({high} AS DOUBLE) * {double(_LIMB**2)})"
        middle = f"CAST({rest} / {double(_LIMB)} AS BIGINT)"
        low = f"CAST({rest} - CAST({middle} AS DOUBLE) * {double(_LIMB)} AS BIGINT)"
        whole = f"({wide(high)} * {wide(2**96)} + {wide(middle)} * {wide(2**48)} + {wide(low)})"
        fits = f"abs({w}) < {double(float(10**type.precision))}"
        return f"CASE WHEN {fits} THEN CAST(({whole} * {unit}) AS {type_name(type)}) END"

    return call.let((scaled,), body)


def _unit(scale: int) -> str:
    return f"0.{'0' * (scale - 1)}1" if scale else "1"


def _read(call: Call, arg: Spelled) -> Spelled | str:
    target = type_name(call.result)
    match call.result.kind:
        case "FLOAT":
            read = call.let((arg,), lambda t: f"CASE WHEN {like(t, A_FLOAT)} THEN {_double(t)} END")
            return Spelled(read, call.result, loose=True)
        case "BOOL":
            word = Spelled(lowered(f"trim({arg})"), arg.type)
            return call.let((word,), truth)
        case "DATE" | "TIMESTAMP" as kind:
            shape = A_DATE if kind == "DATE" else A_TIMESTAMP
            return call.let(
                (arg,), lambda t: f"CASE WHEN {like(t, shape)} AND {t} >= '0001' THEN TRY_CAST({t} AS {target}) END"
            )
        case _:
            return call.let((arg,), lambda t: _read_exactly(call, t))


def _read_exactly(call: Call, t: Spelled) -> str:
    exact = f"TRY_CAST(trim({t}) AS {type_name(call.result)})"
    if call.result.kind == "INT":
        exact = f"TRY_CAST(TRY_CAST(trim({t}) AS DECIMAL(38,0)) AS BIGINT)"
    rounded = _to_int(_double(t)) if call.result.kind == "INT" else _to_decimal(call, _double(t), call.result)
    return f"CASE WHEN {like(t, A_NUMBER)} THEN {exact} WHEN {like(t, WITH_EXPONENT)} THEN {rounded} END"


def _double(t: Spelled) -> str:
    return f"TRY_CAST(trim({t}) AS DOUBLE)"


def like(t: Spelled | str, pattern: str) -> str:
    """Whether a whole text matches."""
    java = text(rf"\A(?:{pattern})\z")
    return f"({t} RLIKE {java})"


SPELLINGS: dict[str, Spelling] = {"cast": cast}
