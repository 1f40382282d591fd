"""The columns that name the unit itself: all rows of one unit have the same value there."""

from __future__ import annotations

from privql.check.env import Env
from privql.check.relations import (
    Combined,
    Compute,
    Distinct,
    Gathered,
    Joined,
    PrivateScan,
    Rel,
    Sorted,
    Where,
    Windowed,
)
from privql.kernel.scalars import Field


def unit_columns(rel: Rel, env: Env) -> frozenset[str]:
    match rel:
        case PrivateScan(table=name, columns=columns):
            table = env.catalog.table(name)
            assert table is not None
            return frozenset(id for id, column, _ in columns if column == table.unit_column)
        case Compute(input=input, columns=computed):
            below = unit_columns(input, env)
            return frozenset(id for id, value in computed if isinstance(value, Field) and value.name in below)
        case Gathered(input=input, keys=keys):
            below = unit_columns(input, env)
            return frozenset(id for id, value in keys if isinstance(value, Field) and value.name in below)
        case Joined(kind=kind, left=left, right=right):  # beside a row that meets none, there are NULLs
            return (frozenset() if kind == "FULL" else unit_columns(left, env)) | (
                unit_columns(right, env) if kind in ("INNER", "CROSS") else frozenset()
            )
        case Combined(left=left, right=right):
            ours, theirs = unit_columns(left, env), unit_columns(right, env)
            named = zip((id for id, _ in rel.columns), rel.left_columns, rel.right_columns, strict=True)
            return frozenset(id for id, one, other in named if one in ours and other in theirs)
        case Where(input=input) | Distinct(input=input) | Sorted(input=input) | Windowed(input=input):
            return unit_columns(input, env)
        case _:
            return frozenset()
