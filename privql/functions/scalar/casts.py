"""CAST: total, NULL for what does not convert; halves round away from zero."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from privql.domains import Domain, finite, grid_of, whole
from privql.domains.arithmetic import DAY, Bound, fitted, limits, nearest, span
from privql.functions.scalar import calendar
from privql.functions.scalar.declare import (
    SMALL,
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    example,
    flags,
)
from privql.functions.scalar.numbers import (
    decimal_value,
    double,
    half_away,
    integer,
    nearest_double,
    read_double,
    read_number,
    write_decimal,
)
from privql.functions.scalar.text import ascii_lower
from privql.kernel.scalars import Value, ValueType

_TO_TEXT = frozenset({"INT", "DECIMAL", "BOOL", "TEXT", "DATE", "TIMESTAMP"})
_SOURCES = {
    "INT": frozenset({"INT", "FLOAT", "DECIMAL", "BOOL", "TEXT"}),
    "FLOAT": frozenset({"INT", "FLOAT", "DECIMAL", "TEXT"}),
    "DECIMAL": frozenset({"INT", "FLOAT", "DECIMAL", "TEXT"}),
    "BOOL": frozenset({"BOOL", "INT", "TEXT"}),
    "TEXT": _TO_TEXT,
    "DATE": frozenset({"DATE", "TIMESTAMP", "TEXT"}),
    "TIMESTAMP": frozenset({"DATE", "TIMESTAMP", "TEXT"}),
}
TRUE, FALSE = ("true", "t", "yes", "y", "on", "1"), ("false", "f", "no", "n", "off", "0")


def resolve_cast(source: ValueType, target: ValueType) -> Resolved | None:
    """A cast takes its argument as it is; None if there is none between these types."""
    if source.kind != "NULL" and source.kind not in _SOURCES.get(target.kind, frozenset()):
        return None
    return Resolved("cast", (source,), target)


def _no_target(types: Types, constants: Constants) -> Resolved | None:
    """A cast's target is not among its arguments: `resolve_cast` types it."""
    return None


