"""The rules for the rows of one relation, each beside the sentence it proves. `relating` has those for two.

Only `scan` claims something of a table; every other rule says how the claim on its input is kept, or what becomes
of it.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from privql.kernel.features import Feature, Order, WindowCall
from privql.kernel.parts import DIVIDING
from privql.kernel.proved import RULE, Unproved
from privql.kernel.relating import mark
from privql.kernel.scalars import BOOL, Apply, Field, Scalar, Value, fields
from privql.kernel.stable import ONE_ROW, Sets, Stable, owned
from privql.kernel.terms import Filter, Gather, KeepRows, Once, Project, Scan, UnitPart, Window
from privql.kernel.wellformed import call, feature, named, ordered, reads


def scan(term: Scan) -> Stable:
    """Rows without a unit are dropped, so every row has one; adding or removing a unit changes only its own rows.

    At most one row a unit when each row is its own unit, or when the unit is a key. Along references a row has at most
    one unit, because each step leads to at most one row. The databases that the owner may bind are those that
    pass these checks, so neighbours are drawn from them alone. The rows of a unit agree in the column that names it.
    """
    if term.via and (term.unit_column is None or term.key):
        raise Unproved("along references there is a unit column, and it is no key")
    one = term.unit_column is None or term.key
    names = frozenset(name for name, _ in term.columns)
    unique = frozenset(frozenset((name,)) for name in term.unique & names) | (ONE_ROW if one else frozenset())
    of = None if term.unit_column is None else term.unit_column[1]
    fixed = frozenset(() if term.via else (name for name, type in term.columns if (name, type) == term.unit_column))
    apart = ONE_ROW if one else frozenset()
    return Stable(term, term.unit, of, 1 if one else None, names, unique, fixed, apart=apart, why=("scan", ()), by=RULE)


def unit_part(input: Stable, column: str) -> Stable:
    """Which part a unit is in is a function of its rows in this table alone, as they are read; so they agree in it."""
    owned(input)
    if not isinstance(input.term, Scan) or column not in (read := dict(input.term.columns)):
        raise Unproved("a table is divided where it is read, by a column that is read")
    if read[column].kind not in DIVIDING:
        raise Unproved("units are divided by values that have one way to be written")
    term, fixed = UnitPart(input.term, column), input.fixed | {column}
    return replace(input, term=term, fixed=fixed, why=("unit_part", (input,)), by=RULE)


def keep_where(input: Stable, condition: Scalar) -> Stable:
    """A filter decides about a row from that row alone, so a unit's rows after it depend on its rows before it."""
    reads(condition, input.columns)
    return replace(input, term=Filter(input.term, condition), why=("keep_where", (input,)), by=RULE)


def compute(input: Stable, columns: tuple[tuple[str, Scalar], ...]) -> Stable:
    """Each row becomes one row, from itself alone, and keeps its unit. What reads only columns in which a unit's rows
    agree is the same for all of them."""
    for _, value in columns:
        reads(value, input.columns)
    names = named(name for name, _ in columns)
    copies: dict[str, str] = {}
    for name, value in columns:
        if isinstance(value, Field):
            copies.setdefault(value.name, name)
    unique, apart = (
        frozenset(frozenset(copies[name] for name in key) for key in keys if key <= copies.keys())
        for keys in (input.unique, input.apart)
    )
    fixed = frozenset(name for name, value in columns if fields(value) <= input.determined)
    term = Project(input.term, columns)
    why = "compute", (input,)
    return replace(input, term=term, columns=names, unique=unique, apart=apart, fixed=fixed, why=why, by=RULE)


