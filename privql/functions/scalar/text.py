"""Text: sequences of code points. Case functions map ASCII letters only.

What could make a text longer than its arguments - `||` and REPLACE - gives NULL where the result might pass a million
code points, decided from the arguments' lengths alone, so that no row can exhaust an engine.
"""

from __future__ import annotations

from typing import Any

from privql.domains import Domain, grid_of, interval, whole
from privql.functions.scalar.declare import (
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    Typing,
    anything,
    anything_or_null,
    example,
    fixed,
    padded,
    plain,
)
from privql.kernel.scalars import INT, TEXT, ValueType

LONGEST = 2**14  # code points that || and REPLACE may make: one row must not fill the memory
GROWING = frozenset(
    ("concat", "replace", "join", "join_with", "repeat", "lpad", "rpad", "overlay", "format", "regexp_replace")
)
"""The functions that may make a longer text than they are given: up to LONGEST."""

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def ascii_lower(text: str) -> str:
    return text.translate(_LOWER)


def ascii_upper(text: str) -> str:
    return text.translate(_UPPER)


def _joined(*parts: str) -> str | None:
    return "".join(parts) if sum(map(len, parts)) <= LONGEST else None


def _replaced(text: str, old: str, new: str) -> str | None:
    if not old:
        return text
    longest = len(text) + len(text) // len(old) * len(new)
    return text.replace(old, new) if longest <= LONGEST else None


def _substring(text: str, start: int, length: int | None = None) -> str | None:
    """Positions start, …, start + length - 1, counted from 1; those outside the text hold nothing."""
    if length is not None and length < 0:
        return None
    end = len(text) + 1 if length is None else start + length
    return text[max(start, 1) - 1 : max(end, 1) - 1]


def _left(text: str, count: int) -> str:
    return text[:count] if count >= 0 else text[: max(len(text) + count, 0)]


def _right(text: str, count: int) -> str:
    return text[max(len(text) - count, 0) :] if count >= 0 else text[-count:]


def _trimming(op: str) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        text = all(t.kind in ("TEXT", "NULL") for t in types)
        if not text or len(types) not in (1, 2):
            return None
        if len(types) == 2 and constants and not isinstance(padded(types, constants)[1], str):
            return None
        return Resolved(op, (TEXT,) * len(types), TEXT)

    return typing


def not_negative(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return interval(0, None, False, grid_of(result))


def _substring_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return whole(result, len(args) == 3 and (args[2].low is None or args[2].low < 0))


_TRIMMED = ("TEXT -> TEXT", "TEXT, TEXT -> TEXT")
_CHARACTERS = " With a second, constant argument: every character that occurs in it."


def _texts(op: str, count: int, result: Any = TEXT) -> Typing:
    return fixed(op, ((TEXT,) * count, result))


FUNCTIONS = (
    ScalarFunction(
        "lower", ("LOWER",), "function", ("TEXT -> TEXT",), _texts("lower", 1), plain(ascii_lower), anything,
        "The letters A to Z in lower case, all else as it is.",
        example("LOWER('ABÉ')", "ABÉ", gives="abÉ"),
    ),
    ScalarFunction(
        "upper", ("UPPER",), "function", ("TEXT -> TEXT",), _texts("upper", 1), plain(ascii_upper), anything,
        "The letters a to z in upper case, all else as it is.",
        example("UPPER('straße')", "straße", gives="STRAßE"),
    ),
    ScalarFunction(
        "length", ("LENGTH", "CHAR_LENGTH", "CHARACTER_LENGTH"), "function", ("TEXT -> INT",), _texts("length", 1, INT),
        plain(len), not_negative,
        "How many code points.",
        example("LENGTH('naïve')", "naïve", gives=5),
    ),
    ScalarFunction(
        "concat", (), "operator", ("TEXT, TEXT, … -> TEXT",),
        lambda types, constants: _texts("concat", max(len(types), 2))(types, constants), plain(_joined),
        anything_or_null,
        f"`x || y`. NULL if either is, and where the result would have more than {LONGEST} code points.",
        example("'a' || 'b'", "a", "b", gives="ab"),
    ),
    ScalarFunction(
        "substring", ("SUBSTRING", "SUBSTR"), "function", ("TEXT, INT -> TEXT", "TEXT, INT, INT -> TEXT"),
        fixed("substring", ((TEXT, INT), TEXT), ((TEXT, INT, INT), TEXT)), plain(_substring), _substring_domain,
        "`length` characters from position `start`, counted from 1; positions before the first hold nothing, as in"
        " PostgreSQL. Without a length: to the end. NULL for a negative length.",
        example("SUBSTRING('abcdef', 0, 3)", "abcdef", 0, 3, gives="ab"),
    ),
    ScalarFunction(
        "left", ("LEFT",), "function", ("TEXT, INT -> TEXT",), fixed("left", ((TEXT, INT), TEXT)), plain(_left),
        anything,
        "The first n characters; for a negative n all but the last -n.",
        example("LEFT('abcdef', -2)", "abcdef", -2, gives="abcd"),
    ),
    ScalarFunction(
        "right", ("RIGHT",), "function", ("TEXT, INT -> TEXT",), fixed("right", ((TEXT, INT), TEXT)), plain(_right),
        anything,
        "The last n characters; for a negative n all but the first -n.",
        example("RIGHT('abcdef', 2)", "abcdef", 2, gives="ef"),
    ),
    ScalarFunction(
        "trim", ("TRIM", "BTRIM"), "function", _TRIMMED, _trimming("trim"),
        plain(lambda s, c=" ": s.strip(c) if c else s), anything,
        "Without the spaces at both ends." + _CHARACTERS,
        example("TRIM('  ab ')", "  ab ", gives="ab"), constant_args=(1,),
    ),
    ScalarFunction(
        "ltrim", ("LTRIM",), "function", _TRIMMED, _trimming("ltrim"), plain(lambda s, c=" ": s.lstrip(c) if c else s),
        anything,
        "Without the spaces at the start." + _CHARACTERS,
        example("LTRIM('xxab', 'x')", "xxab", "x", gives="ab"), constant_args=(1,),
    ),
    ScalarFunction(
        "rtrim", ("RTRIM",), "function", _TRIMMED, _trimming("rtrim"), plain(lambda s, c=" ": s.rstrip(c) if c else s),
        anything,
        "Without the spaces at the end." + _CHARACTERS,
        example("RTRIM('ab  ')", "ab  ", gives="ab"), constant_args=(1,),
    ),
    ScalarFunction(
        "replace", ("REPLACE",), "function", ("TEXT, TEXT, TEXT -> TEXT",), _texts("replace", 3), plain(_replaced),
        anything_or_null,
        "Every `old` in x, from the left, made `new`; an empty `old` changes nothing. NULL where"
        f" LENGTH(x) + LENGTH(x) // LENGTH(old) * LENGTH(new) is more than {LONGEST}.",
        example("REPLACE('banana', 'an', 'o')", "banana", "an", "o", gives="booa"),
    ),
    ScalarFunction(
        "reverse", ("REVERSE",), "function", ("TEXT -> TEXT",), _texts("reverse", 1), plain(lambda s: s[::-1]),
        anything,
        "The code points in reverse order.",
        example("REVERSE('abc')", "abc", gives="cba"),
    ),
)  # fmt: skip
