"""Operations on the bits of INT, as 64 of them in two's complement."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

from privql.domains import Domain, finite
from privql.domains.arithmetic import Bound, fitted, limits, span
from privql.functions.scalar.declare import DomainRule, ScalarFunction, Types, example, fixed, plain
from privql.functions.scalar.numbers import integer
from privql.kernel.scalars import INT, ValueType

PLACES = range(64)
_FEW = 8  # bits of a mask whose every selection is listed


def _shifted_left(value: int, places: int) -> int | None:
    return integer(value << places) if places in PLACES else None


def _shifted_right(value: int, places: int) -> int | None:
    return value >> places if places in PLACES else None


def _ones(value: int) -> int:
    return (value & 2**64 - 1).bit_count()


# ---- domains


def _counts(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    low, high = held_ends(args[0])
    return fitted(result, (0, len(PLACES) if low < 0 else high.bit_length()), None)


def held_ends(domain: Domain) -> tuple[int, int]:
    """The ends of a domain of INT, open ones as far as 64 bits go."""
    low, high = span(domain)
    least, most = limits(INT)
    return int(max(low, least)), int(min(high, most))


def _wide(*numbers: int) -> int:
    """The least power of two above all of these, and above what is as far below zero."""
    width: int = max(number.bit_length() if number >= 0 else (~number).bit_length() for number in numbers)
    return 1 << width


def _both(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """Of a number that is not negative, only its own bits are left."""
    ends = [held_ends(arg) for arg in args]
    masks = [low for low, high in ends if low == high >= 0]
    most = min((high for low, high in ends if low >= 0), default=None)
    if masks and min(masks).bit_count() <= _FEW:
        mask = min(masks)
        chosen = [part for part in _selections(mask) if most is None or part <= most]
        return finite(chosen, False, Fraction(1))
    if most is not None:
        return fitted(result, (0, most), None)
    size = _wide(*(end for pair in ends for end in pair))
    surely = all(high < 0 for _, high in ends)
    return fitted(result, (-size, min(high for _, high in ends) if surely else size - 1), None)


def _selections(mask: int) -> list[int]:
    """Every number whose bits are among those of the mask."""
    found = [0]
    for place in PLACES:
        if mask >> place & 1:
            found += [part | 1 << place for part in found]
    return found


def _either(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """Of numbers that are not negative, at least the greater; negative where one of them is."""
    ends = [held_ends(arg) for arg in args]
    size = _wide(*(end for pair in ends for end in pair))
    if all(low >= 0 for low, _ in ends):
        return fitted(result, (max(low for low, _ in ends), size - 1), None)
    surely = any(high < 0 for _, high in ends)
    return fitted(result, (min(low for low, _ in ends), -1 if surely else size - 1), None)


def _one(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    ends = [held_ends(arg) for arg in args]
    size = _wide(*(end for pair in ends for end in pair))
    signs = [(low < 0, high >= 0) for low, high in ends]
    if any(below and above for below, above in signs):
        return fitted(result, (-size, size - 1), None)
    negative = signs[0][0] != signs[1][0]
    return fitted(result, (-size, -1) if negative else (0, size - 1), None)


def _none(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    low, high = span(args[0])
    return fitted(result, (-high - 1, -low - 1), None)


def _shifting(shift: Callable[[Bound, int], Bound]) -> DomainRule:
    """Monotone in the number; in the places, on either side of zero, so extreme at corners."""

    def rule(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        low, high = held_ends(args[1])
        places = max(low, 0), min(high, PLACES[-1])
        beyond = (low, high) != places
        if places[0] > places[1]:
            return finite((), True, Fraction(1))
        corners = [shift(end, by) for end in span(args[0]) for by in places]
        grid = args[0].grid * 2 ** places[0] if shift is _times and args[0].grid is not None else None
        shifted = fitted(result, (min(corners), max(corners)), grid, shift is _times)
        return shifted.with_null(shifted.nullable or beyond)

    return rule


def _times(end: Bound, places: int) -> Bound:
    return end if isinstance(end, float) else end * 2**places


def _over(end: Bound, places: int) -> Bound:
    return end if isinstance(end, float) else math.floor(end) >> places


_TWO = ("INT, INT -> INT",)


FUNCTIONS = (
    ScalarFunction(
        "bits_and", (), "operator", _TWO, fixed("bits_and", ((INT, INT), INT)), plain(operator.and_), _both,
        "`x & y`: the bits that both have.",
        example("6 & 3", 6, 3, gives=2),
    ),
    ScalarFunction(
        "bits_or", (), "operator", _TWO, fixed("bits_or", ((INT, INT), INT)), plain(operator.or_), _either,
        "`x | y`: the bits that one of them has.",
        example("6 | 3", 6, 3, gives=7),
    ),
    ScalarFunction(
        "bits_xor", ("XOR",), "function", _TWO, fixed("bits_xor", ((INT, INT), INT)), plain(operator.xor), _one,
        "The bits that just one of them has: PostgreSQL's `#`.",
        example("XOR(6, 3)", 6, 3, gives=5),
    ),
    ScalarFunction(
        "bits_not", (), "operator", ("INT -> INT",), fixed("bits_not", ((INT,), INT)), plain(operator.invert), _none,
        "`~x`: the bits that x has not, which is -x - 1.",
        example("~5", 5, gives=-6),
    ),
    ScalarFunction(
        "bit_count", ("BIT_COUNT",), "function", ("INT -> INT",), fixed("bit_count", ((INT,), INT)), plain(_ones),
        _counts,
        "How many of the 64 bits are set.",
        example("BIT_COUNT(7)", 7, gives=3),
    ),
    ScalarFunction(
        "shift_left", (), "operator", _TWO, fixed("shift_left", ((INT, INT), INT)), plain(_shifted_left),
        _shifting(_times),
        "`x << n`: x * 2^n. NULL where that does not fit, and unless n is 0 to 63.",
        example("3 << 2", 3, 2, gives=12),
    ),
    ScalarFunction(
        "shift_right", (), "operator", _TWO, fixed("shift_right", ((INT, INT), INT)), plain(_shifted_right),
        _shifting(_over),
        "`x >> n`: x / 2^n rounded down, which keeps the sign. NULL unless n is 0 to 63.",
        example("-5 >> 1", -5, 1, gives=-3),
    ),
)  # fmt: skip
