"""The trees of expressions: one function for each rule of the grammar, called with its span and its children."""

from __future__ import annotations

from typing import Any, Literal
from typing import cast as the

from privql.diagnostics import Span, refuse
from privql.syntax.ast import (
    Between,
    Binary,
    Boolean,
    Case,
    Cast,
    Column,
    Exists,
    Expr,
    Extract,
    Index,
    InList,
    InQuery,
    Interval,
    Is,
    IsDistinct,
    Like,
    ListOf,
    Null,
    Number,
    Param,
    Quantified,
    Query,
    Row,
    Scalar,
    String,
    Typed,
    TypeName,
    Unary,
)
from privql.syntax.build_parts import folded

UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


# ---------------------------------------------------------------- literals


def number(span: Span, text: str) -> Number:
    return Number(text, span=span)


def string(span: Span, value: str) -> String:
    return String(value, span=span)


def param(span: Span, name: str) -> Param:
    return Param(name, span=span)


def null(span: Span) -> Null:
    return Null(span=span)


def true(span: Span) -> Boolean:
    return Boolean(True, span=span)


def false(span: Span) -> Boolean:
    return Boolean(False, span=span)


def typed(span: Span, type: str, text: str) -> Typed:
    return Typed(type.upper(), text, span=span)


def interval_text(span: Span, amount: String, unit: str | None = None) -> Interval:
    return Interval(amount, unit and unit.upper(), span=span)


def interval(span: Span, amount: Number | Param, unit: str) -> Interval:
    singular = folded(unit).removesuffix("S")
    if singular not in UNITS:
        word = Span(span.end - len(unit), span.end)
        raise refuse("PQL0107", f"`{unit}` is no unit of time", word, help=f"write one of {', '.join(UNITS)}")
    return Interval(amount, singular, span=span)


def ratio(span: Span, numerator: Number, denominator: Number) -> Binary:
    return Binary("/", numerator, denominator, span=span)


# ---------------------------------------------------------------- operators


def or_(span: Span, left: Expr, right: Expr) -> Binary:
    return Binary("OR", left, right, span=span)


def and_(span: Span, left: Expr, right: Expr) -> Binary:
    return Binary("AND", left, right, span=span)


def not_(span: Span, operand: Expr) -> Unary:
    return Unary("NOT", operand, span=span)


def binary(span: Span, left: Expr, op: str, right: Expr) -> Binary:
    return Binary("<>" if op == "!=" else op, left, right, span=span)


def unary_(span: Span, op: Literal["-", "+", "~"], operand: Expr) -> Unary:
    return Unary(op, operand, span=span)


def is_(span: Span, operand: Expr, what: str) -> Is:
    return Is(operand, the(Any, what.upper()), False, span=span)


def is_not(span: Span, operand: Expr, what: str) -> Is:
    return Is(operand, the(Any, what.upper()), True, span=span)


def is_null(span: Span, operand: Expr) -> Is:
    return Is(operand, "NULL", False, span=span)


def is_not_null(span: Span, operand: Expr) -> Is:
    return Is(operand, "NULL", True, span=span)


def is_distinct(span: Span, left: Expr, right: Expr) -> IsDistinct:
    return IsDistinct(left, right, False, span=span)


def is_not_distinct(span: Span, left: Expr, right: Expr) -> IsDistinct:
    return IsDistinct(left, right, True, span=span)


def words(span: Span, *given: str) -> tuple[str, ...]:
    return tuple(word.upper() for word in given)


like = between = in_ = words


def like_(span: Span, operand: Expr, said: tuple[str, ...], pattern: Expr, escape: Expr | None = None) -> Like:
    kind = the(Any, " ".join(word for word in said if word != "NOT"))
    return Like(operand, pattern, escape, kind, "NOT" in said, span=span)


def between_(span: Span, operand: Expr, said: tuple[str, ...], low: Expr, high: Expr) -> Between:
    return Between(operand, low, high, "SYMMETRIC" in said, "NOT" in said, span=span)


def in_list(span: Span, operand: Expr, said: tuple[str, ...], items: tuple[Expr, ...]) -> InList:
    return InList(operand, items, "NOT" in said, span=span)


def in_query(span: Span, operand: Expr, said: tuple[str, ...], query: Query) -> InQuery:
    return InQuery(operand, query, "NOT" in said, span=span)


def quantified(span: Span, left: Expr, op: str, quantifier: str, query: Query) -> Quantified:
    which: Literal["ALL", "ANY"] = "ALL" if quantifier.upper() == "ALL" else "ANY"
    return Quantified("<>" if op == "!=" else op, left, which, query, span=span)


# ---------------------------------------------------------------- the rest of what has a value


def column(span: Span, *path: str) -> Column:
    return Column(path, span=span)


def exprs(span: Span, *items: Expr) -> tuple[Expr, ...]:
    return items


def row(span: Span, *items: Expr) -> Row:
    return Row(items, span=span)


def list_of(span: Span, *items: Expr) -> ListOf:
    return ListOf(items, span=span)


def index(span: Span, operand: Expr, index: Expr) -> Index:
    return Index(operand, index, span=span)


def scalar(span: Span, query: Query) -> Scalar:
    return Scalar(query, span=span)


def exists(span: Span, query: Query) -> Exists:
    return Exists(query, span=span)


def when(span: Span, condition: Expr, value: Expr) -> tuple[Expr, Expr]:
    return condition, value


def case(span: Span, *whens: Any) -> Case:
    return Case(None, whens, None, span=span)


def case_else(span: Span, *parts: Any) -> Case:
    return Case(None, parts[:-1], parts[-1], span=span)


def case_of(span: Span, operand: Expr, *whens: Any) -> Case:
    return Case(operand, whens, None, span=span)


def case_of_else(span: Span, operand: Expr, *parts: Any) -> Case:
    return Case(operand, parts[:-1], parts[-1], span=span)


def cast(span: Span, operand: Expr, type: TypeName) -> Cast:
    return Cast(operand, type, span=span)


def type(span: Span, *parts: str | Number) -> TypeName:
    name = " ".join(folded(part) for part in parts if isinstance(part, str))
    widths = [part for part in parts if isinstance(part, Number)]
    for width in widths:
        if not width.text.isdecimal() or len(width.text) > 4:
            message = f"`{width.text}` is no width of a type"
            raise refuse("PQL0107", message, width.span, help="write `DECIMAL(10, 2)`")
    return TypeName(name, tuple(int(width.text) for width in widths), span=span)


def extract(span: Span, field: str, operand: Expr) -> Extract:
    return Extract(folded(field), operand, span=span)
