"""Where the results of arithmetic, rounding and powers lie. Arguments may be taken as never NULL here.

`fitted` turns ends into a domain of the result's type; where a result may not fit its type, it may be NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privql.domains import Domain, finite, whole
from privql.domains import arithmetic as ends
from privql.domains.arithmetic import INF, Bound, Span, fitted, span
from privql.functions.scalar import calendar
from privql.functions.scalar.declare import SMALL, DomainRule, Types, canonical
from privql.functions.scalar.numbers import half_away, rounded_double
from privql.kernel.scalars import FLOAT, Value, ValueType


def _inside_calendar(domain: Domain, type: ValueType) -> Span:
    low, high = span(domain)
    least, most = ends.limits(type)
    return max(low, least), min(high, most)


def added(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    left, right = args
    if types[1].kind == "INTERVAL":
        return _moved(types[0], result, left, right, 1)
    if types[0].kind == "INTERVAL":
        return _moved(types[1], result, right, left, 1)
    sums = fitted(result, ends.plus(span(left), span(right)), ends.both_steps(left, right), True)
    moved, by = (left, right) if right.low == right.high else (right, left)
    return _listed_shift(result, moved, by, 1, _if_held(types, result, sums))


def subtracted(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    left, right = args
    if types[1].kind == "INTERVAL":
        return _moved(types[0], result, left, right, -1)
    overflow = types[1].kind != "DATE"  # days between two dates always fit
    differences = fitted(result, ends.minus(span(left), span(right)), ends.both_steps(left, right), overflow)
    return _listed_shift(result, left, right, -1, _if_held(types, result, differences))


def _if_held(types: Types, result: ValueType, sums: Domain) -> Domain:
    """NULL may also come of a side that the type of the sum does not hold."""
    digits = result.precision - result.scale
    lost = any(type.precision - type.scale > digits for type in types)
    return sums.with_null() if lost else sums


def _listed_shift(result: ValueType, moved: Domain, by: Domain, sign: int, sums: Domain) -> Domain:
    """A coarse grid moved by a constant is listed while it is short: as an interval it would have more members."""
    if by.low is None or by.low != by.high or sums.nullable:
        return sums
    if sums.grid is None or moved.grid is None or sums.grid >= moved.grid:
        return sums
    members = moved.members(SMALL)
    if members is None:
        return sums
    return finite([canonical(_number(m) + sign * by.low, result) for m in members], False, sums.grid)


def _number(value: Value) -> Fraction:
    assert isinstance(value, (int, float, Fraction))
    return Fraction(value)


def _moved(start: ValueType, result: ValueType, moments: Domain, intervals: Domain, sign: int) -> Domain:
    """Adding an interval keeps the order of days, so the ends move with the rest.

    Not so of moments: the 30th at noon and the 31st at one meet on the last day of a shorter month in that order no
    more. With months, whole days are moved.
    """
    if intervals.values is None or len(intervals.values) != 1:
        return whole(result, True)
    (interval,) = intervals.values
    assert isinstance(interval, tuple)
    months, days, micros = interval
    first, last = _inside_calendar(moments, start)
    if start.kind == "TIMESTAMP" and months != 0:
        low = calendar.moved("DATE", int(first) // calendar.DAY, interval, sign)
        high = calendar.moved("DATE", int(last) // calendar.DAY, interval, sign)
        high = None if high is None else calendar.time_or_null(high + calendar.DAY - 1)
    else:
        low = calendar.moved(start.kind, int(first), interval, sign)
        high = calendar.moved(start.kind, int(last), interval, sign)
    grid = Fraction(math.gcd(calendar.DAY, micros))
    if start.kind == "TIMESTAMP":
        apart = days * calendar.DAY + micros if months == 0 else math.gcd(calendar.DAY, micros)
        grid = Fraction(math.gcd(int(moments.grid or 1), apart))
    nullable = low is None or high is None
    least, most = ends.limits(result)
    bounded_low = low if low is not None else (least if moments.low is not None else -INF)
    bounded_high = high if high is not None else (most if moments.high is not None else INF)
    return fitted(result, (bounded_low, bounded_high), grid).with_null(nullable)


def multiplied(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    left, right = args
    return fitted(result, ends.times(span(left), span(right)), ends.product_step(left, right), True)


def negated(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    low, high = span(args[0])
    return fitted(result, (-high, -low), args[0].grid, result.kind == "INT")


def divided(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    left, right = args
    parts = ends.divisors(right)
    if not parts:
        return finite((), True)
    quotients = fitted(result, ends.over(span(left), parts), None, True)
    return quotients.with_null(quotients.nullable or 0 in right)


def int_divided(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    left, right = args
    parts = ends.divisors(right)
    if not parts:
        return finite((), True, result_grid(result))
    low, high = ends.over(span(left), parts)
    # The only quotient that does not fit is the least INT by -1.
    overflow = -1 in right and (left.low is None or left.low == ends.limits(result)[0])
    inferred = fitted(result, (_whole_end(low), _whole_end(high)), None)
    return inferred.with_null(overflow or 0 in right)


def _whole_end(end: Bound) -> Bound:
    return end if isinstance(end, float) else math.trunc(end)


def result_grid(result: ValueType) -> Fraction | None:
    return whole(result, False).grid


def remainder(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    left, right = args
    low, high = span(left)
    parts = ends.divisors(right)
    grid = ends.both_steps(left, right)
    if not parts:
        return finite((), True, grid)
    period = right.low if right.low == right.high else None
    if period and left.low is not None and left.high is not None:
        times = math.trunc(left.low / period)
        if times == math.trunc(left.high / period):
            return fitted(result, (left.low - times * period, left.high - times * period), grid)
    farthest = max(ends.magnitude(part)[1] for part in parts)
    most = farthest - (grid or 0) if farthest != INF else INF
    return fitted(result, (max(min(low, 0), -most), min(max(high, 0), most)), grid).with_null(0 in right)


def absolute(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return fitted(result, ends.magnitude(span(args[0])), args[0].grid, False).with_null(
        result.kind == "INT" and (args[0].low is None or args[0].low == ends.limits(result)[0])
    )


def sign(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    low, high = span(args[0])
    return fitted(result, ((low > 0) - (low < 0), (high > 0) - (high < 0)), Fraction(1))


def to_whole(rounding: Callable[[Fraction], int]) -> DomainRule:
    """Rounding to whole numbers keeps their order."""

    def rule(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        if result.kind == "INT":
            return args[0]
        low, high = span(args[0])
        return fitted(result, (_rounded_end(rounding, low), _rounded_end(rounding, high)), Fraction(1))

    return rule


def _rounded_end(rounding: Callable[[Fraction], int], end: Bound) -> Bound:
    return end if isinstance(end, float) else rounding(Fraction(end))


def _rounded_doubles(places: int, domain: Domain) -> Domain:
    low, high = (_rounded_double(places, end) for end in span(domain))
    if places > 0 and low != -INF and high != INF:
        power = 10**places
        first, last = half_away(low * power), half_away(high * power)
        if last - first < SMALL and max(abs(first), abs(last)) < 2**53:
            return finite([step / power for step in range(first, last + 1)], False)
    grid = Fraction(10**-places) if places <= 0 else None
    return fitted(FLOAT, (low, high), grid, places < 0)


def _rounded_double(places: int, end: Bound) -> Bound:
    near = ends.nearest(end)
    if isinstance(near, float):
        return near
    value = rounded_double(float(near), places)
    return (INF if near > 0 else -INF) if value is None else Fraction(value)


def truncated(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    if len(args) == 1:
        return to_whole(math.trunc)(types, result, args)
    if args[1].low is None or args[1].low != args[1].high or result.kind == "FLOAT":
        return whole(result, True)
    return _to_places(math.trunc, int(args[1].low), result, args[0])


def _to_places(rounding: Callable[[Fraction], int], places: int, result: ValueType, domain: Domain) -> Domain:
    if result.kind == "INT" and places >= 0:
        return domain
    power = Fraction(10) ** places
    low, high = (_rounded_end(lambda v: rounding(v * power), end) for end in span(domain))
    grid = max(1 / power, result_grid(result) or Fraction(0))
    return fitted(result, (_scaled(low, power), _scaled(high, power)), grid, True)


def rounded(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    places = int(args[1].low) if len(args) == 2 and args[1].low is not None else 0
    if len(args) == 2 and args[1].low != args[1].high:
        return whole(result, True)
    if result.kind == "FLOAT":
        return _rounded_doubles(places, args[0])
    return _to_places(half_away, places, result, args[0])


def _scaled(end: Bound, power: Fraction) -> Bound:
    return end if isinstance(end, float) else Fraction(end) / power
