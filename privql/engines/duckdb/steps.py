"""Spelling of `Steps`: a number in whole steps of a grid, clamped, NULL where it is none.

A `Measure` says how to sum it. What was measured (CPU a row over 5M rows of Parquet, grouped by 8 texts; the bare sum
is 3.7 ns, or 7.1 where values are not stored as a dictionary):

    INT, a dictionary      CASE with two comparisons 7.1   LEAST(GREATEST) 3.7   sum FILTER and counts 12.9
    INT, none              CASE 9.1                        LEAST(GREATEST) 11.7
    DECIMAL                CASE 8.8                        LEAST(GREATEST) 15.6
    FLOAT                  CASE 7.4                        products with truth values 6.5   (and 0.3 for a floor)

So an INT of narrow range - which Parquet stores as a dictionary - takes LEAST and GREATEST, which read the dictionary
alone, although they pass NULL over: every NULL is summed as the lower bound, and taken off again by its count. A
DECIMAL is summed as it is and made whole once a group, which saves a multiplication a row. Where groups are as many as
units, both are the other way round: what is done once a group costs more (1.3 of the bare sum; a row, 1.05).
"""

from __future__ import annotations

from fractions import Fraction

from privql.engines.duckdb.expressions import literal
from privql.engines.duckdb.numbers import least_units
from privql.engines.interface import EngineError
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.measure import Measure, clamped, outward, power_of_two, whole_steps
from privql.functions.scalar.numbers import INT_MAX, INT_MIN
from privql.kernel.features import Steps
from privql.kernel.scalars import INT

_NARROW = 2**13
_EXACT = 2**53  # doubles up to this are the integers that they stand for


def measured(x: Spelled, steps: Steps, grouped: bool, dialect: Dialect) -> Measure:
    match x.type.kind:
        case "INT" if steps.grid == 1:
            low, high = literal(max(steps.low, INT_MIN), INT), literal(min(steps.high, INT_MAX), INT)
            if low.low <= x.low and x.high <= high.high:
                return Measure(x.sql)
            if steps.high - steps.low <= _NARROW and not grouped:
                return Measure(f"least(greatest({x}, {low}), {high})", counted=x.sql, null_as=steps.low)
            return Measure(clamped(x.sql, low.sql, high.sql))
        case "INT":
            return Measure(whole_steps(least_units(x), Fraction(1), 2**63, steps, dialect))
        case "DECIMAL" if x.type.precision <= 18 and _plain(x, steps):
            most = 10**x.type.precision - 1
            ends = (literal(min(max(end, -most), most) * steps.grid, x.type).sql for end in (steps.low, steps.high))
            inside = clamped(x.sql, *ends)
            if grouped and x.type.precision + x.type.scale < 18:
                power = f"DECIMAL({x.type.scale + 1},0) '{10**x.type.scale}'"
                return Measure(f"CAST(({inside}) * {power} AS BIGINT)")
            return Measure(inside, x.type.scale)
        case "DECIMAL":
            unit, beyond = Fraction(1, 10**x.type.scale), 10**x.type.precision
            return Measure(whole_steps(least_units(x), unit, beyond, steps, dialect))
        case "FLOAT":
            return Measure(_double(x, steps))
        case _:
            raise EngineError("unsupported")


def _plain(x: Spelled, steps: Steps) -> bool:
    """Whether a DECIMAL is clamped within its own type."""
    most = 10**x.type.precision
    return steps.grid == Fraction(1, 10**x.type.scale) and steps.low < most and steps.high > -most


def _double(x: Spelled, steps: Steps) -> str:
    """In doubles, where scaling by a power of two is exact. NaN and infinities times 0 are NaN, which casts to NULL."""
    grid = steps.grid
    power_of_two(grid)
    low, high = outward(steps.low * grid, -1), outward(steps.high * grid, 1)
    inside = f"{x} * CAST({x} BETWEEN {_exact(low)} AND {_exact(high)} AS DOUBLE)"
    inside += f" + {_exact(high)} * CAST({x} > {_exact(high)} AS DOUBLE)" if high else ""
    inside += f" + {_exact(low)} * CAST({x} < {_exact(low)} AS DOUBLE)" if low else ""
    steps_of = f"TRY_CAST(({inside}) * {_exact(float(1 / grid))} AS BIGINT)"  # rounds as Steps do: half to even
    if max(abs(steps.low), abs(steps.high)) <= _EXACT:
        return steps_of
    ends = literal(steps.low, INT).sql, literal(steps.high, INT).sql
    return f"list_transform([{steps_of}], lambda __s: {clamped('__s', *ends)})[1]"


def _exact(value: float) -> str:
    return f"DOUBLE '{value!r}'"