def keep_rows(input: Stable, limit: int, order: tuple[Order, ...] = ()) -> Stable:
    """Which of a unit's rows stay is a function of that unit's rows (and a secret, fixed salt); at most `limit` do."""
    owned(input)
    if limit < 1:
        raise Unproved("a unit keeps at least one row")
    ordered(order, input.columns)
    rows = limit if input.rows is None else min(limit, input.rows)
    one = ONE_ROW if rows == 1 else frozenset()
    unique, apart = input.unique | one, input.apart | one
    term, why = KeepRows(input.term, limit, order), ("keep_rows", (input,))
    return replace(input, term=term, rows=rows, unique=unique, apart=apart, why=why, by=RULE)


def gather(
    input: Stable,
    keys: tuple[tuple[str, Scalar], ...],
    features: tuple[tuple[str, Feature], ...],
    listed: tuple[tuple[Value, ...], ...] | None = None,
) -> Stable:
    """A unit's groups are made of its own rows: each of at least one, so there are no more groups than rows, and where
    only listed values are kept, no more than combinations of them. By keys in which its rows agree it has one group."""
    owned(input)
    for _, value in keys:
        reads(value, input.columns)
    for _, made in features:
        feature(made, input.columns)
    names = named(name for name, _ in (*keys, *features))
    own = frozenset(name for name, _ in keys)
    fixed = frozenset(name for name, value in keys if fields(value) <= input.determined)
    most = 1 if own <= fixed else input.rows
    if listed is not None:
        if len(listed) != len(keys) or any(not values or len(set(values)) != len(values) for values in listed):
            raise Unproved("the values of each key must be listed, each once")
        combinations = prod(map(len, listed))
        most = combinations if most is None else min(most, combinations)
    term = Gather(input.term, keys, features, listed)
    unique = frozenset((own,))
    apart = unique if all(value.type.kind != "FLOAT" for _, value in keys) else frozenset()
    why = "gather", (input,)
    return replace(
        input, term=term, rows=most, columns=names, unique=unique, apart=apart, fixed=fixed, why=why, by=RULE
    )


def keep_groups(
    input: Stable,
    keys: tuple[tuple[str, Scalar], ...],
    limit: int,
    listed: tuple[tuple[Value, ...], ...] | None = None,
) -> Stable:
    """The rows in the first `limit` of a unit's groups, by a keyed hash of unit and keys: those that `mark` finds among
    these groups. Where it is one group, the unit's rows agree in its keys."""
    if not keys:
        raise Unproved("groups are by something")
    groups = gather(input, keys, (), listed)
    if groups.rows is None or groups.rows > limit:
        groups = keep_rows(groups, limit)
    same: list[Scalar] = []
    for name, value in keys:
        same.append(Apply("not", (Apply("is_distinct", (value, Field(name, value.type)), BOOL),), BOOL))
    where = same[0] if len(same) == 1 else Apply("and", tuple(same), BOOL)
    kept = f"{keys[0][0]}_kept"
    marked = mark(input, kept, groups, (), where)
    found = keep_where(marked, Field(kept, BOOL))
    agreed = (value.name for _, value in keys if isinstance(value, Field)) if groups.rows == 1 else ()
    return replace(found, fixed=found.fixed | frozenset(agreed), why=("keep_groups", (marked, groups)), by=RULE)


def window(
    input: Stable,
    partition: tuple[Scalar, ...],
    order: tuple[Order, ...],
    calls: tuple[tuple[str, WindowCall], ...],
) -> Stable:
    """Each row stays, and learns something of the rows of its own unit."""
    owned(input)
    ordered(order, input.columns)
    for value in partition:
        reads(value, input.columns)
    for _, made in calls:
        call(made, input.columns)
    columns = named((*input.columns, *(name for name, _ in calls)))
    term, why = Window(input.term, partition, order, calls), ("window", (input,))
    return replace(input, term=term, columns=columns, why=why, by=RULE)


def once(input: Stable) -> Stable:
    """A row is there if any unit has it, so one unit's rows add or take away as many at most."""
    owned(input)
    none: Sets = frozenset()
    why = "once", (input,)
    term = Once(input.term)
    return replace(input, term=term, unique=none, apart=none, fixed=frozenset(), owned=False, why=why, by=RULE)
