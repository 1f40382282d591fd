"""Spellings of dates as texts and of texts as dates, piece by piece: DuckDB's own formats take and give more."""

from __future__ import annotations

from privql.engines.duckdb.casts import cast
from privql.engines.sql.expressions import Call, Spelled, Spelling, text
from privql.functions.scalar.formats import Piece
from privql.functions.scalar.writing import format_of, reading
from privql.kernel.scalars import TEXT

_FIELDS = {"DOW": "dayofweek", "DOY": "dayofyear", "MICROSECOND": "microsecond"}


def _write(op: str) -> Spelling:
    def spelling(call: Call) -> str:
        format = format_of(op, call.args[1].value)
        if format is None:
            return "CAST(NULL AS VARCHAR)"
        return call.let(
            call.args[:1],
            # a text alone would not be NULL where the date is
            lambda m: f"CASE WHEN {m} IS NOT NULL THEN {' || '.join([_piece(p, m) for p in format] or [text('')])} END",
        )

    return spelling


def _piece(piece: Piece | str, moment: Spelled) -> str:
    if isinstance(piece, str):
        return text(piece)
    value = f"{_FIELDS.get(piece.field, piece.field.lower())}({moment})"
    if piece.names:
        place = value if piece.field == "MONTH" else f"{value} + 1"
        return f"list_extract([{', '.join(map(text, piece.names))}], {place})"
    if piece.of:
        value = f"{value} % {10**piece.of}"
    written = f"CAST({value} AS VARCHAR)"
    return f"lpad({written}, {piece.digits}, '0')" if piece.digits > 1 else written  # never longer in this calendar


def _read(op: str) -> Spelling:
    def spelling(call: Call) -> Spelled | str:
        found = reading(op, call.args[1].value)
        if found is None:
            return f"CAST(NULL AS {call.result.kind})"
        expression, canonical = map(text, found)
        rewritten = call.let(
            call.args[:1],
            lambda t: f"CASE WHEN regexp_full_match({t}, {expression}) THEN {_replaced(t, expression, canonical)} END",
        )
        return cast(Call("cast", (Spelled(rewritten, TEXT),), call.result, call.names, call.dialect))

    return spelling


def _replaced(text: Spelled, expression: str, canonical: str) -> str:
    return f"regexp_replace({text}, {expression}, {canonical})"


SPELLINGS: dict[str, Spelling] = {
    **{op: _write(op) for op in ("strftime", "to_char")},
    **{op: _read(op) for op in ("strptime", "to_timestamp", "to_date")},
}
