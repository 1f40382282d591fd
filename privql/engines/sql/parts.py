"""The rows in one part of each unit: in the value that most of them have, of several the least."""

from __future__ import annotations

from privql.engines.sql.ordering import written
from privql.engines.sql.relations import Draft, Layer, Rows
from privql.kernel.features import Order
from privql.kernel.scalars import INT, Field
from privql.kernel.terms import UnitPart


def unit_part(below: Rows, term: UnitPart, draft: Draft) -> Rows:
    """Rows of one value have one place: those in the first stay."""
    if below.alone:
        return below
    value = below.emitter.settled(Field(term.column, dict(term.input.columns)[term.column]))
    many, place = draft.names.new("n"), draft.names.new("r")
    order = f"{many} DESC, {written(value, Order(Field(term.column, INT)), draft.dialect)}"
    return below.with_layers(
        Layer({many: f"count(*) OVER (PARTITION BY {below.owner}, {value})"}),
        Layer({place: f"rank() OVER (PARTITION BY {below.owner} ORDER BY {order})"}),
        Layer({}, f" WHERE {place} = 1"),
    )
