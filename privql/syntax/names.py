"""Which words are names, and where: what the grammar's table says of its keywords."""

from __future__ import annotations

import re
from functools import lru_cache

from privql.syntax.automaton import automaton

KEYWORDS: frozenset[str] = automaton().keywords
RESERVED: frozenset[str] = automaton().classes["reserved"]

_BEFORE_NO_PARENTHESIS = automaton().classes["not_function"] | (RESERVED - {"LEFT", "RIGHT"})
_AFTER_NO_DUMMY = automaton().classes["needs_as"] | RESERVED
_WORD = re.compile(r"[^\W\d]\w*")


def quote(name: str) -> str:
    """A name as it must be written: in double quotes only if it would not be read as this name otherwise."""
    return _unless(name, RESERVED)


def plain(name: str) -> str:
    """The name of a unit or of a refined window, which no keyword can be."""
    return _unless(name, KEYWORDS)


def function(name: str) -> str:
    return _unless(name, _BEFORE_NO_PARENTHESIS)


def dummy(name: str) -> str:
    """The name of a table after DUMMY."""
    return _unless(name, _AFTER_NO_DUMMY)


@lru_cache(1024)
def _unless(name: str, words: frozenset[str]) -> str:
    if _WORD.fullmatch(name) and not (name.isascii() and name.upper() in words):
        return name
    return '"' + name.replace('"', '""') + '"'
