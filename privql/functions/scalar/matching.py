"""What a text contains: positions and patterns."""

from __future__ import annotations

from typing import Any

from privql.domains import Domain, whole
from privql.functions.scalar.declare import (
    Constants,
    Resolved,
    ScalarFunction,
    Types,
    Typing,
    anything,
    example,
    fixed,
    padded,
    plain,
)
from privql.functions.scalar.text import ascii_lower, not_negative
from privql.kernel.scalars import BOOL, INT, TEXT, ValueType

_ANY_RUN, _ANY_ONE = object(), object()


def escape_allowed(escape: Any) -> bool:
    if not isinstance(escape, str) or len(escape) != 1 or escape in "%_":
        return False
    return not (escape.isascii() and escape.isalpha())


def _parts(pattern: str, escape: str) -> list[Any] | None:
    """A pattern as characters and wildcards; None if it ends in a lone escape."""
    found: list[Any] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None:
                return None
            found.append(escaped)
        else:
            found.append({"%": _ANY_RUN, "_": _ANY_ONE}.get(character, character))
    return found


def like(text: str, pattern: str, escape: str = "\\") -> bool | None:
    """Greedy matching with one point to return to, the last `%`: as many steps as text times pattern at most."""
    parts = _parts(pattern, escape) if escape_allowed(escape) else None
    if parts is None:
        return None
    at = part = 0
    resume: tuple[int, int] | None = None
    while at < len(text):
        if part < len(parts) and parts[part] is _ANY_RUN:
            part, resume = part + 1, (at, part + 1)
        elif part < len(parts) and (parts[part] is _ANY_ONE or parts[part] == text[at]):
            at, part = at + 1, part + 1
        elif resume is not None:
            at, part = resume[0] + 1, resume[1]
            resume = (at, part)
        else:
            return False
    return all(rest is _ANY_RUN for rest in parts[part:])


def _ilike(text: str, pattern: str, escape: str = "\\") -> bool | None:
    return like(ascii_lower(text), ascii_lower(pattern), escape)


def _pattern(op: str) -> Typing:
    def typing(types: Types, constants: Constants) -> Resolved | None:
        if len(types) not in (2, 3) or not all(t.kind in ("TEXT", "NULL") for t in types):
            return None
        known = padded(types, constants)
        pattern, escape = known[1], known[2] if len(types) == 3 and constants else "\\"
        if not escape_allowed(escape) or (isinstance(pattern, str) and _parts(pattern, str(escape)) is None):
            return None
        return Resolved(op, (TEXT,) * len(types), BOOL)

    return typing


def _match_domain(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    """NULL only for patterns that `resolve` refuses when it is told them."""
    pattern, escape = args[1].values, args[2].values if len(args) == 3 else ("\\",)
    known = pattern is not None and escape is not None and all(map(escape_allowed, escape))
    return whole(result, not known or any(_parts(str(p), str(e)) is None for p in pattern or () for e in escape or ()))


_MATCH = ("TEXT, TEXT -> BOOL", "TEXT, TEXT, TEXT -> BOOL")


def _two_texts(op: str) -> Typing:
    return fixed(op, ((TEXT, TEXT), BOOL))


FUNCTIONS = (
    ScalarFunction(
        "like", (), "operator", _MATCH, _pattern("like"), plain(like), _match_domain,
        "`x LIKE pattern [ESCAPE c]`: `%` is any run of characters, `_` any one, `\\` (or c) takes the next as it is."
        " Pattern and escape are constants; an escape is one character, no letter, `%` or `_`, and not the last of the"
        " pattern.",
        example("'50%' LIKE '5_\\%'", "50%", "5_\\%", gives=True), constant_args=(1, 2),
    ),
    ScalarFunction(
        "ilike", (), "operator", _MATCH, _pattern("ilike"), plain(_ilike), _match_domain,
        "`x ILIKE pattern [ESCAPE c]`: LIKE that takes the letters A to Z for a to z.",
        example("'Abc' ILIKE 'aB%'", "Abc", "aB%", gives=True), constant_args=(1, 2),
    ),
    ScalarFunction(
        "position", ("POSITION",), "function", ("TEXT, TEXT -> INT",), fixed("position", ((TEXT, TEXT), INT)),
        plain(lambda needle, text: text.find(needle) + 1), not_negative,
        "`POSITION(needle IN x)`: where it first occurs, counted from 1; 0 if nowhere, 1 for an empty needle.",
        example("POSITION('na' IN 'banana')", "na", "banana", gives=3),
    ),
    ScalarFunction(
        "strpos", ("STRPOS", "INSTR"), "function", ("TEXT, TEXT -> INT",), fixed("strpos", ((TEXT, TEXT), INT)),
        plain(lambda text, needle: text.find(needle) + 1), not_negative,
        "`STRPOS(x, needle)` is `POSITION(needle IN x)`.",
        example("STRPOS('banana', 'na')", "banana", "na", gives=3),
    ),
    ScalarFunction(
        "starts_with", ("STARTS_WITH",), "function", ("TEXT, TEXT -> BOOL",), _two_texts("starts_with"),
        plain(str.startswith), anything,
        "Whether x begins with the second text.",
        example("STARTS_WITH('banana', 'ba')", "banana", "ba", gives=True),
    ),
    ScalarFunction(
        "ends_with", ("ENDS_WITH",), "function", ("TEXT, TEXT -> BOOL",), _two_texts("ends_with"), plain(str.endswith),
        anything,
        "Whether x ends with the second text.",
        example("ENDS_WITH('banana', 'nan')", "banana", "nan", gives=False),
    ),
    ScalarFunction(
        "contains", ("CONTAINS",), "function", ("TEXT, TEXT -> BOOL",), _two_texts("contains"),
        plain(lambda text, needle: needle in text), anything,
        "Whether the second text occurs in x.",
        example("CONTAINS('banana', 'nan')", "banana", "nan", gives=True),
    ),
)  # fmt: skip
