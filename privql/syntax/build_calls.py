"""The trees of calls and windows: one function for each rule of the grammar, called with its span and its children."""

from __future__ import annotations

from typing import Any, cast

from privql.diagnostics import Span
from privql.syntax.ast import Call, Expr, Frame, FrameEdge, Named, Number, OrderItem, Star, String, Window
from privql.syntax.build_parts import PRIVACY, Part, gathered, privacy, split


def plain_call(span: Span, name: str, *args: Expr) -> Call:
    return Call(name, args, span=span)


def trim(span: Span, name: str, *parts: Any) -> Call:
    """`TRIM(BOTH 'x' FROM s)` is `TRIM(s, 'x')`; LEADING and TRAILING are LTRIM and RTRIM."""
    *side, what, text = parts
    sided = {"LEADING": "LTRIM", "TRAILING": "RTRIM", "BOTH": name}[side[0].upper() if side else "BOTH"]
    return Call(sided, (text, what), span=span)


def trim_blanks(span: Span, name: str, *parts: Any) -> Call:
    """`TRIM(LEADING FROM s)`."""
    *side, text = parts
    return trim(span, name, *side, String(" ", span=span), text)


def substring_for(span: Span, name: str, text: Expr, length: Expr) -> Call:
    """`SUBSTRING(x FOR 3)` begins at the first character."""
    return Call(name, (text, Number("1", span=span), length), span=span)


def count_star(span: Span) -> Star:
    return Star(span=span)


def named(span: Span, name: str, value: Expr) -> Named:
    return Named(name, value, span=span)


def call(span: Span, name: str, *given: Any) -> Call:
    args, parts = split(given)
    own = [part for part in parts if part.field in PRIVACY]
    said = gathered(part for part in parts if part.field not in PRIVACY)
    return Call(
        name,
        tuple(args),
        distinct=said.get("quantifier") == "DISTINCT",
        order=said.get("order", ()),
        limit=said.get("limit"),
        nulls=said.get("nulls"),
        privacy=privacy(own),
        within_group=said.get("within_group", ()),
        filter=said.get("filter"),
        over=said.get("over"),
        span=span,
    )


def quantifier(span: Span, word: str) -> Part:
    return Part("quantifier", word.upper(), span, word.upper())


def order_clause(span: Span, *items: OrderItem) -> Part:
    return Part("order", items, span, "ORDER BY")


def order_item(span: Span, expr: Expr, *given: str) -> OrderItem:
    said = [word.upper() for word in given]
    nulls_first = "FIRST" in said if "NULLS" in said else None
    return OrderItem(expr, "DESC" in said, nulls_first, span=span)


def argument_limit(span: Span, amount: Expr) -> Part:
    return Part("limit", amount, span, "LIMIT")


def ignore_nulls(span: Span, word: str, nulls: str) -> Part:
    return Part("nulls", word.upper(), span, f"{word.upper()} NULLS")


def within_group(span: Span, order: Part) -> Part:
    return Part("within_group", order.value, span, "WITHIN GROUP")


def filter(span: Span, condition: Expr) -> Part:
    return Part("filter", condition, span, "FILTER")


def over(span: Span, window: Window) -> Part:
    return Part("over", window, span, "OVER")


def over_name(span: Span, name: str) -> Part:
    return Part("over", name, span, "OVER")


# ---------------------------------------------------------------- windows


def window(span: Span, *parts: Part) -> Window:
    return Window(**gathered(parts), span=span)


def window_base(span: Span, name: str) -> Part:
    return Part("base", name, span, name)


def partition(span: Span, items: tuple[Expr, ...]) -> Part:
    return Part("partition", items, span, "PARTITION BY")


def frame(span: Span, unit: str, start: FrameEdge, end: FrameEdge | None = None) -> Part:
    return Part("frame", Frame(cast(Any, unit.upper()), start, end, span=span), span, unit.upper())


def edge(span: Span, size: Any, word: str) -> FrameEdge:
    if isinstance(size, str):
        return FrameEdge(cast(Any, f"{size} {word}".upper()), span=span)
    return FrameEdge(cast(Any, word.upper()), size, span=span)
