"""What a declaration of a scalar function is made of: names, types, meaning, domain, doc and example.

A meaning is a Python function of the argument values; it is total: where a result would fail it is NULL (None).
A domain rule says where results lie when the arguments lie in given domains; it may say too much, never too little.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, Literal

from privql.domains import NUMERIC, Domain, finite, whole
from privql.frozen import frozen
from privql.kernel.scalars import (
    BOOL,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    TEXT,
    TIMESTAMP,
    Const,
    Value,
    ValueType,
    decimal,
)

Types = tuple[ValueType, ...]
Constants = tuple[Value, ...]
Typing = Callable[[Types, Constants], "Resolved | None"]
Meaning = Callable[[Types, ValueType, tuple[Any, ...]], Value]
DomainRule = Callable[[Types, ValueType, tuple[Domain, ...]], Domain]
Objection = Callable[[Constants], "str | None"]

LISTED = 4096  # combinations of two listed arguments mapped one by one
SMALL = 256  # members of an interval listed where a rule gains by it


@frozen
class Resolved:
    """The operation a call stands for, what each argument must be cast to, and the type that results."""

    op: str
    arg_types: Types
    result: ValueType


@frozen
class Example:
    sql: str
    args: tuple[Const, ...]
    gives: Value


@frozen
class ScalarFunction:
    op: str
    sql_names: tuple[str, ...]  # what a query may call it by
    kind: Literal["function", "operator"]  # an operator is written in its own syntax
    signatures: tuple[str, ...]
    typing: Typing
    meaning: Meaning
    domain: DomainRule
    doc: str
    example: Example
    constant_args: tuple[int, ...] = ()  # arguments that must be constants
    strict: bool = True  # NULL if any argument is; meaning and domain rule then need not speak of NULL arguments
    given: tuple[tuple[str, int, str], ...] = ()  # a name that gives an argument: which one, and what it is
    lists: bool = True  # listed arguments are mapped one by one before the domain rule is asked
    objection: Objection | None = None  # what is wrong with constant arguments of the right types


# ---- typing


def fixed(op: str, *rows: tuple[Types, ValueType]) -> Typing:
    """The first row whose types the arguments convert to without a cast written."""

    def typing(types: Types, constants: Constants) -> Resolved | None:
        for wanted, result in rows:
            if len(wanted) == len(types) and all(map(converts, types, wanted)):
                return Resolved(op, wanted, result)
        return None

    return typing


def checked(op: str, wrong: Objection, types: Types, result: ValueType, least: int) -> Typing:
    """At least so many arguments, of these types without a cast, to whose constants nothing is objected."""

    def typing(given: Types, constants: Constants) -> Resolved | None:
        if not least <= len(given) <= len(types):
            return None
        if any(have not in (want, NULL) for have, want in zip(given, types, strict=False)):
            return None
        if wrong(padded(given, constants)) is not None:
            return None
        return Resolved(op, types[: len(given)], result)

    return typing


def converts(source: ValueType, target: ValueType) -> bool:
    """Whether a value of one type is taken as the other without a cast."""
    if source == target or source.kind == "NULL":
        return True
    match target.kind:
        case "FLOAT":
            return source.kind in ("INT", "DECIMAL")
        case "DECIMAL":
            return source.kind in ("INT", "DECIMAL")
        case "TIMESTAMP":
            return source.kind == "DATE"
        case _:
            return False


def as_decimal(type: ValueType, constant: Value) -> ValueType:
    """The DECIMAL that an INT becomes: as wide as a constant is written, else wide enough for 64 bits."""
    if type.kind == "DECIMAL":
        return type
    if type.kind == "INT" and isinstance(constant, int):
        return decimal(len(str(abs(constant))), 0)
    return decimal(1 if type.kind == "NULL" else 19, 0)


def wide(digits: int, scale: int) -> ValueType:
    """DECIMAL with so many digits before and behind the point, as far as 38 go."""
    return decimal(min(digits + scale, 38), scale)


def numeric(types: Types, constants: Constants) -> ValueType | None:
    """The one numeric type that holds all arguments (INT if all are NULL)."""
    kinds = {t.kind for t in types}
    if not kinds <= NUMERIC | {"NULL"}:
        return None
    if "FLOAT" in kinds:
        return FLOAT
    if "DECIMAL" not in kinds:
        return INT
    parts = [as_decimal(t, c) for t, c in zip(types, padded(types, constants), strict=True)]
    return wide(max(p.precision - p.scale for p in parts), max(p.scale for p in parts))


def common(types: Types, constants: Constants) -> ValueType | None:
    """The one type that holds all arguments (TEXT if all are NULL, as in PostgreSQL)."""
    distinct = set(types)
    distinct.discard(NULL)
    if not distinct:
        return TEXT
    if len(distinct) == 1:
        (only,) = distinct
        return None if only.kind == "INTERVAL" else only
    kinds = {t.kind for t in distinct}
    if kinds == {"DATE", "TIMESTAMP"}:
        return TIMESTAMP
    return numeric(types, constants)


def padded(types: Types, constants: Constants) -> Constants:
    return constants if constants else (None,) * len(types)


def alike(op: str, arity: range, result: ValueType | None = None) -> Typing:
    """Arguments of one common type; the result has it too unless stated."""

    def typing(types: Types, constants: Constants) -> Resolved | None:
        if len(types) not in arity:
            return None
        shared = common(types, constants)
        return None if shared is None else Resolved(op, (shared,) * len(types), result or shared)

    return typing


# ---- meaning


def plain(function: Callable[..., Value]) -> Meaning:
    """A meaning that no type changes."""
    return lambda types, result, values: function(*values)


# ---- domains


def anything(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """All of the result's type, never NULL of itself."""
    return whole(result, False)


def anything_or_null(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return whole(result, True)


def canonical(value: Value, type: ValueType) -> Value:
    """A number as its type writes it, from a domain that may have written it otherwise."""
    match type.kind:
        case "FLOAT" if isinstance(value, (int, Fraction)):
            return float(value)
        case "DECIMAL" if isinstance(value, int):
            return Fraction(value)
        case "INT" | "DATE" | "TIMESTAMP" if isinstance(value, Fraction):
            return int(value)
        case _:
            return value


@cache
def flags(can_be_true: bool, can_be_false: bool, nullable: bool) -> Domain:
    return finite([v for v, can in ((True, can_be_true), (False, can_be_false)) if can], nullable)


# ---- examples


def const(value: Value, type: ValueType | None = None) -> Const:
    return Const(value, type or type_of(value))


def type_of(value: Value) -> ValueType:
    """The type of a value as an example writes it: a fraction is the shortest DECIMAL that holds it."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return TEXT
        case Fraction():
            scale = next(s for s in range(39) if (value * 10**s).denominator == 1)
            return decimal(max(len(str(abs(value.numerator * 10**scale // value.denominator))), scale, 1), scale)
        case tuple():
            return INTERVAL


def example(sql: str, *args: Value | Const, gives: Value) -> Example:
    return Example(sql, tuple(a if isinstance(a, Const) else const(a) for a in args), gives)
