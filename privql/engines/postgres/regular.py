"""Spellings of regular expressions: the pattern as it was understood, written so that nothing is left to a default.

Whether there is a match is asked of the pattern as it stands; where it ends, of one in which each choice is decided
(`ordered`).
"""

from __future__ import annotations

from privql.engines.interface import EngineError
from privql.engines.postgres.expressions import plain, text
from privql.engines.postgres.ordered import MOST, Ordered, written
from privql.engines.postgres.texts import size
from privql.engines.sql.expressions import Call, Spelled
from privql.engines.sql.regular import Replacement, spellings
from privql.functions.scalar.patterns import Pattern, may_be_empty


def _literal(pattern: str) -> str:
    if len(pattern) > MOST:
        raise EngineError("unsupported")
    return text(pattern)


def _ordered(pattern: Pattern, *wanted: int) -> Ordered:
    return Ordered(pattern.part, frozenset(wanted) - {0})


def matches(call: Call, pattern: Pattern) -> str:
    return f"({plain(call.args[0])} ~ {_literal(written(pattern.part))})"


def extract(call: Call, pattern: Pattern, group: int) -> str:
    if not 0 <= group <= pattern.groups:
        return call.null
    ordered = _ordered(pattern, group)
    found = f"regexp_match({plain(call.args[0])}, {_literal(ordered.text)})"
    if not group:
        return f"({found})[1]"
    return call.let(
        (Spelled(found, call.result),),
        lambda m: f"CASE WHEN {m} IS NOT NULL THEN {_remembered(m.sql, ordered.remembered[group])} END",
    )


def _remembered(found: str, places: list[int], before: int = 0) -> str:
    """What a group holds: of its places the last that took part."""
    return f"coalesce({', '.join([f'({found})[{before + place}]' for place in places[::-1]] + [text('')])})"


def replace(call: Call, pattern: Pattern, new: Replacement) -> str:
    named = [part for part in new.parts if isinstance(part, int)]
    if any(number > pattern.groups for number in named):
        return call.null
    ordered = _ordered(pattern, *named)
    simple = all(len(places) < 2 and max(places, default=0) < 10 for places in ordered.remembered.values())
    if not simple and may_be_empty(pattern.part):
        raise EngineError("unsupported")  # the server does not split a text where nothing stands

    def body(x: Spelled) -> str:
        found = _literal(ordered.text if simple else f"({ordered.text})")
        if simple:
            written = text("".join(_replacing(ordered, part) for part in new.parts))
            every = ", 'g'" if new.every else ""
            made = f"regexp_replace({plain(x)}, {found}, {written}{every})"
        else:
            made = _in_pieces(call, x, found, ordered, new)
        return f"CASE WHEN {size(x)} <= {new.most} THEN {made} END"

    return call.let(call.args[:1], body)


def _replacing(ordered: Ordered, part: str | int) -> str:
    """The server tells nine groups apart, and not which of several places took part last."""
    if isinstance(part, str):
        return part.replace("\\", "\\\\")
    if part == 0:
        return r"\&"
    return "".join(f"\\{place}" for place in ordered.remembered[part])


def _in_pieces(call: Call, x: Spelled, found: str, ordered: Ordered, new: Replacement) -> str:
    """What stands between matches, and for each match what is made of it."""
    name = f"__{next(call.names)}"
    made = " || ".join(
        f"{text(part)}::text"
        if isinstance(part, str)
        else f"{name}_m[1]"
        if part == 0
        else _remembered(f"{name}_m", ordered.remembered[part], 1)
        for part in new.parts
    ) or text("")
    if not new.every:
        made = f"CASE WHEN {name}_n = 1 THEN {made} ELSE {name}_m[1] END"
    between = f"regexp_split_to_table({plain(x)}, {found}) WITH ORDINALITY AS {name}_s({name}_p, {name}_n)"
    matches = f"regexp_matches({plain(x)}, {found}, 'g') WITH ORDINALITY AS {name}_t({name}_m, {name}_n)"
    pieces = f"{between} LEFT JOIN {matches} USING ({name}_n)"
    each = f"{name}_p || CASE WHEN {name}_m IS NULL THEN '' ELSE {made} END"
    return f"(SELECT string_agg({each}, '' ORDER BY {name}_n) FROM {pieces})"


def count(call: Call, pattern: Pattern) -> str:
    found = _literal(_ordered(pattern).text)
    name = f"__{next(call.names)}"

    def body(x: Spelled) -> str:
        matched = f"SELECT count(*) FROM regexp_matches({plain(x)}, {found}, 'g') AS {name}"
        return f"CASE WHEN {x} IS NOT NULL THEN ({matched}) END"

    return call.let(call.args[:1], body)


def place(call: Call, pattern: Pattern) -> str:
    """As much as stands before: the least of which a match follows."""
    before = _literal(rf"\A(.*?)(?={written(pattern.part)})")

    def body(x: Spelled) -> str:
        found = f"{size(f'(regexp_match({plain(x)}, {before}))[1]')} + 1"
        return f"CASE WHEN {x} IS NOT NULL THEN coalesce({found}, 0) END"

    return call.let(call.args[:1], body)


SPELLINGS = spellings(matches, extract, replace, count, place)
