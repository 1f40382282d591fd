"""The rules for rows beside others: of their own unit, or public ones that are the same for both neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from privql.kernel.proved import RULE, Unproved
from privql.kernel.scalars import Field, Scalar, fields
from privql.kernel.stable import Sets, Stable, one_unit, owned
from privql.kernel.terms import Combine, Join, Lookup, Mark, Public, SetOperation
from privql.kernel.wellformed import Columns, named, named_by, reads

Pairs = tuple[tuple[Scalar, Scalar], ...]


def lookup(
    input: Stable,
    public: Public,
    on: tuple[tuple[Scalar, str], ...],
    where: Scalar | None,
    most: int | None,
    outer: bool,
) -> Stable:
    """The public rows are the same for both neighbours, so what a row becomes depends on that row alone; and it becomes
    at most `most` rows, because of the public rows that agree in the columns of `on` no more take part. If that is
    one, and looked for by what a unit's rows agree in, all of them meet the same, or none."""
    owned(input)
    types, theirs = dict(public.columns), named_by(public)
    pairs = tuple((value, Field(column, value.type)) for value, column in on)
    columns = _meeting(input.columns, theirs, pairs, where)
    if any(value.type != types[column] for value, column in on):
        raise Unproved("public rows that differ in a column could be equal as another type")
    if most is not None and most < 1:
        raise Unproved("some public row may take part")
    rows = _times(input.rows, most)
    term = Lookup(input.term, public, on, where, most, outer)
    fixed = input.determined | (theirs if most == 1 and _asks_alike(input, pairs, where) else frozenset())
    unique, apart = (input.unique, input.apart) if most == 1 else (frozenset[frozenset[str]](),) * 2
    why = "lookup", (input,)
    return replace(
        input, term=term, rows=rows, columns=columns, unique=unique, apart=apart, fixed=fixed, why=why, by=RULE
    )


def join(
    kind: Literal["INNER", "LEFT", "FULL"], left: Stable, right: Stable, on: Pairs = (), where: Scalar | None = None
) -> Stable:
    """Rows meet rows of their own unit alone, so a unit's rows after it depend on its rows on both sides.

    A row meets at most one row of a side that is unique in columns that must equal its values - of the same type, for
    as FLOAT two integers may be one; else, all that the unit has there. LEFT and FULL add a row for each that meets
    none: where a of l rows meet b of r, there are at most ab + (l-a) + (r-b), and that is greatest where all meet or
    none does. If in a LEFT join no two of the l rows meet the same, one meets r and l-1 meet none. What the rows of a
    side agree in, they agree in beside others; and beside NULLs, if whether a row meets any is the same for all.
    """
    one_unit(left, right)
    columns = _meeting(left.columns, right.columns, on, where)
    one_left, one_right = one_each(left, right, on)
    most = _least(_times(left.rows, 1 if one_right else right.rows), right.rows if one_left else None)
    match kind:
        case "INNER":
            rows = most
        case "LEFT":
            rows = left.rows if one_right else _plus(most, left.rows, -1) if one_left else most
        case "FULL":
            rows = _plus(left.rows, right.rows)
            if not (one_left or one_right):
                rows = _most(rows, _times(left.rows, right.rows))
    unique: Sets = frozenset()
    apart: Sets = frozenset()
    if kind != "FULL" and one_right:
        unique, apart = left.unique, left.apart
    if kind == "INNER" and one_left:
        unique, apart = unique | right.unique, apart | right.apart
    fixed = left.determined if kind != "FULL" else frozenset()
    if kind == "INNER" or (kind == "LEFT" and _asks_alike(left, on, where)):
        fixed |= right.determined
    term = Join(kind, left.term, right.term, on, where)
    why = "join", (left, right)
    return replace(
        left, term=term, rows=rows, columns=columns, unique=unique, apart=apart, fixed=fixed, why=why, by=RULE
    )


def one_each(left: Stable, right: Stable, on: Iterable[tuple[Scalar, Scalar]]) -> tuple[bool, bool]:
    """Whether a row meets at most one of the left side, and at most one of the right."""
    exact = [(ours, theirs) for ours, theirs in on if ours.type == theirs.type]
    return _unique_in(left, (ours for ours, _ in exact)), _unique_in(right, (theirs for _, theirs in exact))


def mark(input: Stable, column: str, among: Stable | Public, on: Pairs = (), where: Scalar | None = None) -> Stable:
    """Each row stays as it is; whether it meets another depends on it, and on rows of its unit or on public ones: where
    rows agree in what is asked of them, it is the same."""
    owned(input)
    if isinstance(among, Stable):
        one_unit(input, among)
        theirs = among.columns
    else:
        theirs = named_by(among)
    _meeting(input.columns, theirs, on, where)
    fixed = input.fixed | (frozenset((column,)) if _asks_alike(input, on, where) else frozenset())
    term = Mark(input.term, column, among.term if isinstance(among, Stable) else among, on, where)
    why = "mark", (input, among) if isinstance(among, Stable) else (input,)
    return replace(input, term=term, columns=named((*input.columns, column)), fixed=fixed, why=why, by=RULE)


def combine(op: SetOperation, left: Stable, right: Stable, columns: tuple[tuple[str, str, str], ...]) -> Stable:
    """A set operation within each unit: a union has the rows of both at most, the others no more than one side."""
    one_unit(left, right)
    names = named(name for name, _, _ in columns)
    if any(one not in left.columns or other not in right.columns for _, one, other in columns):
        raise Unproved("a set operation names columns that a side does not have")
    ours = frozenset(name for name, one, _ in columns if one in left.determined)
    theirs = frozenset(name for name, _, other in columns if other in right.determined)
    match op:
        case "UNION ALL":
            rows, fixed = _plus(left.rows, right.rows), frozenset[str]()
        case "INTERSECT" | "INTERSECT ALL":
            rows, fixed = _least(left.rows, right.rows), ours | theirs
        case "EXCEPT" | "EXCEPT ALL":
            rows, fixed = left.rows, ours
    unique: Sets = frozenset((names,)) if names and not op.endswith("ALL") else frozenset()
    term, none = Combine(op, left.term, right.term, columns), frozenset[frozenset[str]]()
    why = "combine", (left, right)
    return replace(left, term=term, rows=rows, columns=names, unique=unique, apart=none, fixed=fixed, why=why, by=RULE)


def _meeting(ours: Columns, theirs: Columns, on: Pairs, where: Scalar | None) -> Columns:
    """The columns of both, once what is asked of them is known to read no others."""
    for one, other in on:
        reads(one, ours)
        reads(other, theirs)
    both = named((*ours, *theirs))
    reads(where, both)
    return both


def _asks_alike(input: Stable, on: Pairs, where: Scalar | None) -> bool:
    """Whether what decides which rows are met is the same for all of a unit's rows."""
    asked = frozenset(name for own, _ in on for name in fields(own))
    if where is not None:
        asked |= fields(where) & input.columns
    return asked <= input.determined


def _unique_in(side: Stable, values: Iterable[Scalar]) -> bool:
    named = {value.name for value in values if isinstance(value, Field)}
    return any(key <= named for key in side.unique)


def _times(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other


def _plus(one: int | None, other: int | None, more: int = 0) -> int | None:
    return None if one is None or other is None else one + other + more


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
