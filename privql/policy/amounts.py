"""Reading ε, δ and counts of a policy: numbers, ratios, or arithmetic on them in parentheses."""

from __future__ import annotations

from fractions import Fraction

from privql.diagnostics import PrivQLError, refuse
from privql.kernel.cost import check_chargeable, check_delta, check_epsilon, parse_amount
from privql.syntax import ast


def epsilon_amount(expr: ast.Expr) -> Fraction:
    value = _amount(expr)
    try:
        check_epsilon(value)
    except ValueError as reason:
        raise _refused(expr, str(reason), "write a positive amount, such as `EPSILON 1`") from None
    return value


def delta_amount(expr: ast.Expr) -> Fraction:
    value = _amount(expr)
    try:
        check_delta(value)
    except ValueError as reason:
        raise _refused(expr, str(reason), "write an amount far below one over the number of units") from None
    return value


def share_amount(expr: ast.Expr) -> Fraction:
    """A part of something: none of it, all of it, or between."""
    value = _amount(expr)
    if value > 1:
        raise _refused(expr, "a share is a part of one", "write a ratio such as `1/4`")
    return value


def row_count(expr: ast.Expr) -> int:
    """The n of AT MOST n ROWS."""
    match expr:
        case ast.Number(text=text) if text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0:
            return int(text)
        case _:
            raise refuse(
                "PQL0716",
                "`AT MOST` needs a whole number of rows, one or more",
                expr.span,
                help="write how many rows of one unit may count, such as `AT MOST 20 ROWS PER UNIT`",
            )


HOURS = {"HOUR": 1, "DAY": 24, "WEEK": 7 * 24}
LONGEST = 100 * 366 * 24  # hours


def hours(every: ast.Every) -> int:
    return every.count * HOURS[every.period]


def lasting(hours: int) -> str:
    """`day`, `30 days`, `36 hours`: so many hours in the longest periods of which they are made."""
    period = next(name for name in ("WEEK", "DAY", "HOUR") if hours % HOURS[name] == 0)
    count = hours // HOURS[period]
    return period.lower() if count == 1 else f"{count} {period.lower()}s"


SECONDS = {"SECOND": 1, "MINUTE": 60}
BRIEFEST, SLOWEST = Fraction(1, 10), 3600


def seconds(pad: ast.PadTime) -> Fraction:
    """The length of PAD TIME. A machine's own haste would show through a shorter one."""
    try:
        found = parse_amount(pad.count.text) * SECONDS[pad.period]
    except ValueError:
        found = Fraction(0)
    if not BRIEFEST <= found <= SLOWEST:
        raise refuse(
            "PQL0734",
            "time is padded to a tenth of a second at least and to an hour at most",
            pad.span,
            why="nobody keeps a shorter time to the point, and every query takes so long",
            help="write how long most queries take, such as `PAD TIME TO 2 SECONDS`",
        )
    return found


def _amount(expr: ast.Expr) -> Fraction:
    try:
        value = _computed(expr)
        check_chargeable(value)
    except (ValueError, ZeroDivisionError) as reason:
        shown = "this amount divides by zero" if isinstance(reason, ZeroDivisionError) else str(reason)
        raise _refused(expr, shown, "write a number such as `0.1`, or a ratio such as `1/3`") from None
    return value


def _computed(expr: ast.Expr) -> Fraction:
    match expr:
        case ast.Number(text=text):
            return parse_amount(text)
        case ast.Unary(op="-", operand=operand):
            return -_computed(operand)
        case ast.Unary(op="+", operand=operand):
            return _computed(operand)
        case ast.Binary(op="+", left=left, right=right):
            return _computed(left) + _computed(right)
        case ast.Binary(op="-", left=left, right=right):
            return _computed(left) - _computed(right)
        case ast.Binary(op="*", left=left, right=right):
            return _computed(left) * _computed(right)
        case ast.Binary(op="/", left=left, right=right):
            return _computed(left) / _computed(right)
        case ast.Param():
            raise ValueError("a policy takes no parameters")
        case _:
            raise ValueError("an amount of budget is a number")


def _refused(expr: ast.Expr, message: str, help: str) -> PrivQLError:
    return refuse("PQL0718", message, expr.span, help=help)
