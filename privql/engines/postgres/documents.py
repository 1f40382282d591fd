"""Spellings of JSON functions, on a text that may be anything.

The server's own reader raises for what is no JSON, and of fields with the same name takes the last. So a pattern takes
the text apart into JSON's own signs, which no nesting needs, and these are numbered: how deep each lies, in which
object or array, and what stands before it. From that follows whether they are in order, and where a path leads.
"""

from __future__ import annotations

from privql.engines.postgres.expressions import plain, text
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.documents import LONGEST, NUMBER, WORD, Steps
from privql.functions.scalar.fields import path_of

_HEX = "[0-9a-fA-F]"
# Half a character makes a document malformed: it comes with its other half.
_PLAIN_CODE = rf"\\u(?:[0-9a-ce-fA-CE-F]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}})"
_TWO_CODES = rf"\\u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"
_STRING = rf'"(?:[^"\\\u0001-\u001f]|\\["\\/bfnrt]|{_PLAIN_CODE}|{_TWO_CODES})*"'
_BLANKS = text(" \t\n\r")
_SIGN = text(rf"[ \t\n\r]*(?:{_STRING}|{NUMBER}|{WORD}|[\[\]{{}}:,])")
_KINDS = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
_OBJECT = 1  # what an object's signs have for `inside`, and an array's have not


class _Signs:
    """The signs of a document, as relations of a query of its own."""

    def __init__(self, call: Call, x: Spelled) -> None:
        self.all = f"__{next(call.names)}"
        taken = f"regexp_matches({plain(x)}, {_SIGN}, 'g') WITH ORDINALITY AS s(found, i)"
        cut = f"SELECT i, length(found[1]) AS size, ltrim(found[1], {_BLANKS}) AS t FROM {taken}"
        kinds = f"SELECT *, left(t, 1) AS k FROM ({cut}) AS s"
        opened = "sum(CASE WHEN k IN ('{', '[') THEN 1 ELSE 0 END) OVER (ORDER BY i)"
        closed = "sum(CASE WHEN k IN ('}', ']') THEN 1 ELSE 0 END) OVER (ORDER BY i)"
        own = "CASE WHEN k IN ('}', ']') THEN 1 ELSE 0 END"  # what closes lies as deep as what it closes
        deep = f"SELECT *, {opened} - {closed} + {own} AS depth, {opened} - {closed} AS left_open FROM ({kinds}) AS s"
        # The last sign before, as deep, that opened: it and all up to its end lie in the same object or array.
        holder = "max(CASE k WHEN '{' THEN 2 * i + 1 WHEN '[' THEN 2 * i END) OVER (PARTITION BY depth ORDER BY i)"
        held = f"SELECT *, {holder} AS h FROM ({deep}) AS s"
        placed = "SELECT *, h / 2 AS holder, h % 2 AS inside FROM (" + held + ") AS s"
        beside = (
            "SELECT *, lag(k) OVER w AS p, lag(k, 2) OVER w AS pp, lag(inside) OVER w AS p_inside,"
            f" lead(k) OVER w AS next FROM ({placed}) AS s WINDOW w AS (ORDER BY i)"
        )
        # A field's name: the sign itself, and the one before it.
        key = f"k = '\"' AND (p = '{{' OR p = ',' AND inside = {_OBJECT}) IS TRUE"
        p_key = f"(p = '\"' AND (pp = '{{' OR pp = ',' AND p_inside = {_OBJECT})) IS TRUE"
        named = f"SELECT *, {key} AS key, {p_key} AS p_key FROM ({beside}) AS s"
        self.relation = f"SELECT *, {_IN_ORDER} AS in_order FROM ({named}) AS s"
        length = f"length(rtrim({x}, {_BLANKS}))"
        last = f"(SELECT left_open FROM {self.all} ORDER BY i DESC LIMIT 1)"
        # The text itself is named outside: a column of that name in here would be taken for it.
        self.valid = (
            f"coalesce((SELECT bool_and(in_order) FROM {self.all})"
            f" AND (SELECT sum(size) FROM {self.all}) = {length} AND {last} = 0, FALSE)"
        )

    def of(self, made: str) -> str:
        return f"(WITH {self.all} AS MATERIALIZED ({self.relation}) SELECT {made})"

    def at(self, steps: Steps) -> str:
        """The number of the sign with which begins what is there; NULL where nothing is."""
        found = "1::bigint"
        for step in steps:
            if isinstance(step, str):
                same = f"{_decoded('t')} = {text(step)}"
                found = f"(SELECT min(i) + 2 FROM {self.all} WHERE holder = {found} AND key AND {same})"
            else:
                order, skipped = ("i", step) if step >= 0 else ("i DESC", -step - 1)
                found = f"({self._elements('i + 1', found)} ORDER BY {order} LIMIT 1 OFFSET {skipped})"
        return found

    def _elements(self, what: str, array: str) -> str:
        """What stands before each element of an array."""
        before = "k IN ('[', ',') AND NOT (k = '[' AND next = ']')"
        return f"SELECT {what} FROM {self.all} WHERE holder = {array} AND inside <> {_OBJECT} AND {before}"

    def length(self, at: str) -> str:
        array = f"(SELECT i FROM {self.all} WHERE i = {at} AND k = '[')"
        return f"(SELECT CASE WHEN {array} IS NOT NULL THEN ({self._elements('count(*)', array)}) END)"

    def take(self, what: str, at: str) -> str:
        return f"(SELECT {what} FROM {self.all} WHERE i = {at})"


