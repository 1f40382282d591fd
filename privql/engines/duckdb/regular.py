"""Spellings of regular expressions: the pattern as it was understood, written so that nothing is left to a default.

Each set of characters is written by its code points, `.` among them, and no flags are set: which case, which blanks and
whether a line's end is a character are all in the sets. `$` would be the same as `\\z` here; it is written so anyway.
"""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import assert_never

from privql.engines.duckdb.expressions import literal, type_name
from privql.engines.sql.expressions import Call, Spelled, Spelling, text
from privql.functions.scalar.characters import LAST, Ranges
from privql.functions.scalar.patterns import Choice, Group, NoPattern, One, Part, Place, Repeat, Row
from privql.functions.scalar.patterns import pattern as understood
from privql.functions.scalar.regular import folds, replacement
from privql.functions.scalar.similar import translated
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import INT, Value

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


def _pattern(given: Value, flags: Value) -> str | None:
    """The pattern as a literal; None where it is none, which only a NULL is once the checker has seen it."""
    if not isinstance(given, str) or not isinstance(flags, str):
        return None
    try:
        return text(written(understood(given, folds(flags)).part))
    except NoPattern:
        return None


def _unknown(call: Call) -> str:
    return f"CAST(NULL AS {type_name(call.result)})"


def like(call: Call) -> str:
    pattern = _pattern(call.args[1].value, call.args[2].value if len(call.args) == 3 else "")
    return _unknown(call) if pattern is None else f"regexp_matches({call.args[0]}, {pattern})"


def extract(call: Call) -> str:
    pattern = _pattern(call.args[1].value, "")
    group = call.args[2].value if len(call.args) == 3 else 0
    if pattern is None or not isinstance(group, int):
        return _unknown(call)

    def body(x: Spelled) -> str:
        return f"CASE WHEN regexp_matches({x}, {pattern}) THEN regexp_extract({x}, {pattern}, {group}) END"

    return call.let(call.args[:1], body)


def replace(call: Call) -> str:
    flags = call.args[3].value if len(call.args) == 4 else ""
    pattern, new = _pattern(call.args[1].value, flags), call.args[2].value
    if pattern is None or not isinstance(new, str) or not isinstance(flags, str):
        return _unknown(call)
    parts = replacement(new)
    if parts is None:
        return _unknown(call)
    made = text("".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in parts))
    every = ", 'g'" if "g" in flags else ""
    most = LONGEST // (len(new) + 1) - 1

    def body(x: Spelled) -> str:
        return f"regexp_replace(CASE WHEN length({x}) <= {most} THEN {x} END, {pattern}, {made}{every})"

    return call.let(call.args[:1], body)


def similar(call: Call) -> str:
    given, escape = call.args[1].value, call.args[2].value if len(call.args) == 3 else "\\"
    if not isinstance(given, str) or not isinstance(escape, str):
        return _unknown(call)
    try:
        pattern = _pattern(translated(given, escape), "")
    except NoPattern:
        pattern = None
    return _unknown(call) if pattern is None else f"regexp_matches({call.args[0]}, {pattern})"


def part(call: Call) -> str:
    given = call.args[1].value
    try:
        group = min(understood(given).groups, 1) if isinstance(given, str) else 0
    except NoPattern:
        return _unknown(call)
    return extract(replaced(call, args=(*call.args[:2], literal(group, INT))))


def count(call: Call) -> str:
    pattern = _pattern(call.args[1].value, "")
    return _unknown(call) if pattern is None else f"len(regexp_extract_all({call.args[0]}, {pattern}))"


def place(call: Call) -> str:
    """As much as stands before: the leftmost match leaves least of it."""
    pattern = call.args[1].value
    try:
        before = text(rf"\A((?s:.)*?)(?:{written(understood(pattern).part)})") if isinstance(pattern, str) else None
    except NoPattern:
        before = None
    if before is None:
        return _unknown(call)

    def body(x: Spelled) -> str:
        found = f"length(regexp_extract({x}, {before}, 1)) + 1"
        return f"CASE WHEN regexp_matches({x}, {before}) THEN {found} WHEN {x} IS NOT NULL THEN 0 END"

    return call.let(call.args[:1], body)


SPELLINGS: dict[str, Spelling] = {
    "regexp_like": like,
    "regexp_extract": extract,
    "regexp_replace": replace,
    "regexp_part": part,
    "regexp_count": count,
    "regexp_instr": place,
    "similar": similar,
}
