"""ORDER BY, LIMIT and OFFSET of the query whose body a SELECT is."""

from __future__ import annotations

from privql.check.expressions import typed
from privql.check.grouping import Collector
from privql.check.items import Item
from privql.check.named import position
from privql.check.typed import Place
from privql.frozen import frozen
from privql.kernel.scalars import Scalar
from privql.syntax import ast


@frozen
class Tail:
    """ORDER BY, LIMIT and OFFSET of the query whose body a SELECT is."""

    order: tuple[ast.OrderItem, ...] = ()
    limit: int | None = None
    offset: int = 0
    per_unit: bool = False

    @property
    def cuts(self) -> bool:
        return self.limit is not None or bool(self.offset)

    @property
    def written(self) -> bool:
        return bool(self.order) or self.cuts

    @property
    def of_each_unit(self) -> bool:
        """The first rows of each unit: all that can be asked of rows that stay private."""
        return self.per_unit and bool(self.limit) and not self.offset


def ordered(tail: Tail, items: list[Item], place: Place, collector: Collector) -> list[tuple[ast.OrderItem, Scalar]]:
    out: list[tuple[ast.OrderItem, Scalar]] = []
    for item in tail.order:
        at = position(item.expr, len(items))
        value = items[at].value if at is not None else collector.above(typed(item.expr, place))
        out.append((item, value.term))
    return out
