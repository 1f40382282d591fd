"""Functions of TEXT that holds JSON. Paths are constants; what is no JSON, or not there, is NULL."""

from __future__ import annotations

from privql.domains import Domain, finite, grid_of, interval
from privql.functions.scalar.declare import (
    Constants,
    Objection,
    ScalarFunction,
    Types,
    anything,
    anything_or_null,
    checked,
    example,
    fixed,
    plain,
)
from privql.functions.scalar.documents import MISSING, Json, Missing, Number, Steps, at, read, steps
from privql.kernel.scalars import BOOL, INT, TEXT, Value, ValueType

KINDS = ("object", "array", "string", "number", "boolean", "null")


def path_of(path: str, least: int) -> Steps | None:
    found = steps(path)
    return None if found is None or len(found) < least else found


def _objection(least: int) -> Objection:
    def wrong(known: Constants) -> str | None:
        path = known[1] if len(known) > 1 else None
        if not isinstance(path, str) or path_of(path, least) is not None:
            return None
        if steps(path) == ():
            return "`$` is the whole document, and no value of its own: name a field, `$.field`"
        return f'`{path}` is no path: it is `$`, then for each step `.field`, `."any field"` or `[0]`'

    return wrong


def _found(text: str, path: str, least: int = 0) -> Json | Missing:
    found = path_of(path, least)
    return MISSING if found is None else at(read(text), found)


def _value(text: str, path: str) -> Value:
    match _found(text, path, 1):
        case str() as found:
            return None if "\x00" in found else found
        case Number(text=written):
            return written
        case bool() as truth:
            return "true" if truth else "false"
        case _:
            return None


def _exists(text: str, path: str) -> Value:
    if path_of(path, 0) is None or read(text) is MISSING:
        return None
    return _found(text, path) is not MISSING


def _length(text: str, path: str = "$") -> Value:
    found = _found(text, path)
    return len(found) if isinstance(found, list) else None


def _kind(text: str, path: str = "$") -> Value:
    match _found(text, path):
        case dict():
            return "object"
        case list():
            return "array"
        case str():
            return "string"
        case Number():
            return "number"
        case bool():
            return "boolean"
        case None:
            return "null"
        case Missing():
            return None


def _lengths(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return interval(0, None, True, grid_of(result))


def _kinds(types: Types, result: ValueType, args: tuple[Domain, ...]) -> Domain:
    return finite(KINDS, True)


_FIELD, _ANY = _objection(1), _objection(0)
_MALFORMED = " NULL if x is no JSON."

FUNCTIONS = (
    ScalarFunction(
        "json_value", ("JSON_VALUE", "JSON_EXTRACT_STRING", "JSON_EXTRACT_SCALAR"), "function", ("TEXT, TEXT -> TEXT",),
        checked("json_value", _FIELD, (TEXT, TEXT), TEXT, 2), plain(_value), anything_or_null,
        "The string, number or truth value at a [path](json.md) in a JSON document, as text; a number as it is written"
        " there. `x ->> 'field'` and `x -> 'field' ->> 0` say the same step by step. NULL for an object, an array and"
        " `null`, where nothing is there, and if x is no JSON; also for a string that holds the character of number 0,"
        " which no text of PostgreSQL does.",
        example("JSON_VALUE('{\"a\": {\"b\": [7, 1.50]}}', '$.a.b[1]')", '{"a": {"b": [7, 1.50]}}', "$.a.b[1]",
                gives="1.50"),
        constant_args=(1,), objection=_FIELD,
    ),
    ScalarFunction(
        "json_exists", ("JSON_EXISTS",), "function", ("TEXT, TEXT -> BOOL",),
        checked("json_exists", _ANY, (TEXT, TEXT), BOOL, 2), plain(_exists),
        anything_or_null,
        "Whether anything is at a [path](json.md), be it `null`." + _MALFORMED,
        example("JSON_EXISTS('{\"a\": null}', '$.a')", '{"a": null}', "$.a", gives=True),
        constant_args=(1,), objection=_ANY,
    ),
    ScalarFunction(
        "json_typeof", ("JSON_TYPEOF",), "function", ("TEXT -> TEXT", "TEXT, TEXT -> TEXT"),
        checked("json_typeof", _ANY, (TEXT, TEXT), TEXT, 1), plain(_kind), _kinds,
        f"What the document is, or what is at a [path](json.md): {', '.join(KINDS)}. NULL where nothing is there, and"
        " if x is no JSON.",
        example("JSON_TYPEOF('{\"a\": 7}', '$.a')", '{"a": 7}', "$.a", gives="number"),
        constant_args=(1,), objection=_ANY,
    ),
    ScalarFunction(
        "json_array_length", ("JSON_ARRAY_LENGTH",), "function", ("TEXT -> INT", "TEXT, TEXT -> INT"),
        checked("json_array_length", _ANY, (TEXT, TEXT), INT, 1), plain(_length), _lengths,
        "How many elements the array has, or the one at a [path](json.md). NULL where there is no array, and if x is no"
        " JSON.",
        example("JSON_ARRAY_LENGTH('[1, [2, 3]]')", "[1, [2, 3]]", gives=2),
        constant_args=(1,), objection=_ANY,
    ),
    ScalarFunction(
        "json_valid", ("JSON_VALID",), "function", ("TEXT -> BOOL",), fixed("json_valid", ((TEXT,), BOOL)),
        plain(lambda text: read(text) is not MISSING), anything,
        "Whether x is JSON, to the letter of RFC 8259.",
        example("JSON_VALID('{\"a\": 1,}')", '{"a": 1,}', gives=False),
    ),
)  # fmt: skip