def _cast(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    value, source = values[0], types[0].kind
    match result.kind:
        case "INT":
            return _to_int(value, source)
        case "FLOAT":
            return read_double(value) if source == "TEXT" else nearest_double(value)
        case "DECIMAL":
            return _to_decimal(value, source, result)
        case "BOOL":
            return _read_flag(value) if source == "TEXT" else bool(value)
        case "TEXT":
            return _to_text(value, types[0])
        case "DATE":
            return _to_date(value, source)
        case "TIMESTAMP":
            return _to_timestamp(value, source)
        case _:
            return None


def _to_int(value: Any, source: str) -> int | None:
    number = read_number(value) if source == "TEXT" else value
    return None if number is None else integer(half_away(number))


def _to_decimal(value: Any, source: str, result: ValueType) -> Fraction | None:
    number = read_number(value) if source == "TEXT" else value
    if isinstance(number, float):
        scaled = double(number * float(10**result.scale))  # in IEEE arithmetic, as engines do
        whole = None if scaled is None else half_away(scaled)
        fits = whole is not None and abs(whole) < float(10**result.precision)
        return decimal_value(Fraction(whole, 10**result.scale), result) if whole is not None and fits else None
    if number is None:
        return None
    return decimal_value(Fraction(half_away(number * 10**result.scale), 10**result.scale), result)


def _read_flag(text: str) -> bool | None:
    word = ascii_lower(text.strip(" "))
    return True if word in TRUE else (False if word in FALSE else None)


def _to_text(value: Any, source: ValueType) -> str | None:
    match source.kind:
        case "BOOL":
            return "true" if value else "false"
        case "DECIMAL":
            return write_decimal(Fraction(value), source.scale)
        case "DATE":
            return None if calendar.date_or_null(value) is None else calendar.write_date(value)
        case "TIMESTAMP":
            return None if calendar.time_or_null(value) is None else calendar.write_timestamp(value)
        case _:
            return str(value)


def _to_date(value: Any, source: str) -> int | None:
    match source:
        case "TEXT":
            return calendar.read_date(value)
        case "TIMESTAMP":
            return int(value // calendar.DAY)
        case _:
            return int(value)


def _to_timestamp(value: Any, source: str) -> int | None:
    match source:
        case "TEXT":
            return calendar.read_timestamp(value)
        case "DATE":
            return int(value * calendar.DAY)
        case _:
            return int(value)


# ---- domains


def _cast_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    domain, source, target = args[0], types[0], result.kind
    match source.kind, target:
        case _ if source == result or _widens(source, result):
            return domain
        case ("TEXT", _):
            return whole(result, True)
        case (_, "TEXT"):
            members = domain.members(SMALL)
            return whole(result, False) if members is None else finite([_to_text(m, source) for m in members], False)
        case (_, "BOOL"):
            return flags(domain.low != 0 or domain.high != 0, 0 in domain, False)
        case (_, "FLOAT"):
            return fitted(result, span(domain), domain.grid)
        case (_, "TIMESTAMP"):
            low, high = span(domain)
            return fitted(result, (low * DAY, high * DAY), (domain.grid or 1) * Fraction(DAY))
        case (_, "DATE"):
            low, high = (end if isinstance(end, float) else end // DAY for end in span(domain))
            days = Fraction(domain.grid or 1, DAY)
            return fitted(result, (low, high), days if days.denominator == 1 else None)
        case _:
            return _rounded_domain(source, result, domain)


def _widens(source: ValueType, result: ValueType) -> bool:
    """Whether a DECIMAL holds every value of the source as it is."""
    if result.kind != "DECIMAL" or source.kind not in ("INT", "DECIMAL"):
        return False
    digits = 19 if source.kind == "INT" else source.precision - source.scale
    return result.scale >= source.scale and result.precision - result.scale >= digits


def _rounded_domain(source: ValueType, result: ValueType, domain: Domain) -> Domain:
    """INT or DECIMAL: rounding keeps the order of numbers; what does not fit is NULL."""
    low, high = (_rounded_end(source, result.scale, end) for end in span(domain))
    grid = grid_of(result)
    kept = domain.grid if domain.grid and grid and (domain.grid / grid).denominator == 1 else grid
    if source.kind != "FLOAT":  # an open end stands for no more than the source's type holds
        least, most = (_rounded_end(source, result.scale, end) for end in limits(source))
        fits = limits(result)[0] <= max(low, least) and min(high, most) <= limits(result)[1]
        return fitted(result, (low, high), kept).with_null(not fits)
    return fitted(result, (low, high), kept, overflow=True)


def _rounded_end(source: ValueType, scale: int, end: Bound) -> Bound:
    if source.kind == "FLOAT":
        near = nearest(end)
        scaled = float(near) * float(10**scale)
        return scaled if math.isinf(scaled) else Fraction(half_away(scaled), 10**scale)
    return end if isinstance(end, float) else Fraction(half_away(Fraction(end) * 10**scale), 10**scale)


FUNCTIONS = (
    ScalarFunction(
        "cast", (), "operator",
        tuple(f"{', '.join(sorted(sources))} -> {target}" for target, sources in _SOURCES.items()), _no_target,
        _cast, _cast_domain,
        "`CAST(x AS type)` or `x::type`; what does not convert is NULL. Numbers round, a half away from zero (a FLOAT"
        " becomes a DECIMAL(p,s) by rounding x * 10^s). Text is a number if it is `[+-]digits[.digits][e[+-]digits]`"
        " with spaces around (with an exponent it is read as a FLOAT first), a BOOL if it is true, t,"
        " yes, y, on, 1 or false, f, no, n, off, 0 in any case, a DATE if `YYYY-MM-DD`, a TIMESTAMP if `YYYY-MM-DD`,"
        " `YYYY-MM-DD HH:MM`, `…:SS` or `…:SS.ffffff` (T may stand for the space). DECIMAL(p,s) is written with s"
        " digits behind the point, TIMESTAMP as `YYYY-MM-DD HH:MM:SS` with a fraction where there is one. A FLOAT has"
        " no one spelling: cast it to DECIMAL first.",
        example("CAST('2.5' AS INT)", "2.5", gives=3),
    ),
)  # fmt: skip
