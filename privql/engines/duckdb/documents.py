"""Spellings of JSON functions.

DuckDB reads more than JSON (commas before a bracket, NaN, Infinity), and writes a number anew. So first a pattern takes
the document apart into JSON's own signs, which no nesting needs; DuckDB then says whether they are in order. And a
number that it would write otherwise is read a second time, from a document in which every number is a string.
"""

from __future__ import annotations

from collections.abc import Callable

from privql.engines.sql.expressions import Call, Spelled, Spelling, text
from privql.functions.scalar.documents import BLANK, LONGEST, NUMBER, STRING, WORD, path
from privql.functions.scalar.fields import path_of
from privql.kernel.scalars import TEXT

_VALUE = f"{STRING}|{NUMBER}|{WORD}"
_JSON = text(rf"(?:{BLANK}|[{{}}\[\]:]|{_VALUE}|,{BLANK}*(?:[{{\[]|{_VALUE}))*")
_UP_TO_NUMBER = text(rf'((?:[^"0-9\-]|{STRING})*)({NUMBER}|\z)')  # at the end an empty one, taken off again
_AS_STRING = text(r'\1"\2"')
_KINDS = {
    "object": ("OBJECT",),
    "array": ("ARRAY",),
    "string": ("VARCHAR",),
    "boolean": ("BOOLEAN",),
    "null": ("NULL",),
}


def _is_json(x: Spelled) -> str:
    """Nothing longer is looked at: AND may try its tests in any order."""
    read = f"CASE WHEN regexp_full_match({x}, {_JSON}) THEN json_valid({x}) ELSE FALSE END"
    return f"CASE WHEN length({x}) <= {LONGEST} THEN {read} WHEN {x} IS NOT NULL THEN FALSE END"


def _at(least: int, body: Callable[[Call, Spelled, str], str]) -> Spelling:
    """What `body` makes of a document - NULL where it is none - and of a path as a literal."""

    def spelling(call: Call) -> str:
        given = call.args[1].value if len(call.args) == 2 else "$"
        found = path_of(given, least) if isinstance(given, str) else None
        if found is None:
            return call.null
        valid = call.let(call.args[:1], lambda x: f"CASE WHEN {_is_json(x)} THEN {x} END")
        return call.let((Spelled(valid, TEXT),), lambda x: body(call, x, text(path(found))))

    return spelling


def _value(call: Call, x: Spelled, path: str) -> str:
    numbers_as_strings = f"left(regexp_replace({x}, {_UP_TO_NUMBER}, {_AS_STRING}, 'g'), -2)"
    return (
        f"CASE json_type({x}, {path}) WHEN 'OBJECT' THEN NULL WHEN 'ARRAY' THEN NULL WHEN 'NULL' THEN NULL"
        f" WHEN 'BIGINT' THEN json_extract_string({numbers_as_strings}, {path})"
        f" WHEN 'DOUBLE' THEN json_extract_string({numbers_as_strings}, {path})"
        f" ELSE {_without_zero(call, f'json_extract_string({x}, {path})')} END"
    )


def _without_zero(call: Call, string: str) -> str:
    return call.let((Spelled(string, TEXT),), lambda s: f"CASE WHEN NOT contains({s}, chr(0)) THEN {s} END")


def _exists(call: Call, x: Spelled, path: str) -> str:
    return f"CASE WHEN {x} IS NOT NULL THEN json_type({x}, {path}) IS NOT NULL END"


def _kind(call: Call, x: Spelled, path: str) -> str:
    whens = " ".join(f"WHEN '{theirs}' THEN '{ours}'" for ours, kinds in _KINDS.items() for theirs in kinds)
    kind = Spelled(f"json_type({x}, {path})", TEXT)
    return call.let((kind,), lambda k: f"CASE {k} {whens} ELSE CASE WHEN {k} IS NOT NULL THEN 'number' END END")


def _length(call: Call, x: Spelled, path: str) -> str:
    counted = f"CAST(json_array_length({x}, {path}) AS BIGINT)"
    return f"CASE WHEN json_type({x}, {path}) = 'ARRAY' THEN {counted} END"


SPELLINGS: dict[str, Spelling] = {
    "json_value": _at(1, _value),
    "json_exists": _at(0, _exists),
    "json_typeof": _at(0, _kind),
    "json_array_length": _at(0, _length),
    "json_valid": lambda call: call.let(call.args, lambda x: f"({_is_json(x)})"),
}
