"""What a text must look like to be cast: it is matched first, as engines accept more than the language does."""

from __future__ import annotations

from privql.engines.sql.expressions import Spelled, text
from privql.functions.scalar.casts import FALSE, TRUE

A_NUMBER = r" *[+-]?[0-9]+(\.[0-9]+)? *"
WITH_EXPONENT = r" *[+-]?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+ *"
A_FLOAT = r" *[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)? *"
A_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
A_TIMESTAMP = rf"{A_DATE}([ T]{_CLOCK})?"


def truth(word: Spelled) -> str:
    """What a word says, which is in small letters and without blanks around it."""
    yes, no = (", ".join(map(text, words)) for words in (TRUE, FALSE))
    return f"CASE WHEN {word} IN ({yes}) THEN TRUE WHEN {word} IN ({no}) THEN FALSE END"
