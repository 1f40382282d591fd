"""What PostgreSQL says in its own way of relations, aggregates and windows; of single values, `values` says it.

Its aggregates take no order and no DISTINCT where they are windows, and none tells a value's place: there the values
are listed, and the list is put in order.
"""

from __future__ import annotations

from collections.abc import Callable

from privql.engines.postgres import steps
from privql.engines.postgres.expressions import plain
from privql.engines.postgres.values import Values
from privql.engines.sql.dialect import Dialect, Of
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.measure import Measure
from privql.kernel.features import Steps
from privql.kernel.scalars import BOOL, TEXT, ValueType

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&*"  # a name for each of the 32
_LAST_BYTE_FIRST = "".join(_DIGITS[at : at + 2] for at in range(30, -1, -2))


class _PostgreSQL(Values):
    def measured(self, value: Spelled, by: Steps, grouped: bool) -> Measure:
        return steps.measured(value, by, grouped, self)

    def whole(self, sum: str, scale: int) -> str:
        return f"({sum} * {self.wide(10**scale)})" if scale else self.wide(sum)

    # ---- relations

    looks_once = False
    joins_few = True

    def derived(self, select: str, beside: bool = False) -> str:
        return f"({select}) AS {'beside' if beside else 'below'}"  # before version 16, each has a name

    def fingerprint(self, parts: list[str]) -> str:
        """`translate` takes the digits of the hash for what they are called in the order wanted."""
        hashed = f"md5(concat({', '.join(parts)}))"
        return plain(f"translate('{_LAST_BYTE_FIRST}', '{_DIGITS}', {hashed})")

    # ---- aggregates

    def aggregate(self, function: str, argument: str, of: Of) -> str:
        return f"{function}({argument}){of}"

    def summed(self, argument: str, reach: int | None, of: Of) -> str:
        return self.aggregate("sum", argument, of)

    def extreme(self, value: Spelled, greatest: bool, of: Of) -> str:
        if value.type == BOOL:
            return f"bool_{'or' if greatest else 'and'}({value}){of}"
        return f"{'max' if greatest else 'min'}({self.ordered(value)}){of}"

    def different(self, value: Spelled, of: Of) -> str | None:
        return None if of.over else f"count(DISTINCT {value}){of}"

    def splice(self, value: Spelled, separator: Spelled, order: list[str], of: Of) -> str | None:
        by = f" ORDER BY {', '.join(order)}" if order else ""
        return None if of.over else f"string_agg({value}, {separator}{by}){of}"

    def listed(self, value: Spelled, of: Of) -> str:
        return f"array_agg({value}){of}"

    def different_in(self, listed: str) -> str:
        return f"(SELECT count(DISTINCT v) FROM unnest({listed}) AS t(v))"

    def spliced(self, places: str, listed: str, separator: Spelled) -> str:
        return f"(SELECT string_agg(v, {separator} ORDER BY p) FROM unnest({places}, {listed}) AS t(p, v))"

    def quantile(self, listed: str, type: ValueType, place: Callable[[str], str]) -> str:
        at = f"({place('count(*)')})::integer"
        return f"(SELECT (array_agg(v ORDER BY {_in_order(type)}))[{at}] FROM unnest({listed}) AS t(v))"

    def mode(self, listed: str, type: ValueType) -> str:
        by = f"ORDER BY count(*) DESC, {_in_order(type)}"
        return f"(SELECT v FROM unnest({listed}) AS t(v) GROUP BY v {by} LIMIT 1)"

    # ---- windows

    group_frames = True
    empty_frame = "ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING"

    def nth(self, value: Spelled, place: int, present: bool, order: str, over: str) -> str | None:
        if present or f" ORDER BY {order} ROWS " not in over:
            return None
        return f"last_value({value}){over}" if place == -1 else f"nth_value({value}, {place}){over}"

    def nth_in(self, places: str, listed: str, place: int) -> str:
        by = "p DESC LIMIT 1" if place == -1 else f"p LIMIT 1 OFFSET {place - 1}"
        return f"(SELECT v FROM unnest({places}, {listed}) AS t(p, v) ORDER BY {by})"


def _in_order(type: ValueType) -> str:
    return plain("v") if type == TEXT else "v"


POSTGRESQL: Dialect = _PostgreSQL()
