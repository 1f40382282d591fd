"""Spellings of text functions.

DuckDB counts code points in `length`, `substring`, `left`, `right`, `string_split` and LIKE, but grapheme clusters in
`reverse`, maps all of Unicode in `lower` and ILIKE, and throws for positions beyond 32 bits.
"""

from __future__ import annotations

from privql.engines.sql.expressions import Call, Spelled, Spelling, function, text
from privql.functions.scalar.matching import like as meaning_of_like
from privql.functions.scalar.text import LONGEST, ascii_lower

_FAR = 2**31  # a position beyond every text
ABC, XYZ = "'ABCDEFGHIJKLMNOPQRSTUVWXYZ'", "'abcdefghijklmnopqrstuvwxyz'"


def lowered(arg: Spelled | str) -> str:
    return f"translate({arg}, {ABC}, {XYZ})"


def near(position: str, least: int) -> str:
    """A whole number brought to where DuckDB takes it as a position. NULL stays NULL."""
    return f"CASE WHEN {position} < {least} THEN {least} WHEN {position} > {_FAR} THEN {_FAR} ELSE {position} END"


def concat(call: Call) -> str:
    def body(*parts: Spelled) -> str:
        length = " + ".join(f"length({part})" for part in parts)
        return " || ".join([f"CASE WHEN {length} <= {LONGEST} THEN {parts[0]} END", *(part.sql for part in parts[1:])])

    return f"({call.let(call.args, body)})"


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


def _side(name: str) -> Spelling:
    return lambda call: call.let(call.args, lambda x, n: f"{name}({x}, {near(n.sql, -_FAR)})")


def _trim(name: str) -> Spelling:
    return lambda call: f"{name}({call.args[0]}, {call.args[1] if len(call.args) == 2 else text(' ')})"


def like(call: Call) -> str:
    return _matches(call.args[0].sql, call)


def ilike(call: Call) -> str:
    return _matches(lowered(call.args[0]), call, fold=True)


def _matches(subject: str, call: Call, fold: bool = False) -> str:
    """The pattern is written anew with `\\` as its escape: DuckDB takes none of more than one byte."""
    pattern, escape = call.args[1].value, call.args[2].value if len(call.args) == 3 else "\\"
    if not isinstance(pattern, str) or not isinstance(escape, str) or meaning_of_like("", pattern, escape) is None:
        return "CAST(NULL AS BOOLEAN)"
    written = []
    characters = iter(ascii_lower(pattern) if fold else pattern)
    for character in characters:
        literally = character == escape
        character = next(characters) if literally else character
        written.append("\\" + character if character == "\\" or (literally and character in "%_") else character)
    return f"({subject} LIKE {text(''.join(written))} ESCAPE '\\')"


SPELLINGS: dict[str, Spelling] = {
    "lower": lambda call: lowered(call.args[0]),
    "upper": lambda call: f"translate({call.args[0]}, {XYZ}, {ABC})",
    "length": function("length"),
    "concat": concat,
    "replace": replace,
    "substring": substring,
    "left": _side("left"),
    "right": _side("right"),
    "trim": _trim("trim"),
    "ltrim": _trim("ltrim"),
    "rtrim": _trim("rtrim"),
    "reverse": lambda call: f"array_to_string(list_reverse(string_split({call.args[0]}, '')), '')",
    "like": like,
    "ilike": ilike,
    "strpos": function("instr"),
    "position": lambda call: f"instr({call.args[1]}, {call.args[0]})",
    "starts_with": function("starts_with"),
    "ends_with": function("ends_with"),
    "contains": function("contains"),
}
