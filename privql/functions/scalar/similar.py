"""SIMILAR TO: SQL's own patterns, of LIKE's wildcards and the signs of regular expressions, for the whole text."""

from __future__ import annotations

from privql.domains import Domain, whole
from privql.functions.scalar.declare import Constants, ScalarFunction, Types, checked, example, plain
from privql.functions.scalar.matching import escape_allowed
from privql.functions.scalar.patterns import NoPattern, pattern
from privql.functions.scalar.search import search
from privql.kernel.scalars import BOOL, TEXT, Value, ValueType

_REPEATS = "*+?{"
_MEANS = {"%": ".*", "_": ".", "(": "(?:"}


def translated(text: str, escape: str) -> str:
    """The regular expression that says the same. Raises NoPattern."""
    if not escape_allowed(escape):
        raise NoPattern("its escape is one character, no letter, `%` or `_`")
    written: list[str] = []
    characters = iter(text)
    inside, repeated = "", False
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None:
                raise NoPattern("it ends with its escape")
            written.append(_literally(escaped))
            inside, repeated = inside and "[.", False
        elif inside:
            written.append("\\\\" if character == "\\" else character)
            inside = _still_inside(inside, character)
        elif character in _REPEATS and repeated:
            raise NoPattern("a repetition is repeated: put the first in parentheses")
        else:
            written.append(_MEANS.get(character) or (_literally(character) if character in ".^$\\" else character))
            inside = "[" if character == "[" else ""
            repeated = character in "*+?}"
    return f"^(?:{''.join(written)})$"


def _still_inside(inside: str, character: str) -> str:
    """Where in a class a character leaves us: at its start, in it, in a name such as [:alpha:], or behind it."""
    if inside == "[:":
        return "[." if character == "]" else inside
    if character == "[":
        return "[:"
    return "" if character == "]" else "[."


def _literally(character: str) -> str:
    return character if character.isalnum() else "\\" + character


def _of_similar(known: Constants) -> str | None:
    text, escape = known[1] if len(known) > 1 else None, known[2] if len(known) == 3 else "\\"
    if not isinstance(text, str) or not isinstance(escape, str):
        return None
    try:
        pattern(translated(text, escape))
    except NoPattern as wrong:
        return f"`{text}` is no pattern: {wrong}"
    return None


def _similar(text: str, wanted: str, escape: str = "\\") -> Value:
    return None if _of_similar((None, wanted, escape)) else search(translated(wanted, escape)).occurs(text)


def _truth(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    known = [arg.only for arg in args[1:]]
    return whole(result, None in known or _of_similar((None, *known)) is not None)


FUNCTIONS = (
    ScalarFunction(
        "similar", (), "operator", ("TEXT, TEXT -> BOOL", "TEXT, TEXT, TEXT -> BOOL"),
        checked("similar", _of_similar, (TEXT, TEXT, TEXT), BOOL, 2), plain(_similar), _truth,
        "`x SIMILAR TO pattern [ESCAPE c]`: whether all of x is what the pattern says, in which `%` is any run of"
        " characters, `_` any one, `\\` (or c) takes the next as it is, and `|`, `*`, `+`, `?`, `{2,5}`, `( )` and"
        " `[ ]` mean what they mean in [patterns](patterns.md). Pattern and escape are constants.",
        example("'ward 12' SIMILAR TO '(ward|bed) [0-9]+'", "ward 12", "(ward|bed) [0-9]+", gives=True),
        constant_args=(1, 2), objection=_of_similar,
    ),
)  # fmt: skip
