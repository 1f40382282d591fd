"""Sums of a unit's own rows as features of the kernel: exact, however large their numbers are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce

from privql.check.relations import Aggregate
from privql.domains import grid_of
from privql.domains.arithmetic import limits
from privql.domains.arithmetic import span as ends
from privql.kernel.features import STEP_LIMIT, Feature, Moment, Steps, Tally, Total
from privql.kernel.scalars import INT, Apply, Const, Field, Scalar, ValueType, decimal
from privql.plan.bounds import steps_of
from privql.plan.declared import applied

Totals = Sequence[tuple[Scalar, Fraction]]  # a whole number each, and of how much

_FEW = 2**42  # a total has at most 2^62 steps: a million numbers of so many
_LONG = 2**61  # and a moment of one factor has as many in each row
_HALF = 31  # bits of an INT
_DIGITS = 10**10
_WIDEST = 2 * 10**37  # least units of a DECIMAL, of which engines take the quotient in 128 bits
_WHOLE = decimal(19, 0)


def added_up(one: Aggregate, present: Scalar, feature: Callable[[str, Feature, ValueType], Field]) -> Totals:
    """As fine as the type is, or as a bounded range needs.

    Where not even a million numbers are sure to fit a total, an INT is taken apart into its upper and its lower bits, a
    DECIMAL is added up in 128 bits; and one that these do not hold is taken apart, ten digits at a time.
    """
    value, known = one.argument, one.domain
    assert value is not None
    unit = grid_of(value.type)
    totals: list[tuple[Scalar, Fraction]] = []

    def total(steps: Steps, of: Fraction) -> None:
        name = f"total{len(totals)}" if totals else "total"
        totals.append((feature(name, Total(steps, one.where), INT), of))

    if unit is None or known.empty:  # sums of FLOAT without bounds are refused
        steps = steps_of(value, known, spread=False)
        total(steps, steps.grid)
        return totals
    low, high = ends(known) if known.bounded else limits(value.type)
    grid = known.grid if known.bounded and known.grid is not None else unit
    far = max(-low, high)
    if far <= _FEW * grid:
        steps = steps_of(value, known, spread=False) if known.bounded else Steps(value, grid, -STEP_LIMIT, STEP_LIMIT)
        total(steps, steps.grid)
    elif value.type == INT:
        upper = applied("shift_right", value, Const(_HALF, INT))
        lower = applied("bits_and", value, Const(2**_HALF - 1, INT))
        total(Steps(upper, Fraction(1), -(2 ** (_HALF + 1)), 2 ** (_HALF + 1)), Fraction(2**_HALF))
        total(Steps(lower, Fraction(1), 0, 2**_HALF), Fraction(1))
    elif far <= _LONG * grid:
        most = math.floor(far / grid)
        steps = steps_of(value, known, spread=False) if known.bounded else Steps(value, grid, -most, most)
        above = feature("above", Moment((steps,), one.where), decimal(38, 0))
        rows = applied("mul", _whole(feature("present", Tally(present), INT)), Const(Fraction(steps.low), _WHOLE))
        totals.append((applied("add", above, rows), steps.grid))
    else:
        last, most = None, _WIDEST
        while far >= unit:
            beyond = unit * _DIGITS
            digits = value if far < beyond else applied("mod", value, Const(beyond, value.type))
            part, end = digits if last is None else applied("sub", digits, last), min(_DIGITS, most)
            total(Steps(part, unit, -end, end), unit)
            unit, last, most = beyond, digits, most // _DIGITS
    return totals


def in_units(totals: Totals, type: ValueType) -> Scalar:
    return reduce(partial(applied, "add"), (_in_units(total, of, type) for total, of in totals))


def _in_units(total: Scalar, of: Fraction, type: ValueType) -> Scalar:
    match type.kind:
        case "INT":
            return total if of == 1 else applied("mul", total, Const(int(of), INT))
        case "FLOAT":
            return applied("mul", cast(total, type), Const(float(of), type))
        case _:
            scale = 0 if of.denominator == 1 else type.scale
            written = decimal(min(len(str(of.numerator)) + scale, 38), scale)  # of 38 places, it is below 1
            return cast(applied("mul", _whole(total), Const(of, written)), type)


def _whole(total: Scalar) -> Scalar:
    return cast(total, _WHOLE) if total.type == INT else total


def cast(value: Scalar, type: ValueType) -> Scalar:
    return value if value.type == type else Apply("cast", (value,), type)
