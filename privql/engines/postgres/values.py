"""The part of PostgreSQL's dialect that is about single values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from privql.engines.postgres import expressions, times
from privql.engines.postgres.expressions import EPOCH, plain
from privql.engines.postgres.spelling import SPELLINGS
from privql.engines.sql.expressions import Spelled, Spelling
from privql.kernel.scalars import TEXT, TIMESTAMP, Value, ValueType


class Values:
    """Of version 13 and later, and a database in UTF-8: `privql.engines.sql.dialect` says what each method is."""

    spellings: Mapping[str, Spelling] = SPELLINGS
    takes_loose: frozenset[str] = frozenset()  # arithmetic raises where its result would be infinite

    def literal(self, value: Value, type: ValueType) -> Spelled:
        return expressions.literal(value, type)

    def type_name(self, type: ValueType) -> str:
        return expressions.type_name(type)

    def bound(self, name: str, given: list[str], body: Callable[[list[str]], str]) -> str:
        return expressions.bound(name, given, body)

    def ordered(self, value: Spelled) -> str:
        return plain(value) if value.type == TEXT else value.sql

    # ---- numbers

    def wide(self, value: int | str | Spelled) -> str:
        return expressions.numeric(value) if isinstance(value, int) else f"({value})::numeric"

    def quotient(self, dividend: str, divisor: str) -> str:
        return f"div({dividend}, {divisor})"

    def remainder(self, dividend: str, divisor: str) -> str:
        return f"({dividend} % {divisor})"

    def shifted(self, number: str, places: int) -> str:
        return f"({number} >> {places})"

    def finite(self, number: Spelled) -> str:
        """Stored numbers of so many digits may be NaN, which is above all others."""
        return f"({number} < 'NaN'::numeric)" if number.type.kind == "DECIMAL" else expressions.finite(number.sql)

    def bits(self, number: str) -> str:
        return f"('x' || encode(float8send({number}), 'hex'))::bit(64)::bigint"

    # ---- moments

    def days(self, date: str) -> str:
        return f"({date} - {EPOCH})"

    def date(self, days: str) -> str:
        return f"({EPOCH} + ({days})::integer)"

    def micros(self, timestamp: str) -> str:
        return self.bound("__moment", [timestamp], lambda names: times.micros_of(Spelled(names[0], TIMESTAMP)))

    def timestamp(self, micros: str) -> str:
        return self.bound("__micros", [f"({micros})::bigint"], lambda names: times.moment_at(names[0]))
