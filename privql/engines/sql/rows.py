"""From a relation of the kernel to its rows in SQL."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from privql.engines.sql.joins import join, lookup, mark
from privql.engines.sql.ordering import keep_rows
from privql.engines.sql.parts import unit_part
from privql.engines.sql.publics import public_rows
from privql.engines.sql.relations import Clamp, Column, Draft, Layer, Listed, Rows
from privql.engines.sql.units import combine, gather, once
from privql.engines.sql.windows import window
from privql.kernel.scalars import TEXT, Apply, Const, Field, Scalar
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


def rows(relation: Relation, draft: Draft) -> Rows:
    """Down to the scan and up again: relations may be as deep as the language allows. What is joined to one from the
    right is the only recursion."""
    path: list[Relation] = []
    while not isinstance(relation, Scan):
        path.append(relation)
        relation = relation.left if isinstance(relation, Join | Combine) else relation.input
    made = draft.read(relation, draft.names)
    for step in reversed(path):
        made = _next(step, made, draft)
    return made


def _next(step: Relation, made: Rows, draft: Draft) -> Rows:
    match step:
        case UnitPart():
            return unit_part(made, step, draft)
        case Filter(condition=condition):
            return made.with_layers(Layer({}, f" WHERE {made.emitter.sql(condition)}"))
        case Project(columns=columns):
            return _project(made, columns, draft)
        case KeepRows():
            return keep_rows(made, step, draft)
        case Lookup(public=public):
            return lookup(made, public_rows(public, draft), step, draft)
        case Join(right=right):
            return join(made, rows(right, draft), step, draft)
        case Mark(among=among):
            others = public_rows(among, draft) if isinstance(among, Public) else rows(among, draft)
            return mark(made, others, step, draft)
        case Gather():
            return gather(made, step, draft)
        case Combine(right=right):
            return combine(made, rows(right, draft), step, draft)
        case Window():
            return window(made, step, draft)
        case Once():
            return once(made, draft)
        case Scan():
            raise AssertionError("a scan has nothing below it")
        case _:
            assert_never(step)


def _project(below: Rows, columns: tuple[tuple[str, Scalar], ...], draft: Draft) -> Rows:
    emitter = below.emitter
    found: dict[str, Column] = {}
    added: dict[str, str] = {}
    for column, term in columns:
        if isinstance(term, Field):
            below.field(term)
            found[column] = below.columns[term.name]
            continue
        spelled = emitter.spelled(term)
        name = draft.names.new("c")
        added[name] = spelled.sql
        found[column] = Column(replace(spelled, sql=name, leaf=True), _made(term, below))
    return replace(below.with_layers(Layer(added)), columns=found)


def _made(term: Scalar, below: Rows) -> Clamp | Listed | None:
    match term:
        case Apply(
            op="clamp",
            args=(
                Field() as inner,
                Const(value=int() | float() | Fraction() as low),
                Const(value=int() | float() | Fraction() as high),
            ),
        ) if Fraction(low) <= Fraction(high):
            return Clamp(below.field(inner), Fraction(low), Fraction(high))
        case Apply(
            op="case", args=(Apply(op="in", args=(Field() as inner, *members)), Field() as same, Const(value=None))
        ):
            if inner == same and inner.type == TEXT and all(isinstance(member, Const) for member in members):
                return Listed(below.field(inner), term)
        case _:
            pass
    return None
