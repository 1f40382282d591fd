"""Every term of the kernel, row by row."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from privql.audit.reference.beside import combined, joined, meets, named, taking_part
from privql.audit.reference.order import called, grouped, hash_of
from privql.audit.reference.values import (
    Holder,
    Owned,
    Publics,
    Row,
    Tables,
    different,
    equal,
    gathered,
    holds,
    in_order,
    in_steps,
    plain,
)
from privql.engines.interface import Group
from privql.functions.scalar import evaluate_term
from privql.kernel.features import Tally, Total
from privql.kernel.scalars import Value
from privql.kernel.sums import Balance, Contribution, Hats, Key, Keys, Listed, Powers, Sums, cells
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
    Public,
    Relation,
    Scan,
    UnitPart,
    Window,
)


def run(sums: Sums, tables: Tables, salt: bytes, publics: Publics | None = None) -> list[list[int]]:
    """The exact cells, one row a group in the order of `itertools.product` of the keys' members."""
    width = sums.width
    groups = {g: [0] * width for g in itertools.product(*(key.members for key in sums.keys))}
    for _, row in rows(sums.input, tables, salt, publics or {}):
        group = groups.get(tuple(member(key, row) for key in sums.keys))
        if group is not None:
            at = 0
            for contribution in sums.contributions:
                for added in contributed(contribution, row):
                    group[at] += added
                    at += 1
    return list(groups.values())


def member(key: Key | Listed, row: Row) -> Value | tuple[Value, ...]:
    """Which of a key's members a row falls in."""
    if isinstance(key, Listed):
        return tuple(evaluate_term(value, row) for value in key.values)
    return evaluate_term(key.value, row)


def counted(keys: Keys, tables: Tables, salt: bytes, publics: Publics | None = None) -> list[Group]:
    """The groups there are, in the order of their values, NULL last; and how many rows each has."""
    given = (plain(row) for _, row in rows(keys.input, tables, salt, publics or {}))
    found = Counter(tuple(row[c] for c, _ in keys.columns) for row in given)
    return sorted(found.items(), key=lambda group: [(value is None, value) for value in group[0]])


def contributed(contribution: Contribution, row: Row) -> Iterable[int]:
    if not holds(contribution.where, row):
        return [0] * cells(contribution)
    match contribution:
        case Tally():
            return [1]
        case Total(steps=steps):
            return [in_steps(steps, row) or 0]
        case Balance(steps=steps):
            s = in_steps(steps, row)
            return [0, 0] if s is None else [s - steps.low, steps.high - s]
        case Powers(factors=factors):
            terms = []
            for steps, degree in factors:
                s = in_steps(steps, row)
                if s is None:
                    return [0] * cells(contribution)
                x, rest = s - steps.low, steps.high - s
                terms.append([math.comb(degree, i) * x**i * rest ** (degree - i) for i in range(degree + 1)])
            return [math.prod(each) for each in itertools.product(*terms)]
        case Hats(far=far, knots=knots):
            n = abs(in_steps(contribution.steps, row) or 0)
            parts = [
                Fraction(n - below, at - below) if n <= at else 1 - Fraction(n - at, at)
                for below, at in zip((0, *knots), knots, strict=False)
            ]
            return [(max(part, Fraction(0)) * far).numerator for part in parts]


