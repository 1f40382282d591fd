"""Spellings of text functions: what engines say alike, each with its own words for the rest."""

from __future__ import annotations

from collections.abc import Callable

from privql.engines.sql.expressions import Call, Spelled, Spelling, text
from privql.functions.scalar.matching import like as meaning_of_like
from privql.functions.scalar.text import LONGEST, ascii_lower

_ABC, _XYZ = "'ABCDEFGHIJKLMNOPQRSTUVWXYZ'", "'abcdefghijklmnopqrstuvwxyz'"


def lowered(arg: Spelled | str) -> str:
    """Of ASCII's letters alone, as `ascii_lower`: an engine's own function may map all of Unicode."""
    return f"translate({arg}, {_ABC}, {_XYZ})"


def uppered(arg: Spelled | str) -> str:
    return f"translate({arg}, {_XYZ}, {_ABC})"


def concat(call: Call) -> str:
    """NULL, as each part is, if one is; and where it would be too long."""

    def body(*parts: Spelled) -> str:
        length = " + ".join(f"length({part})" for part in parts)
        return " || ".join([f"CASE WHEN {length} <= {LONGEST} THEN {parts[0]} END", *(part.sql for part in parts[1:])])

    return f"({call.let(call.args, body)})"


def side(name: str, near: Callable[[str], str]) -> Spelling:
    """Characters of one end, as many as an engine takes."""
    return lambda call: call.let(call.args, lambda x, n: f"{name}({x}, {near(n.sql)})")


def trim(name: str) -> Spelling:
    return lambda call: f"{name}({call.args[0]}, {call.args[1] if len(call.args) == 2 else text(' ')})"


Signs = list[tuple[str, bool]]
"""The characters of a pattern of LIKE, and whether each is taken as it is."""


def likes(
    matches: Callable[[str, Signs], str], of: Callable[[Spelled], str], folded: Callable[[Spelled], str]
) -> dict[str, Spelling]:
    """LIKE of a text, and ILIKE of a folded one."""

    def like(call: Call) -> str:
        signs = _signs(call)
        return call.null if signs is None else matches(of(call.args[0]), signs)

    def ilike(call: Call) -> str:
        signs = _signs(call)
        return call.null if signs is None else matches(folded(call.args[0]), [(ascii_lower(c), b) for c, b in signs])

    return {"like": like, "ilike": ilike}


def _signs(call: Call) -> Signs | None:
    pattern, escape = call.args[1].value, call.args[2].value if len(call.args) == 3 else "\\"
    if not isinstance(pattern, str) or not isinstance(escape, str) or meaning_of_like("", pattern, escape) is None:
        return None
    characters = iter(pattern)
    return [(next(characters), True) if character == escape else (character, False) for character in characters]


def escaped(signs: Signs) -> str:
    """The pattern with `\\` as its escape, for engines that take none of more than one byte."""
    return "".join(
        "\\" + character if character == "\\" or (literally and character in "%_") else character
        for character, literally in signs
    )
