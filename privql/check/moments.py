"""The first argument of functions of the calendar: the name of a unit, as `'month'`, `'Months'` or the bare word."""

from __future__ import annotations

from dataclasses import replace

from privql.check import constants
from privql.check import expressions as ex
from privql.check.typed import Place, Typed
from privql.diagnostics import refuse
from privql.functions.scalar.calendar import CLOCK, DATE_FIELDS, DATE_UNITS, named
from privql.names import fold
from privql.syntax import ast, unparse

UNIT_FIRST = frozenset({"extract", "date_trunc", "date_diff", "whole_units"})
_UNITS = frozenset({*DATE_UNITS, *CLOCK})
_WORDS = frozenset({*DATE_FIELDS, *DATE_UNITS, *CLOCK})


def unit_first(node: ast.Call, op: str) -> ast.Call:
    """GoogleSQL's `DATE_TRUNC(d, MONTH)` and `DATE_DIFF(later, d, DAY)`, as they are written here."""
    if op not in ("date_trunc", "date_diff") or len(node.args) < 2 or _names_unit(node.args[0]):
        return node
    last = node.args[-1]
    if (isinstance(last, ast.Call) and fold(last.name) == "week") or _bare(last) == "WEEK":
        raise refuse(
            "PQL0308",
            f"`{unparse(last)}` is not the week here",
            last.span,
            why="in GoogleSQL it begins on Sunday, or on the day named; here it begins on Monday",
            help="write `ISOWEEK`, which begins on Monday in both",
        )
    word = "WEEK" if _bare(last) == "ISOWEEK" else _bare(last)
    if word not in _UNITS:
        return node
    return replace(node, args=(ast.String(word, span=last.span), *reversed(node.args[:-1])))


def _bare(node: ast.Expr) -> str:
    return node.path[0].upper() if isinstance(node, ast.Column) and len(node.path) == 1 else ""


def _names_unit(node: ast.Expr) -> bool:
    return isinstance(node, ast.String) or named(_bare(node)) in _WORDS


def unit(node: ast.Expr, place: Place) -> Typed:
    """A bare word can only be a unit: no column is constant."""
    if named(_bare(node)) in _WORDS:
        return constants.string(named(_bare(node)), node.span)
    value = ex.typed(node, place)
    return value if value.text is None else constants.string(named(value.text), value.span)
