"""Spellings of dates as texts and of texts as dates, piece by piece: engines' own formats take and give more."""

from __future__ import annotations

from collections.abc import Callable

from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.formats import Piece
from privql.functions.scalar.writing import format_of, reading
from privql.kernel.scalars import TEXT

Written = Callable[[Piece | str, Spelled], str]
"""A piece of a format, as it is written of a moment."""

Reread = Callable[[Spelled, str, str], str]
"""A text written anew as CAST reads it, by an expression of `re` and what stands for its match; NULL if it is none."""


def spellings(written: Written, reread: Reread, cast: Spelling) -> dict[str, Spelling]:
    def write(op: str) -> Spelling:
        def spelling(call: Call) -> str:
            format = format_of(op, call.args[1].value)
            if format is None:
                return call.null
            return call.let(
                call.args[:1],
                # a text alone would not be NULL where the date is
                lambda m: f"CASE WHEN {m} IS NOT NULL THEN {' || '.join(written(p, m) for p in format or [''])} END",
            )

        return spelling

    def read(op: str) -> Spelling:
        def spelling(call: Call) -> Spelled | str:
            found = reading(op, call.args[1].value)
            if found is None:
                return call.null
            expression, canonical = found
            rewritten = call.let(call.args[:1], lambda t: reread(t, expression, canonical))
            return cast(Call("cast", (Spelled(rewritten, TEXT),), call.result, call.names, call.dialect))

        return spelling

    return {
        **{op: write(op) for op in ("strftime", "to_char")},
        **{op: read(op) for op in ("strptime", "to_timestamp", "to_date")},
    }
