"""Spellings of dates as texts and of texts as dates, piece by piece: the server's own formats take and give more."""

from __future__ import annotations

from privql.engines.postgres.casts import cast
from privql.engines.postgres.expressions import plain, text
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.writing import spellings
from privql.functions.scalar.formats import Piece


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


def _reread(t: Spelled, expression: str, canonical: str) -> str:
    whole = text(f"^{expression}$")
    return f"CASE WHEN {plain(t)} ~ {whole} THEN regexp_replace({plain(t)}, {whole}, {text(canonical)}) END"


SPELLINGS = spellings(_piece, _reread, cast)
