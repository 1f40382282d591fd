"""Aggregates that are measured by themselves - values by their rank; what is of DISTINCT values, over rows of its own -
and stand beside the others by the group keys.

How many different units there are in a group is counted over one row for each unit and group; different values of other
columns over one row for each value, whoever has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
    Where,
)
from privql.check.typed import Context
from privql.diagnostics import Span
from privql.functions.aggregate.within import RANKED
from privql.kernel.scalars import BOOL, Apply, Field, Scalar
from privql.kernel.terms import Unit


def blocks(
    rel: Rel,
    tables: tuple[str, ...],
    unit: Unit,
    keys: tuple[GroupingKey, ...],
    aggregates: Sequence[Aggregate],
    span: Span,
    context: Context,
) -> Rel:
    """The groups of all aggregates: those of plain ones, and beside them those of each that stands alone. Groups that
    nobody listed are found once."""
    plain = tuple(one for one in aggregates if not _alone(one))
    alone = [one for one in aggregates if _alone(one)]
    looked = any(key.members is None for key in keys)
    if len(alone) == 1 and not plain and not looked:
        return _apart(rel, tables, unit, keys, alone[0], None, span, context)
    made: Rel | None = None
    first = len(context.blocks) if looked else None  # finds the groups of all
    if plain or looked:
        made = _measured(rel, tables, unit, keys, plain, None, span, context)
    for one in alone:
        if made is None:
            made = _apart(rel, tables, unit, keys, one, None, span, context)
        else:
            again = tuple(replace(key, id=_like(key, context)) for key in keys)
            other = _apart(rel, tables, unit, again, one, first, span, context)
            same = tuple(_same(ours, theirs) for ours, theirs in zip(keys, again, strict=True))
            made = Joined("INNER" if same else "CROSS", made, other, both(same))
    assert made is not None
    return made


def _alone(one: Aggregate) -> bool:
    return one.distinct or one.function in RANKED


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
    one: Aggregate,
    groups_of: int | None,
    span: Span,
    context: Context,
) -> Rel:
    if not one.distinct:
        return _measured(rel, tables, unit, keys, (one,), groups_of, span, context)
    assert one.argument is not None

    def kept(value: Scalar) -> Field:
        domain = context.domain_of(value, {})
        return Field(context.add(Attribute(context.fresh(), "", value.type, domain, Label.PRIVATE)).id, value.type)

    columns = [(kept(key.value), key.value) for key in keys]
    argument = kept(one.argument)
    source = Compute(
        rel if one.where is None else Where(rel, one.where),
        (*((field.name, value) for field, value in columns), (argument.name, one.argument)),
    )
    named = context.attributes.get(one.argument.name) if isinstance(one.argument, Field) else None
    if named is not None and named.unit is not None:
        values = tuple((field.name, key.members or ()) for key, (field, _) in zip(keys, columns, strict=True))
        once: Rel = Distinct(source, values if all(members for _, members in values) else ())
    else:
        once = Once(source)
    again = tuple(replace(key, value=field) for key, (field, _) in zip(keys, columns, strict=True))
    summed = replace(one, argument=None if one.function == "count" else argument, where=None)
    return _measured(once, tables, unit, again, (summed,), groups_of, span, context)


def _measured(
    rel: Rel,
    tables: tuple[str, ...],
    unit: Unit,
    keys: tuple[GroupingKey, ...],
    aggregates: tuple[Aggregate, ...],
    groups_of: int | None,
    span: Span,
    context: Context,
) -> Rel:
    block = Block(len(context.blocks), rel, tables, unit, keys, aggregates, span, groups_of)
    context.blocks.append(block)
    context.payers[-1].append(block.index)
    columns = [(key.id, key.type) for key in keys] + [(a.id, a.type) for a in aggregates]
    return Measured(block.index, tuple(columns))
