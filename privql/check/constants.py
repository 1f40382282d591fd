"""Literals and parameters: what a piece of text is worth once a type is wanted of it."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from fractions import Fraction

from privql.check.typed import Context, Typed, const
from privql.diagnostics import Span, refuse
from privql.domains import Domain
from privql.functions.scalar import evaluate
from privql.kernel.scalars import (
    BOOL,
    DATE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    TEXT,
    TIMESTAMP,
    Const,
    ValueType,
    decimal,
)
from privql.syntax import ast

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_INT_LIMIT = 2**63
_MOST_DIGITS = 38
_AMOUNT = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{0,20})?")  # no exponent: `1e99999999` would be written out
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MICROSECONDS = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}


def number(text: str, span: Span) -> Typed:
    """`12` is INT (DECIMAL beyond 64 bits), `1.50` DECIMAL, `1e3` FLOAT."""
    if "e" in text.lower():
        value = float(text)
        if not math.isfinite(value):
            raise refuse("PQL0302", f"`{text}` is too large for FLOAT", span, help="write a number below 1.8e308")
        return const(value, FLOAT, span)
    whole, _, fraction = text.partition(".")
    if not fraction and int(whole or 0) < _INT_LIMIT:
        return const(int(whole), INT, span)
    digits = len(whole.lstrip("0")) + len(fraction)
    if digits > _MOST_DIGITS:
        raise refuse(
            "PQL0302",
            "a number has at most 38 digits",
            span,
            label=f"{digits} digits",
            help="write it as FLOAT, `1e40`",
        )
    return const(Fraction(text if whole else "0" + text), decimal(max(1, digits, len(fraction)), len(fraction)), span)


def string(value: str, span: Span) -> Typed:
    typed = const(value, TEXT, span)
    return Typed(typed.term, typed.domain, span, text=value)


def literal(text: str, type: ValueType, span: Span) -> Typed:
    """A string literal read as `type`; one that cannot be read is an error, unlike a cast of data."""
    if type.kind in ("TEXT", "NULL"):
        return string(text, span)
    if type.kind == "INTERVAL":
        return const(interval_text(text, span), INTERVAL, span)
    value = evaluate("cast", (TEXT,), type, (text,))
    if value is None:
        raise refuse(
            "PQL0302",
            f"`'{_short(text)}'` is not {_article(type)}",
            span,
            help=f"write {_EXAMPLE.get(type.kind, f'a {type.kind} value')}",
        )
    return const(value, type, span)


def interval(node: ast.Interval, context: Context) -> Typed:
    amount = node.amount
    if isinstance(amount, ast.Param):
        bound = parameter(amount, context)
        if not bound.constant:
            raise unbound(amount, "an INTERVAL")
        text = str(bound.term.value) if isinstance(bound.term, Const) else ""
    else:
        text = amount.value if isinstance(amount, ast.String) else amount.text
    if node.unit is not None:
        return const(_interval_of(text, node.unit, node.span), INTERVAL, node.span)
    return const(interval_text(text, node.span), INTERVAL, node.span)


def interval_text(text: str, span: Span) -> tuple[int, int, int]:
    """`1 day 2 hours`: amounts and units by turns."""
    words = text.split()
    if not words or len(words) % 2:
        raise refuse(
            "PQL0302",
            f"`'{_short(text)}'` is not an INTERVAL",
            span,
            help="write INTERVAL '3 days' or INTERVAL '3' DAY",
        )
    total = (0, 0, 0)
    for amount, unit in zip(words[::2], words[1::2], strict=True):
        part = _interval_of(amount, unit.upper().removesuffix("S"), span)
        total = (total[0] + part[0], total[1] + part[1], total[2] + part[2])
    return total


def _interval_of(text: str, unit: str, span: Span) -> tuple[int, int, int]:
    amount = Fraction(text) if _AMOUNT.fullmatch(text) else Fraction(1, 10**12)
    if unit in _MICROSECONDS and (amount * _MICROSECONDS[unit]).denominator == 1:
        out = (0, 0, int(amount * _MICROSECONDS[unit]))
    elif unit in _MONTHS and amount.denominator == 1:
        out = (int(amount) * _MONTHS[unit], 0, 0)
    elif unit in ("DAY", "WEEK") and amount.denominator == 1:
        out = (0, int(amount) * (7 if unit == "WEEK" else 1), 0)
    else:
        raise refuse(
            "PQL0302",
            f"`{_short(text)} {unit}` is not an INTERVAL",
            span,
            help="write a whole number of YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE or SECOND",
        )
    if max(abs(part) for part in out) >= _INT_LIMIT // 10**6:
        raise refuse("PQL0302", "this INTERVAL is longer than the calendar", span, help="write a shorter one")
    return out


def parameter(node: ast.Param, context: Context) -> Typed:
    """A bound parameter is the literal that it stands for; an unbound one is a value of which nothing is known."""
    if node.name not in context.env.params:
        return Typed(Const(None, NULL), Domain(), node.span, free=True)
    value = context.env.params[node.name]
    span = node.span
    if value is None:
        return const(None, NULL, span)
    if isinstance(value, bool):
        return const(value, BOOL, span)
    if isinstance(value, int) and abs(value) < _INT_LIMIT:
        return const(value, INT, span)
    if isinstance(value, float) and math.isfinite(value):
        return const(value, FLOAT, span)
    if isinstance(value, datetime.datetime):
        return literal(value.isoformat(sep=" "), TIMESTAMP, span)
    if isinstance(value, datetime.date):
        return const(value.toordinal() - _EPOCH, DATE, span)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _MOST_DIGITS:
        text = format(abs(value), "f")
        plain = number(text, span)
        return const(-Fraction(text), plain.type, span) if value < 0 and plain.type.kind == "DECIMAL" else plain
    if isinstance(value, str):
        return string(value, span)
    raise refuse(
        "PQL0304",
        f"parameter `${node.name}` has a value that is no number, text, date or truth value",
        span,
        help="bind an int, a finite float, a Decimal, a str, a date, a bool or None",
    )


def unbound(node: ast.Param, where: str) -> Exception:
    return refuse(
        "PQL0304",
        f"parameter `${node.name}` has no value",
        node.span,
        why=f"{where} must be known to check the query",
        help=f"bind it: `--param {node.name}=…`, or `params={{'{node.name}': …}}`",
    )


_EXAMPLE = {
    "INT": "a whole number such as 42",
    "FLOAT": "a number such as 1.5",
    "DECIMAL": "a number such as 1.50",
    "BOOL": "TRUE or FALSE",
    "DATE": "a date as '2025-12-31'",
    "TIMESTAMP": "a timestamp as '2025-12-31 18:00:00'",
}


def _article(type: ValueType) -> str:
    return f"{'an' if type.kind[0] in 'AEIOU' else 'a'} {type}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"
