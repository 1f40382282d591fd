"""Whole numbers out of others: common divisors and multiples, and the bucket of a histogram that a number falls in."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from privql.domains import Domain
from privql.domains.arithmetic import Bound, Span, fitted, magnitude, nearest, span
from privql.functions.scalar.bits import held_ends
from privql.functions.scalar.declare import (
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    canonical,
    example,
    fixed,
    numeric,
    plain,
)
from privql.functions.scalar.numbers import integer
from privql.kernel.scalars import FLOAT, INT, Value, ValueType

MOST_BUCKETS = 1_000_000
_WIDEST = 31  # digits: the place of a DECIMAL among a million buckets is still computed in 128 bits


def _divisor(left: int, right: int) -> int | None:
    return integer(math.gcd(left, right))


def _multiple(left: int, right: int) -> int | None:
    return integer(math.lcm(left, right))


def _buckets(types: Types, constants: Constants) -> Resolved | None:
    """Of INT and DECIMAL exact; of FLOAT as IEEE arithmetic has it."""
    shared = numeric(types[:3], constants[:3]) if len(types) == 4 else None
    if shared is None or types[3] != INT:
        return None
    if shared.kind == "DECIMAL" and shared.precision > _WIDEST:
        return None
    if constants and not _are_buckets(*constants[1:]):
        return None
    return Resolved("width_bucket", (shared, shared, shared, INT), INT)


def _are_buckets(low: Any, high: Any, count: Any) -> bool:
    """A width that is a number, and not too many."""
    if low is None or high is None or not isinstance(count, int) or not 0 < count <= MOST_BUCKETS:
        return False
    return bool(low != high and math.isfinite(high - low))


def _of_buckets(known: Constants) -> str | None:
    if len(known) != 4 or known[3] is None:
        return None
    if known[1] == known[2]:
        return "buckets between two equal bounds have no width"
    if isinstance(known[3], int) and not 0 < known[3] <= MOST_BUCKETS:
        return f"there are from 1 to {MOST_BUCKETS} buckets"
    return None


def _bucket(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    value, low, high, count = values
    if not _are_buckets(low, high, count):
        return None
    if low > high:
        value, low, high = -value, -low, -high
    if value < low:
        return 0
    if value >= high:
        return int(count) + 1
    share = (value - low) / (high - low) if types[0] == FLOAT else Fraction(value - low) / (high - low)
    return int(min(math.floor(share * count), count - 1)) + 1


# ---- domains


def _sizes(args: tuple[Domain, ...]) -> list[Span]:
    return [magnitude(held_ends(arg)) for arg in args]


def _divisors(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """Not above a number that is not zero; zero of zeros alone."""
    sizes = _sizes(args)
    nonzero = [most for least, most in sizes if least > 0]
    most = min(nonzero) if nonzero else max(most for _, most in sizes)
    return fitted(result, (1 if nonzero else 0, most), None, True)


def _multiples(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """Zero where one is, else not below either, nor above their product."""
    (least, most), (other_least, other_most) = _sizes(args)
    low = max(least, other_least) if least > 0 and other_least > 0 else 0
    return fitted(result, (low, most * other_most), None, True)


def _bucket_range(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """Buckets rise with the number, or fall if the first bound is the greater."""
    given = [arg.only for arg in args[1:]]
    low, high, count = (canonical(value, type) for value, type in zip(given, types[1:], strict=True))
    if not _are_buckets(low, high, count):
        return fitted(result, (0, MOST_BUCKETS + 1), None).with_null()
    ends: list[Any] = [_bucket(types, result, (_end(end, types[0]), low, high, count)) for end in span(args[0])]
    return fitted(result, (min(ends), max(ends)), None)


def _end(end: Bound, type: ValueType) -> Bound:
    return float(nearest(end)) if type == FLOAT else end


FUNCTIONS = (
    ScalarFunction(
        "gcd", ("GCD",), "function", ("INT, INT -> INT",), fixed("gcd", ((INT, INT), INT)), plain(_divisor),
        _divisors,
        "The greatest common divisor, never negative; of two zeros, 0. NULL where it does not fit.",
        example("GCD(-12, 18)", -12, 18, gives=6),
    ),
    ScalarFunction(
        "lcm", ("LCM",), "function", ("INT, INT -> INT",), fixed("lcm", ((INT, INT), INT)), plain(_multiple),
        _multiples,
        "The least common multiple, never negative; 0 if one is. NULL where it does not fit.",
        example("LCM(4, -6)", 4, -6, gives=12),
    ),
    ScalarFunction(
        "width_bucket", ("WIDTH_BUCKET",), "function",
        ("INT, INT, INT, INT -> INT", "DECIMAL, DECIMAL, DECIMAL, INT -> INT", "FLOAT, FLOAT, FLOAT, INT -> INT"),
        _buckets, _bucket, _bucket_range,
        "`WIDTH_BUCKET(x, low, high, n)`: which of n buckets of equal width from low up to high holds x, counted from"
        " 1; 0 below low, n + 1 from high on. Each begins with its lower end; if low is above high, they are counted"
        " from above. The bounds and n are constants, n at most"
        f" {MOST_BUCKETS}. INT and DECIMAL are placed exactly, FLOAT by (x - low) / (high - low) * n.",
        example("WIDTH_BUCKET(37, 0, 120, 12)", 37, 0, 120, 12, gives=4), constant_args=(1, 2, 3),
        objection=_of_buckets,
    ),
)  # fmt: skip
