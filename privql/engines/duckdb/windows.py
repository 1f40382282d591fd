"""What a row learns of the other rows of its unit: places, neighbours, features of all or of those up to it."""

from __future__ import annotations

from dataclasses import replace

from privql.engines.duckdb.aggregates import Aggregates
from privql.engines.duckdb.ordering import row_hash, written
from privql.engines.duckdb.relations import Column, Draft, Layer, Rows, column, one_zero
from privql.engines.duckdb.scalars import ScalarEmitter
from privql.kernel.scalars import INT
from privql.kernel.terms import Neighbour, Over, Rank, Window


def window(below: Rows, term: Window, draft: Draft) -> Rows:
    emitter = ScalarEmitter(below.field)
    layer = Aggregates(below, draft.names)
    hashed = draft.names.new("h")
    partition = [layer.column(one_zero(emitter.settled(value))).sql for value in term.partition]
    part = f"PARTITION BY {', '.join([below.owner.sql, *partition])}"
    order = [written(layer.column(one_zero(emitter.settled(each.value))), each) for each in term.order]
    places = f" OVER ({part} ORDER BY {', '.join([*order, hashed])})"  # each row has its own
    tied = f" ORDER BY {', '.join(order)}" if order else ""
    columns: dict[str, Column] = dict(below.columns)
    made: dict[str, str] = {}
    for name, call in term.calls:
        match call:
            case Rank(kind="ROW_NUMBER"):
                sql = layer.add(f"row_number(){places}")
                columns[name] = column(draft.names.new("c"), INT, 1)
            case Rank(kind=kind):
                sql, columns[name] = (
                    layer.add(f"{kind.lower()}() OVER ({part}{tied})"),
                    column(draft.names.new("c"), INT, 1),
                )
            case Neighbour(value=value, before=before, default=default):
                there, else_ = (layer.column(emitter.settled(each)) for each in (value, default))
                sql = layer.add(f"{'lag' if before >= 0 else 'lead'}({there}, {abs(before)}, {else_}){places}")
                columns[name] = column(draft.names.new("c"), value.type)
            case Over(feature=feature, running=running):
                frame = f"{tied} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" if running and tied else ""
                sql, columns[name] = layer.feature(feature, emitter, f" OVER ({part}{frame})")
        made[columns[name].spelled.sql] = sql
    learned = Layer({name: sql for sql, name in layer.aggregates.items()})
    added = Layer({hashed: row_hash(below, draft)}), learned, Layer(made)
    return replace(layer.rows().with_layers(*added), columns=columns)
