"""Rows in groups and in order: by values, and where those leave a choice, by a keyed hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import md5
from struct import pack, unpack

from privql.audit.reference.columns import types, unit_type
from privql.audit.reference.values import Holder, Row, gathered, one_zero
from privql.functions.scalar import evaluate, evaluate_term
from privql.kernel.features import Frame, Neighbour, Nth, Order, Over, Rank, WindowCall
from privql.kernel.scalars import TEXT, Scalar, Value, ValueType
from privql.kernel.terms import Relation


def grouped(given: Iterable[Row], values: Iterable[Scalar]) -> dict[tuple[Value, ...], list[Row]]:
    listed, out = list(values), dict[tuple[Value, ...], list[Row]]()
    for row in given:
        out.setdefault(tuple(one_zero(evaluate_term(value, row)) for value in listed), []).append(row)
    return out


def hash_of(input: Relation, unit: Holder, salt: bytes) -> Callable[[Row], int]:
    """Of a row that a unit has: a row that is its own unit has no name, and is hashed without one."""
    of = unit_type(input)
    name = "" if of is None or isinstance(unit, tuple) else _part(unit, of)
    return hash_by(types(input), f"{salt.hex()}:{name}")


def hash_by(of: Mapping[str, ValueType], prefix: str) -> Callable[[Row], int]:
    def hashed(row: Row) -> int:
        content = prefix + "".join(_part(row[c], of[c]) for c in of)
        return int.from_bytes(md5(content.encode()).digest(), "little")

    return hashed


def _part(value: Value, type: ValueType) -> str:
    if value is None:
        return "n:" if type.kind == "TEXT" else "n;"
    match type.kind:
        case "TEXT":
            return f"{len(str(value))}:{value}"
        case "FLOAT":
            return f"{unpack('>q', pack('>d', value + 0.0))[0]};"  # type: ignore[operator]
        case "DATE" | "TIMESTAMP":
            return f"{value};"
        case _:
            return f"{evaluate('cast', (type,), TEXT, (value,))};"


def called(call: WindowCall, part: list[Row], at: int, order: tuple[Order, ...]) -> Value:
    """For the row at this place of its partition, which is in order."""
    places = [tuple(evaluate_term(each.value, row) for each in order) for row in part]
    match call:
        case Rank(kind="ROW_NUMBER"):
            return at + 1
        case Rank(kind="RANK"):
            return places.index(places[at]) + 1
        case Rank():
            return len(set(places[: at + 1]))
        case Neighbour(value=value, before=before, default=default):
            there = at - before
            return evaluate_term(value, part[there]) if 0 <= there < len(part) else evaluate_term(default, part[at])
        case Over(feature=feature, frame=frame):
            return gathered(feature, framed(frame, part, places, at))
        case Nth(value=value, place=nth, frame=frame, present=present):
            found = [evaluate_term(value, row) for row in framed(frame, part, places, at)]
            found = [v for v in found if v is not None or not present]
            return found[nth - 1 if nth > 0 else nth] if abs(nth) <= len(found) else None


def framed(frame: Frame | None, part: list[Row], places: list[tuple[Value, ...]], at: int) -> list[Row]:
    if frame is None:
        return part
    groups = [at for at, _ in enumerate(places)]
    if frame.by == "GROUPS":
        groups = [len(set(places[: i + 1])) for i, _ in enumerate(places)]
    first, last = (None if edge is None else groups[at] + edge for edge in (frame.start, frame.end))
    return [
        row
        for row, group in zip(part, groups, strict=True)
        if (first is None or first <= group) and (last is None or group <= last)
    ]
