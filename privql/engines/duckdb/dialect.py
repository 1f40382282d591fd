"""What DuckDB says in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from privql.engines.duckdb import expressions
from privql.engines.duckdb.spelling import SPELLINGS, TAKES_LOOSE
from privql.engines.sql.dialect import Dialect
from privql.engines.sql.expressions import Spelled, Spelling
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

    def wide(self, value: int | str | Spelled) -> str:
        return expressions.huge(value)

    def bound(self, name: str, given: list[str], body: Callable[[list[str]], str]) -> str:
        if len(given) == 1:
            return f"list_transform([{given[0]}], lambda {name}: {body([name])})[1]"
        struct = ", ".join(f"'f{place}': {sql}" for place, sql in enumerate(given))
        return (
            f"list_transform([{{{struct}}}], lambda {name}: {body([f'{name}.f{at}' for at in range(len(given))])})[1]"
        )

    def finite(self, number: str) -> str:
        return f"isfinite({number})"


DUCKDB: Dialect = _DuckDB()
