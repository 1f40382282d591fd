"""Functions of regular expressions. Patterns are constants, and read by `patterns`."""

from __future__ import annotations

import re
from fractions import Fraction

from privql.domains import Domain, interval, whole
from privql.functions.scalar.declare import (
    Constants,
    Objection,
    ScalarFunction,
    Types,
    anything_or_null,
    checked,
    example,
    plain,
)
from privql.functions.scalar.patterns import NoPattern, may_be_empty, pattern
from privql.functions.scalar.search import Found, search
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import BOOL, INT, TEXT, Value, ValueType

_PIECE = re.compile(r"\\([0-9&\\])|([^\\]+)")


def folds(flags: str) -> bool:
    return "i" in flags


def replacement(text: str) -> list[str | int] | None:
    """What stands for a match, groups by their number; None if a backslash says nothing."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            return None
        match piece[1]:
            case None:
                parts.append(piece[2])
            case "\\":
                parts.append("\\")
            case "&":
                parts.append(0)
            case number:
                parts.append(int(number))
        at = piece.end()
    return parts


# ---- what is wrong with constants


def _of_pattern(text: Value, flags: Value = "", allowed: str = "i") -> str | None:
    if isinstance(flags, str) and not set(flags) <= set(allowed):
        return f"`{flags}` are no flags: there is {' and '.join(f'`{flag}`' for flag in allowed)}"
    try:
        if isinstance(text, str):
            pattern(text, isinstance(flags, str) and folds(flags))
    except NoPattern as wrong:
        return f"`{text}` is no pattern: {wrong}"
    return None


def _of_count(known: Constants) -> str | None:
    wrong = _of_like(known)
    text = known[1] if len(known) > 1 else None
    if wrong is None and isinstance(text, str) and may_be_empty(pattern(text).part):
        return "where matches are counted, the pattern must not match the empty text: write `+` for `*`"
    return wrong


def _groups(text: Value) -> int:
    return pattern(text).groups if isinstance(text, str) else 9


def _of_like(known: Constants) -> str | None:
    return _of_pattern(known[1], known[2] if len(known) == 3 else "") if len(known) > 1 else None


def _of_extract(known: Constants) -> str | None:
    if len(known) < 2:
        return None
    wrong = _of_pattern(known[1])
    if wrong is None and len(known) == 3 and isinstance(known[2], int) and not 0 <= known[2] <= _groups(known[1]):
        return f"the pattern has no group {known[2]}"
    return wrong


def _of_replace(known: Constants) -> str | None:
    if len(known) < 3:
        return None
    flags = known[3] if len(known) == 4 else ""
    wrong = _of_pattern(known[1], flags, "gi")
    if wrong is not None or not isinstance(known[2], str):
        return wrong
    parts = replacement(known[2])
    if parts is None:
        return r"in a replacement there are `\0` or `\&` for the match, `\1` to `\9` for its groups, and `\\`"
    if any(isinstance(part, int) and part > _groups(known[1]) for part in parts):
        return "the replacement names a group that the pattern has not"
    if isinstance(flags, str) and "g" in flags and isinstance(known[1], str) and may_be_empty(pattern(known[1]).part):
        return "where every match is replaced, the pattern must not match the empty text: write `+` for `*`"
    return None


# ---- meaning


def _like(text: str, wanted: str, flags: str = "") -> Value:
    return search(wanted, folds(flags)).occurs(text) if _of_pattern(wanted, flags) is None else None


def _extracted(text: str, wanted: str, group: int = 0) -> Value:
    if _of_extract((None, wanted, group)) is not None:
        return None
    found = next(search(wanted).found(text), None)
    return None if found is None else _part(text, found, group)


def _part(text: str, found: Found, group: int) -> str:
    """What a group matched; the empty text if it took no part."""
    ends = found[group]
    return "" if ends is None else text[slice(*ends)]


def _replaced(text: str, wanted: str, new: str, flags: str = "") -> Value:
    parts = replacement(new)
    if parts is None or _of_replace((None, wanted, new, flags)) is not None:
        return None
    if (len(text) + 1) * (len(new) + 1) > LONGEST:
        return None
    made: list[str] = []
    at = 0
    for found in search(wanted, folds(flags)).found(text):
        assert found[0] is not None
        made.append(text[at : found[0][0]])
        made += [_part(text, found, part) if isinstance(part, int) else part for part in parts]
        at = found[0][1]
        if "g" not in flags:
            break
    return "".join([*made, text[at:]])


def _matched(text: str, wanted: str) -> Value:
    """The first group of the first match, or all of it where there is no group: what PostgreSQL's SUBSTRING gives."""
    return None if _of_pattern(wanted) else _extracted(text, wanted, min(pattern(wanted).groups, 1))


def _counted(text: str, wanted: str) -> Value:
    return None if _of_count((None, wanted)) else sum(1 for _ in search(wanted).found(text))


def _placed(text: str, wanted: str) -> Value:
    if _of_pattern(wanted):
        return None
    found = next(search(wanted).found(text), None)
    return 0 if found is None or found[0] is None else found[0][0] + 1


