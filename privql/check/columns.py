"""The columns that a relation has, and those that it reads of a row around it."""

from __future__ import annotations

from typing import Any

from privql.check.relations import (
    Combined,
    Compute,
    Distinct,
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
from privql.check.typed import Context
from privql.frozen import inside
from privql.kernel.scalars import Apply, Const, Field, ValueType


def produced(rel: Rel) -> dict[str, ValueType]:
    """The columns of a relation."""
    match rel:
        case PublicScan(columns=scanned) | ReleasedScan(columns=scanned) | PrivateScan(columns=scanned):
            return {id: type for id, _, type in scanned}
        case Shared(columns=shared):
            return {id: type for id, _, type in shared}
        case Measured(columns=columns) | Rows(columns=columns) | Combined(columns=columns):
            return dict(columns)
        case Working(columns=columns) | Recursive(columns=columns):
            return dict(columns)
        case Compute(columns=computed):
            return {id: term.type for id, term in computed}
        case Where(input=input) | Distinct(input=input) | Once(input=input) | Sorted(input=input):
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


def around(rel: Rel, context: Context) -> set[str]:
    """The columns that a query reads and does not have: those of the row around it."""
    read: set[str] = set()
    own: set[str] = set()
    todo: list[Any] = [rel]
    while todo:
        match todo.pop():
            case Const():
                pass
            case Field(name=name) if name in context.subqueries:
                own.add(name)
                todo.append(context.subqueries[name])
            case Field(name=name):
                read.add(name)
            case Apply(args=args):
                todo.extend(args)
            case node:
                if isinstance(node, Rel):
                    own |= produced(node).keys()
                if isinstance(node, Shared):
                    todo.extend(shared for name, shared in context.shared if name == node.name)
                todo.extend(inside(node))
    return read - own
