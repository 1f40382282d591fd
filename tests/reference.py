"""What a kernel term computes, said in Python over lists of rows: slow, and short enough to be believed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from hashlib import md5

from privql.functions.scalar import evaluate, evaluate_term
from privql.kernel.scalars import TEXT, Value, ValueType
from privql.kernel.terms import (
    Balance,
    Contribution,
    Filter,
    KeepRows,
    Project,
    Relation,
    Scan,
    Steps,
    Sums,
    Tally,
    Total,
    cells,
)

Row = Mapping[str, Value]
Tables = Mapping[str, list[Row]]


def run(sums: Sums, tables: Tables, salt: bytes) -> list[list[int]]:
    """The exact cells, one row a group in the order of `itertools.product` of the keys' members."""
    groups = {g: [0] * sums.width for g in itertools.product(*(key.members for key in sums.keys))}
    for _, row in rows(sums.input, tables, salt):
        group = groups.get(tuple(evaluate_term(key.value, row) for key in sums.keys))
        if group is not None:
            at = 0
            for contribution in sums.contributions:
                for added in _contributed(contribution, row):
                    group[at] += added
                    at += 1
    return list(groups.values())


def _contributed(contribution: Contribution, row: Row) -> Iterable[int]:
    if contribution.where is not None and evaluate_term(contribution.where, row) is not True:
        return [0] * cells(contribution)
    match contribution:
        case Tally():
            return [1]
        case Total(steps=steps):
            return [in_steps(steps, row) or 0]
        case Balance(steps=steps):
            s = in_steps(steps, row)
            return [0, 0] if s is None else [s - steps.low, steps.high - s]


def in_steps(steps: Steps, row: Row) -> int | None:
    value = evaluate_term(steps.value, row)
    if value is None:
        return None
    assert isinstance(value, (int, float, Fraction))
    exact = Fraction(value) / steps.grid
    nearest = round(exact) if isinstance(value, float) else math.floor(exact + Fraction(1, 2))
    return min(max(nearest, steps.low), steps.high)


Owned = tuple[Value | object, Row]  # a row and its unit


def rows(relation: Relation, tables: Tables, salt: bytes) -> list[Owned]:
    match relation:
        case Scan(table=table, unit_column=unit, columns=columns):
            read = [(row[unit[0]] if unit else object(), {c: row[c] for c, _ in columns}) for row in tables[table]]
            return [(owner, row) for owner, row in read if owner is not None]
        case Filter(input=input, condition=condition):
            return [(u, row) for u, row in rows(input, tables, salt) if evaluate_term(condition, row) is True]
        case Project(input=input, columns=columns):
            below = rows(input, tables, salt)
            return [(u, {c: evaluate_term(term, row) for c, term in columns}) for u, row in below]
        case KeepRows(input=input, limit=limit):
            return _kept(rows(input, tables, salt), limit, types(input), unit_type(input), salt)


def _kept(below: list[Owned], limit: int, of: dict[str, ValueType], unit: ValueType | None, salt: bytes) -> list[Owned]:
    if unit is None:
        return below if limit > 0 else []
    kept: list[Owned] = []
    by_unit: dict[Value | object, list[Row]] = {}
    for owner, row in below:
        by_unit.setdefault(owner, []).append(row)
    for owner, owned in by_unit.items():
        parts = [f"{salt.hex()}:{_part(owner, unit)}" + "".join(_part(row[c], of[c]) for c in of) for row in owned]  # type: ignore[arg-type]
        order = sorted(range(len(owned)), key=lambda i: _hash(parts[i]))
        kept += [(owner, owned[i]) for i in order[:limit]]
    return kept


def _hash(content: str) -> int:
    return int.from_bytes(md5(content.encode()).digest(), "little")


def _part(value: Value, type: ValueType) -> str:
    if value is None:
        return "n:" if type.kind == "TEXT" else "n;"
    match type.kind:
        case "TEXT":
            return f"{len(str(value))}:{value}"
        case "FLOAT":
            return f"{value + 0.0!r};"  # type: ignore[operator]
        case "DATE" | "TIMESTAMP":
            return f"{value};"
        case _:
            return f"{evaluate('cast', (type,), TEXT, (value,))};"


def types(relation: Relation) -> dict[str, ValueType]:
    match relation:
        case Scan(columns=columns):
            return dict(columns)
        case Project(columns=columns):
            return {c: term.type for c, term in columns}
        case Filter(input=input) | KeepRows(input=input):
            return types(input)


def unit_type(relation: Relation) -> ValueType | None:
    while not isinstance(relation, Scan):
        relation = relation.input
    return relation.unit_column[1] if relation.unit_column is not None else None
