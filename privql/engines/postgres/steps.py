"""Spelling of `Steps`: a number in whole steps of a grid, clamped, NULL where it is none.

The planner writes what a subquery computes wherever its name stands, so each mention of a value costs. NaN is above
all numbers here: only what is beyond the bounds is asked whether it is one. Whether there are steps is asked of the
value itself, not of them.
"""

from __future__ import annotations

from fractions import Fraction

from privql.engines.interface import EngineError
from privql.engines.postgres.expressions import double
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.measure import Measure, clamped, outward, power_of_two, whole_steps
from privql.engines.sql.stored import settled
from privql.functions.scalar.numbers import INT_MAX, INT_MIN
from privql.kernel.features import Steps
from privql.kernel.scalars import INT

_MARK = 10**60  # of fewer than 2^63 values of 38 digits, no sum comes near it
_EXACT = 2**53  # doubles up to this are the integers that they stand for


def measured(x: Spelled, steps: Steps, grouped: bool, dialect: Dialect) -> Measure:
    match x.type.kind:
        case "INT" if steps.grid == 1:
            low, high = dialect.literal(max(steps.low, INT_MIN), INT), dialect.literal(min(steps.high, INT_MAX), INT)
            if low.low <= x.low and x.high <= high.high:
                return Measure(x.sql)
            return Measure(clamped(x.sql, low.sql, high.sql), counted=x.sql)
        case "INT":
            return Measure(whole_steps(dialect.wide(x), Fraction(1), 2**63, steps, dialect))
        case "DECIMAL" if steps.grid == Fraction(1, 10**x.type.scale) and _within(x, steps):
            low, high = (dialect.literal(end * steps.grid, x.type) for end in (steps.low, steps.high))
            mark = _MARK if x.loose and not grouped else 0
            beyond = dialect.wide(mark) if mark else dialect.literal(None, x.type)
            above = f"CASE WHEN {dialect.finite(x)} THEN {high} ELSE {beyond} END" if x.loose else high
            sql = f"CASE WHEN {x} > {high} THEN {above} WHEN {x} < {low} THEN {low} ELSE {x} END"
            counted = (
                x.sql if mark else _there(x, dialect)
            )  # to ask each value whether it is NaN takes a fourth as long
            return Measure(sql, x.type.scale, counted, mark=mark)  # made whole once a group
        case "DECIMAL":
            unit, beyond = Fraction(1, 10**x.type.scale), 10**x.type.precision
            units = f"trunc({settled(x, dialect)} * {dialect.wide(10**x.type.scale)})"
            return Measure(whole_steps(units, unit, beyond, steps, dialect))
        case "FLOAT":
            return Measure(_double(x, steps, dialect), counted=_there(x, dialect))
        case _:
            raise EngineError("unsupported")


def _there(x: Spelled, dialect: Dialect) -> str:
    return f"CASE WHEN {dialect.finite(x)} THEN TRUE END" if x.loose else x.sql


def _within(x: Spelled, steps: Steps) -> bool:
    return all(abs(end) < 10**x.type.precision for end in (steps.low, steps.high))


def _double(x: Spelled, steps: Steps, dialect: Dialect) -> str:
    """In doubles, where scaling by a power of two is exact. The cast rounds as Steps do: half to even. What rounds to
    nothing is not scaled: where a product is too small for a double, PostgreSQL raises."""
    grid = steps.grid
    power_of_two(grid)
    low, high, half = outward(steps.low * grid, -1), outward(steps.high * grid, 1), float(grid / 2)
    ends = dialect.literal(steps.low, INT).sql, dialect.literal(steps.high, INT).sql
    below, above = (f"CASE WHEN {dialect.finite(x)} THEN {end} END" if x.loose else end for end in ends)
    nothing = f" WHEN {x} BETWEEN {double(-half)} AND {double(half)} THEN {dialect.literal(0, INT)}" if grid > 1 else ""
    scaled = f"({x} * {double(float(1 / grid))})::bigint"
    sql = (
        f"CASE WHEN {x} > {double(high)} THEN {above} WHEN {x} < {double(low)} THEN {below}{nothing} ELSE {scaled} END"
    )
    if max(abs(steps.low), abs(steps.high)) <= _EXACT:
        return sql
    return dialect.bound("__s", [sql], lambda names: clamped(names[0], *ends))
