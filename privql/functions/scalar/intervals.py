"""INTERVALs are constants - months, days and microseconds - and so is what is made of them."""

from __future__ import annotations

from privql.functions.scalar import calendar
from privql.functions.scalar.declare import Constants, Resolved, Types, padded
from privql.kernel.scalars import INTERVAL, Value

Interval = tuple[int, int, int]

# An interval beyond these is a mistake, and an engine need not fear overflow inside them.
_MOST_MONTHS, _MOST_DAYS = 120_000, 4_000_000
_MOST_MICROS = _MOST_DAYS * calendar.DAY


def sensible(interval: Value) -> bool:
    match interval:
        case (int(months), int(days), int(micros)):
            return abs(months) <= _MOST_MONTHS and abs(days) <= _MOST_DAYS and abs(micros) <= _MOST_MICROS
        case _:
            return interval is None


def summed(left: Interval, right: Interval) -> Interval:
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def scaled(interval: Interval, times: int) -> Interval:
    return interval[0] * times, interval[1] * times, interval[2] * times


def resolved(op: str, types: Types, constants: Constants) -> Resolved | None:
    """A sum, a difference, a negative or a multiple of what is known where it is written."""
    match op, padded(types, constants):
        case "neg", (tuple() as interval,):
            made = scaled(interval, -1)
        case "mul", (tuple() as interval, int(times)) | (int(times), tuple() as interval):
            made = scaled(interval, times)
        case "add" | "sub", (tuple() as left, tuple() as right):
            made = summed(left, scaled(right, 1 if op == "add" else -1))
        case _:
            return None
    return Resolved(op, types, INTERVAL) if sensible(made) else None