def rows(relation: Relation, tables: Tables, salt: bytes, publics: Publics) -> list[Owned]:
    def of(input: Relation) -> list[Owned]:
        return rows(input, tables, salt, publics)

    match relation:
        case Scan(table=table, columns=columns):
            owners = [_owner(relation, row, at, tables) for at, row in enumerate(tables[table])]
            read = [(owner, {c: row[c] for c, _ in columns}) for owner, row in zip(owners, tables[table], strict=True)]
            return [(owner, row) for owner, row in read if owner is not None]
        case UnitPart(input=input, column=column):
            return [(unit, row) for unit, owned in by_unit(of(input)).items() for row in _in_one_part(owned, column)]
        case Filter(input=input, condition=condition):
            return [(unit, row) for unit, row in of(input) if holds(condition, row)]
        case Project(input=input, columns=columns):
            return [(unit, {c: evaluate_term(value, row) for c, value in columns}) for unit, row in of(input)]
        case KeepRows(input=input, limit=limit, order=order):
            return [
                (unit, row)
                for unit, owned in by_unit(of(input)).items()
                for row in in_order(owned, order, hash_of(input, unit, salt))[:limit]
            ]
        case Lookup(input=input, public=public, on=on, where=where, outer=outer):
            beside = taking_part(relation, publics[public.name], salt)
            out: list[Owned] = []
            for unit, row in of(input):
                values = tuple(evaluate_term(value, row) for value, _ in on)
                met = [{**row, **other} for other in beside.get(values, []) if holds(where, {**row, **other})]
                nothing = {c: None for c, _ in public.columns}
                out += [(unit, both) for both in met or ([{**row, **nothing}] if outer else [])]
            return out
        case Join(left=left, right=right):
            ours, theirs = by_unit(of(left)), by_unit(of(right))
            return [
                (unit, row)
                for unit in {**ours, **theirs}
                for row in joined(relation, ours.get(unit, []), theirs.get(unit, []))
            ]
        case Mark(input=input, column=column, among=Public() as among, on=on, where=where):
            public_rows = named(among, publics[among.name])
            return [
                (unit, {**row, column: any(meets(row, other, on, where) for other in public_rows)})
                for unit, row in of(input)
            ]
        case Mark(input=input, column=column, among=among, on=on, where=where):
            assert not isinstance(among, Public)
            others = by_unit(of(among))
            return [
                (unit, {**row, column: any(meets(row, other, on, where) for other in others.get(unit, []))})
                for unit, row in of(input)
            ]
        case Gather(input=input, keys=keys, features=features, listed=listed):
            out = []
            for unit, owned in by_unit(of(input)).items():
                for values, group in grouped(owned, [value for _, value in keys]).items():
                    if listed is not None and not all(v in members for v, members in zip(values, listed, strict=True)):
                        continue
                    own = {c: value for (c, _), value in zip(keys, values, strict=True)}
                    out.append((unit, {**own, **{c: gathered(feature, group) for c, feature in features}}))
            return out
        case Combine(left=left, right=right):
            sides = by_unit(of(left)), by_unit(of(right))
            return [
                (unit, row)
                for unit in {**sides[0], **sides[1]}
                for row in combined(relation, sides[0].get(unit, []), sides[1].get(unit, []))
            ]
        case Window(input=input, partition=partition, order=order, calls=calls):
            out = []
            for unit, owned in by_unit(of(input)).items():
                for part in grouped(owned, partition).values():
                    ordered = in_order(part, order, hash_of(input, unit, salt))
                    for at, row in enumerate(ordered):
                        out.append((unit, {**row, **{c: called(call, ordered, at, order) for c, call in calls}}))
            return out
        case Once(input=input):
            return [(None, row) for row in different([row for _, row in of(input)])]


def by_unit(owned: Iterable[Owned]) -> dict[Holder, list[Row]]:
    out: dict[Holder, list[Row]] = {}
    for unit, row in owned:
        out.setdefault(unit, []).append(row)
    return out


def _in_one_part(owned: list[Row], column: str) -> list[Row]:
    def rank(value: Value) -> tuple[int, bool, Value]:
        return -sum(row[column] == value for row in owned), value is None, value

    part = min((row[column] for row in owned), key=rank)
    return [row for row in owned if row[column] == part]


def _owner(scan: Scan, row: Row, at: int, tables: Tables) -> Holder:
    if scan.unit_column is None:
        return scan.table, at
    for link in scan.via:
        found = [other for other in tables[link.table] if equal(row[link.column], other[link.key[0]])]
        if not found:
            return None
        (row,) = found  # by the owner's word
    return row[scan.unit_column[0]]
