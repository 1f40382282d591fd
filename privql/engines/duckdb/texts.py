"""Spellings of text functions.

DuckDB counts code points in `length`, `substring`, `left`, `right`, `string_split` and LIKE, but grapheme clusters in
`reverse`, maps all of Unicode in `lower` and ILIKE, and throws for positions beyond 32 bits.
"""

from __future__ import annotations

from privql.engines.sql.expressions import Call, Spelled, Spelling, function, text
from privql.engines.sql.texts import Signs, concat, escaped, likes, lowered, side, trim, uppered
from privql.functions.scalar.text import LONGEST

_FAR = 2**31  # a position beyond every text


def near(position: str, least: int) -> str:
    """A whole number brought to where DuckDB takes it as a position. NULL stays NULL."""
    return f"CASE WHEN {position} < {least} THEN {least} WHEN {position} > {_FAR} THEN {_FAR} ELSE {position} END"


def replace(call: Call) -> str:
    def body(x: Spelled, old: Spelled, new: Spelled) -> str:
        longest = f"length({x}) + CAST(length({x}) // length({old}) AS HUGEINT) * length({new})"
        fits = f"CASE WHEN {longest} <= {LONGEST} THEN {x} END"
        return f"CASE WHEN {old} = '' AND {new} IS NOT NULL THEN {x} ELSE replace({fits}, {old}, {new}) END"

    return call.let(call.args, body)


def substring(call: Call) -> str:
    if len(call.args) == 2:
        return call.let(call.args, lambda x, start: f"substring({x}, {near(start.sql, 1)})")

    def body(x: Spelled, start: Spelled, length: Spelled) -> str:
        end = f"(CAST({start} AS HUGEINT) + {length})"
        size = f"CAST(({near(end, 1)}) - ({near(start.sql, 1)}) AS BIGINT)"
        return f"CASE WHEN {length} >= 0 THEN substring({x}, {near(start.sql, 1)}, {size}) END"

    return call.let(call.args, body)


def _as_position(n: str) -> str:
    return near(n, -_FAR)


def _matches(subject: str, signs: Signs) -> str:
    return f"({subject} LIKE {text(escaped(signs))} ESCAPE '\\')"


SPELLINGS: dict[str, Spelling] = {
    "lower": lambda call: lowered(call.args[0]),
    "upper": lambda call: uppered(call.args[0]),
    "length": function("length"),
    "concat": concat,
    "replace": replace,
    "substring": substring,
    "left": side("left", _as_position),
    "right": side("right", _as_position),
    "trim": trim("trim"),
    "ltrim": trim("ltrim"),
    "rtrim": trim("rtrim"),
    "reverse": lambda call: f"array_to_string(list_reverse(string_split({call.args[0]}, '')), '')",
    **likes(_matches, str, lowered),
    "strpos": function("instr"),
    "position": lambda call: f"instr({call.args[1]}, {call.args[0]})",
    "starts_with": function("starts_with"),
    "ends_with": function("ends_with"),
    "contains": function("contains"),
}
