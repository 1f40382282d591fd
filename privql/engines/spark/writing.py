"""Spellings of dates as texts and of texts as dates, piece by piece: Spark's own formats take and give more."""

from __future__ import annotations

import re

from privql.engines.spark.casts import cast, like
from privql.engines.spark.expressions import text
from privql.engines.spark.times import clock_field, field
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.calendar import CLOCK
from privql.functions.scalar.formats import Piece
from privql.functions.scalar.writing import format_of, reading
from privql.kernel.scalars import TEXT


def _write(op: str) -> Spelling:
    def spelling(call: Call) -> str:
        format = format_of(op, call.args[1].value)
        if format is None:
            return "CAST(NULL AS STRING)"
        return call.let(
            call.args[:1],
            # a text alone would not be NULL where the date is
            lambda m: f"CASE WHEN {m} IS NOT NULL THEN {' || '.join([_piece(p, m) for p in format] or [text('')])} END",
        )

    return spelling


def _piece(piece: Piece | str, moment: Spelled) -> str:
    if isinstance(piece, str):
        return text(piece)
    if piece.field in CLOCK:
        value = clock_field(piece.field, moment)
        if piece.field == "SECOND":
            value = f"({value} div {CLOCK['SECOND']}L)"
    else:
        value = field(piece.field, moment)
    if piece.names:
        place = f"{value} - 1" if piece.field == "MONTH" else value
        return f"array({', '.join(map(text, piece.names))})[{place}]"
    if piece.of:
        value = f"{value} % {10**piece.of}"
    written = f"CAST({value} AS STRING)"
    return f"lpad({written}, {piece.digits}, '0')" if piece.digits > 1 else written  # never longer in this calendar


def _read(op: str) -> Spelling:
    def spelling(call: Call) -> Spelled | str:
        found = reading(op, call.args[1].value)
        if found is None:
            return f"CAST(NULL AS {call.result.kind})"
        expression, canonical = found
        made = text(re.sub(r"\\([0-9])", r"$\1", canonical))

        def rewritten(t: Spelled) -> str:
            java = text(rf"\A{expression}\z")
            replaced = f"regexp_replace({t}, {java}, {made})"
            return f"CASE WHEN {like(t, expression)} THEN {replaced} END"

        return cast(
            Call("cast", (Spelled(call.let(call.args[:1], rewritten), TEXT),), call.result, call.names, call.dialect)
        )

    return spelling


SPELLINGS: dict[str, Spelling] = {
    **{op: _write(op) for op in ("strftime", "to_char")},
    **{op: _read(op) for op in ("strptime", "to_timestamp", "to_date")},
}
