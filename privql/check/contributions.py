"""An aggregate's bounds and ε as named arguments: `SUM(x, contribution_bounds_per_row => (0, 9), epsilon => 0.1)`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privql.check.operations import not_yet
from privql.check.scope import unknown_name
from privql.diagnostics import Span, refuse
from privql.frozen import inside
from privql.functions.aggregate.public import AGGREGATES
from privql.names import fold
from privql.syntax import ast, unparse

PER_GROUP, PER_ROW = "contribution_bounds_per_group", "contribution_bounds_per_row"
ARGUMENTS = (PER_GROUP, PER_ROW, "epsilon")


def is_total(arg: ast.Named) -> bool:
    return fold(arg.name) == PER_GROUP


def _split(call: ast.Call) -> tuple[ast.Call, dict[str, ast.Named]]:
    """The call without its named arguments, its own ε in its own clause; and those arguments."""
    given: dict[str, ast.Named] = {}
    for arg in call.args:
        if isinstance(arg, ast.Named):
            if fold(arg.name) == "report_format":
                raise refuse(
                    "PQL0209",
                    "no argument named `report_format`",
                    arg.span,
                    help="leave it out: every measured value has its interval, and `EXPLAIN` tells its noise",
                )
            if fold(arg.name) not in ARGUMENTS:
                raise unknown("argument", arg, ARGUMENTS, "=>")
            if fold(arg.name) in given:
                raise twice(arg.name, arg.span)
            given[fold(arg.name)] = arg
    privacy = call.privacy
    epsilon = given.get("epsilon")
    if epsilon is not None:
        if privacy is not None and (privacy.epsilon is not None or privacy.within is not None):
            raise twice(epsilon.name, epsilon.span)
        privacy = replace(privacy or ast.Privacy(span=epsilon.span), epsilon=epsilon.value)
    args = tuple(arg for arg in call.args if not isinstance(arg, ast.Named))
    return replace(call, args=args, privacy=privacy), given


def _bounds(given: ast.Named) -> tuple[ast.Expr, ast.Expr]:
    match given.value:
        case ast.Row(items=(low, high)) | ast.Call(name="STRUCT", args=(low, high)):
            told = next((each for part in (low, high) for each in _columns(part)), None)
            if told is not None:
                raise refuse(
                    "PQL0308",
                    "a bound must be constant",
                    told.span,
                    help="write a number, or bind a parameter `$bound`",
                )
            least, most = _number(low), _number(high)
            if least is not None and most is not None and least > most:
                raise refuse(
                    "PQL0302",
                    "the lower bound is above the upper one",
                    given.value.span,
                    help=f"write `{given.name} => ({unparse(high)}, {unparse(low)})`",
                )
            return low, high
        case _:
            raise refuse(
                "PQL0303", f"`{given.name}` takes two bounds", given.span, help=f"write `{given.name} => (0, 10)`"
            )


def _columns(node: ast.Node) -> Iterator[ast.Column]:
    if isinstance(node, ast.Column):
        yield node
    for each in inside(node):
        if isinstance(each, ast.Node):
            yield from _columns(each)


def _clamp(value: ast.Expr, given: ast.Named) -> ast.Call:
    return ast.Call("CLAMP", (value, *_bounds(given)), span=value.span)


def plain(node: Any) -> Any:
    """An aggregate of the form as this language writes it, over rows of which each unit has one or each is bounded."""
    if isinstance(node, ast.Query):
        return node  # another query says for itself what it is
    if not isinstance(node, ast.Call) or node.over is not None or node.name.lower() not in AGGREGATES:
        return None
    call, given = _split(node)
    counting = call.name.lower() == "count"
    per_row, per_group = given.get(PER_ROW), given.get(PER_GROUP)
    if per_row is not None and per_group is not None:
        raise refuse("PQL0108", "bounds per row and per group", per_group.span, help=f"keep `{PER_GROUP}`")
    if counting and per_row is not None:
        raise refuse("PQL0108", "a row counts 1", per_row.span, help=f"leave `{PER_ROW}` out")
    if counting and per_group is not None:
        low, high = (_number(bound) for bound in _bounds(per_group))
        if low is None or high is None or not low <= 1 <= high:
            raise refuse(
                "PQL0302",
                "a unit that has one row counts 1",
                per_group.span,
                help=f"write `{PER_GROUP} => (0, 1)`, or leave it out",
            )
    bounds = None if counting else per_row or per_group
    if bounds is None or not call.args:
        return call
    return replace(call, args=(_clamp(call.args[0], bounds), *call.args[1:]))


def _number(node: ast.Expr) -> Fraction | None:
    match node:
        case ast.Number(text=text):
            return Fraction(text)
        case ast.Unary(op="-", operand=ast.Number(text=text)):
            return -Fraction(text)
        case _:
            return None


def total(node: ast.Call, name: ast.Column) -> tuple[ast.Call, ast.Call]:
    """An aggregate's exact total of one unit in one group, and what is measured of those totals."""
    call, given = _split(node)
    if PER_ROW in given:
        raise refuse("PQL0108", "bounds per row and per group", given[PER_ROW].span, help=f"keep `{PER_GROUP}` alone")
    if call.name.lower() not in ("count", "sum", "avg"):
        raise not_yet(
            f"`{call.name.upper()}` of totals per unit and group", call.span, "COUNT, SUM and AVG can be used"
        )
    measured = "AVG" if call.name.lower() == "avg" else "SUM"
    outer = ast.Call(measured, (_clamp(name, given[PER_GROUP]),), privacy=call.privacy, span=call.span)
    return replace(call, privacy=None), outer


def unknown(kind: str, given: ast.Named, known: tuple[str, ...], sign: str) -> Exception:
    return unknown_name(
        "PQL0209", kind, given.name, given.span, known, lambda near: f"{near} {sign} {unparse(given.value)}"
    )


def twice(name: str, span: Span) -> Exception:
    return refuse("PQL0105", f"`{name}` is given twice", span, help="keep one")
