"""Comparisons, three-valued, and the functions that choose by comparing.

Numbers compare as numbers, text by code point, FALSE before TRUE. Both sides are brought to one type first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from privql.domains import ORDERED, Domain, finite, grid_of, shared_grid, whole
from privql.domains.arithmetic import DAY, fitted, span, step
from privql.functions.scalar.declare import (
    SMALL,
    Constants,
    DomainRule,
    Meaning,
    Resolved,
    ScalarFunction,
    Types,
    Typing,
    alike,
    anything,
    common,
    example,
    flags,
    padded,
    plain,
)
from privql.kernel.scalars import BOOL, Value, ValueType

MANY = range(1, 10**9)


def _compare(op: str) -> Typing:
    return alike(op, range(2, 3), BOOL)


def _one_of_any_type(op: str, wanted: ValueType | None = None) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        if len(types) != 1 or types[0].kind == "INTERVAL":
            return None
        kind = wanted or common(types, constants)
        return Resolved(op, (kind,), BOOL) if kind and types[0].kind in (kind.kind, "NULL") else None

    return typing


def _null_test(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    return values[0] is None


def _truth(wanted: bool) -> Meaning:
    return lambda types, result, values: values[0] is wanted


def _distinct(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    left, right = values
    return (left is None) != (right is None) if left is None or right is None else bool(left != right)


def _among(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    wanted, options = values[0], values[1:]
    if wanted is None:
        return None
    return True if wanted in options else (None if None in options else False)


def _extreme(choose: Callable[[list[Any]], Value]) -> Meaning:
    def meaning(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
        present = [v for v in values if v is not None]
        return choose(present) if present else None

    return meaning


def _clamp_typing(types: Types, constants: Constants) -> Resolved | None:
    shared = common(types, constants) if len(types) == 3 else None
    if shared is None or shared.kind in ("TEXT", "BOOL"):
        return None
    known = padded(types, constants)
    if shared.kind == "TIMESTAMP":  # a day is the moment at which it begins
        known = tuple(
            value * DAY if type.kind == "DATE" and isinstance(value, int) else value
            for type, value in zip(types, known, strict=True)
        )
    if _ends_turned(known) is not None:
        return None
    return Resolved("clamp", (shared, shared, shared), shared)


def _ends_turned(known: Constants) -> str | None:
    match known:
        case (_, bool(), _) | (_, _, bool()):
            return None
        case _, int() | float() | Fraction() as low, int() | float() | Fraction() as high if low > high:
            return "the low end stands first: it is above the high one"
        case _:
            return None


def _clamped(value: Any, low: Any, high: Any) -> Value:
    found: Value = low if value <= low else (high if value >= high else value)
    return found


# ---- domains


def _ends(domain: Domain) -> tuple[Any, Any]:
    """The least and the greatest value, each None where open; of listed values of any type, the first and last."""
    return (domain.values[0], domain.values[-1]) if domain.values else (domain.low, domain.high)


def _orders(left: Domain, right: Domain) -> tuple[bool, bool, bool]:
    """Whether a value of one may be less than, equal to, greater than a value of the other."""
    if left.empty or right.empty:
        return False, False, False
    (low, high), (other_low, other_high) = _ends(left), _ends(right)
    less = low is None or other_high is None or low < other_high
    greater = high is None or other_low is None or high > other_low
    return less, may_equal(left, right), greater


def may_equal(left: Domain, right: Domain) -> bool:
    listed, other = (left, right) if left.values is not None else (right, left)
    if listed.values is not None and len(listed.values) <= SMALL:
        options = set(other.values) if other.values is not None else other
        return any(v in options for v in listed.values)
    (low, high), (other_low, other_high) = _ends(left), _ends(right)
    apart = low is not None and other_high is not None and low > other_high
    return not apart and not (high is not None and other_low is not None and high < other_low)


def _comparison(true: tuple[bool, bool, bool]) -> DomainRule:
    """A comparison that is TRUE for less, equal, greater as stated."""

    def rule(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        possible = _orders(*args)
        return flags(
            any(may and yes for may, yes in zip(possible, true, strict=True)),
            any(may and not yes for may, yes in zip(possible, true, strict=True)),
            False,
        )

    return rule


def _null_test_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return flags(args[0].nullable, not args[0].empty, False)


def _distinct_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    left, right = args
    less, equal, greater = _orders(left, right)
    one_null = (left.nullable and not right.empty) or (right.nullable and not left.empty)
    return flags(less or greater or one_null, equal or (left.nullable and right.nullable), False)


def _among_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    wanted, options = args[0], args[1:]
    if wanted.empty:
        return finite((), wanted.nullable)
    constants = {o.only for o in options if o.only is not None and not o.nullable}
    all_there = wanted.values is not None and constants.issuperset(wanted.values)
    found = any(may_equal(wanted, o) for o in options)
    unsure = any(o.nullable for o in options) and not all_there
    return flags(found, not all_there, wanted.nullable or unsure)


def _extreme_domain(greatest: bool) -> DomainRule:
    """NULLs are passed over, so only an argument that is never NULL surely holds the result to its side."""

    def rule(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        nullable = all(a.nullable for a in args)
        present = [a for a in args if not a.empty]
        if not present or result.kind not in ORDERED:
            return whole(result, nullable) if present else finite((), nullable, grid_of(result))
        lows, highs = zip(*map(span, present), strict=True)
        sure = [span(a) for a in present if not a.nullable]
        if greatest:
            ends = max(low for low, _ in sure) if sure else min(lows), max(highs)
        else:
            ends = min(lows), min(high for _, high in sure) if sure else max(highs)
        return fitted(result, ends, reduce(shared_grid, map(step, present))).with_null(nullable)

    return rule


def _clamp_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    (low, high), (least, _), (_, most) = map(span, args)
    grid = reduce(shared_grid, map(step, args))
    return fitted(result, (min(max(low, least), most), max(min(high, most), least)), grid)


_ANY = ("T, T -> BOOL",)

FUNCTIONS = (
    *(
        ScalarFunction(
            op, (), "operator", _ANY, _compare(op), plain(meaning), _comparison(true),
            f"`x {sign} y`. T is any type but INTERVAL; NULL if either side is.",
            example(f"2 {sign} 3", 2, 3, gives=meaning(2, 3)), lists=False,
        )
        for op, sign, meaning, true in (
            ("eq", "=", operator.eq, (False, True, False)),
            ("ne", "<>", operator.ne, (True, False, True)),
            ("lt", "<", operator.lt, (True, False, False)),
            ("le", "<=", operator.le, (True, True, False)),
            ("gt", ">", operator.gt, (False, False, True)),
            ("ge", ">=", operator.ge, (False, True, True)),
        )
    ),
    ScalarFunction(
        "is_null", (), "operator", ("T -> BOOL",), _one_of_any_type("is_null"), _null_test, _null_test_domain,
        "`x IS NULL`. Never NULL itself.",
        example("NULL IS NULL", None, gives=True), strict=False,
    ),
    ScalarFunction(
        "is_true", (), "operator", ("BOOL -> BOOL",), _one_of_any_type("is_true", BOOL), _truth(True), anything,
        "`x IS TRUE`. FALSE if x is NULL.",
        example("(2 < 3) IS TRUE", True, gives=True), strict=False,
    ),
    ScalarFunction(
        "is_false", (), "operator", ("BOOL -> BOOL",), _one_of_any_type("is_false", BOOL), _truth(False),
        anything,
        "`x IS FALSE`. FALSE if x is NULL.",
        example("NULL IS FALSE", None, gives=False), strict=False,
    ),
    ScalarFunction(
        "is_distinct", (), "operator", _ANY, _compare("is_distinct"), _distinct, _distinct_domain,
        "`x IS DISTINCT FROM y`: as `<>`, but two NULLs are alike and never is the answer NULL.",
        example("NULL IS DISTINCT FROM 1", None, 1, gives=True), strict=False,
    ),
    ScalarFunction(
        "in", (), "operator", ("T, T, … -> BOOL",), alike("in", range(2, 10**9), BOOL), _among, _among_domain,
        "`x IN (a, b, …)`: TRUE if x equals one of them; else NULL if x or one of them is NULL; else FALSE.",
        example("2 IN (1, 2)", 2, 1, 2, gives=True), strict=False,
    ),
    ScalarFunction(
        "greatest", ("GREATEST",), "function", ("T, … -> T",), alike("greatest", MANY), _extreme(max),
        _extreme_domain(True),
        "The greatest argument; NULLs are passed over.",
        example("GREATEST(1, NULL, 3)", 1, None, 3, gives=3), strict=False,
    ),
    ScalarFunction(
        "least", ("LEAST",), "function", ("T, … -> T",), alike("least", MANY), _extreme(min), _extreme_domain(False),
        "The least argument; NULLs are passed over.",
        example("LEAST(1, NULL, 3)", 1, None, 3, gives=1), strict=False,
    ),
    ScalarFunction(
        "clamp", ("CLAMP",), "function", ("T, T, T -> T (numbers, DATE, TIMESTAMP)",), _clamp_typing, plain(_clamped),
        _clamp_domain,
        "`low` where x is below it, `high` where x is above it, else x. NULL stays NULL. The bounds are constants.",
        example("CLAMP(130, 0, 120)", 130, 0, 120, gives=120), constant_args=(1, 2),
        objection=_ends_turned,
    ),
)  # fmt: skip
