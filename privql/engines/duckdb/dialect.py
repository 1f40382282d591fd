"""What DuckDB says in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from privql.engines.duckdb import expressions, steps
from privql.engines.duckdb.expressions import EPOCH, huge
from privql.engines.duckdb.spelling import SPELLINGS, TAKES_LOOSE
from privql.engines.sql.dialect import Dialect, Of
from privql.engines.sql.expressions import Spelled, Spelling
from privql.engines.sql.measure import Measure
from privql.kernel.features import Steps
from privql.kernel.scalars import Value, ValueType


class _DuckDB:
    """DuckDB repeats what it is given twice: `nullif(x, 0)` and `CASE x WHEN` copy x, so that twenty of them, nested,
    do not end. An argument is bound by a lambda over a list of one: `list_transform([x], lambda v: CASE WHEN v > 0
    THEN v END)[1]` (6 ns a row; CASE on a column 1 ns; TRY 2 ns, but 300 ns a row once one row in 2,048 fails, which
    the clock would tell).

    A connection must have the settings in `session.MEANING`.
    """

    spellings: Mapping[str, Spelling] = SPELLINGS
    takes_loose = TAKES_LOOSE

    def literal(self, value: Value, type: ValueType) -> Spelled:
        return expressions.literal(value, type)

    def type_name(self, type: ValueType) -> str:
        return expressions.type_name(type)

    def bound(self, name: str, given: list[str], body: Callable[[list[str]], str]) -> str:
        if len(given) == 1:
            return f"list_transform([{given[0]}], lambda {name}: {body([name])})[1]"
        struct = ", ".join(f"'f{place}': {sql}" for place, sql in enumerate(given))
        return (
            f"list_transform([{{{struct}}}], lambda {name}: {body([f'{name}.f{at}' for at in range(len(given))])})[1]"
        )

    def ordered(self, value: Spelled) -> str:
        return value.sql

    # ---- numbers

    def wide(self, value: int | str | Spelled) -> str:
        return huge(value)

    def quotient(self, dividend: str, divisor: str) -> str:
        return f"({dividend} // {divisor})"

    def remainder(self, dividend: str, divisor: str) -> str:
        return f"({dividend} % {divisor})"

    def shifted(self, number: str, places: int) -> str:
        return f"({number} >> {places})"

    def finite(self, number: Spelled) -> str:
        return f"isfinite({number})"

    def bits(self, number: str) -> str:
        return f"CAST(CAST({number} AS BIT) AS BIGINT)"

    def measured(self, value: Spelled, by: Steps, grouped: bool) -> Measure:
        return steps.measured(value, by, grouped, self)

    def whole(self, sum: str, scale: int) -> str:
        if not scale:
            return huge(sum)
        rest = huge(f"({sum} - trunc({sum})) * DECIMAL({scale + 1},0) '{10**scale}'")
        return f"({huge(f'trunc({sum})')} * {huge(10**scale)} + {rest})"

    # ---- moments

    def days(self, date: str) -> str:
        return f"({date} - {EPOCH})"

    def date(self, days: str) -> str:
        return f"({EPOCH} + CAST({days} AS INTEGER))"

    def micros(self, timestamp: str) -> str:
        return f"epoch_us({timestamp})"

    def timestamp(self, micros: str) -> str:
        return f"make_timestamp({micros})"

    # ---- relations

    looks_once = True
    joins_few = True

    def derived(self, select: str, beside: bool = False) -> str:
        return f"({select})"

    def fingerprint(self, parts: list[str]) -> str:
        return f"md5_number(concat({', '.join(parts)}))"

    # ---- aggregates

    def aggregate(self, function: str, argument: str, of: Of) -> str:
        return f"{function}({argument}){of}"

    def summed(self, argument: str, reach: int | None, of: Of) -> str:
        return self.aggregate("sum", argument, of)

    def extreme(self, value: Spelled, greatest: bool, of: Of) -> str:
        return f"{'max' if greatest else 'min'}({value}){of}"

    def different(self, value: Spelled, of: Of) -> str | None:
        return f"count(DISTINCT {value}){of}"

    def splice(self, value: Spelled, separator: Spelled, order: list[str], of: Of) -> str | None:
        by = f" ORDER BY {', '.join(order)}" if order else ""
        return f"string_agg({value}, {separator}{by}){of}"

    def listed(self, value: Spelled, of: Of) -> str:
        return f"list({value} ORDER BY {value}){of}"  # once for all rows of a partition that have it

    def different_in(self, listed: str) -> str:
        raise AssertionError("its windows do this themselves: nothing is listed for it")

    def spliced(self, places: str, listed: str, separator: Spelled) -> str:
        raise AssertionError("its windows do this themselves: nothing is listed for it")

    def quantile(self, listed: str, type: ValueType, place: Callable[[str], str]) -> str:
        return f"{listed}[{place(f'len({listed})')}]"

    def mode(self, listed: str, type: ValueType) -> str:
        return f"list_aggregate({listed}, 'mode')"

    # ---- windows

    group_frames = True
    empty_frame = "ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING"  # nothing, which DuckDB lets nobody say in another way

    def nth(self, value: Spelled, place: int, present: bool, order: str, over: str) -> str | None:
        function, beside = ("last_value", "") if place == -1 else ("nth_value", f", {place}")
        return f"{function}({value}{beside} ORDER BY {order}{' IGNORE NULLS' if present else ''}){over}"

    def nth_in(self, places: str, listed: str, place: int) -> str:
        raise AssertionError("its windows do this themselves: nothing is listed for it")


DUCKDB: Dialect = _DuckDB()
