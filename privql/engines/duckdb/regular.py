"""Spellings of regular expressions: the pattern as it was understood, written so that nothing is left to a default.

Each set of characters is written by its code points, `.` among them, and no flags are set: which case, which blanks and
whether a line's end is a character are all in the sets. `$` would be the same as `\\z` here; it is written so anyway.
"""

from __future__ import annotations

from typing import assert_never

from privql.engines.sql.expressions import Call, Spelled, text
from privql.engines.sql.regular import Replacement, spellings
from privql.functions.scalar.characters import LAST, Ranges
from privql.functions.scalar.patterns import Choice, Group, One, Part, Pattern, Place, Repeat, Row

_CASE = ord("a") - ord("A")
_PLACES = {"start": r"\A", "end": r"\z", "boundary": r"\b"}


def written(part: Part) -> str:
    """A part of a pattern in the engine's own syntax."""
    match part:
        case One(ranges=ranges):
            return _characters(ranges)
        case Place(kind=kind):
            return _PLACES[kind]
        case Row(parts=parts):
            return "".join(written(each) if not isinstance(each, Choice) else f"(?:{written(each)})" for each in parts)
        case Choice(options=options):
            return "|".join(map(written, options))
        case Group(part=inner):
            return f"({written(inner)})"
        case Repeat(part=inner, least=least, most=most, lazy=lazy):
            count = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
            return f"(?:{written(inner)}){count}{'?' if lazy else ''}"
        case _:
            assert_never(part)


def _characters(ranges: Ranges) -> str:
    if ranges == ((0, LAST),):
        return "(?s:.)"
    (low, high), *more = ranges
    if low == high and not more:
        return _character(low)
    if low == high and more == [(low + _CASE, low + _CASE)]:
        # As a class, the two cases of a letter become a letter of any case: beside other classes in a choice, that
        # matches the Kelvin sign for k, or loses K.
        return f"(?:{_character(low)}|{_character(low + _CASE)})"
    return "[" + "".join(f"{_character(low)}-{_character(high)}" for low, high in ranges) + "]"


def _character(point: int) -> str:
    character = chr(point)
    return character if character.isascii() and character.isalnum() else f"\\x{{{point:x}}}"


def _literal(pattern: Pattern) -> str:
    return text(written(pattern.part))


def matches(call: Call, pattern: Pattern) -> str:
    return f"regexp_matches({call.args[0]}, {_literal(pattern)})"


def extract(call: Call, pattern: Pattern, group: int) -> str:
    def body(x: Spelled) -> str:
        return f"CASE WHEN regexp_matches({x}, {wanted}) THEN regexp_extract({x}, {wanted}, {group}) END"

    wanted = _literal(pattern)
    return call.let(call.args[:1], body)


def replace(call: Call, pattern: Pattern, new: Replacement) -> str:
    made = text("".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in new.parts))
    every = ", 'g'" if new.every else ""

    def body(x: Spelled) -> str:
        short = f"CASE WHEN length({x}) <= {new.most} THEN {x} END"
        return f"regexp_replace({short}, {_literal(pattern)}, {made}{every})"

    return call.let(call.args[:1], body)


def count(call: Call, pattern: Pattern) -> str:
    return f"len(regexp_extract_all({call.args[0]}, {_literal(pattern)}))"


def place(call: Call, pattern: Pattern) -> str:
    """As much as stands before: the leftmost match leaves least of it."""
    before = text(rf"\A((?s:.)*?)(?:{written(pattern.part)})")

    def body(x: Spelled) -> str:
        found = f"length(regexp_extract({x}, {before}, 1)) + 1"
        return f"CASE WHEN regexp_matches({x}, {before}) THEN {found} WHEN {x} IS NOT NULL THEN 0 END"

    return call.let(call.args[:1], body)


SPELLINGS = spellings(matches, extract, replace, count, place)
