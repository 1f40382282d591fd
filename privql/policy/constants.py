"""Reading the constants of a declaration: a bound or a listed value as a value of its column's type, exactly.

A policy's text is fixed, so a constant is a literal with a sign; nothing here rounds. A value that its type cannot hold
is refused rather than moved.
"""

from __future__ import annotations

import math
from fractions import Fraction

from privql.diagnostics import PrivQLError, Span, refuse
from privql.domains import grid_of, number_text
from privql.domains.arithmetic import limits
from privql.functions.scalar import evaluate
from privql.kernel.scalars import TEXT, Value, ValueType
from privql.syntax import ast

_EXAMPLE = {
    "INT": "a whole number such as `120`",
    "FLOAT": "a number such as `0.5`",
    "DECIMAL": "a number such as `0.5`",
    "BOOL": "`TRUE` or `FALSE`",
    "TEXT": "a text such as `'a'`",
    "DATE": "a date such as `DATE '2025-01-31'`",
    "TIMESTAMP": "a time such as `TIMESTAMP '2025-01-31 12:00:00'`",
}
_LARGEST_DOUBLE = Fraction(math.nextafter(math.inf, 0))


def constant(expr: ast.Expr, type: ValueType) -> Value:
    """The value that `expr` states, as one of `type`."""
    match type.kind, expr:
        case "BOOL", ast.Boolean(value=value):
            return value
        case "TEXT", ast.String(value=value):
            return value
        case (("INT" | "FLOAT" | "DECIMAL"), (ast.Number() | ast.Unary(op="-" | "+"))):
            number = _number(expr, type)
            _fits(number, type, expr.span)
            return int(number) if type.kind == "INT" else float(number) if type.kind == "FLOAT" else number
        case "DATE", (ast.Typed(type="DATE", text=text) | ast.String(value=text)):
            return _read(text, expr, type)
        case "TIMESTAMP", (ast.Typed(type="DATE" | "TIMESTAMP", text=text) | ast.String(value=text)):
            return _read(text, expr, type)
        case _:
            raise _unfit(expr, type)


def bound(expr: ast.Expr, type: ValueType) -> Fraction:
    """A bound of an ordered type: of FLOAT the number as written, not the double that is nearest to it."""
    value = constant(expr, type)
    if type.kind == "FLOAT":
        return _number(expr, type)
    assert isinstance(value, (int, Fraction))
    return Fraction(value)


def exact(text: str) -> Fraction | None:
    """A number's text as a rational, None if it is too long or too large to be meant."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > 400 or len(exponent) > 5:
        return None
    try:
        return Fraction(text)
    except ValueError:
        return None


def _read(text: str, expr: ast.Expr, type: ValueType) -> Value:
    """A date or a time, spelled as a cast would read it."""
    value = evaluate("cast", (TEXT,), type, (text,))
    if value is None:
        raise _unfit(expr, type)
    return value


def _number(expr: ast.Expr, type: ValueType) -> Fraction:
    match expr:
        case ast.Number(text=text):
            number = exact(text)
            if number is not None:
                return number
        case ast.Unary(op="-", operand=operand):
            return -_number(operand, type)
        case ast.Unary(op="+", operand=operand):
            return _number(operand, type)
        case _:
            pass
    raise _unfit(expr, type)


def _fits(number: Fraction, type: ValueType, span: Span) -> None:
    grid = grid_of(type)
    if grid is not None and (number / grid).denominator != 1:
        raise refuse(
            "PQL0705",
            f"this number is not {'an' if type.kind == 'INT' else 'a'} {type}",
            span,
            label="too many digits behind the point",
            help=f"write a multiple of `{number_text(grid)}`, or declare the column `FLOAT`",
        )
    least, largest = limits(type) if type.kind != "FLOAT" else (-_LARGEST_DOUBLE, _LARGEST_DOUBLE)
    if not least <= number <= largest:
        raise refuse(
            "PQL0705",
            f"this number is outside of {type}",
            span,
            label="too large",
            why=f"{type} holds numbers up to {_short(largest)}",
            help="write a smaller number, or declare a wider type",
        )


def _short(number: int | Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 and number < 10**19 else f"{float(number):.6g}"


def _unfit(expr: ast.Expr, type: ValueType) -> PrivQLError:
    return refuse("PQL0705", f"this is not a value of type {type}", expr.span, help=f"write {_EXAMPLE[type.kind]}")
