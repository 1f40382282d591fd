"""Spellings of regular expressions: the pattern as it was understood, written so that nothing is left to a default.

Whether there is a match is asked of the pattern as it stands; where it ends, of one in which each choice is decided
(`ordered`).
"""

from __future__ import annotations

from privql.engines.interface import EngineError
from privql.engines.postgres.expressions import null, plain, text
from privql.engines.postgres.ordered import MOST, Ordered, written
from privql.engines.postgres.texts import size
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.patterns import NoPattern, Pattern, may_be_empty
from privql.functions.scalar.patterns import pattern as understood
from privql.functions.scalar.regular import folds, replacement
from privql.functions.scalar.similar import translated
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import Value


def _pattern(given: Value, flags: Value = "") -> Pattern | None:
    """None where it is no pattern, which only a NULL is once the checker has seen it."""
    if not isinstance(given, str) or not isinstance(flags, str):
        return None
    try:
        return understood(given, folds(flags))
    except NoPattern:
        return None


def _literal(pattern: str) -> str:
    if len(pattern) > MOST:
        raise EngineError("unsupported")
    return text(pattern)


def _ordered(pattern: Pattern, *wanted: int) -> Ordered:
    return Ordered(pattern.part, frozenset(wanted) - {0})


def like(call: Call) -> str:
    pattern = _pattern(call.args[1].value, call.args[2].value if len(call.args) == 3 else "")
    return _matches(call, pattern)


def _matches(call: Call, pattern: Pattern | None) -> str:
    return null(call.result) if pattern is None else f"({plain(call.args[0])} ~ {_literal(written(pattern.part))})"


def similar(call: Call) -> str:
    given, escape = call.args[1].value, call.args[2].value if len(call.args) == 3 else "\\"
    if not isinstance(given, str) or not isinstance(escape, str):
        return null(call.result)
    try:
        return _matches(call, _pattern(translated(given, escape)))
    except NoPattern:
        return null(call.result)


def extract(call: Call) -> str:
    group = call.args[2].value if len(call.args) == 3 else 0
    return _extracted(call, _pattern(call.args[1].value), group)


def _extracted(call: Call, pattern: Pattern | None, group: Value) -> str:
    if pattern is None or not isinstance(group, int) or not 0 <= group <= pattern.groups:
        return null(call.result)
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


def part(call: Call) -> str:
    pattern = _pattern(call.args[1].value)
    return _extracted(call, pattern, None if pattern is None else min(pattern.groups, 1))


def replace(call: Call) -> str:
    flags = call.args[3].value if len(call.args) == 4 else ""
    pattern, new = _pattern(call.args[1].value, flags), call.args[2].value
    parts = replacement(new) if isinstance(new, str) else None
    if pattern is None or parts is None or not isinstance(new, str) or not isinstance(flags, str):
        return null(call.result)
    named = [part for part in parts if isinstance(part, int)]
    if any(number > pattern.groups for number in named):
        return null(call.result)
    ordered = _ordered(pattern, *named)
    most = LONGEST // (len(new) + 1) - 1
    simple = all(len(places) < 2 and max(places, default=0) < 10 for places in ordered.remembered.values())
    if not simple and may_be_empty(pattern.part):
        raise EngineError("unsupported")  # the server does not split a text where nothing stands

    def body(x: Spelled) -> str:
        found = _literal(ordered.text if simple else f"({ordered.text})")
        if simple:
            written = text("".join(_replacing(ordered, part) for part in parts))
            made = f"regexp_replace({plain(x)}, {found}, {written}{every})"
        else:
            made = _in_pieces(call, x, found, ordered, parts, not every)
        return f"CASE WHEN {size(x)} <= {most} THEN {made} END"

    every = ", 'g'" if "g" in flags else ""
    return call.let(call.args[:1], body)


def _replacing(ordered: Ordered, part: str | int) -> str:
    """The server tells nine groups apart, and not which of several places took part last."""
    if isinstance(part, str):
        return part.replace("\\", "\\\\")
    if part == 0:
        return r"\&"
    return "".join(f"\\{place}" for place in ordered.remembered[part])


def _in_pieces(call: Call, x: Spelled, found: str, ordered: Ordered, parts: list[str | int], once: bool) -> str:
    """What stands between matches, and for each match what is made of it."""
    name = f"__{next(call.names)}"
    made = " || ".join(
        f"{text(part)}::text"
        if isinstance(part, str)
        else f"{name}_m[1]"
        if part == 0
        else _remembered(f"{name}_m", ordered.remembered[part], 1)
        for part in parts
    ) or text("")
    if once:
        made = f"CASE WHEN {name}_n = 1 THEN {made} ELSE {name}_m[1] END"
    between = f"regexp_split_to_table({plain(x)}, {found}) WITH ORDINALITY AS {name}_s({name}_p, {name}_n)"
    matches = f"regexp_matches({plain(x)}, {found}, 'g') WITH ORDINALITY AS {name}_t({name}_m, {name}_n)"
    pieces = f"{between} LEFT JOIN {matches} USING ({name}_n)"
    each = f"{name}_p || CASE WHEN {name}_m IS NULL THEN '' ELSE {made} END"
    return f"(SELECT string_agg({each}, '' ORDER BY {name}_n) FROM {pieces})"


def count(call: Call) -> str:
    pattern = _pattern(call.args[1].value)
    if pattern is None:
        return null(call.result)
    found = _literal(_ordered(pattern).text)
    name = f"__{next(call.names)}"

    def body(x: Spelled) -> str:
        matches = f"SELECT count(*) FROM regexp_matches({plain(x)}, {found}, 'g') AS {name}"
        return f"CASE WHEN {x} IS NOT NULL THEN ({matches}) END"

    return call.let(call.args[:1], body)


def place(call: Call) -> str:
    """As much as stands before: the least of which a match follows."""
    pattern = _pattern(call.args[1].value)
    if pattern is None:
        return null(call.result)
    before = _literal(rf"\A(.*?)(?={written(pattern.part)})")

    def body(x: Spelled) -> str:
        found = f"{size(f'(regexp_match({plain(x)}, {before}))[1]')} + 1"
        return f"CASE WHEN {x} IS NOT NULL THEN coalesce({found}, 0) END"

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
