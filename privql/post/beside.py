"""Two relations beside each other, spelled for DuckDB: joins, UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from privql.check.relations import Combined, Joined
from privql.engines.sql.expressions import name as quoted
from privql.post.pieces import Emitted, Emitter, ascending, by_value, some


def joined(emitter: Emitter, rel: Joined, ordered: bool) -> Emitted:
    left, right = emitter.rel(rel.left, ordered), emitter.rel(rel.right, ordered)
    if ordered and rel.kind in ("RIGHT", "FULL"):  # rows that only the right side has come last
        there = emitter.fresh()
        left = Emitted(f"SELECT *, 0 AS {there} FROM ({left.sql})", left.ids, (there, *left.order))
    tables = f"({left.sql}) {rel.kind} JOIN ({right.sql})"
    if rel.lateral:
        # The condition goes inside, where it may be anything: to an INNER or LEFT join that is the same.
        on = "" if rel.on is None else f" WHERE {emitter.value(rel.on)}"
        tables = f"({left.sql}) {rel.kind} JOIN LATERAL (SELECT * FROM ({right.sql}){on})"
    if rel.kind != "CROSS":
        tables += " ON TRUE" if rel.on is None or rel.lateral else f" ON {emitter.value(rel.on)}"
    ids = (*left.ids, *right.ids)
    order = (*left.order, *right.order)
    return Emitted(f"SELECT {some(emitter, [*map(quoted, ids), *order])} FROM {tables}", ids, order)


def combined(emitter: Emitter, rel: Combined, ordered: bool) -> Emitted:
    ids = tuple(id for id, _ in rel.columns)
    everything = rel.op == "UNION" and rel.all
    side, row = emitter.fresh(), emitter.fresh()
    sides = []
    for number, (below, columns) in enumerate(((rel.left, rel.left_columns), (rel.right, rel.right_columns))):
        made = emitter.rel(below, ordered and everything)
        listed = [f"{quoted(old)} AS {quoted(new)}" for old, new in zip(columns, ids, strict=True)]
        if ordered and everything:
            place = f"row_number() OVER (ORDER BY {ascending(made.order)})"
            listed += [f"{number} AS {side}", f"{place} AS {row}"]
        sides.append(f"SELECT {', '.join(listed)} FROM ({made.sql})")
    sql = f"({sides[0]}) {rel.op}{' ALL' if rel.all else ''} ({sides[1]})"
    if everything:
        return Emitted(sql, ids, (side, row) if ordered else ())
    if rel.all and ordered:
        place = f"row_number() OVER (ORDER BY {ascending(map(quoted, ids))}) AS {row}"
        return Emitted(f"SELECT *, {place} FROM ({sql})", ids, (row,))
    return by_value(emitter, sql, ids, ordered)
