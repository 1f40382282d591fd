"""Text made of other text, and of single characters: joined, repeated, filled up, split, translated.

Whatever could grow beyond a million code points is NULL there, decided from lengths and counts alone.
"""

from __future__ import annotations

import re
from typing import Any

from privql.domains import Domain, finite, grid_of, interval, whole
from privql.functions.scalar.declare import (
    SMALL,
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
from privql.functions.scalar.text import LONGEST, ascii_lower, ascii_upper, not_negative
from privql.kernel.scalars import INT, TEXT, Value, ValueType

LAST_CHARACTER = 0x10FFFF
HALVES = range(0xD800, 0xE000)  # halves of characters in another encoding, and none themselves
_WORD = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")  # ASCII letters, digits, and all beyond; so written it compiles at once
_WRITTEN = frozenset({"TEXT", "INT", "DECIMAL", "BOOL", "DATE", "TIMESTAMP", "NULL"})  # what a cast makes text of


def taken_as_text(types: Types) -> bool:
    return all(type.kind in _WRITTEN for type in types)


def _written(op: str, least: int) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        return Resolved(op, (TEXT,) * len(types), TEXT) if len(types) >= least and taken_as_text(types) else None

    return typing


def joined(separator: str, parts: list[str]) -> str | None:
    length = sum(map(len, parts)) + len(separator) * (len(parts) - 1)
    return separator.join(parts) if length <= LONGEST else None


def _present(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    return joined("", [value for value in values if value is not None])


def _present_between(types: Types, result: ValueType, values: tuple[Any, ...]) -> Value:
    separator, *parts = values
    return None if separator is None else joined(separator, [part for part in parts if part is not None])


def _repeated(text: str, times: int) -> str | None:
    return text * times if len(text) * times <= LONGEST else None


def _filling(text: str, length: int, fill: str) -> str:
    missing = max(length - len(text), 0)
    return (fill * (missing // len(fill) + 1))[:missing] if fill else ""


def _left_filled(text: str, length: int, fill: str = " ") -> str | None:
    return None if length > LONGEST else _filling(text, length, fill) + text[: max(length, 0)]


def _right_filled(text: str, length: int, fill: str = " ") -> str | None:
    return None if length > LONGEST else text[: max(length, 0)] + _filling(text, length, fill)


def _split_part(text: str, separator: str, place: int) -> str | None:
    """Counted from 1, or from the end by a negative number."""
    if place == 0:
        return None
    parts = text.split(separator) if separator else [text]
    at = place - 1 if place > 0 else len(parts) + place
    return parts[at] if 0 <= at < len(parts) else ""


def _capitalised(text: str) -> str:
    return _WORD.sub(lambda word: ascii_upper(word[0][0]) + ascii_lower(word[0][1:]), text)


def _character(point: int) -> str | None:
    return chr(point) if 0 < point <= LAST_CHARACTER and point not in HALVES else None


def translation(old: str, new: str) -> dict[str, str]:
    """What becomes of each character that is named: its counterpart, or nothing; the first mention counts."""
    table: dict[str, str] = {}
    for at, character in enumerate(old):
        table.setdefault(character, new[at : at + 1])
    return table


def _translated(text: str, old: str, new: str) -> str:
    return text.translate({ord(character): made for character, made in translation(old, new).items()})


def _translating(types: Types, constants: Constants) -> Resolved | None:
    resolved = fixed("translate", ((TEXT, TEXT, TEXT), TEXT))(types, constants)
    named = all(isinstance(known, str) for known in padded(types, constants)[1:])
    return resolved if named or not constants else None


# ---- domains


def _characters(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    points = args[0].members(SMALL)
    if points is None:
        low, high = args[0].low, args[0].high
        return whole(result, low is None or high is None or low < 1 or high >= HALVES.start)
    made = [_character(int(point)) for point in points if isinstance(point, int)]
    return finite(made, None in made)


def _points(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return interval(0, LAST_CHARACTER, False, grid_of(result))


def _parts(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return whole(result, 0 in args[2])


def _filled(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return whole(result, args[1].high is None or args[1].high > LONGEST)


_PADDED = ("TEXT, INT -> TEXT", "TEXT, INT, TEXT -> TEXT")
_LONGEST = f" NULL where the result would have more than {LONGEST} code points."
_FILL = f" With spaces, or over and over with the third argument. NULL for a length above {LONGEST}."


def _padding(op: str) -> Typing:
    return fixed(op, ((TEXT, INT), TEXT), ((TEXT, INT, TEXT), TEXT))


FUNCTIONS = (
    ScalarFunction(
        "join", ("CONCAT",), "function", ("T, … -> TEXT (what casts to TEXT)",), _written("join", 1), _present,
        anything_or_null,
        "The arguments as text, one after another; NULLs are passed over." + _LONGEST,
        example("CONCAT('ward ', 7, NULL)", "ward ", 7, None, gives="ward 7"), strict=False,
    ),
    ScalarFunction(
        "join_with", ("CONCAT_WS",), "function", ("TEXT, T, … -> TEXT (what casts to TEXT)",),
        _written("join_with", 2), _present_between, anything_or_null,
        "The other arguments as text, with the first between them; NULLs are passed over, but for the first, which"
        " makes the result NULL." + _LONGEST,
        example("CONCAT_WS(', ', 'a', NULL, 'b')", ", ", "a", None, "b", gives="a, b"), strict=False,
    ),
    ScalarFunction(
        "repeat", ("REPEAT",), "function", ("TEXT, INT -> TEXT",), fixed("repeat", ((TEXT, INT), TEXT)),
        plain(_repeated), anything_or_null,
        "x n times; the empty text for n below 1." + _LONGEST,
        example("REPEAT('ab', 3)", "ab", 3, gives="ababab"),
    ),
    ScalarFunction(
        "lpad", ("LPAD",), "function", _PADDED, _padding("lpad"), plain(_left_filled), _filled,
        "x brought to a length: cut at its end, or filled up at its start." + _FILL,
        example("LPAD('7', 3, '0')", "7", 3, "0", gives="007"),
    ),
    ScalarFunction(
        "rpad", ("RPAD",), "function", _PADDED, _padding("rpad"), plain(_right_filled), _filled,
        "x brought to a length: cut or filled up at its end." + _FILL,
        example("RPAD('ab', 5, 'xy')", "ab", 5, "xy", gives="abxyx"),
    ),
    ScalarFunction(
        "split_part", ("SPLIT_PART",), "function", ("TEXT, TEXT, INT -> TEXT",),
        fixed("split_part", ((TEXT, TEXT, INT), TEXT)), plain(_split_part), _parts,
        "The n-th of the parts of x between separators, from the end if n is negative; the empty text if there are"
        " fewer. An empty separator separates nothing. NULL for n = 0.",
        example("SPLIT_PART('a/b/c', '/', -1)", "a/b/c", "/", -1, gives="c"),
    ),
    ScalarFunction(
        "initcap", ("INITCAP",), "function", ("TEXT -> TEXT",), fixed("initcap", ((TEXT,), TEXT)),
        plain(_capitalised), anything,
        "The letters A to Z in upper case at the start of each word, in lower case within it. A word is made of these"
        " letters, digits and all characters beyond ASCII.",
        example("INITCAP('new YORK-3rd élan')", "new YORK-3rd élan", gives="New York-3rd élan"),
    ),
    ScalarFunction(
        "translate", ("TRANSLATE",), "function", ("TEXT, TEXT, TEXT -> TEXT",), _translating, plain(_translated),
        anything,
        "Every character of x that occurs in the second text made the character at the same place in the third, or"
        " left out if that is shorter. Both are constants.",
        example("TRANSLATE('1,234.5', '.,', ',')", "1,234.5", ".,", ",", gives="1234,5"), constant_args=(1, 2),
    ),
    ScalarFunction(
        "ascii", ("ASCII",), "function", ("TEXT -> INT",), fixed("ascii", ((TEXT,), INT)),
        plain(lambda text: ord(text[0]) if text else 0), _points,
        "The code point of the first character; 0 for the empty text.",
        example("ASCII('é')", "é", gives=233),
    ),
    ScalarFunction(
        "chr", ("CHR",), "function", ("INT -> TEXT",), fixed("chr", ((INT,), TEXT)), plain(_character), _characters,
        "The character of a code point. NULL for 0 and where there is none.",
        example("CHR(233)", 233, gives="é"),
    ),
    ScalarFunction(
        "octet_length", ("OCTET_LENGTH",), "function", ("TEXT -> INT",), fixed("octet_length", ((TEXT,), INT)),
        plain(lambda text: len(text.encode(errors="surrogatepass"))), not_negative,
        "How many bytes in UTF-8.",
        example("OCTET_LENGTH('naïve')", "naïve", gives=6),
    ),
)  # fmt: skip
