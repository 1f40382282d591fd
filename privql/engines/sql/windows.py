"""What a row learns of the other rows of its unit: places, neighbours, features of all or of those up to it."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from privql.engines.sql.aggregates import Aggregates
from privql.engines.sql.dialect import Dialect, Of
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.ordering import row_hash, written
from privql.engines.sql.relations import Column, Draft, Layer, Rows, column
from privql.kernel.features import Frame, Neighbour, Nth, Over, Rank
from privql.kernel.scalars import INT
from privql.kernel.terms import Window

_FARTHEST = 2**30  # places from a row: of one unit there are fewer rows, and Spark counts to twice as many


def window(below: Rows, term: Window, draft: Draft) -> Rows:
    layer, dialect = Aggregates(below, draft.names), draft.dialect
    hashed = draft.names.new("h")
    partition = [layer.known(value).sql for value in term.partition]
    part = f"PARTITION BY {', '.join([below.owner.sql, *partition])}"
    order = [written(layer.known(each.value), each, dialect) for each in term.order]
    apart = ", ".join([*order, hashed])  # each row has a place of its own
    places = f" OVER ({part} ORDER BY {apart})"
    tied = f" ORDER BY {', '.join(order) or 'TRUE'}"

    def over(frame: Frame | None) -> str:
        if frame is None:
            return f" OVER ({part})"
        if frame.by == "ROWS":
            return f" OVER ({part} ORDER BY {apart} {_between(frame, dialect)})"
        if dialect.group_frames or not _counted(frame):
            return f" OVER ({part}{tied} {_between(frame, dialect)})"
        group = layer.placed(f"dense_rank() OVER ({part}{tied})")
        return f" OVER ({part} ORDER BY {group} {_between(frame, dialect, 'RANGE')})"

    columns: dict[str, Column] = dict(below.columns)
    made: dict[str, str] = {}
    for name, call in term.calls:
        match call:
            case Rank(kind=kind):
                sql = layer.add(f"{kind.lower()}()" + (places if kind == "ROW_NUMBER" else f" OVER ({part}{tied})"))
                columns[name] = column(draft.names.new("c"), INT, 1)
            case Neighbour(value=value, before=before, default=default):
                there, else_ = layer.value(value), layer.value(default)
                sql = layer.add(
                    f"{'lag' if before >= 0 else 'lead'}({there}, {min(abs(before), _FARTHEST)}, {else_}){places}"
                )
                columns[name] = column(draft.names.new("c"), value.type)
            case Over(feature=feature, frame=frame):
                sql, columns[name] = layer.feature(feature, over(frame))
            case Nth(value=value, place=place, frame=frame, present=present):
                there = layer.value(value)
                direct = dialect.nth(there, place, present, apart, over(frame))
                if direct is None:
                    at = Spelled(layer.placed(f"row_number(){places}"), INT, leaf=True)
                    counted, of = there if present else at, Of(over=over(frame))
                    lists = layer.list_of(at, counted, of), layer.list_of(there, counted, of)
                    sql = dialect.nth_in(*lists, place)
                else:
                    sql = layer.add(direct)
                columns[name] = column(draft.names.new("c"), value.type)
            case _:
                assert_never(call)
        made[columns[name].spelled.sql] = sql
    learned = Layer({name: sql for sql, name in layer.aggregates.items()})
    rows = layer.rows(Layer({hashed: row_hash(below, draft)}))
    return replace(rows.with_layers(learned, Layer(made)), columns=columns)


def _counted(frame: Frame) -> bool:
    return bool({frame.start, frame.end} - {None, 0})


def _between(frame: Frame, dialect: Dialect, by: str = "") -> str:
    """Whole groups of rows that tie are what RANGE speaks of, too, and DuckDB does it at half the cost."""
    if frame.start is not None and frame.end is not None and frame.start > frame.end:
        return dialect.empty_frame
    by = by or (frame.by if frame.by == "ROWS" or _counted(frame) else "RANGE")
    return f"{by} BETWEEN {_edge(frame.start, 'PRECEDING')} AND {_edge(frame.end, 'FOLLOWING')}"


def _edge(places: int | None, open_: str) -> str:
    if places is None:
        return f"UNBOUNDED {open_}"
    far = min(abs(places), _FARTHEST)
    return "CURRENT ROW" if places == 0 else f"{far} {'PRECEDING' if places < 0 else 'FOLLOWING'}"
