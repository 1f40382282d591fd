"""Amounts of budget: exact, and linear in the parameters that are not bound yet."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from privql.diagnostics import PrivQLError, Span, refuse
from privql.frozen import frozen
from privql.kernel.cost import amount_text, parse_amount, parse_number
from privql.syntax import ast

_OF_ANSWERS = ("WITHIN", "GIVEN", "RUNS")  # of rows, or in the unit of a column: no ledger adds them up
MOST_SAID = 10**15  # of answers: more rows than anybody has


@frozen
class Amount:
    """`constant` + Σ factor * $parameter."""

    constant: Fraction = Fraction(0)
    params: tuple[tuple[str, Fraction], ...] = ()

    @property
    def known(self) -> bool:
        return not self.params

    def __bool__(self) -> bool:
        return bool(self.constant or self.params)

    def __add__(self, other: Amount) -> Amount:
        if not self.params and not other.params:
            return Amount(self.constant + other.constant)
        factors = dict(self.params)
        for name, factor in other.params:
            factors[name] = factors.get(name, Fraction(0)) + factor
        return Amount(self.constant + other.constant, tuple((n, f) for n, f in factors.items() if f))

    def __sub__(self, other: Amount) -> Amount:
        if not self.params and not other.params:
            return Amount(self.constant - other.constant)
        return self + other.times(Fraction(-1))

    def times(self, factor: Fraction) -> Amount:
        return Amount(self.constant * factor, tuple((name, f * factor) for name, f in self.params if factor))

    def __str__(self) -> str:
        """As JSON has it: `1/2`, `2*$e`, `1/4 + $e`."""
        parts = [str(self.constant)] if self.constant or not self.params else []
        parts += [f"${name}" if f == 1 else f"{f}*${name}" for name, f in self.params]
        return " + ".join(parts)

    @property
    def text(self) -> str:
        """As a person reads it: decimals where they are exact, and what is taken away with its minus."""
        terms = [(self.constant, "")] if self.constant or not self.params else []
        said = ""
        for factor, name in [*terms, *((factor, f"${name}") for name, factor in self.params)]:
            size = amount_text(abs(factor))
            sign = "-" if factor < 0 else "+" if said else ""
            said += (f" {sign} " if said else sign) + ((name if size == "1" else f"{size}*{name}") if name else size)
        return said


ZERO = Amount()


def amount(node: ast.Expr, params: Mapping[str, object], what: str) -> Amount:
    """The amount that the privacy clause states."""
    match node:
        case ast.Number(text=text):
            return Amount(_parse(text, node.span, what))
        case ast.String(value=text):
            return Amount(_parse(text, node.span, what))
        case ast.Param(name=name):
            if name not in params:
                return Amount(Fraction(0), ((name, Fraction(1)),))
            value = params[name]
            if not isinstance(value, (str, int, float, Fraction, Decimal)):
                raise refuse("PQL0503", f"`${name}` is not an amount", node.span, help="bind a number, such as 0.5")
            return Amount(_parse(value, node.span, what))
        case ast.Unary(op="+", operand=operand):
            return amount(operand, params, what)
        case ast.Binary(op=("+" | "-" | "*" | "/") as op, left=left, right=right):
            return _arithmetic(op, amount(left, params, what), amount(right, params, what), node.span, what)
        case _:
            raise refuse(
                "PQL0503",
                f"{what} is not an amount",
                node.span,
                help="write a number, a ratio such as 1/3, or a parameter `$e`",
            )


def known(node: ast.Expr, params: Mapping[str, object], what: str) -> Fraction:
    """An amount that must be known to check the query."""
    value = amount(node, params, what)
    if not value.known:
        raise refuse(
            "PQL0304",
            f"parameter `${value.params[0][0]}` has no value",
            node.span,
            why=f"{what} must be known to check the query",
            help=f"bind it: `--param {value.params[0][0]}=…`",
        )
    if what in _OF_ANSWERS and value.constant > MOST_SAID:
        raise _no_amount(f"{what}: {MOST_SAID:.0e} is the most that can be said here", node.span)
    return value.constant


def _no_amount(problem: str, span: Span) -> PrivQLError:
    return refuse("PQL0503", problem, span, help="write a number such as 0.5, or a ratio such as 1/3")


def _arithmetic(op: str, left: Amount, right: Amount, span: Span, what: str) -> Amount:
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*" and (left.known or right.known):
        return left.times(right.constant) if right.known else right.times(left.constant)
    if op == "/" and right.known and right.constant:
        return left.times(1 / right.constant)
    if op == "/" and right.known:
        raise _no_amount(f"{what} divides by zero", span)
    raise refuse(
        "PQL0503",
        f"{what} must be linear in its parameters",
        span,
        help="write a number, or a multiple of one parameter",
    )


def _parse(value: str | int | float | Fraction | Decimal, span: Span, what: str) -> Fraction:
    try:
        return parse_number(value) if what in _OF_ANSWERS else parse_amount(value)
    except ValueError as problem:
        raise _no_amount(f"{what}: {problem}", span) from None
