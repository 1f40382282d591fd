"""A scalar function called on values as they are written, with the casts that a query would have."""

from __future__ import annotations

from privql.functions.scalar import evaluate, resolve, resolve_cast
from privql.functions.scalar.declare import type_of
from privql.kernel.scalars import Value, ValueType


def call(op: str, *values: Value, types: tuple[ValueType, ...] = ()) -> Value:
    """An operation on values, each of the type that it is written in."""
    given = types or tuple(map(type_of, values))
    resolved = resolve(op, given, values)
    assert resolved is not None, (op, given)
    taken = tuple(
        value if have == want or value is None else evaluate("cast", (have,), want, (value,))
        for value, have, want in zip(values, given, resolved.arg_types, strict=True)
    )
    return evaluate(resolved.op, resolved.arg_types, resolved.result, taken)


def cast(value: Value, target: ValueType, source: ValueType | None = None) -> Value:
    resolved = resolve_cast(source or type_of(value), target)
    assert resolved is not None
    return evaluate("cast", resolved.arg_types, resolved.result, (value,))
