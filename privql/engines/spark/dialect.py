"""What Spark says in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from privql.engines.spark import expressions, numbers, steps
from privql.engines.spark.expressions import wide
from privql.engines.spark.spelling import SPELLINGS, TAKES_LOOSE
from privql.engines.sql.dialect import Dialect, Of
from privql.engines.sql.expressions import Spelled, Spelling
from privql.engines.sql.measure import Measure
from privql.kernel.features import Steps
from privql.kernel.scalars import Value, ValueType


class _Spark:
    """An argument is bound by a lambda over an array of one, `transform(array(x), v -> CASE WHEN v > 0 THEN v END)[0]`,
    which Spark interprets (some 100 ns a row).

    A list is an array of structs with one field, `v`: Spark leaves NULLs out of what it collects, but not these.

    A session must have the settings in `session.MEANING`.
    """

    spellings: Mapping[str, Spelling] = SPELLINGS
    takes_loose = TAKES_LOOSE

    def literal(self, value: Value, type: ValueType) -> Spelled:
        return expressions.literal(value, type)

    def type_name(self, type: ValueType) -> str:
        return expressions.type_name(type)

    def bound(self, name: str, given: list[str], body: Callable[[list[str]], str]) -> str:
        if len(given) == 1:
            return f"transform(array({given[0]}), {name} -> {body([name])})[0]"
        struct = ", ".join(f"'f{place}', {sql}" for place, sql in enumerate(given))
        made = body([f"{name}.f{at}" for at in range(len(given))])
        return f"transform(array(named_struct({struct})), {name} -> {made})[0]"

    def ordered(self, value: Spelled) -> str:
        return value.sql

    # ---- numbers

    def wide(self, value: int | str | Spelled) -> str:
        return wide(value)

    def quotient(self, dividend: str, divisor: str) -> str:
        """Rounded to a whole number anyway, unless it is one: so what is left over is taken off first."""
        return f"CAST((({dividend} - {dividend} % {divisor}) / {divisor}) AS DECIMAL(38,0))"

    def remainder(self, dividend: str, divisor: str) -> str:
        return f"({dividend} % {divisor})"

    def shifted(self, number: str, places: int) -> str:
        return f"shiftright({number}, {places})"

    def finite(self, number: Spelled) -> str:
        return numbers.finite(number.sql)

    def bits(self, number: str) -> str:
        """Nothing but a call of Java's own tells them, and that fails for a NULL."""
        called = f"java_method('java.lang.Double', 'doubleToRawLongBits', coalesce({number}, 0.0D))"
        return f"CASE WHEN {number} IS NOT NULL THEN CAST({called} AS BIGINT) END"

    def measured(self, value: Spelled, by: Steps, grouped: bool) -> Measure:
        return steps.measured(value, by, self)

    def whole(self, sum: str, scale: int) -> str:
        return wide(sum)

    # ---- moments

    def days(self, date: str) -> str:
        return f"unix_date({date})"

    def date(self, days: str) -> str:
        return f"date_from_unix_date(CAST({days} AS INT))"

    def micros(self, timestamp: str) -> str:
        return f"unix_micros({timestamp})"

    def timestamp(self, micros: str) -> str:
        return f"timestamp_micros({micros})"

    # ---- relations

    looks_once = True
    joins_few = False  # a join takes a broadcast: a tenth of a second, whatever there is to find

    def derived(self, select: str, beside: bool = False) -> str:
        return f"({select})"

    def fingerprint(self, parts: list[str]) -> str:
        """In hexadecimal digits, two for a byte: turned around, each pair is turned back."""
        whole = ", ".join(f"coalesce({part}, '')" for part in parts)
        return f"regexp_replace(reverse(md5(concat({whole}))), '(.)(.)', '$2$1')"

    # ---- aggregates

    def aggregate(self, function: str, argument: str, of: Of) -> str:
        if of.over and of.where:  # a filter of a window that is found to be never TRUE fails when the statement runs
            argument = f"CASE WHEN {of.where} THEN {'TRUE' if argument == '*' else argument} END"
            of = Of(over=of.over)
        return f"{function}({argument}){of}"

    def summed(self, argument: str, reach: int | None, of: Of) -> str:
        if reach is None or len(parts := steps.parts(argument, reach)) == 1:
            return self.aggregate("sum", argument, of)
        return " + ".join(f"{wide(self.aggregate('sum', part, of))} * {wide(weight)}" for part, weight in parts)

    def extreme(self, value: Spelled, greatest: bool, of: Of) -> str:
        return self.aggregate("max" if greatest else "min", value.sql, of)

    def different(self, value: Spelled, of: Of) -> str | None:
        return None if of.over else f"count(DISTINCT {value}){of}"

    def splice(self, value: Spelled, separator: Spelled, order: list[str], of: Of) -> str | None:
        return None

    def listed(self, value: Spelled, of: Of) -> str:
        return self.aggregate("collect_list", f"named_struct('v', {value})", of)

    def different_in(self, listed: str) -> str:
        return f"CAST(size(array_distinct({listed})) AS BIGINT)"

    def spliced(self, places: str, listed: str, separator: Spelled) -> str:
        pairs = f"zip_with({places}, {listed}, (__p, __x) -> named_struct('p', __p.v, 'x', __x.v))"
        return f"CASE WHEN size({listed}) > 0 THEN array_join(sort_array({pairs}).x, {separator}) END"

    def quantile(self, listed: str, type: ValueType, place: Callable[[str], str]) -> str:
        return f"sort_array({listed}.v)[CAST({place(f'size({listed})')} AS INT) - 1]"

    def mode(self, listed: str, type: ValueType) -> str:
        """Through the values in order, with those that are alike counted: the first that comes so often."""
        none = f"CAST(NULL AS {self.type_name(type)})"
        start = f"named_struct('best', {none}, 'most', 0, 'last', {none}, 'alike', 0)"
        alike = "CASE WHEN __m.last = __x THEN __m.alike + 1 ELSE 1 END"
        more = f"{alike} > __m.most"
        next_ = (
            f"named_struct('best', CASE WHEN {more} THEN __x ELSE __m.best END,"
            f" 'most', CASE WHEN {more} THEN {alike} ELSE __m.most END, 'last', __x, 'alike', {alike})"
        )
        return f"aggregate(sort_array({listed}.v), {start}, (__m, __x) -> {next_}, __m -> __m.best)"

    # ---- windows

    group_frames = False
    empty_frame = f"ROWS BETWEEN {2**31 - 2} FOLLOWING AND {2**31 - 1} FOLLOWING"

    def nth(self, value: Spelled, place: int, present: bool, order: str, over: str) -> str | None:
        """Where the frame itself is in this order."""
        if f"ORDER BY {order} ROWS " not in over:
            return None
        nulls = " IGNORE NULLS" if present else ""
        return f"last_value({value}){nulls}{over}" if place == -1 else f"nth_value({value}, {place}){nulls}{over}"

    def nth_in(self, places: str, listed: str, place: int) -> str:
        pairs = f"zip_with({places}, {listed}, (__p, __x) -> named_struct('p', __p.v, 'x', __x.v))"
        at = f"size({listed}) - 1" if place == -1 else str(place - 1)
        return f"sort_array({pairs})[{at}].x"


SPARK: Dialect = _Spark()
