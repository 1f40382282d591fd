"""JSON as a text holds it: strictly what RFC 8259 says, read without recursion, so that no nesting is too deep.

A number stays the text that it is written as: no reader's floats come between. Of fields with the same name the first
counts, and half a character (a lone surrogate) makes the document malformed, as engines have it.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from privql.frozen import frozen

LONGEST = 2**20  # characters: engines hold 180 bytes for each while they read, and one row must not fill their memory
STRING = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
WORD = "true|false|null"
BLANK = r"[ \t\n\r]"

_TOKEN = re.compile(rf"{BLANK}*+(?:({STRING})|({NUMBER})|({WORD})|([{{}}\[\]:,]))")
_REST = re.compile(rf"{BLANK}*+\Z")
_HALF = re.compile("[\ud800-\udfff]")
_STEP = re.compile(r'\.([^\W\d]\w*)|\."([^"\\*\x00]+)"|\[(-?[0-9]{1,9})\]')
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}

Steps = tuple[str | int, ...]  # fields of objects by their names, and elements of arrays from 0 or, below 0, the end


@frozen
class Number:
    text: str


class Missing:
    """Nothing is there: the text is no JSON, or has no such field."""


Json = dict[str, "Json"] | list["Json"] | str | Number | bool | None
MISSING = Missing()


def steps(path: str) -> Steps | None:
    """`$.a."b c"[0]` one by one; None if it is no path."""
    if not path.startswith("$"):
        return None
    found: list[str | int] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        found.append(int(step[3]) if step[3] else step[1] or step[2])
        at = step.end()
    return tuple(found)


def path(found: Steps) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f'."{step}"' for step in found)


def at(document: Json | Missing, found: Steps) -> Json | Missing:
    for step in found:
        match document, step:
            case dict(), str() if step in document:
                document = document[step]
            case list(), int() if -len(document) <= step < len(document):
                document = document[step]
            case _:
                return MISSING
    return document


@lru_cache(maxsize=16)
def read(text: str) -> Json | Missing:
    """What a whole text holds."""
    if len(text) > LONGEST:
        return MISSING
    holders: list[tuple[dict[str, Json] | list[Json], str]] = []  # those that are open, and where each stands
    place = 0
    top: list[Json] = []
    inside: dict[str, Json] | list[Json] = top
    key, wanted = "", "value"
    while holders or not top:
        token = _TOKEN.match(text, place)
        if token is None:
            return MISSING
        place = token.end()
        string, number, word, sign = token.groups()
        match wanted:
            case "value" | "value or end" if sign in ("{", "["):
                holders.append((inside, key))
                inside, wanted = ({}, "key or end") if sign == "{" else ([], "value or end")
                continue
            case "value" | "value or end" if sign is None:
                value: Json = _WORDS[word] if word else Number(number) if number else _decoded(string)
                if string and _HALF.search(str(value)):
                    return MISSING
            case "key" | "key or end" if string:
                key, wanted = _decoded(string), "colon"
                if _HALF.search(key):
                    return MISSING
                continue
            case "colon" if sign == ":":
                wanted = "value"
                continue
            case "comma" if sign == ",":
                wanted = "key" if isinstance(inside, dict) else "value"
                continue
            case "comma" | "key or end" | "value or end" if sign == ("}" if isinstance(inside, dict) else "]"):
                value = inside
                inside, key = holders.pop()
            case _:
                return MISSING
        if isinstance(inside, dict):
            inside.setdefault(key, value)
        else:
            inside.append(value)
        wanted = "comma"
    return top[0] if _REST.match(text, place) else MISSING


def _decoded(string: str) -> str:
    decoded = json.loads(string)
    assert isinstance(decoded, str)
    return decoded
