"""Every scalar operation's spelling in DuckDB, by its name in `privql.functions.scalar`.

The meaning is the Python one there; the conformance kit compares the two over hostile values.
"""

from __future__ import annotations

from privql.engines.duckdb import (
    building,
    casts,
    documents,
    moments,
    numbers,
    regular,
    texts,
    times,
    whole,
    writing,
)
from privql.engines.sql import choices
from privql.engines.sql.expressions import Spelling, by_type

SPELLINGS: dict[str, Spelling] = {
    **numbers.SPELLINGS,
    **choices.SPELLINGS,
    **whole.SPELLINGS,
    **texts.SPELLINGS,
    **building.SPELLINGS,
    **regular.SPELLINGS,
    **documents.SPELLINGS,
    **times.SPELLINGS,
    **moments.SPELLINGS,
    **writing.SPELLINGS,
    **casts.SPELLINGS,
    "add": by_type(numbers.add, times.add),
    "sub": by_type(numbers.sub, times.sub),
}

# What keeps NaN and infinities apart from numbers: those of an argument are so of the result, or the result is NULL.
TAKES_LOOSE = frozenset(
    {"add", "sub", "mul", "neg", "abs", "floor", "ceil", "trunc", "round", "sqrt", "ln", "log2", "log10", "cast"}
)
