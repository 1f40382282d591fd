"""Literals and parameters: what a piece of text is worth once a type is wanted of it."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

from privql.check import intervals
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
from privql.syntax.parse import MAX_TEXT

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_INT_LIMIT = 2**63
_MOST_DIGITS = 38


def number(text: str, span: Span) -> Typed:
    """`12` is INT (DECIMAL beyond 64 bits), `1.50` DECIMAL, `1e3` FLOAT."""
    if "e" in text.lower():
        value = float(text)
        if not math.isfinite(value):
            raise refuse("PQL0302", f"`{text}` is too large for FLOAT", span, help="write a number below 1.8e308")
        return const(value, FLOAT, span)
    whole, _, fraction = text.partition(".")
    if not fraction and int(whole) < _INT_LIMIT:
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
    return const(Fraction(text), decimal(digits, len(fraction)), span)


def string(value: str, span: Span) -> Typed:
    typed = const(value, TEXT, span)
    return Typed(typed.term, typed.domain, span, text=value)


def literal(text: str, type: ValueType, span: Span) -> Typed:
    """A string literal read as `type`; one that cannot be read is an error, unlike a cast of data."""
    if type.kind in ("TEXT", "NULL"):
        return string(text, span)
    if type.kind == "INTERVAL":
        return const(intervals.read(text, None, span), INTERVAL, span)
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
    return const(intervals.read(text, node.unit, node.span), INTERVAL, node.span)


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
        type = number(format(value.copy_abs(), "f"), span).type
        return const(int(value) if type == INT else Fraction(value), type, span)
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            why = f"it has {len(value):,} characters, and {MAX_TEXT:,} are read"
            raise refuse("PQL0103", f"the text of `${node.name}` is too long", span, why=why)
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
