"""Spellings of regular expressions. What a pattern is, and what stands for a match, is understood here alike; an engine
writes it in its own syntax."""

from __future__ import annotations

from collections.abc import Callable

from privql.engines.sql.expressions import Call, Spelling
from privql.frozen import frozen
from privql.functions.scalar.patterns import NoPattern, Pattern
from privql.functions.scalar.patterns import pattern as understood
from privql.functions.scalar.regular import folds, replacement
from privql.functions.scalar.similar import translated
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import Value


@frozen
class Replacement:
    parts: tuple[str | int, ...]  # groups by their number
    every: bool  # match, or the first alone
    most: int  # characters of a text that does not become too long, whatever matches


def spellings(
    matches: Callable[[Call, Pattern], str],
    extract: Callable[[Call, Pattern, int], str],
    replace: Callable[[Call, Pattern, Replacement], str],
    count: Callable[[Call, Pattern], str],
    place: Callable[[Call, Pattern], str],
) -> dict[str, Spelling]:
    """Each is written for a pattern; where there is none, the result is NULL."""

    def asked(spelled: Callable[[Call, Pattern], str]) -> Spelling:
        def spelling(call: Call) -> str:
            pattern = _pattern(call.args[1].value, _constant(call, 2, ""))
            return call.null if pattern is None else spelled(call, pattern)

        return spelling

    def similar(call: Call) -> str:
        pattern = _similar(call.args[1].value, _constant(call, 2, "\\"))
        return call.null if pattern is None else matches(call, pattern)

    def extracted(call: Call) -> str:
        pattern, group = _pattern(call.args[1].value), _constant(call, 2, 0)
        return extract(call, pattern, group) if pattern is not None and isinstance(group, int) else call.null

    def replaced(call: Call) -> str:
        new, flags = call.args[2].value, _constant(call, 3, "")
        pattern = _pattern(call.args[1].value, flags)
        if pattern is None or not isinstance(new, str) or not isinstance(flags, str):
            return call.null
        parts = replacement(new)
        if parts is None:
            return call.null
        return replace(call, pattern, Replacement(tuple(parts), "g" in flags, LONGEST // (len(new) + 1) - 1))

    return {
        "regexp_like": asked(matches),
        "regexp_extract": extracted,
        "regexp_replace": replaced,
        "regexp_part": asked(lambda call, pattern: extract(call, pattern, min(pattern.groups, 1))),
        "regexp_count": asked(count),
        "regexp_instr": asked(place),
        "similar": similar,
    }


def _constant(call: Call, place: int, default: Value) -> Value:
    return call.args[place].value if len(call.args) > place else default


def _pattern(given: Value, flags: Value = "") -> Pattern | None:
    """None where it is no pattern, which only a NULL is once the checker has seen it."""
    if not isinstance(given, str) or not isinstance(flags, str):
        return None
    try:
        return understood(given, folds(flags))
    except NoPattern:
        return None


def _similar(given: Value, escape: Value) -> Pattern | None:
    if not isinstance(given, str) or not isinstance(escape, str):
        return None
    try:
        return understood(translated(given, escape))
    except NoPattern:
        return None
