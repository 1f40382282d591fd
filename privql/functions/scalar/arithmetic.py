"""Arithmetic: exact on INT and DECIMAL, IEEE double on FLOAT, the calendar on DATE and TIMESTAMP."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privql.functions.scalar import calendar, intervals, ranges
from privql.functions.scalar.declare import (
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    Typing,
    as_decimal,
    const,
    example,
    numeric,
    padded,
    wide,
)
from privql.functions.scalar.numbers import double, exact
from privql.kernel.scalars import DATE, FLOAT, INT, INTERVAL, TIMESTAMP, Value, ValueType


def _sum_type(left: ValueType, right: ValueType) -> ValueType:
    digits = max(left.precision - left.scale, right.precision - right.scale) + 1
    return wide(digits, max(left.scale, right.scale))


def _product_type(left: ValueType, right: ValueType) -> ValueType | None:
    scale = left.scale + right.scale
    return wide(left.precision + right.precision - scale, scale) if scale <= 38 else None


def _numbers(op: str, decimals: Callable[[ValueType, ValueType], ValueType | None]) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        shared = numeric(types, constants) if len(types) == 2 else None
        if shared is None or shared.kind != "DECIMAL":
            return None if shared is None else Resolved(op, (shared, shared), shared)
        known = padded(types, constants)
        left, right = as_decimal(types[0], known[0]), as_decimal(types[1], known[1])
        result = decimals(left, right)
        return None if result is None else Resolved(op, (left, right), result)

    return typing


def _sum(op: str) -> Typing:
    numbers = _numbers(op, _sum_type)

    def typing(types: Types, constants: Constants) -> Resolved | None:
        match [t.kind for t in types]:
            case ["DATE", "INT" | "NULL"]:
                return Resolved(op, (DATE, INT), DATE)
            case ["INT" | "NULL", "DATE"] if op == "add":
                return Resolved(op, (INT, DATE), DATE)
            case ["INTERVAL", "INTERVAL"]:
                return intervals.resolved(op, types, constants)
            case ["DATE" | "NULL", "DATE"] if op == "sub":
                return Resolved(op, (DATE, DATE), INT)
            case ["DATE" | "TIMESTAMP" as kind, "INTERVAL"] if intervals.sensible(padded(types, constants)[1]):
                return Resolved(op, (DATE if kind == "DATE" else TIMESTAMP, INTERVAL), TIMESTAMP)
            case ["INTERVAL", "DATE" | "TIMESTAMP" as kind] if op == "add" and intervals.sensible(
                padded(types, constants)[0]
            ):
                return Resolved(op, (INTERVAL, DATE if kind == "DATE" else TIMESTAMP), TIMESTAMP)
            case _:
                return numbers(types, constants)

    return typing


def _product(types: Types, constants: Constants) -> Resolved | None:
    if sorted(t.kind for t in types) == ["INT", "INTERVAL"]:
        return intervals.resolved("mul", types, constants)
    return _numbers("mul", _product_type)(types, constants)


def _added(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    left, right = values
    match types[0].kind, types[1].kind:
        case ("FLOAT", _):
            return double(left + right)
        case ("INTERVAL", "INTERVAL"):
            return intervals.summed(left, right)
        case ("DATE" | "TIMESTAMP" as kind, "INTERVAL"):
            return calendar.moved(kind, left, right, 1)
        case ("INTERVAL", kind):
            return calendar.moved(kind, right, left, 1)
        case ("DATE", _) | (_, "DATE"):
            return calendar.date_or_null(left + right)
        case _:
            return exact(left + right, result) if _held(values, result) else None


def _subtracted(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    left, right = values
    match types[0].kind, types[1].kind:
        case ("FLOAT", _):
            return double(left - right)
        case ("INTERVAL", "INTERVAL"):
            return intervals.summed(left, intervals.scaled(right, -1))
        case ("DATE" | "TIMESTAMP" as kind, "INTERVAL"):
            return calendar.moved(kind, left, right, -1)
        case ("DATE", "INT"):
            return calendar.date_or_null(left - right)
        case _:
            return exact(left - right, result) if _held(values, result) else None


def _held(values: tuple[Any, ...], result: ValueType) -> bool:
    """Both sides are brought to the type of a sum first: of 38 digits, it may hold fewer before the point than they."""
    return all(exact(value, result) is not None for value in values)


def _multiplied(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    left, right = values
    if result == INTERVAL:
        return intervals.scaled(left, right) if types[0] == INTERVAL else intervals.scaled(right, left)
    return double(left * right) if result == FLOAT else exact(left * right, result)


def _negated(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    if result == INTERVAL:
        return intervals.scaled(values[0], -1)
    return double(-values[0]) if result == FLOAT else exact(-values[0], result)


def _divided(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    left, right = values
    return None if right == 0 else double(left / right)


def quotient(left: Any, right: Any) -> int:
    """Truncated toward zero."""
    size: int = abs(left) // abs(right)
    return -size if (left < 0) != (right < 0) else size


def _int_divided(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    left, right = values
    return None if right == 0 else exact(quotient(left, right), result)


def _remainder(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    left, right = values
    return None if right == 0 else exact(left - right * quotient(left, right), result)


def _negation(types: Types, constants: Constants) -> Resolved | None:
    if types == (INTERVAL,):
        return intervals.resolved("neg", types, constants)
    shared = numeric(types, constants) if len(types) == 1 else None
    return None if shared is None else Resolved("neg", (shared,), shared)


def _division(types: Types, constants: Constants) -> Resolved | None:
    if len(types) != 2 or numeric(types, constants) is None:
        return None
    if all(t.kind in ("INT", "NULL") for t in types):
        return Resolved("int_div", (INT, INT), INT)
    return Resolved("div", (FLOAT, FLOAT), FLOAT)


def _whole_division(types: Types, constants: Constants) -> Resolved | None:
    whole = len(types) == 2 and numeric(types, constants) == INT
    return Resolved("int_div", (INT, INT), INT) if whole else None


def _modulus(types: Types, constants: Constants) -> Resolved | None:
    shared = numeric(types, constants) if len(types) == 2 else None
    return None if shared is None or shared == FLOAT else Resolved("mod", (shared, shared), shared)


_NUMERIC_SUM = ("INT, INT -> INT", "DECIMAL(p,s), DECIMAL(q,t) -> DECIMAL", "FLOAT, FLOAT -> FLOAT")

FUNCTIONS = (
    ScalarFunction(
        "neg", (), "operator", ("INT -> INT", "DECIMAL(p,s) -> DECIMAL(p,s)", "FLOAT -> FLOAT",
         "INTERVAL -> INTERVAL"), _negation,
        _negated, ranges.negated,
        "`-x`. NULL for the least INT, whose negative does not fit.",
        example("-(5)", 5, gives=-5),
    ),
    ScalarFunction(
        "add", (), "operator",
        (*_NUMERIC_SUM, "DATE, INT -> DATE", "INT, DATE -> DATE", "DATE, INTERVAL -> TIMESTAMP",
         "TIMESTAMP, INTERVAL -> TIMESTAMP", "INTERVAL, DATE -> TIMESTAMP", "INTERVAL, TIMESTAMP -> TIMESTAMP",
         "INTERVAL, INTERVAL -> INTERVAL"),
        _sum("add"), _added, ranges.added,
        "`x + y`. INT beyond 64 bits, DECIMAL beyond 38 digits, FLOAT beyond its range and dates beyond the calendar"
        " are NULL. DECIMAL(p,s) + DECIMAL(q,t) has max(s,t) digits behind the point and one more before it. Months are"
        " added first, to the month's end where the day does not exist; then days and time. INTERVALs are constants,"
        " and so is what is made of them.",
        example("DATE '2024-01-31' + INTERVAL '1 month'", const(19753, DATE), (1, 0, 0), gives=19782 * calendar.DAY),
    ),
    ScalarFunction(
        "sub", (), "operator",
        (*_NUMERIC_SUM, "DATE, DATE -> INT", "DATE, INT -> DATE", "DATE, INTERVAL -> TIMESTAMP",
         "TIMESTAMP, INTERVAL -> TIMESTAMP", "INTERVAL, INTERVAL -> INTERVAL"),
        _sum("sub"), _subtracted, ranges.subtracted,
        "`x - y`, typed as `x + y`. A difference of dates is in days.",
        example("DATE '2024-03-01' - DATE '2024-02-01'", const(19783, DATE), const(19754, DATE), gives=29),
    ),
    ScalarFunction(
        "mul", (), "operator", (*_NUMERIC_SUM, "INTERVAL, INT -> INTERVAL"), _product, _multiplied, ranges.multiplied,
        "`x * y`. DECIMAL(p,s) * DECIMAL(q,t) is DECIMAL(p+q,s+t), at most 38 digits; with s+t over 38 it is refused."
        " NULL where the result does not fit. An INTERVAL is multiplied by a constant.",
        example("1.5 * 3", Fraction(3, 2), 3, gives=Fraction(9, 2)),
    ),
    ScalarFunction(
        "div", (), "operator", ("FLOAT, FLOAT -> FLOAT", "INT, INT -> INT (as `//`)"), _division, _divided,
        ranges.divided,
        "`x / y`. Of two INT it is `//`; with a DECIMAL or a FLOAT it is a FLOAT. NULL if y is 0.",
        example("1.5 / 2", Fraction(3, 2), 2, gives=0.75),
    ),
    ScalarFunction(
        "int_div", ("DIV",), "function", ("INT, INT -> INT",), _whole_division, _int_divided, ranges.int_divided,
        "`x // y`, truncated toward zero. NULL if y is 0.",
        example("-7 // 2", -7, 2, gives=-3),
    ),
    ScalarFunction(
        "mod", ("MOD",), "function", ("INT, INT -> INT", "DECIMAL(p,s), DECIMAL(p,s) -> DECIMAL(p,s)"), _modulus,
        _remainder, ranges.remainder,
        "`x % y`, the remainder of the division truncated toward zero: it has the sign of x. NULL if y is 0.",
        example("-7 % 3", -7, 3, gives=-1),
    ),
)  # fmt: skip
