"""Spellings of regular expressions, of which Spark's are Java's.

Java's search finds what ours finds, and each set of characters is written by its code points, so that nothing is left
to a default. But it tries one way after the other: a repetition in a repetition may take it longer than anybody waits,
and one of a group calls itself for each turn, until a long text ends the process. So only such patterns are handed to
it as can do neither, whatever the text (`_steady`); whether another occurs is asked of an automaton (`automata`).
"""

from __future__ import annotations

from typing import assert_never

from privql.engines.interface import EngineError
from privql.engines.spark.automata import occurs
from privql.engines.spark.expressions import text
from privql.engines.spark.texts import exactly
from privql.engines.sql.expressions import Call, Spelled
from privql.engines.sql.regular import Replacement, spellings
from privql.functions.scalar.characters import LAST, WORD, Ranges
from privql.functions.scalar.patterns import Choice, Group, One, Part, Pattern, Place, Repeat, Row

_MOST_WAYS = 1000  # to match from one place, apart from what a repetition of single characters may leave to the rest


def written(part: Part) -> str:
    """A part of a pattern in Java's syntax."""
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
            once, behind = f"(?:{written(inner)})", "?" if lazy else ""
            if most is None:  # without a count, Java takes characters in a loop
                return f"{once}{{{least}}}{once}*{behind}" if least > 1 else once + "*+"[least] + behind
            return f"{once}{{{least},{most}}}{behind}"
        case _:
            assert_never(part)


def _characters(ranges: Ranges) -> str:
    if ranges == ((0, LAST),):
        return "(?s:.)"
    return "[" + "".join(f"{exactly(chr(low))}-{exactly(chr(high))}" for low, high in ranges) + "]"


_IN_WORD = _characters(WORD)
_PLACES = {
    "start": r"\A",
    "end": r"\z",
    # Java's own asks for letters of all scripts, or in later versions does not
    "boundary": f"(?:(?<={_IN_WORD})(?!{_IN_WORD})|(?<!{_IN_WORD})(?={_IN_WORD}))",
}


def _ways(part: Part) -> tuple[int, int]:
    """In how many ways a part may match from one place: so many times the text's length to this power."""
    match part:
        case One() | Place():
            return 1, 0
        case Row(parts=parts):
            ways, power = 1, 0
            for each in map(_ways, parts):
                ways, power = ways * each[0], power + each[1]
            return ways, power
        case Choice(options=options):
            each_ways, powers = zip(*map(_ways, options), strict=True)
            return sum(each_ways), max(powers)
        case Group(part=inner):
            return _ways(inner)
        case Repeat(part=One(), most=None):
            return 1, 1
        case Repeat(part=inner, least=least, most=most):
            if most is None:
                return _MOST_WAYS + 1, 2
            ways, power = _ways(inner)
            if ways > 1 and most > 10:
                return _MOST_WAYS + 1, power
            return sum(ways**turns for turns in range(least, most + 1)), power * most
        case _:
            assert_never(part)


def steady(part: Part) -> bool:
    """Whether Java searches for it without calling itself for each character, and in few enough ways: from each place
    on, unless the text's start is the only one."""
    ways, power = _ways(part)
    first = part.parts[0] if isinstance(part, Row) and part.parts else part
    return ways <= _MOST_WAYS and power + (first != Place("start")) <= 2


def _java(part: Part) -> str:
    if not steady(part):
        raise EngineError("unsupported")
    return text(written(part))


def matches(call: Call, pattern: Pattern) -> str:
    x = call.args[0].sql
    if steady(pattern.part):
        return f"({x} RLIKE {_java(pattern.part)})"
    return occurs(x, pattern, (f"__{next(call.names)}", f"__{next(call.names)}"))


def extract(call: Call, pattern: Pattern, group: int) -> str:
    java = _java(pattern.part)

    def body(x: Spelled) -> str:
        return f"CASE WHEN {x} RLIKE {java} THEN regexp_extract({x}, {java}, {group}) END"

    return call.let(call.args[:1], body)


def replace(call: Call, pattern: Pattern, new: Replacement) -> str:
    """One match alone is the last sign of a pattern that begins where the text does, and so is found once."""
    java = _java(pattern.part) if new.every else _java_before(pattern.part)
    shift, before = (0, "") if new.every else (2, "$1")
    groups = [f"${part + shift}" if isinstance(part, int) else _quoted(part) for part in new.parts]
    made = text(before + "".join(groups))

    def body(x: Spelled) -> str:
        return f"regexp_replace(CASE WHEN length({x}) <= {new.most} THEN {x} END, {java}, {made})"

    return call.let(call.args[:1], body)


def _quoted(part: str) -> str:
    """So that Java takes no digit behind a group's number for a part of it, either."""
    return "".join(f"\\{character}" for character in part)


def _java_before(part: Part) -> str:
    """Group 1: as much as stands before; group 2: the leftmost match."""
    _java(part)
    return text(rf"\A((?s:.)*?)({written(part)})")


def count(call: Call, pattern: Pattern) -> str:
    return f"CAST(regexp_count({call.args[0]}, {_java(pattern.part)}) AS BIGINT)"


def place(call: Call, pattern: Pattern) -> str:
    """As much as stands before: the leftmost match leaves least of it."""
    before = _java_before(pattern.part)

    def body(x: Spelled) -> str:
        found = f"CAST(length(regexp_extract({x}, {before}, 1)) AS BIGINT) + 1L"
        return f"CASE WHEN {x} RLIKE {before} THEN {found} WHEN {x} IS NOT NULL THEN 0L END"

    return call.let(call.args[:1], body)


SPELLINGS = spellings(matches, extract, replace, count, place)
