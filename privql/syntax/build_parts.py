"""Clauses on their way into a tree, and the privacy clause, which queries, aggregates and tables share.

A rule that reads a clause makes a `Part`; the rule that owns the clause folds its parts, each at most once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from privql.diagnostics import Fix, Span, refuse
from privql.syntax import ast


class Part(NamedTuple):
    field: str
    value: Any
    span: Span
    words: str  # what the clause is called in a message


def gathered(parts: Iterable[Part], *, separable: bool = True) -> dict[str, Any]:
    """The parts by field; one that is given twice is refused, and may be deleted if nothing holds it to the others."""
    found: dict[str, Any] = {}
    for part in parts:
        if part.field in found:
            fixes = (Fix(part.span, ""),) if separable else ()
            message = f"`{part.words}` is given twice"
            advice = "keep one of them"
            if part.field == "at_most":
                advice += "; rows and groups go together, `AT MOST 2 GROUPS AND 5 ROWS PER UNIT`"
            raise refuse("PQL0105", message, part.span, help=advice, fixes=fixes)
        found[part.field] = part.value
    return found


def split(given: Iterable[Any]) -> tuple[list[Any], list[Part]]:
    """Children that are trees, and children that are clauses."""
    nodes, parts = [], []
    for child in given:
        if isinstance(child, Part):
            parts.append(child)
        else:
            nodes.append(child)
    return nodes, parts


# ---------------------------------------------------------------- the privacy clause

_TOLD = frozenset({"at_most", "spend", "within", "confidence", "max_epsilon", "given"})
PRIVACY = _TOLD | frozenset({"mechanism", "share", "bounds_auto", "schedule"})
_PERIODS: dict[str, Literal["HOUR", "DAY", "WEEK"]] = {
    "HOUR": "HOUR", "HOURS": "HOUR", "DAY": "DAY", "DAYS": "DAY", "WEEK": "WEEK", "WEEKS": "WEEK",
}  # fmt: skip


def privacy(parts: list[Part]) -> ast.Privacy | None:
    """The clause that these parts say together."""
    if not parts:
        return None
    given = gathered(parts)
    spans = {part.field: part.span for part in parts}
    epsilon, delta = given.get("spend", (None, None))
    within, percent = given.get("within", (None, False))
    if within is None:
        for field, words in (("confidence", "AT … %"), ("max_epsilon", "MAX EPSILON"), ("given", "GIVEN")):
            if field in given:
                raise refuse(
                    "PQL0108",
                    f"`{words}` needs a `WITHIN`",
                    spans[field],
                    why=f"`{words}` says more about the accuracy that `WITHIN` asks for",
                    help="write `WITHIN 20 AT 95%`, or leave it out",
                )
    elif epsilon is not None:
        raise refuse(
            "PQL0108",
            "`SPEND EPSILON` and `WITHIN` cannot stand together",
            max(spans["spend"], spans["within"]),
            why="one fixes what is spent, the other the accuracy that decides what is spent",
            help="keep one; `MAX EPSILON e` limits what a `WITHIN` may spend",
        )
    return ast.Privacy(
        **given.get("at_most", {}),
        epsilon=epsilon,
        delta=delta,
        within=within,
        within_percent=percent,
        confidence=given.get("confidence"),
        max_epsilon=given.get("max_epsilon"),
        given=given.get("given"),
        mechanism=given.get("mechanism"),
        share=given.get("share"),
        bounds_auto="bounds_auto" in given,
        schedule=given.get("schedule"),
        span=parts[0].span.to(parts[-1].span),
    )


def at_most(span: Span, *parts: Part) -> Part:
    return Part("at_most", gathered(parts, separable=False), span, "AT MOST")


def most_rows(span: Span, amount: ast.Expr) -> Part:
    return Part("rows", amount, span, "ROWS")


def most_groups(span: Span, amount: ast.Expr) -> Part:
    return Part("groups", amount, span, "GROUPS")


def per_unit(span: Span, unit: str | None = None) -> Part:
    return Part("per_unit", unit, span, "PER UNIT")


def spend(span: Span, epsilon: ast.Expr, delta: ast.Expr | None = None) -> Part:
    return Part("spend", (epsilon, delta), span, "SPEND")


def spend_delta(span: Span, delta: ast.Expr) -> Part:
    return Part("spend", (None, delta), span, "SPEND")


def within(span: Span, amount: ast.Expr) -> Part:
    return Part("within", (amount, False), span, "WITHIN")


def within_percent(span: Span, amount: ast.Expr) -> Part:
    return Part("within", (amount, True), span, "WITHIN")


def confidence(span: Span, percent: ast.Expr) -> Part:
    return Part("confidence", percent, span, "AT")


def max_epsilon(span: Span, amount: ast.Expr) -> Part:
    return Part("max_epsilon", amount, span, "MAX EPSILON")


def given(span: Span, name: str, comparison: str, amount: ast.Expr) -> Part:
    if folded(name) != "COUNT" or comparison != ">=":
        raise refuse(
            "PQL0108",
            f"GIVEN {name} {comparison} says nothing that WITHIN could use",
            span,
            why="what an average's error depends on is how many rows there are at least",
            help="write `GIVEN COUNT >= 1000`",
        )
    return Part("given", amount, span, "GIVEN")


def mechanism(span: Span, name: str) -> Part:
    return Part("mechanism", folded(name), span, "USING")


def share(span: Span, amount: ast.Expr) -> Part:
    return Part("share", amount, span, "SHARE")


def bounds_auto(span: Span) -> Part:
    return Part("bounds_auto", True, span, "BOUNDS AUTO")


def every(span: Span, *given: Any) -> ast.Every:
    *counted, word = given
    period = _PERIODS.get(folded(word))
    count = counted[0].text if counted else "1"
    if period is not None and count.isdigit() and len(count.lstrip("0")) > 6:
        help = "write `EVERY DAY`, `EVERY 30 DAYS` or `EVERY 2 WEEKS`"
        raise refuse("PQL0108", f"`EVERY {count}` is too long", span, why="nobody will see the second time", help=help)
    if period is None or not count.isdigit() or int(count) == 0:
        raise refuse(
            "PQL0108",
            "`EVERY` needs a whole number of hours, days or weeks",
            span,
            why="months and years differ in length",
            help="write `EVERY DAY`, `EVERY 30 DAYS` or `EVERY 2 WEEKS`",
        )
    return ast.Every(int(count), period, span=span)


def schedule(span: Span, every: ast.Every, runs: ast.Expr) -> Part:
    return Part("schedule", ast.Schedule(every, runs, span=span), span, "EVERY")


def folded(word: str) -> str:
    """Upper case where there is one: only ASCII letters have a case."""
    return word.upper() if word.isascii() else word
