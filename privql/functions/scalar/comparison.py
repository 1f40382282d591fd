"""Comparisons, three-valued, and the functions that choose by comparing.

Numbers compare as numbers, text by code point, FALSE before TRUE. Both sides are brought to one type first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from privql.functions.scalar.declare import (
    Constants,
    Meaning,
    Resolved,
    ScalarFunction,
    Types,
    Typing,
    alike,
    anything_or_null,
    common,
    example,
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
    low, high = padded(types, constants)[1:]
    if low is not None and high is not None and low > high:  # type: ignore[operator]
        return None
    return Resolved("clamp", (shared, shared, shared), shared)


def _clamped(value: Any, low: Any, high: Any) -> Value:
    return low if value <= low else (high if value >= high else value)  # type: ignore[no-any-return]


_ANY = ("T, T -> BOOL",)

FUNCTIONS = (
    *(
        ScalarFunction(
            op, (), "operator", _ANY, _compare(op), plain(meaning), anything_or_null,
            f"`x {sign} y`. T is any type but INTERVAL; NULL if either side is.",
            example(f"2 {sign} 3", 2, 3, gives=gives),
        )
        for op, sign, meaning, gives in (
            ("eq", "=", operator.eq, False),
            ("ne", "<>", operator.ne, True),
            ("lt", "<", operator.lt, True),
            ("le", "<=", operator.le, True),
            ("gt", ">", operator.gt, False),
            ("ge", ">=", operator.ge, False),
        )
    ),
    ScalarFunction(
        "is_null", (), "operator", ("T -> BOOL",), _one_of_any_type("is_null"), _null_test, anything_or_null,
        "`x IS NULL`. Never NULL itself.",
        example("NULL IS NULL", None, gives=True),
    ),
    ScalarFunction(
        "is_true", (), "operator", ("BOOL -> BOOL",), _one_of_any_type("is_true", BOOL), _truth(True), anything_or_null,
        "`x IS TRUE`. FALSE if x is NULL.",
        example("(2 < 3) IS TRUE", True, gives=True),
    ),
    ScalarFunction(
        "is_false", (), "operator", ("BOOL -> BOOL",), _one_of_any_type("is_false", BOOL), _truth(False),
        anything_or_null,
        "`x IS FALSE`. FALSE if x is NULL.",
        example("NULL IS FALSE", None, gives=False),
    ),
    ScalarFunction(
        "is_distinct", (), "operator", _ANY, _compare("is_distinct"), _distinct, anything_or_null,
        "`x IS DISTINCT FROM y`: as `<>`, but two NULLs are alike and never is the answer NULL.",
        example("NULL IS DISTINCT FROM 1", None, 1, gives=True),
    ),
    ScalarFunction(
        "in", (), "operator", ("T, T, … -> BOOL",), alike("in", range(2, 10**9), BOOL), _among, anything_or_null,
        "`x IN (a, b, …)`: TRUE if x equals one of them; else NULL if x or one of them is NULL; else FALSE.",
        example("2 IN (1, 2)", 2, 1, 2, gives=True),
    ),
    ScalarFunction(
        "greatest", ("GREATEST",), "function", ("T, … -> T",), alike("greatest", MANY), _extreme(max), anything_or_null,
        "The greatest argument; NULLs are passed over.",
        example("GREATEST(1, NULL, 3)", 1, None, 3, gives=3),
    ),
    ScalarFunction(
        "least", ("LEAST",), "function", ("T, … -> T",), alike("least", MANY), _extreme(min), anything_or_null,
        "The least argument; NULLs are passed over.",
        example("LEAST(1, NULL, 3)", 1, None, 3, gives=1),
    ),
    ScalarFunction(
        "clamp", ("CLAMP",), "function", ("T, T, T -> T (numbers, DATE, TIMESTAMP)",), _clamp_typing, plain(_clamped),
        anything_or_null,
        "`low` where x is below it, `high` where x is above it, else x. NULL stays NULL. The bounds are constants.",
        example("CLAMP(130, 0, 120)", 130, 0, 120, gives=120), constant_args=(1, 2),
    ),
)  # fmt: skip
