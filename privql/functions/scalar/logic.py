"""Three-valued logic and choice. Every argument is total, so none needs to guard another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privql.domains import Domain, grid_of, interval, union_of
from privql.functions.scalar.comparison import MANY, may_equal
from privql.functions.scalar.declare import (
    Constants,
    DomainRule,
    Meaning,
    Resolved,
    ScalarFunction,
    Types,
    Typing,
    alike,
    common,
    example,
    flags,
    padded,
    plain,
)
from privql.kernel.scalars import BOOL, INT, NULL, TEXT, Value, ValueType


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


def _of_any_types(op: str) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        if not types or any(type.kind == "INTERVAL" for type in types):
            return None
        return Resolved(op, tuple(TEXT if type == NULL else type for type in types), INT)

    return typing


def _counted(counts: Callable[[Value], bool]) -> Meaning:
    return lambda types, result, values: sum(map(counts, values))


# ---- domains


def _may(flag: Domain, value: bool) -> bool:
    return flag.values is None or value in flag.values


def _connected(deciding: bool) -> DomainRule:
    """AND is decided by a FALSE, OR by a TRUE; a NULL shows where nothing decides."""

    def rule(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
        decided = any(_may(a, deciding) for a in args)
        otherwise = all(_may(a, not deciding) for a in args)
        unsure = any(a.nullable for a in args) and all(a.nullable or _may(a, not deciding) for a in args)
        return flags(decided if deciding else otherwise, otherwise if deciding else decided, unsure)

    return rule


def _negation(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return flags(_may(args[0], False), _may(args[0], True), False)


def _branches(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """The values of the branches that may be taken."""
    taken: list[Domain] = []
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        if _may(condition, True):
            taken.append(value)
        if condition.values == (True,) and not condition.nullable:
            return union_of(taken)
    return union_of([*taken, args[-1]])


def _first_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    taken: list[Domain] = []
    for arg in args:
        taken.append(arg)
        if not arg.nullable:
            break
    return union_of(taken).with_null(taken[-1].nullable)


def _unless_equal_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    value, other = args
    return value.with_null(value.nullable or may_equal(value, other))


def _null_count(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    least, most = (sum(map(test, args)) for test in (lambda a: a.empty, lambda a: a.nullable))
    return interval(least, most, False, grid_of(result))


def _value_count(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    least, most = (sum(map(test, args)) for test in (lambda a: not a.nullable, lambda a: not a.empty))
    return interval(least, most, False, grid_of(result))


FUNCTIONS = (
    ScalarFunction(
        "and", (), "operator", ("BOOL, … -> BOOL",), _flags("and", MANY), _all, _connected(False),
        "`x AND y`: FALSE if one is FALSE, else NULL if one is NULL, else TRUE.",
        example("NULL AND FALSE", None, False, gives=False), strict=False, lists=False,
    ),
    ScalarFunction(
        "or", (), "operator", ("BOOL, … -> BOOL",), _flags("or", MANY), _any, _connected(True),
        "`x OR y`: TRUE if one is TRUE, else NULL if one is NULL, else FALSE.",
        example("NULL OR TRUE", None, True, gives=True), strict=False, lists=False,
    ),
    ScalarFunction(
        "not", (), "operator", ("BOOL -> BOOL",), _flags("not", range(1, 2)), plain(lambda v: not v), _negation,
        "`NOT x`. NULL stays NULL.",
        example("NOT TRUE", True, gives=False),
    ),
    ScalarFunction(
        "case", (), "operator", ("BOOL, T, …, T -> T",), _case_typing, _chosen, _branches,
        "`CASE WHEN c1 THEN v1 … ELSE v END`: the value of the first condition that is TRUE, else the last argument.",
        example("CASE WHEN 2 > 3 THEN 'a' ELSE 'b' END", False, "a", "b", gives="b"), strict=False, lists=False,
    ),
    ScalarFunction(
        "if", ("IF", "IIF"), "function", ("BOOL, T, T -> T (as `CASE`)",), _if_typing, _chosen, _branches,
        "`IF(c, x, y)` is `CASE WHEN c THEN x ELSE y END`.",
        example("IF(2 < 3, 'a', 'b')", True, "a", "b", gives="a"), strict=False, lists=False,
    ),
    ScalarFunction(
        "coalesce", ("COALESCE", "IFNULL", "NVL"), "function", ("T, … -> T",), alike("coalesce", MANY), _first,
        _first_domain,
        "The first argument that is not NULL.",
        example("COALESCE(NULL, 2)", None, 2, gives=2), strict=False, lists=False,
    ),
    ScalarFunction(
        "nullif", ("NULLIF",), "function", ("T, T -> T",), alike("nullif", range(2, 3)), _unless_equal,
        _unless_equal_domain,
        "NULL if both are equal, else the first.",
        example("NULLIF(0, 0)", 0, 0, gives=None), strict=False,
    ),
    ScalarFunction(
        "num_nulls", ("NUM_NULLS",), "function", ("T, U, … -> INT",), _of_any_types("num_nulls"),
        _counted(lambda value: value is None), _null_count,
        "How many arguments are NULL.",
        example("NUM_NULLS(1, NULL, 'a')", 1, None, "a", gives=1), strict=False,
    ),
    ScalarFunction(
        "num_nonnulls", ("NUM_NONNULLS",), "function", ("T, U, … -> INT",), _of_any_types("num_nonnulls"),
        _counted(lambda value: value is not None), _value_count,
        "How many arguments are not NULL.",
        example("NUM_NONNULLS(1, NULL, 'a')", 1, None, "a", gives=2), strict=False,
    ),
)  # fmt: skip
