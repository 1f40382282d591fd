"""Spellings of CAST. What would not fit, or is no number or date, is found out before the server casts it."""

from __future__ import annotations

from privql.engines.postgres import floats
from privql.engines.postgres.expressions import double, let, null, numeric, plain, text
from privql.engines.postgres.moments import made_date
from privql.engines.postgres.numbers import fits, narrow
from privql.engines.postgres.reading import is_number, read_double, read_exactly
from privql.engines.postgres.texts import lowered
from privql.engines.sql.casts import A_DATE, A_TIMESTAMP, truth
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.calendar import CLOCK
from privql.kernel.scalars import FLOAT, INT, ValueType

_WRITTEN = "YYYY-MM-DD HH24:MI:SS"


def cast(call: Call) -> Spelled | str:
    (arg,) = call.args
    made = call.result
    if arg.type.kind == "NULL":
        return null(made)
    if arg.type == made:
        return arg
    match arg.type.kind, made.kind:
        case "TEXT", _:
            return _read(call, arg)
        case "FLOAT", "INT":
            return call.let((arg,), _to_int)
        case "FLOAT", "DECIMAL":
            return _to_decimal(call, arg)
        case "INT", "DECIMAL":
            held = -(10 ** (made.precision - made.scale)) < arg.low <= arg.high < 10 ** (made.precision - made.scale)
            return f"{arg}::numeric" if held else fits(call, f"{arg}::numeric", made)
        case "DECIMAL", "DECIMAL":
            return _rescaled(call, arg)
        case "DECIMAL", "INT":
            return narrow(call, f"round({arg})")
        case "BOOL", "INT":
            return f"{arg}::integer::bigint"
        case "INT", "BOOL":
            return f"({arg} <> 0)"
        case "INT" | "DECIMAL", "FLOAT":
            return f"{arg}::float8"
        case "DECIMAL", "TEXT":
            return f"round({arg}, {arg.type.scale})::text"
        case "DATE", "TEXT":
            return f"to_char({arg}::timestamp, 'YYYY-MM-DD')"
        case "TIMESTAMP", "TEXT":
            return call.let((arg,), _written)
        case "INT" | "BOOL", "TEXT":
            return f"{arg}::text"
        case _:
            return f"{arg}::{made.kind.lower()}"


def _rescaled(call: Call, arg: Spelled) -> str:
    had, made = arg.type, call.result
    whole = had.precision - had.scale
    if made.scale >= had.scale and made.precision - made.scale >= whole:
        return arg.sql
    kept = f"round({arg}, {made.scale})" if made.scale < had.scale else arg.sql
    return kept if made.precision - made.scale > whole else fits(call, kept, made)


def _written(moment: Spelled) -> str:
    """A fraction only where there is one, without its trailing zeros."""
    fraction = f"rtrim(to_char({moment}, '.US'), '0')"
    return f"to_char({moment}, '{_WRITTEN}') || CASE WHEN {fraction} = '.' THEN '' ELSE {fraction} END"


def _to_int(x: Spelled) -> str:
    inside = f"{x} >= {double(-(2.0**63))} AND {x} < {double(2.0**63)}"
    return f"CASE WHEN {inside} THEN ({floats.nearest_whole(x)})::bigint END"


def _to_decimal(call: Call, arg: Spelled) -> str:
    """x * 10^s as IEEE arithmetic has it, rounded: a whole FLOAT, which is taken as it is."""
    made = call.result
    near = let(call, floats.scaled(call, arg, "*", float(10**made.scale)).sql, floats.nearest_whole, FLOAT)

    def body(units: Spelled) -> str:
        inside = f"abs({units}) < {double(float(10**made.precision))}"
        return f"CASE WHEN {inside} THEN {_exactly(units)} * '1e-{made.scale}'::numeric END"

    taken = let(call, near, body, FLOAT)
    return taken if made.precision <= 15 else fits(call, taken, made)  # 10^38 is no FLOAT: what is below one is above


def _exactly(whole: Spelled) -> str:
    """A FLOAT without a fraction, below 2^127, as numeric: the server's own cast keeps fifteen digits."""
    high = f"trunc({whole} * {double(2.0**-64)})"
    low = f"(({whole} - {high} * {double(2.0**64)}) * {double(0.5)})::bigint"
    return (
        f"CASE WHEN abs({whole}) < {double(2.0**63)} THEN {whole}::bigint::numeric"
        f" ELSE {high}::bigint * {numeric(2**64)} + {low} * {numeric(2)} END"
    )


def _read(call: Call, arg: Spelled) -> str:
    made = call.result
    match made.kind:
        case "FLOAT":
            return read_double(call, arg)
        case "BOOL":
            return let(call, lowered(f"btrim({arg}, ' ')"), truth, arg.type)
        case "DATE":
            return call.let((arg,), lambda t: f"CASE WHEN {plain(t)} ~ {text(f'^{A_DATE}$')} THEN {_date(call, t)} END")
        case "TIMESTAMP":
            return call.let(
                (arg,), lambda t: f"CASE WHEN {plain(t)} ~ {text(f'^{A_TIMESTAMP}$')} THEN {_timestamp(call, t)} END"
            )
        case _:
            return call.let((arg,), lambda t: _read_exactly(call, t, made))


def _read_exactly(call: Call, t: Spelled, made: ValueType) -> str:
    """With an exponent it is read as a FLOAT first."""
    exactly = f"round({read_exactly(t)}, {made.scale})"
    taken = narrow(call, exactly) if made == INT else fits(call, exactly, made)
    roughly = Spelled(read_double(call, t), FLOAT)
    other = call.let((roughly,), _to_int) if made == INT else _to_decimal(call, roughly)
    return f"CASE WHEN {is_number(t)} THEN {taken} ELSE {other} END"


def _date(call: Call, t: Spelled) -> str:
    parts = [f"substring({t}, {start}, {digits})::bigint" for start, digits in ((1, 4), (6, 2), (9, 2))]
    return call.let(tuple(Spelled(part, INT) for part in parts), made_date)


def _timestamp(call: Call, t: Spelled) -> str:
    """The day, and the microseconds of the clock behind it."""

    def number(start: int, digits: int) -> str:
        return f"coalesce(nullif(substring({t}, {start}, {digits}), ''), '0')::bigint"

    micros = f"rpad(substring({t}, 21, 6), 6, '0')::bigint"
    clock = f"{number(12, 2)} * {CLOCK['HOUR']} + {number(15, 2)} * {CLOCK['MINUTE']} + {number(18, 2)} * 1000000"
    return f"{_date(call, t)}::timestamp + ({clock} + {micros})::float8 * INTERVAL '1 microsecond'"


SPELLINGS: dict[str, Spelling] = {"cast": cast}
