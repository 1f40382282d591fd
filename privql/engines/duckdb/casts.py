"""Spellings of CAST. What a text must look like is asked of a pattern first: DuckDB reads more than the language."""

from __future__ import annotations

from privql.engines.duckdb.expressions import type_name
from privql.engines.duckdb.numbers import decimal_to_double
from privql.engines.duckdb.texts import lowered
from privql.engines.sql.expressions import Call, Spelled, Spelling

_NUMBER = r" *[+-]?[0-9]+(\.[0-9]+)? *"
_EXPONENT = r" *[+-]?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+ *"
_FLOAT = r" *[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)? *"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
_TIMESTAMP = rf"{_DATE}([ T]{_CLOCK})?"


def cast(call: Call) -> Spelled | str:
    (arg,) = call.args
    target = type_name(call.result)
    if arg.type.kind == "NULL":
        return f"CAST(NULL AS {target})"
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
                (arg,), lambda t: f"CASE WHEN {_like(t, _FLOAT)} THEN TRY_CAST(trim({t}, ' ') AS DOUBLE) END"
            )
            return Spelled(read, call.result, loose=True)
        case "BOOL":
            word = Spelled(lowered(f"trim({arg}, ' ')"), arg.type)
            return call.let(
                (word,),
                lambda w: (
                    f"CASE WHEN {w} IN ('true', 't', 'yes', 'y', 'on', '1') THEN TRUE"
                    f" WHEN {w} IN ('false', 'f', 'no', 'n', 'off', '0') THEN FALSE END"
                ),
            )
        case "DATE" | "TIMESTAMP" as kind:
            shape = _DATE if kind == "DATE" else _TIMESTAMP
            return call.let(
                (arg,), lambda t: f"CASE WHEN {_like(t, shape)} AND {t} >= '0001' THEN TRY_CAST({t} AS {target}) END"
            )
        case _:
            return call.let((arg,), lambda t: _read_exactly(t, call.result.kind, target))


def _read_exactly(text: Spelled, kind: str, target: str) -> str:
    trimmed = f"trim({text}, ' ')"
    rounded = f"round(TRY_CAST({trimmed} AS DOUBLE))" if kind == "INT" else f"TRY_CAST({trimmed} AS DOUBLE)"
    return (
        f"CASE WHEN {_like(text, _NUMBER)} THEN TRY_CAST({trimmed} AS {target})"
        f" WHEN {_like(text, _EXPONENT)} THEN TRY_CAST({rounded} AS {target}) END"
    )


def _like(text: Spelled, pattern: str) -> str:
    return f"regexp_full_match({text}, '{pattern}')"


SPELLINGS: dict[str, Spelling] = {"cast": cast}