_VALUE = "(p IN ('}', ']') OR p NOT IN ('{', '[', ':', ',') AND NOT p_key)"  # whether one ends before a sign
_IN_ORDER = (
    "coalesce(CASE"
    f" WHEN k = ',' THEN h IS NOT NULL AND {_VALUE}"
    " WHEN k = ':' THEN p_key"
    f" WHEN k = '}}' THEN inside = {_OBJECT} AND (p = '{{' OR {_VALUE})"
    f" WHEN k = ']' THEN inside <> {_OBJECT} AND (p = '[' OR {_VALUE})"
    f" ELSE p IS NULL OR p IN ('[', ':') OR p = ',' AND p_inside <> {_OBJECT} OR key END, FALSE)"
)


def _decoded(t: str) -> str:
    """What a string says; NULL where it says a character 0, which no text here holds."""
    zero = f"strpos(replace({t}, {text(chr(92) * 2)}, ''), {text(chr(92) + 'u0000')}) > 0"
    written = f"CASE WHEN strpos({t}, {text(chr(92))}) = 0 THEN substr({t}, 2, length({t}) - 2)"
    return f"(CASE WHEN left({t}, 1) = '\"' THEN {written} WHEN {zero} THEN NULL ELSE {t}::json #>> '{{}}' END END)"


def _value(signs: _Signs, at: str) -> str:
    written = f"CASE WHEN k IN ('{{', '[', 'n') THEN NULL WHEN k = '\"' THEN {_decoded('t')} ELSE t END"
    return signs.take(written, at)


def _kind(signs: _Signs, at: str) -> str:
    whens = " ".join(f"WHEN {text(sign)} THEN {text(kind)}" for sign, kind in _KINDS.items())
    return signs.take(f"CASE k {whens} ELSE 'number' END", at)


_MADE = {
    "json_value": (1, _value),
    "json_exists": (0, lambda signs, at: f"({at}) IS NOT NULL"),
    "json_typeof": (0, _kind),
    "json_array_length": (0, lambda signs, at: signs.length(at)),
}


def _at_path(call: Call) -> str:
    least, made = _MADE[call.op]
    given = call.args[1].value if len(call.args) == 2 else "$"
    found = path_of(given, least) if isinstance(given, str) else None
    if found is None:
        return call.null

    def body(x: Spelled) -> str:
        signs = _Signs(call, x)
        read = signs.of(f"CASE WHEN {signs.valid} THEN {made(signs, signs.at(found))} END")
        return f"CASE WHEN length({x}) <= {LONGEST} THEN {read} END"

    return call.let(call.args[:1], body)


def valid(call: Call) -> str:
    def body(x: Spelled) -> str:
        signs = _Signs(call, x)
        return f"CASE WHEN length({x}) > {LONGEST} THEN FALSE WHEN {x} IS NOT NULL THEN {signs.of(signs.valid)} END"

    return call.let(call.args, body)


SPELLINGS: dict[str, Spelling] = {**dict.fromkeys(_MADE, _at_path), "json_valid": valid}
