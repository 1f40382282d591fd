"""JSON: nothing in Spark reads it to the letter and gives a number as it is written, so there is no spelling yet."""

from __future__ import annotations

from privql.engines.interface import EngineError
from privql.engines.sql.expressions import Call, Spelling


def _none(call: Call) -> str:
    raise EngineError("unsupported")


SPELLINGS: dict[str, Spelling] = dict.fromkeys(
    ("json_value", "json_exists", "json_typeof", "json_array_length", "json_valid"), _none
)
