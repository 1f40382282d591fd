"""What the rows of a unit are made of together: groups, sets, multisets."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain
from math import ceil, floor

from privql.engines.interface import EngineError
from privql.engines.sql.aggregates import Aggregates
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.joins import same_unit
from privql.engines.sql.relations import Clamp, Column, Draft, Layer, Listed, Rows, column, is_name, one_zero
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar, Value
from privql.kernel.terms import Combine, Gather


def gather(below: Rows, term: Gather, draft: Draft) -> Rows:
    layer = Aggregates(below, draft.names)
    columns, keys = _grouped(layer, term.keys)
    made: dict[str, str] = {}
    for name, feature in term.features:
        sql, columns[name] = layer.feature(feature)
        made[columns[name].spelled.sql] = sql
    owner = below.owner.sql
    kept = dict.fromkeys([owner, *keys])
    partial = {key: key for key in kept} | {name: sql for sql, name in layer.aggregates.items()}
    grouped = Layer(partial, f" GROUP BY {', '.join(kept)}", closed=True)
    found = replace(layer.rows().with_layers(grouped, Layer(made)), columns=columns)
    if term.listed is None:
        return found
    listed = [
        (Field(name, columns[name].spelled.type), tuple(dict.fromkeys(members)))
        for (name, value), members in zip(term.keys, term.listed, strict=True)
        if not _can_only_be(below, value, members)
    ]
    emitter = found.emitter
    tests = " AND ".join(f"({emitter.sql(_among(key, members))})" for key, members in listed)
    return found.with_layers(Layer({}, f" WHERE {tests}")) if tests else found


def _can_only_be(below: Rows, value: Scalar, members: Collection[Value]) -> bool:
    """A column made of a declared list or range is among its members or NULL as it stands. To test it again is pushed
    below the grouping, where it was measured to cost as much as all the rest."""
    made = below.columns[value.name].made if isinstance(value, Field) else None
    match made:
        case Listed(term=Apply(args=(Apply(args=(_, *declared)), *_))):
            return {None, *(one.value for one in declared if isinstance(one, Const))} <= set(members)
        case Clamp(column=column, low=low, high=high) if column.type == INT:
            listed = set(members)  # of a range that may be as wide as numbers are, no more is looked at than is listed
            return all(one in listed for one in chain((None,), range(ceil(low), floor(high) + 1)))
        case _:
            return False


def _among(key: Field, members: Collection[Value]) -> Scalar:
    listed = tuple(Const(member, key.type) for member in members if member is not None)
    tests = [Apply("in", (key, *listed), BOOL)] if listed else []
    tests += [Apply("is_null", (key,), BOOL)] if None in members else []
    return tests[0] if len(tests) == 1 else Apply("or", tuple(tests), BOOL)


def once(below: Rows, draft: Draft) -> Rows:
    layer = Aggregates(below, draft.names)
    columns, keys = _grouped(layer, [(name, Field(name, each.spelled.type)) for name, each in below.columns.items()])
    kept = dict.fromkeys(keys) or [layer.leaf(Spelled("TRUE", BOOL)).sql]
    grouped = Layer({key: key for key in kept}, f" GROUP BY {', '.join(kept)}", closed=True)
    return replace(layer.rows().with_layers(grouped), columns=columns, unit=None, rows_of=None, alone=False)


def _grouped(layer: Aggregates, values: Iterable[tuple[str, Scalar]]) -> tuple[dict[str, Column], list[str]]:
    """The columns to group by, and their names: never a constant, which would be taken for a place."""
    columns: dict[str, Column] = {}
    for name, term in values:
        value = layer.emitter.settled(term)
        named = is_name(value.sql) and value.type.kind != "FLOAT"
        spelled = layer.leaf(replace(one_zero(value, layer.dialect), leaf=named))
        columns[name] = column(spelled.sql, spelled.type, spelled.low, spelled.high)
    return columns, [each.spelled.sql for each in columns.values()]


def combine(left: Rows, right: Rows, term: Combine, draft: Draft) -> Rows:
    unit = replace(left.owner, sql=draft.names.new("u"))
    ours, theirs = same_unit(left, right)
    added, beside = {unit.sql: ours}, {unit.sql: theirs}
    columns: dict[str, Column] = {}
    union = term.op == "UNION ALL"
    for name, one, other in term.columns:
        mine, yours = _value(left, one), _value(right, other)
        if mine.type != yours.type:
            raise EngineError("unsupported")
        if not union:
            mine, yours = one_zero(mine, left.dialect), one_zero(yours, left.dialect)
        columns[name] = column(draft.names.new("c"), mine.type, min(mine.low, yours.low), max(mine.high, yours.high))
        added[columns[name].spelled.sql], beside[columns[name].spelled.sql] = mine.sql, yours.sql

    def tail(read: Collection[str]) -> str:
        listed = ", ".join(f"{sql} AS {name}" for name, sql in beside.items() if not union or name in read) or "1"
        return f" {term.op} SELECT {listed} FROM {right.dialect.derived(right.sql(listed))}"

    layer = Layer(added, tail, closed=True, whole=not union)
    return replace(left.with_layers(layer), columns=columns, unit=unit, alone=False)


def _value(side: Rows, name: str) -> Spelled:
    return side.emitter.settled(Field(name, side.columns[name].spelled.type))
