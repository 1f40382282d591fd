"""A processor without tables, and what is asked of it over measured groups."""

from __future__ import annotations

from typing import Any

from privql.check.relations import (
    Attribute,
    CheckedQuery,
    Label,
    Measured,
    Rel,
)
from privql.domains import whole
from privql.finish.table import Table
from privql.kernel.scalars import (
    INT,
    TEXT,
    Field,
    ValueType,
)
from privql.post.run import PostProcessor

NAMES = Table((("k", TEXT), ("n", INT)), (("N", 3), ("S", 7), (None, 3)))
LEAF = Measured(0, (("c1", TEXT), ("c2", INT)))
N = Field("c2", INT)


def asked(rel: Rel, *columns: tuple[str, ValueType], **rest: Any) -> CheckedQuery:
    known = tuple(Attribute(id, id, type, whole(type), Label.RELEASED) for id, type in columns)
    return CheckedQuery(rel, known, **{"blocks": (), "shared": (), "subqueries": (), **rest})


PROCESSOR = PostProcessor({}, {})
