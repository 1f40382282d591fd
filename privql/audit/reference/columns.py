"""The columns of a relation, and their types."""

from __future__ import annotations

from privql.kernel.features import (
    Extreme,
    Feature,
    Mode,
    Moment,
    Neighbour,
    Nth,
    Over,
    Quantile,
    Rank,
    Splice,
    WindowCall,
)
from privql.kernel.scalars import BOOL, INT, ValueType, decimal
from privql.kernel.terms import (
    Combine,
    Filter,
    Gather,
    Join,
    KeepRows,
    Lookup,
    Mark,
    Once,
    Project,
    Relation,
    Scan,
    UnitPart,
    Window,
)


def types(relation: Relation) -> dict[str, ValueType]:
    match relation:
        case Scan(columns=columns):
            return dict(columns)
        case Project(columns=columns):
            return {c: value.type for c, value in columns}
        case UnitPart(input=input) | Filter(input=input) | KeepRows(input=input) | Once(input=input):
            return types(input)
        case Lookup(input=input, public=public):
            return {**types(input), **dict(public.columns)}
        case Join(left=left, right=right):
            return {**types(left), **types(right)}
        case Mark(input=input, column=column):
            return {**types(input), column: BOOL}
        case Gather(input=input, keys=keys, features=features):
            return {**{c: value.type for c, value in keys}, **{c: feature_type(feature) for c, feature in features}}
        case Combine(left=left, columns=columns):
            of = types(left)
            return {c: of[ours] for c, ours, _ in columns}
        case Window(input=input, calls=calls):
            return {**types(input), **{c: _call_type(call) for c, call in calls}}


def feature_type(feature: Feature) -> ValueType:
    match feature:
        case Extreme(value=value) | Quantile(value=value) | Mode(value=value) | Splice(value=value):
            return value.type
        case Moment():
            return decimal(38, 0)
        case _:
            return INT


def _call_type(call: WindowCall) -> ValueType:
    match call:
        case Rank():
            return INT
        case Neighbour(value=value) | Nth(value=value):
            return value.type
        case Over(feature=feature):
            return feature_type(feature)


def unit_type(relation: Relation) -> ValueType | None:
    while not isinstance(relation, Scan):
        relation = relation.left if isinstance(relation, (Join, Combine)) else relation.input
    return relation.unit_column[1] if relation.unit_column is not None else None
