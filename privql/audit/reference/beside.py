"""Rows of one unit beside each other, or beside public ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from privql.audit.reference.columns import types
from privql.audit.reference.order import hash_by
from privql.audit.reference.values import Row, different, equal, holds, in_order, plain
from privql.functions.scalar import evaluate_term
from privql.kernel.scalars import Scalar, Value
from privql.kernel.terms import Combine, Join, Lookup, Public


def named(public: Public, given: Sequence[tuple[Value, ...]]) -> list[Row]:
    return [{c: value for (c, _), value in zip(public.columns, row, strict=True)} for row in given]


def taking_part(lookup: Lookup, given: Sequence[tuple[Value, ...]], salt: bytes) -> dict[tuple[Value, ...], list[Row]]:
    """By their values in the columns of `on`; a NULL there equals nothing."""
    agreeing: dict[tuple[Value, ...], list[Row]] = {}
    for row in named(lookup.public, given):
        agreeing.setdefault(tuple(row[c] for _, c in lookup.on), []).append(row)
    hashed = hash_by(dict(lookup.public.columns), f"{salt.hex()}:")
    return {
        values: in_order(some, (), hashed)[: lookup.most] for values, some in agreeing.items() if None not in values
    }


def meets(one: Row, other: Row, on: tuple[tuple[Scalar, Scalar], ...], where: Scalar | None) -> bool:
    same = all(equal(evaluate_term(ours, one), evaluate_term(theirs, other)) for ours, theirs in on)
    return same and holds(where, {**one, **other})


def joined(join: Join, left: list[Row], right: list[Row]) -> Iterator[Row]:
    """Of one unit."""
    met = [(i, j) for i, j in itertools.product(range(len(left)), range(len(right)))
           if meets(left[i], right[j], join.on, join.where)]  # fmt: skip
    yield from ({**left[i], **right[j]} for i, j in met)
    if join.kind in ("LEFT", "FULL"):
        yield from ({**row, **dict.fromkeys(types(join.right))} for i, row in enumerate(left) if i not in dict(met))
    if join.kind == "FULL":
        alone = set(range(len(right))) - {j for _, j in met}
        yield from ({**dict.fromkeys(types(join.left)), **right[j]} for j in alone)


def combined(combine: Combine, left: list[Row], right: list[Row]) -> Iterator[Row]:
    """Of one unit."""
    ours = [{c: row[of] for c, of, _ in combine.columns} for row in left]
    theirs = [{c: row[of] for c, _, of in combine.columns} for row in right]
    if combine.op == "UNION ALL":
        yield from ours + theirs
        return
    if combine.op in ("INTERSECT", "EXCEPT"):
        yield from (row for row in different(ours) if (row in theirs) == (combine.op == "INTERSECT"))
        return
    left_over = list(theirs)  # each of these meets one of ours
    for row in ours:
        met = row in left_over
        if met:
            left_over.remove(row)
        if met == (combine.op == "INTERSECT ALL"):
            yield plain(row)
