"""The columns that a relation has."""

from __future__ import annotations

from privql.check.relations import (
    Around,
    Combined,
    Compute,
    Distinct,
    Each,
    Gathered,
    Grouped,
    Joined,
    Measured,
    Once,
    PrivateScan,
    PublicScan,
    Recursive,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Sorted,
    Where,
    Windowed,
    Working,
)
from privql.kernel.scalars import ValueType


def produced(rel: Rel) -> dict[str, ValueType]:
    match rel:
        case PublicScan(columns=scanned) | ReleasedScan(columns=scanned) | PrivateScan(columns=scanned):
            return {id: type for id, _, type in scanned}
        case Shared(columns=shared):
            return {id: type for id, _, type in shared}
        case Measured(columns=columns) | Rows(columns=columns) | Combined(columns=columns):
            return dict(columns)
        case Working(columns=columns) | Recursive(columns=columns):
            return dict(columns)
        case Compute(columns=computed) | Around(columns=computed):
            return {id: term.type for id, term in computed}
        case Where(input=input) | Distinct(input=input) | Once(input=input) | Sorted(input=input):
            return produced(input)
        case Each(input=input):
            return produced(input)
        case Joined(left=left, right=right):
            return produced(left) | produced(right)
        case Grouped(keys=keys, aggregates=calls, grouping=masks):
            found = {id: term.type for id, term in keys} | {id: call.type for id, call in calls}
            return found | {id: ValueType("INT") for id, _ in masks}
        case Gathered(keys=keys, features=features):
            return {id: term.type for id, term in keys} | {one.id: one.type for one in features}
        case Windowed(input=input, calls=windows):
            return produced(input) | {id: window.call.type for id, window in windows}
