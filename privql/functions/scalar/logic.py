"""Three-valued logic and choice. Every argument is total, so none needs to guard another."""

from __future__ import annotations

from typing import Any

from privql.functions.scalar.comparison import MANY
from privql.functions.scalar.declare import (
    Constants,
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


def _flags(op: str, arity: range) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        if len(types) not in arity or not all(t.kind in ("BOOL", "NULL") for t in types):
            return None
        return Resolved(op, (BOOL,) * len(types), BOOL)

    return typing


def _all(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    return False if False in values else (None if None in values else True)


def _any(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    return True if True in values else (None if None in values else False)


def _case_typing(types: Types, constants: Constants) -> Resolved | None:
    """Conditions at even places but for the last argument, which is the ELSE."""
    if len(types) % 2 == 0 or len(types) < 3 or not all(t.kind in ("BOOL", "NULL") for t in types[:-1:2]):
        return None
    known = padded(types, constants)
    shared = common((*types[1::2], types[-1]), (*known[1::2], known[-1]))
    if shared is None:
        return None
    return Resolved("case", (*((BOOL, shared) * (len(types) // 2)), shared), shared)


def _if_typing(types: Types, constants: Constants) -> Resolved | None:
    return _case_typing(types, constants) if len(types) == 3 else None


def _chosen(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    for condition, value in zip(values[:-1:2], values[1::2], strict=True):
        if condition is True:
            return value  # type: ignore[no-any-return]
    return values[-1]  # type: ignore[no-any-return]


def _first(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    return next((v for v in values if v is not None), None)


def _unless_equal(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    value, other = values
    return None if other is not None and value == other else value


FUNCTIONS = (
    ScalarFunction(
        "and", (), "operator", ("BOOL, … -> BOOL",), _flags("and", MANY), _all, anything_or_null,
        "`x AND y`: FALSE if one is FALSE, else NULL if one is NULL, else TRUE.",
        example("NULL AND FALSE", None, False, gives=False),
    ),
    ScalarFunction(
        "or", (), "operator", ("BOOL, … -> BOOL",), _flags("or", MANY), _any, anything_or_null,
        "`x OR y`: TRUE if one is TRUE, else NULL if one is NULL, else FALSE.",
        example("NULL OR TRUE", None, True, gives=True),
    ),
    ScalarFunction(
        "not", (), "operator", ("BOOL -> BOOL",), _flags("not", range(1, 2)), plain(lambda v: not v), anything_or_null,
        "`NOT x`. NULL stays NULL.",
        example("NOT TRUE", True, gives=False),
    ),
    ScalarFunction(
        "case", (), "operator", ("BOOL, T, …, T -> T",), _case_typing, _chosen, anything_or_null,
        "`CASE WHEN c1 THEN v1 … ELSE v END`: the value of the first condition that is TRUE, else the last argument.",
        example("CASE WHEN 2 > 3 THEN 'a' ELSE 'b' END", False, "a", "b", gives="b"),
    ),
    ScalarFunction(
        "if", ("IF", "IIF"), "function", ("BOOL, T, T -> T (as `CASE`)",), _if_typing, _chosen, anything_or_null,
        "`IF(c, x, y)` is `CASE WHEN c THEN x ELSE y END`.",
        example("IF(2 < 3, 'a', 'b')", True, "a", "b", gives="a"),
    ),
    ScalarFunction(
        "coalesce", ("COALESCE", "IFNULL"), "function", ("T, … -> T",), alike("coalesce", MANY), _first,
        anything_or_null,
        "The first argument that is not NULL.",
        example("COALESCE(NULL, 2)", None, 2, gives=2),
    ),
    ScalarFunction(
        "nullif", ("NULLIF",), "function", ("T, T -> T",), alike("nullif", range(2, 3)), _unless_equal,
        anything_or_null,
        "NULL if both are equal, else the first.",
        example("NULLIF(0, 0)", 0, 0, gives=None),
    ),
)  # fmt: skip
