"""Spellings of CAST. What a text must look like is asked of a pattern first: DuckDB reads more than the language."""

from __future__ import annotations

from privql.engines.duckdb.expressions import type_name
from privql.engines.duckdb.numbers import decimal_to_double
from privql.engines.sql.casts import A_DATE, A_FLOAT, A_NUMBER, A_TIMESTAMP, WITH_EXPONENT, truth
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.engines.sql.texts import lowered


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
            return f"TRY_CAST(round({arg}) AS BIGINT)"
        case "DECIMAL", "FLOAT":
            return decimal_to_double(arg)
        case "DECIMAL", "TEXT" if arg.type.precision == arg.type.scale:
            return f"regexp_replace(CAST({arg} AS VARCHAR), '^(-?)\\.', '\\1' || '0.')"
        case _:
            return f"TRY_CAST({arg} AS {target})"


def _read(call: Call, arg: Spelled) -> Spelled | str:
    target = type_name(call.result)
    match call.result.kind:
        case "FLOAT":
            read = call.let(
                (arg,), lambda t: f"CASE WHEN {_like(t, A_FLOAT)} THEN TRY_CAST(trim({t}, ' ') AS DOUBLE) END"
            )
            return Spelled(read, call.result, loose=True)
        case "BOOL":
            word = Spelled(lowered(f"trim({arg}, ' ')"), arg.type)
            return call.let((word,), truth)
        case "DATE" | "TIMESTAMP" as kind:
            shape = A_DATE if kind == "DATE" else A_TIMESTAMP
            return call.let(
                (arg,), lambda t: f"CASE WHEN {_like(t, shape)} AND {t} >= '0001' THEN TRY_CAST({t} AS {target}) END"
            )
        case _:
            return call.let((arg,), lambda t: _read_exactly(t, call.result.kind, target))


def _read_exactly(text: Spelled, kind: str, target: str) -> str:
    trimmed = f"trim({text}, ' ')"
    rounded = f"round(TRY_CAST({trimmed} AS DOUBLE))" if kind == "INT" else f"TRY_CAST({trimmed} AS DOUBLE)"
    return (
        f"CASE WHEN {_like(text, A_NUMBER)} THEN TRY_CAST({trimmed} AS {target})"
        f" WHEN {_like(text, WITH_EXPONENT)} THEN TRY_CAST({rounded} AS {target}) END"
    )


def _like(text: Spelled, pattern: str) -> str:
    return f"regexp_full_match({text}, '{pattern}')"


SPELLINGS: dict[str, Spelling] = {"cast": cast}
