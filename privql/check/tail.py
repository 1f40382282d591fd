"""ORDER BY, LIMIT and OFFSET of the query whose body a SELECT is."""

from __future__ import annotations

from dataclasses import dataclass

from privql.check.expressions import typed
from privql.check.grouping import Collector
from privql.check.items import Item
from privql.check.named import position
from privql.check.typed import Place
from privql.kernel.scalars import Scalar
from privql.syntax import ast


@dataclass(frozen=True, slots=True)
class Tail:
    """ORDER BY, LIMIT and OFFSET of the query whose body a SELECT is."""

    order: tuple[ast.OrderItem, ...] = ()
    limit: int | None = None
    offset: int = 0
    per_unit: bool = False


def ordered(tail: Tail, items: list[Item], place: Place, collector: Collector) -> list[tuple[ast.OrderItem, Scalar]]:
    out: list[tuple[ast.OrderItem, Scalar]] = []
    for item in tail.order:
        at = position(item.expr, len(items))
        value = items[at].value if at is not None else collector.above(typed(item.expr, place))
        out.append((item, value.term))
    return out
