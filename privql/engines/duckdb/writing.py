"""Spellings of dates as texts and of texts as dates, piece by piece: DuckDB's own formats take and give more."""

from __future__ import annotations

from privql.engines.duckdb.casts import cast
from privql.engines.sql.expressions import Spelled, text
from privql.engines.sql.writing import spellings
from privql.functions.scalar.formats import Piece

_FIELDS = {"DOW": "dayofweek", "DOY": "dayofyear", "MICROSECOND": "microsecond"}


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


def _reread(t: Spelled, expression: str, canonical: str) -> str:
    pattern = text(expression)
    return f"CASE WHEN regexp_full_match({t}, {pattern}) THEN regexp_replace({t}, {pattern}, {text(canonical)}) END"


SPELLINGS = spellings(_piece, _reread, cast)
