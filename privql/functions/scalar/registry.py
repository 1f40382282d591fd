"""Every scalar function there is, and the four questions asked of one: types, domain, meaning, name."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import assert_never

from privql.domains import Domain, finite, grid_of
from privql.frozen import frozen
from privql.functions.scalar import (
    angles,
    arithmetic,
    bits,
    buckets,
    building,
    casts,
    comparison,
    dates,
    differences,
    fields,
    layout,
    logic,
    matching,
    moments,
    powers,
    regular,
    rounding,
    similar,
    text,
    whole,
    writing,
)
from privql.functions.scalar.declare import LISTED, Constants, Resolved, ScalarFunction, Types, canonical
from privql.kernel.scalars import Apply, Const, Field, Scalar, Value, ValueType

_ALL: tuple[ScalarFunction, ...] = (
    *arithmetic.FUNCTIONS,
    *rounding.FUNCTIONS,
    *powers.FUNCTIONS,
    *angles.FUNCTIONS,
    *whole.FUNCTIONS,
    *bits.FUNCTIONS,
    *comparison.FUNCTIONS,
    *logic.FUNCTIONS,
    *text.FUNCTIONS,
    *building.FUNCTIONS,
    *layout.FUNCTIONS,
    *matching.FUNCTIONS,
    *similar.FUNCTIONS,
    *regular.FUNCTIONS,
    *fields.FUNCTIONS,
    *dates.FUNCTIONS,
    *differences.FUNCTIONS,
    *moments.FUNCTIONS,
    *buckets.FUNCTIONS,
    *writing.FUNCTIONS,
    *casts.FUNCTIONS,
)
_BY_OP = {function.op: function for function in _ALL}
_BY_NAME = {name: function.op for function in _ALL for name in function.sql_names}


def all_functions() -> tuple[ScalarFunction, ...]:
    return _ALL


def function(op: str) -> ScalarFunction:
    return _BY_OP[op]


def by_sql_name(name: str) -> str | None:
    """The operation that a query calls by this name, in any case."""
    return _BY_NAME.get(name.upper())


def constant_args(op: str) -> tuple[int, ...]:
    """Which arguments must be constants."""
    return _BY_OP[op].constant_args


def given(name: str) -> tuple[int, str] | None:
    """An argument that a function's name gives, as YEAR does: its place and value."""
    for called, place, value in _BY_OP[_BY_NAME[name.upper()]].given:
        if called == name.upper():
            return place, value
    return None


def objection(op: str, constants: Constants) -> str | None:
    """What is wrong with constant arguments of the right types; None if nothing, or if no one says."""
    objects = _BY_OP[op].objection
    return None if objects is None else objects(constants)


def signatures(op: str) -> str:
    return "; ".join(_BY_OP[op].signatures)


def resolve(op: str, types: Types, constants: Constants = ()) -> Resolved | None:
    """How these argument types are taken; None if they cannot be. `constants` holds the values of constant arguments.

    The operation that results may be another (`/` of integers is `int_div`, IF is `case`).
    """
    return _BY_OP[op].typing(types, constants)


resolve_cast = casts.resolve_cast


def infer(op: str, arg_types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """Where the results lie when the arguments lie in these domains. Resolved types are given."""
    declared = _BY_OP[op]
    if declared.lists:
        listed = _listed(declared, arg_types, result, args)
        if listed is not None:
            return listed
    if not declared.strict:
        return declared.domain(arg_types, result, args)
    nullable = any(arg.nullable for arg in args)
    if any(arg.empty for arg in args):
        return finite((), nullable, grid_of(result))
    inferred = declared.domain(arg_types, result, args)
    return inferred.with_null() if nullable else inferred


def _listed(declared: ScalarFunction, arg_types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain | None:
    """The function of every combination of listed values, NULL among them, if there are not too many."""
    choices: list[tuple[Value, ...]] = []
    for arg in args:
        if arg.values is None:
            return None
        choices.append((*arg.values, None) if arg.nullable else arg.values)
    if prod(map(len, choices)) * len(choices) > 2 * LISTED:
        return None
    exact = [tuple(canonical(v, t) for v in some) for t, some in zip(arg_types, choices, strict=True)]
    results = {_meaning(declared, arg_types, result, values) for values in product(*exact)}
    return finite(results, None in results, grid_of(result))


def evaluate(op: str, arg_types: Types, result: ValueType, values: tuple[Value, ...]) -> Value:
    """The value of an operation on values of exactly its argument types."""
    return _meaning(_BY_OP[op], arg_types, result, values)


def _meaning(declared: ScalarFunction, arg_types: Types, result: ValueType, values: tuple[Value, ...]) -> Value:
    if declared.strict:
        for value in values:  # `None in values` would ask each whether it equals None
            if value is None:
                return None
    return declared.meaning(arg_types, result, values)


def evaluate_term(term: Scalar, row: Mapping[str, Value]) -> Value:
    """The value of a row function in one row. Terms may be as deep as they like: nothing here recurses."""
    if isinstance(term, Field):
        return row[term.name]
    if isinstance(term, Const):
        return term.value
    kept = _KNOWN.get(id(term))
    if kept is None:
        if len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.clear()
        kept = _KNOWN[id(term)] = term, _unrolled(term)
    unrolled = kept[1]
    done = unrolled.constants.copy()
    for at, name in unrolled.read:
        done[at] = row[name]
    for at, declared, arg_types, result, args in unrolled.steps:
        done[at] = _meaning(declared, arg_types, result, tuple([done[arg] for arg in args]))
    return done[-1]


@frozen
class _Unrolled:
    """A term as a list of values, each made of some before it: rows come by the thousand, and the term stays."""

    constants: list[Value]  # in their places; None where something else will be
    read: tuple[tuple[int, str], ...]  # which column goes where
    steps: tuple[tuple[int, ScalarFunction, Types, ValueType, tuple[int, ...]], ...]


_KNOWN: dict[int, tuple[Apply, _Unrolled]] = {}  # by the very term, which is kept so that its id stays its own
_MOST_KNOWN = 10_000


def _unrolled(term: Apply) -> _Unrolled:
    constants: list[Value] = []
    read: dict[str, int] = {}
    steps: list[tuple[int, ScalarFunction, Types, ValueType, tuple[int, ...]]] = []
    todo: list[tuple[Scalar, bool]] = [(term, False)]
    places: list[int] = []
    while todo:
        node, ready = todo.pop()
        if isinstance(node, Apply) and not ready:
            todo.append((node, True))
            todo.extend((arg, False) for arg in reversed(node.args))
            continue
        if isinstance(node, Field) and node.name in read:
            places.append(read[node.name])
            continue
        places_of_args: tuple[int, ...] = ()
        at = len(constants)
        constants.append(node.value if isinstance(node, Const) else None)
        match node:
            case Field(name=name):
                read[name] = at
            case Apply(op=op, args=args, type=type):
                places_of_args = tuple(places[len(places) - len(args) :])
                del places[len(places) - len(args) :]
                steps.append((at, _BY_OP[op], tuple(arg.type for arg in args), type, places_of_args))
            case Const():
                pass
            case _:
                assert_never(node)
        places.append(at)
    return _Unrolled(constants, tuple((at, name) for name, at in read.items()), tuple(steps))
