"""WITH RECURSIVE, spelled for DuckDB: it goes on until a step adds no row, or there are more than a public number."""

from __future__ import annotations

from privql.check.relations import Recursive, Working
from privql.engines.sql.expressions import name as quoted
from privql.post.pieces import Emitted, Emitter, ascending

MOST_ROWS = 100_000
ENDLESS = "a recursion that does not end"

# Of the rows of all steps: which step made them, and in which place.
_STEP, _PLACE = '"@step"', '"@place"'


def working(rel: Working, ordered: bool) -> Emitted:
    ids = tuple(id for id, _ in rel.columns)
    order = (_STEP, _PLACE) if ordered else ()
    return Emitted(f"SELECT {', '.join([*map(quoted, ids), *order])} FROM {quoted(rel.name)}", ids, order)


def recursive(emitter: Emitter, rel: Recursive, ordered: bool) -> Emitted:
    """Every step adds a row or is the last, so that a limit on rows is one on steps."""
    ids = tuple(id for id, _ in rel.columns)
    name = quoted(rel.name)
    sides = []
    for below, columns, step in ((rel.left, rel.left_columns, "0"), (rel.right, rel.right_columns, f"{_STEP} + 1")):
        made = emitter.rel(below, rel.all)
        listed = [f"{quoted(old)} AS {quoted(new)}" for old, new in zip(columns, ids, strict=True)]
        if rel.all:
            listed += [f"{step} AS {_STEP}", f"row_number() OVER (ORDER BY {ascending(made.order)}) AS {_PLACE}"]
        sides.append(f"SELECT {', '.join(listed)} FROM ({made.sql})")
    union = "UNION ALL" if rel.all else "UNION"
    rows = f"WITH RECURSIVE {name} AS (({sides[0]}) {union} ({sides[1]})) SELECT * FROM {name} LIMIT {MOST_ROWS + 1}"
    listed = [quoted(id) for id in ids]
    order: tuple[str, ...] = ()
    if ordered:
        keys = (_STEP, _PLACE) if rel.all else tuple(map(quoted, ids))
        order = tuple(emitter.fresh() for _ in keys)
        listed += [f"{key} AS {place}" for key, place in zip(keys, order, strict=True)]
    ends = f"CASE WHEN count(*) OVER () > {MOST_ROWS} THEN error('{ENDLESS}') IS NULL ELSE TRUE END"
    return Emitted(f"SELECT {', '.join(listed)} FROM ({rows}) QUALIFY {ends}", ids, order)
