"""Spelling of `Steps`: a number in whole steps of a grid, clamped, NULL where it is none; and how they are summed.

SUM of a BIGINT wraps, and one of DECIMALs of more than 18 digits makes two objects a row. So what is summed is 21 bits
of a number at a time, each in 64 bits, which 2^42 rows cannot fill, and is put together once a group.
"""

from __future__ import annotations

from fractions import Fraction

from privql.engines.interface import EngineError
from privql.engines.spark.expressions import double, literal
from privql.engines.spark.numbers import least_units
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.measure import Measure, clamped, outward, power_of_two, whole_steps
from privql.functions.scalar.numbers import INT_MAX, INT_MIN
from privql.kernel.features import Steps
from privql.kernel.scalars import INT

_PART = 21  # bits
# Numbers of so many digits are different doubles, in the same order, and times a power of ten nearer than 1/4 to the
# whole number that each stands for. A bound of more digits is never met.
_DIGITS = 15
_EXACT = 2**53  # doubles up to this are the integers that they stand for


def measured(x: Spelled, steps: Steps, dialect: Dialect) -> Measure:
    """`x` is a leaf: the value of the steps, perhaps loose if FLOAT."""
    match x.type.kind:
        case "INT" if steps.grid == 1:
            low, high = literal(max(steps.low, INT_MIN), INT), literal(min(steps.high, INT_MAX), INT)
            inside = low.low <= x.low and x.high <= high.high
            return _summable(x.sql if inside else clamped(x.sql, low.sql, high.sql), steps)
        case "INT":
            return _summable(whole_steps(least_units(x), Fraction(1), 2**63, steps, dialect), steps)
        case "DECIMAL" if x.type.precision <= _DIGITS and _plain(x, steps):
            least, greatest = (double(float(end * steps.grid)) for end in (steps.low, steps.high))
            number = clamped(f"CAST({x} AS DOUBLE)", least, greatest)
            return _summable(f"rint(({number}) * {double(10.0**x.type.scale)})", steps)
        case "DECIMAL" if x.type.precision <= 18 and _plain(x, steps):
            most = 10**x.type.precision - 1
            ends = (literal(min(max(end, -most), most) * steps.grid, x.type).sql for end in (steps.low, steps.high))
            units = clamped(x.sql, *ends)
            if x.type.scale:
                units = f"({units}) * CAST('{10**x.type.scale}' AS DECIMAL({x.type.scale + 1},0))"
            return _summable(f"({units})", steps)
        case "DECIMAL":
            unit, beyond = Fraction(1, 10**x.type.scale), 10**x.type.precision
            return _summable(whole_steps(least_units(x), unit, beyond, steps, dialect), steps)
        case "FLOAT":
            return _summable(_double(x, steps, dialect), steps)
        case _:
            raise EngineError("unsupported")


def _summable(whole: str, steps: Steps) -> Measure:
    return Measure(f"CAST({whole} AS BIGINT)", reach=max(abs(steps.low), abs(steps.high)))


def parts(x: str, reach: int) -> list[tuple[str, int]]:
    """What is summed of a whole number from -reach to reach, from its lowest bits up, and what each counts for. The
    last part has the sign."""
    count = max(1, -(-reach.bit_length() // _PART))
    shifted = [f"shiftright({x}, {place * _PART})" if place else x for place in range(count)]
    masked = [f"(({part}) & {2**_PART - 1}L)" for part in shifted[:-1]]
    return [(part, 2 ** (place * _PART)) for place, part in enumerate([*masked, shifted[-1]])]


def _plain(x: Spelled, steps: Steps) -> bool:
    """Whether a DECIMAL is clamped within its own type."""
    most = 10**x.type.precision
    return steps.grid == Fraction(1, 10**x.type.scale) and steps.low < most and steps.high > -most


def _double(x: Spelled, steps: Steps, dialect: Dialect) -> str:
    """In doubles, where scaling by a power of two is exact. NaN is above all numbers here, and infinities are told
    apart from those beyond a bound."""
    power_of_two(steps.grid)
    low, high = (double(outward(end * steps.grid, side)) for end, side in ((steps.low, -1), (steps.high, 1)))
    inside = clamped(x.sql, high=high, low=low)
    number = f"CASE WHEN {dialect.finite(x)} THEN {inside} END" if x.loose else inside
    steps_of = f"CAST(rint(({number}) * {double(float(1 / steps.grid))}) AS BIGINT)"  # half to even, as Steps do
    if max(abs(steps.low), abs(steps.high)) <= _EXACT:
        return steps_of
    ends = literal(steps.low, INT).sql, literal(steps.high, INT).sql
    return dialect.bound("__s", [steps_of], lambda names: clamped(names[0], *ends))