def _number(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return interval(0, None, not _all_fine(_of_like, args), Fraction(1))


def _truth(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return whole(result, not _all_fine(_of_like, args))


def _all_fine(wrong: Objection, args: tuple[Domain, ...]) -> bool:
    """Whether the constant arguments are known, and refused by nothing."""
    known = [arg.only for arg in args[1:]]
    return None not in known and wrong((None, *known)) is None


_LIKE = checked("regexp_like", _of_like, (TEXT, TEXT, TEXT), BOOL, 2)
_EXTRACT = checked("regexp_extract", _of_extract, (TEXT, TEXT, INT), TEXT, 2)
_REPLACE = checked("regexp_replace", _of_replace, (TEXT, TEXT, TEXT, TEXT), TEXT, 3)

FUNCTIONS = (
    ScalarFunction(
        "regexp_like", ("REGEXP_LIKE", "REGEXP_MATCHES"), "function",
        ("TEXT, TEXT -> BOOL", "TEXT, TEXT, TEXT -> BOOL"), _LIKE, plain(_like), _truth,
        "Whether the [pattern](patterns.md) occurs in x: `x ~ p`, and with the flag `i`, which takes the letters A to Z"
        " for a to z, `x ~* p`. `!~` and `!~*` are their negations.",
        example("REGEXP_LIKE('Ward 7', '^ward [0-9]$', 'i')", "Ward 7", "^ward [0-9]$", "i", gives=True),
        constant_args=(1, 2), objection=_of_like,
    ),
    ScalarFunction(
        "regexp_extract", ("REGEXP_EXTRACT",), "function", ("TEXT, TEXT -> TEXT", "TEXT, TEXT, INT -> TEXT"), _EXTRACT,
        plain(_extracted), anything_or_null,
        "The first match of the [pattern](patterns.md), or what its n-th group matched (the empty text if that took no"
        " part). NULL where there is no match.",
        example("REGEXP_EXTRACT('ward 7, bed 12', 'bed ([0-9]+)', 1)", "ward 7, bed 12", "bed ([0-9]+)", 1, gives="12"),
        constant_args=(1, 2), objection=_of_extract,
    ),
    ScalarFunction(
        "regexp_substr", ("REGEXP_SUBSTR",), "function", ("TEXT, TEXT -> TEXT (as `REGEXP_EXTRACT`)",),
        lambda types, constants: _EXTRACT(types, constants) if len(types) == 2 else None, plain(_extracted),
        anything_or_null,
        "The first match of the [pattern](patterns.md). NULL where there is none.",
        example("REGEXP_SUBSTR('ward 7, bed 12', '[0-9]+')", "ward 7, bed 12", "[0-9]+", gives="7"),
        constant_args=(1,), objection=_of_extract,
    ),
    ScalarFunction(
        "regexp_count", ("REGEXP_COUNT",), "function", ("TEXT, TEXT -> INT",),
        checked("regexp_count", _of_count, (TEXT, TEXT), INT, 2), plain(_counted), _number,
        "How many matches of the [pattern](patterns.md) there are, one behind the other.",
        example("REGEXP_COUNT('ward 7, bed 12', '[0-9]+')", "ward 7, bed 12", "[0-9]+", gives=2),
        constant_args=(1,), objection=_of_count,
    ),
    ScalarFunction(
        "regexp_instr", ("REGEXP_INSTR",), "function", ("TEXT, TEXT -> INT",),
        checked("regexp_instr", _of_like, (TEXT, TEXT), INT, 2), plain(_placed), _number,
        "Where the first match of the [pattern](patterns.md) begins, counted from 1; 0 if there is none.",
        example("REGEXP_INSTR('ward 7, bed 12', '[0-9]+')", "ward 7, bed 12", "[0-9]+", gives=6),
        constant_args=(1,), objection=_of_like,
    ),
    ScalarFunction(
        "regexp_part", (), "operator", ("TEXT, TEXT -> TEXT",), checked("regexp_part", _of_like, (TEXT, TEXT), TEXT, 2),
        plain(_matched), anything_or_null,
        "`SUBSTRING(x FROM pattern)`: what the first group of the [pattern](patterns.md) matched where it first occurs,"
        " or the whole match if it has no group. NULL where there is no match.",
        example("SUBSTRING('ward 7, bed 12' FROM 'bed ([0-9]+)')", "ward 7, bed 12", "bed ([0-9]+)", gives="12"),
        constant_args=(1,), objection=_of_like,
    ),
    ScalarFunction(
        "regexp_replace", ("REGEXP_REPLACE",), "function",
        ("TEXT, TEXT, TEXT -> TEXT", "TEXT, TEXT, TEXT, TEXT -> TEXT"), _REPLACE, plain(_replaced), anything_or_null,
        "The first match of the [pattern](patterns.md), with the flag `g` every match, made the third argument, in"
        " which `\\0` (or `\\&`) is the match, `\\1` to `\\9` its groups and `\\\\` a backslash. NULL where"
        f" (LENGTH(x) + 1) * (LENGTH(third) + 1) is more than {LONGEST}.",
        example("REGEXP_REPLACE('7-12', '([0-9]+)-([0-9]+)', '\\2-\\1')", "7-12", "([0-9]+)-([0-9]+)", "\\2-\\1",
                gives="12-7"),
        constant_args=(1, 2, 3), objection=_of_replace,
    ),
)  # fmt: skip
