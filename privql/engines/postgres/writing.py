"""Spellings of dates as texts and of texts as dates, piece by piece: the server's own formats take and give more."""

from __future__ import annotations

from privql.engines.postgres.casts import cast
from privql.engines.postgres.expressions import null, plain, text
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.formats import Piece
from privql.functions.scalar.writing import format_of, reading
from privql.kernel.scalars import TEXT


def _write(op: str) -> Spelling:
    def spelling(call: Call) -> str:
        format = format_of(op, call.args[1].value)
        if format is None:
            return null(call.result)
        return call.let(
            call.args[:1],
            # a text alone would not be NULL where the date is
            lambda m: f"CASE WHEN {m} IS NOT NULL THEN {' || '.join([_piece(p, m) for p in format] or [text('')])} END",
        )

    return spelling


def _piece(piece: Piece | str, moment: Spelled) -> str:
    if isinstance(piece, str):
        return f"{text(piece)}::text"
    value = f"floor(EXTRACT({piece.field} FROM {moment}))::integer"  # seconds have a fraction
    if piece.names:
        place = value if piece.field == "MONTH" else f"{value} + 1"
        return f"(ARRAY[{', '.join(map(text, piece.names))}]::text[])[{place}]"
    if piece.of:
        value = f"{value} % {10**piece.of}"
    written = f"({value})::text"
    return f"lpad({written}, {piece.digits}, '0')" if piece.digits > 1 else written  # never longer in this calendar


def _read(op: str) -> Spelling:
    def spelling(call: Call) -> Spelled | str:
        found = reading(op, call.args[1].value)
        if found is None:
            return null(call.result)
        expression, canonical = text(f"^{found[0]}$"), text(found[1])

        def body(t: Spelled) -> str:
            made = f"regexp_replace({plain(t)}, {expression}, {canonical})"
            return f"CASE WHEN {plain(t)} ~ {expression} THEN {made} END"

        rewritten = Spelled(call.let(call.args[:1], body), TEXT)
        return cast(Call("cast", (rewritten,), call.result, call.names, call.dialect))

    return spelling


SPELLINGS: dict[str, Spelling] = {
    **{op: _write(op) for op in ("strftime", "to_char")},
    **{op: _read(op) for op in ("strptime", "to_timestamp", "to_date")},
}
