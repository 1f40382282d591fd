"""What a row learns of the other rows of its unit: places, neighbours, features of all or of those up to it."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from privql.engines.duckdb.aggregates import Aggregates
from privql.engines.duckdb.ordering import row_hash, written
from privql.engines.duckdb.relations import Column, Draft, Layer, Rows, column
from privql.kernel.features import Frame, Neighbour, Nth, Over, Rank
from privql.kernel.scalars import INT
from privql.kernel.terms import Window


def window(below: Rows, term: Window, draft: Draft) -> Rows:
    layer = Aggregates(below, draft.names)
    hashed = draft.names.new("h")
    partition = [layer.known(value).sql for value in term.partition]
    part = f"PARTITION BY {', '.join([below.owner.sql, *partition])}"
    order = [written(layer.known(each.value), each) for each in term.order]
    apart = ", ".join([*order, hashed])  # each row has a place of its own
    places = f" OVER ({part} ORDER BY {apart})"
    tied = f" ORDER BY {', '.join(order)}" if order else ""

    def over(frame: Frame | None) -> str:
        if frame is None:
            return f" OVER ({part})"
        if frame.by == "ROWS":
            return f" OVER ({part} ORDER BY {apart} {_between(frame)})"
        return f" OVER ({part}{tied or ' ORDER BY TRUE'} {_between(frame)})"

    columns: dict[str, Column] = dict(below.columns)
    made: dict[str, str] = {}
    for name, call in term.calls:
        match call:
            case Rank(kind=kind):
                sql = layer.add(f"{kind.lower()}()" + (places if kind == "ROW_NUMBER" else f" OVER ({part}{tied})"))
                columns[name] = column(draft.names.new("c"), INT, 1)
            case Neighbour(value=value, before=before, default=default):
                there, else_ = layer.value(value), layer.value(default)
                sql = layer.add(f"{'lag' if before >= 0 else 'lead'}({there}, {abs(before)}, {else_}){places}")
                columns[name] = column(draft.names.new("c"), value.type)
            case Over(feature=feature, frame=frame):
                sql, columns[name] = layer.feature(feature, over(frame))
            case Nth(value=value, place=place, frame=frame, present=present):
                there = layer.value(value)
                function, beside = ("last_value", "") if place == -1 else ("nth_value", f", {place}")
                nulls = " IGNORE NULLS" if present else ""
                sql = layer.add(f"{function}({there}{beside} ORDER BY {apart}{nulls}){over(frame)}")
                columns[name] = column(draft.names.new("c"), value.type)
            case _:
                assert_never(call)
        made[columns[name].spelled.sql] = sql
    learned = Layer({name: sql for sql, name in layer.aggregates.items()})
    added = Layer({hashed: row_hash(below, draft)}), learned, Layer(made)
    return replace(layer.rows().with_layers(*added), columns=columns)


def _between(frame: Frame) -> str:
    """Whole groups of rows that tie are what RANGE speaks of, too, and DuckDB does it at half the cost."""
    if frame.start is not None and frame.end is not None and frame.start > frame.end:
        return "ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING"  # nothing, which DuckDB lets nobody say in another way
    sized = {frame.start, frame.end} - {None, 0}
    by = frame.by if frame.by == "ROWS" or sized else "RANGE"
    return f"{by} BETWEEN {_edge(frame.start, 'PRECEDING')} AND {_edge(frame.end, 'FOLLOWING')}"


def _edge(places: int | None, open_: str) -> str:
    if places is None:
        return f"UNBOUNDED {open_}"
    return "CURRENT ROW" if places == 0 else f"{abs(places)} {'PRECEDING' if places < 0 else 'FOLLOWING'}"
