"""The first argument of functions of the calendar: the name of a unit, as `'month'`, `'Months'` or the bare word."""

from __future__ import annotations

from privql.check import constants
from privql.check import expressions as ex
from privql.check.typed import Place, Typed
from privql.functions.scalar.calendar import CLOCK, DATE_FIELDS, DATE_UNITS, named
from privql.syntax import ast

UNIT_FIRST = frozenset({"extract", "date_trunc", "date_diff", "whole_units"})
_WORDS = frozenset({*DATE_FIELDS, *DATE_UNITS, *CLOCK})


def unit(node: ast.Expr, place: Place) -> Typed:
    """A bare word can only be a unit: no column is constant."""
    if isinstance(node, ast.Column) and len(node.path) == 1 and named(node.path[0]) in _WORDS:
        return constants.string(named(node.path[0]), node.span)
    value = ex.typed(node, place)
    return value if value.text is None else constants.string(named(value.text), value.span)
