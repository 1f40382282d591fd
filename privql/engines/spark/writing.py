"""Spellings of dates as texts and of texts as dates, piece by piece: Spark's own formats take and give more."""

from __future__ import annotations

import re

from privql.engines.spark.casts import cast, like
from privql.engines.spark.expressions import text
from privql.engines.spark.times import clock_field, field
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.writing import spellings
from privql.functions.scalar.calendar import CLOCK
from privql.functions.scalar.formats import Piece


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


def _reread(t: Spelled, expression: str, canonical: str) -> str:
    java, made = text(rf"\A{expression}\z"), text(re.sub(r"\\([0-9])", r"$\1", canonical))
    return f"CASE WHEN {like(t, expression)} THEN regexp_replace({t}, {java}, {made}) END"


SPELLINGS = spellings(_piece, _reread, cast)
