"""Numbers as the types hold them: 64-bit integers, finite doubles, decimals of at most 38 digits; else NULL."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from privql.kernel.scalars import Value, ValueType

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

_NUMBER = re.compile(r" *([+-]?)([0-9]+)(?:\.([0-9]+))? *", re.ASCII)
_FLOAT = re.compile(r" *[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)? *", re.ASCII)
_TOLD_APART = 40  # digits behind the point: rounding to at most 38 asks for one more, and never for the rest


def integer(value: int) -> int | None:
    return value if INT_MIN <= value <= INT_MAX else None


def double(value: float) -> float | None:
    return value if math.isfinite(value) else None


def nearest_double(value: Fraction | int) -> float | None:
    """The double nearest to an exact number, ties to even; NULL if it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return None


def decimal_value(value: Fraction, type: ValueType) -> Fraction | None:
    return value if abs(value) * 10**type.scale < 10**type.precision else None


def exact(value: Fraction | int, type: ValueType) -> Value:
    """An exact result as its type holds it."""
    match type.kind:
        case "DECIMAL":
            return decimal_value(Fraction(value), type)
        case "FLOAT":
            return nearest_double(value)
        case _:
            return integer(int(value))


def half_away(value: Fraction | float) -> int:
    """The nearest integer, a half away from zero."""
    exact_value = Fraction(value)
    size = (2 * abs(exact_value.numerator) + exact_value.denominator) // (2 * exact_value.denominator)
    return -size if exact_value < 0 else size


def rounded_double(value: float, places: int) -> float | None:
    """Scaled by a power of ten, rounded and scaled back, each step in IEEE arithmetic."""
    power = float(10 ** abs(places))
    scaled = value * power if places >= 0 else value / power
    if not math.isfinite(scaled):
        return value
    nearest = float(half_away(scaled))
    return double(nearest / power if places >= 0 else nearest * power)


def quantised(value: float) -> float | None:
    """A double rounded to 40 significant bits by Veltkamp's splitting, in plain IEEE arithmetic.

    Logarithms, exponentials and powers may differ in their last bits from one mathematical library to another. So
    rounded they agree, except where the two lie on both sides of a tie: of results that differ by one unit in the
    last place, one in 8192.
    """
    large = value * 8193.0  # 2^13 + 1: 53 - 13 = 40 bits stay
    return double(large - (large - value))


def read_number(text: str) -> Fraction | float | None:
    """`[ ]*[+-]?digits[.digits][ ]*`, as exactly as INT and DECIMAL can tell; with an exponent, the nearest double.

    NULL if it is no such text or too large.
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return read_double(text)
    whole_part, fraction = found[2].lstrip("0"), (found[3] or "")[:_TOLD_APART]
    if len(whole_part) > 38:
        return None
    size = Fraction(int(whole_part + fraction or "0"), 10 ** len(fraction))
    return -size if found[1] == "-" else size


def read_double(text: str) -> float | None:
    return double(float(text)) if _FLOAT.fullmatch(text) else None


def write_decimal(value: Fraction, scale: int) -> str:
    """With exactly `scale` digits behind the point."""
    digits = str(abs(value.numerator) * 10**scale // value.denominator).rjust(scale + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)
