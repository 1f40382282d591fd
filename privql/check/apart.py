"""Aggregates that are measured by themselves - values by their rank; what is of DISTINCT values, over rows of its own -
and stand beside the others by the group keys.

How many different units there are in a group is counted over one row for each unit and group; different values of other
columns over one row for each value, whoever has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from privql.check.conditions import both
from privql.check.relations import (
    Aggregate,
    Attribute,
    Block,
    Compute,
    Distinct,
    GroupingKey,
    Joined,
    Label,
    Measured,
    Once,
    Rel,
    Rows,
    Where,
)
from privql.check.typed import Context
from privql.diagnostics import Span
from privql.domains import finite
from privql.functions.aggregate.within import MOMENTS, RANKED
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar, Value
from privql.kernel.terms import Unit

Sets = tuple[tuple[int, ...], ...]
Groupings = tuple[tuple[str, tuple[int, ...]], ...]


def blocks(
    rel: Rel,
    tables: tuple[str, ...],
    unit: Unit,
    keys: tuple[GroupingKey, ...],
    aggregates: Sequence[Aggregate],
    span: Span,
    context: Context,
    sets: Sets,
    groupings: Groupings,
) -> Rel:
    """The groups of all aggregates: those of plain ones, and beside them those of each that stands alone. Groups that
    nobody listed are found once."""
    counted = [one for one in aggregates if one.bins is not None]
    plain = tuple(one for one in aggregates if one.bins is None and not stands_alone(one))
    alone = _together([one for one in aggregates if one.bins is None and stands_alone(one)])
    looked = any(key.members is None for key in keys)
    if len(alone) == 1 and not plain and not looked and not counted:
        return _apart(rel, tables, unit, keys, alone[0], None, span, context)
    made: Rel | None = None
    first = len(context.blocks) if looked else None  # finds the groups of all
    if plain or looked:
        made = _measured(rel, tables, unit, keys, plain, None, span, context, sets, groupings)
    for one in alone:
        if made is None:
            made = _apart(rel, tables, unit, keys, one, None, span, context)
        else:
            again = tuple(replace(key, id=_like(key, context)) for key in keys)
            other = _apart(rel, tables, unit, again, one, first, span, context)
            same = tuple(_same(ours, theirs) for ours, theirs in zip(keys, again, strict=True))
            made = Joined("INNER" if same else "CROSS", made, other, both(same))
    for each in counted:
        again = tuple(replace(key, id=_like(key, context)) for key in keys)
        bin = _bin(each, context)
        other = _apart(rel, tables, unit, (*again, bin), (each,), first, span, context)
        same = tuple(_same(ours, theirs) for ours, theirs in zip(keys, again, strict=True))
        context.binned[each.id] = other, Field(bin.id, bin.type), both(same)
    return made if made is not None else listed(keys)


def listed(keys: tuple[GroupingKey, ...]) -> Rows:
    """Every group that there may be."""
    members = ([Const(value, key.type) for value in key.members or ()] for key in keys)
    return Rows(tuple((key.id, key.type) for key in keys), tuple(product(*members)))


def _bin(one: Aggregate, context: Context) -> GroupingKey:
    """One more key: the number of a row's bin."""
    assert one.bins is not None
    value, count = one.bins
    members = tuple(range(1, count + 1))
    bins = finite(members, False, Fraction(1))
    id = context.add(Attribute(context.fresh(), "", INT, bins, Label.RELEASED)).id
    return GroupingKey(id, value, INT, members, f"bin of {one.text}", one.span, bin=True)


def _together(aggregates: Sequence[Aggregate]) -> list[tuple[Aggregate, ...]]:
    """Those that are measured as one, each in the order they came in: the elements of an answer, and values by their
    rank of the same rows, each at a place of its own."""
    out: dict[object, list[Aggregate]] = {}
    for one in aggregates:
        name: object = one.together or one.id
        if one.function in RANKED and not one.together and one.privacy is None:
            alike = one.argument, one.domain, one.where, one.distinct
            name = alike if _share(one) not in map(_share, out.get(alike, ())) else one.id
        out.setdefault(name, []).append(one)
    return [tuple(replace(one, together=each[0].id) if each[1:] else one for one in each) for each in out.values()]


def _share(one: Aggregate) -> Value:
    """At which part of all values it stands."""
    of_share = [term.value for term, _ in one.others if isinstance(term, Const)]
    return of_share[0] if of_share else float(one.function == "max")


def stands_alone(one: Aggregate) -> bool:
    return one.distinct or one.function in RANKED or one.choice is not None


def _like(key: GroupingKey, context: Context) -> str:
    return context.add(replace(context.attributes[key.id], id=context.fresh())).id


def _same(ours: GroupingKey, theirs: GroupingKey) -> Scalar:
    apart = Apply("is_distinct", (Field(ours.id, ours.type), Field(theirs.id, theirs.type)), BOOL)
    return Apply("not", (apart,), BOOL)


def _apart(
    rel: Rel,
    tables: tuple[str, ...],
    unit: Unit,
    keys: tuple[GroupingKey, ...],
    together: tuple[Aggregate, ...],
    groups_of: int | None,
    span: Span,
    context: Context,
) -> Rel:
    one = together[0]
    if not one.distinct:
        return _measured(rel, tables, unit, keys, together, groups_of, span, context)
    assert one.argument is not None

    def kept(value: Scalar) -> Field:
        domain = context.domain_of(value, {})
        return Field(context.add(Attribute(context.fresh(), "", value.type, domain, Label.PRIVATE)).id, value.type)

    columns = [(kept(key.value), key.value) for key in keys]
    argument = kept(one.argument)
    pair = [(kept(value), value) for value, _ in one.others] if one.function in MOMENTS else []
    source = Compute(
        rel if one.where is None else Where(rel, one.where),
        tuple((field.name, value) for field, value in (*columns, (argument, one.argument), *pair)),
    )
    named = context.attributes.get(one.argument.name) if isinstance(one.argument, Field) else None
    if named is not None and named.unit is not None:
        values = tuple((field.name, key.members or ()) for key, (field, _) in zip(keys, columns, strict=True))
        once: Rel = Distinct(source, values if all(members for _, members in values) else ())
    else:
        once = Once(source)
    again = tuple(replace(key, value=field) for key, (field, _) in zip(keys, columns, strict=True))
    of = None if one.function == "count" else argument
    summed = tuple(replace(each, argument=of, where=None, bins=None) for each in together)
    if pair:
        others = tuple((field, domain) for (field, _), (_, domain) in zip(pair, one.others, strict=True))
        summed = tuple(replace(each, others=others) for each in summed)
    return _measured(once, tables, unit, again, summed, groups_of, span, context)


def _measured(
    rel: Rel,
    tables: tuple[str, ...],
    unit: Unit,
    keys: tuple[GroupingKey, ...],
    aggregates: tuple[Aggregate, ...],
    groups_of: int | None,
    span: Span,
    context: Context,
    sets: Sets = (),
    groupings: Groupings = (),
) -> Rel:
    block = Block(len(context.blocks), rel, tables, unit, keys, aggregates, span, groups_of, sets, groupings)
    context.blocks.append(block)
    context.payers[-1].append(block.index)
    return Measured(block.index, block.columns)
