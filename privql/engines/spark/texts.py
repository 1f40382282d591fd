"""Spellings of text functions.

Spark counts code points and compares bytes, but maps all of Unicode in `lower`, and takes positions of 32 bits. LIKE
becomes a regular expression in which nothing is tried twice: each `%` takes the first place where what follows fits,
and is held to it, as one may who looks for nothing but texts in a row.
"""

from __future__ import annotations

from privql.engines.spark.expressions import text
from privql.engines.sql.expressions import Call, Spelled, Spelling, function
from privql.engines.sql.texts import Signs, concat, likes, lowered, uppered
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import INT

_FAR = 2**30  # a position beyond every text


def near(position: str, least: int) -> str:
    """A whole number brought to where Spark takes it as a position. NULL stays NULL."""
    low, high = f"({least}L)" if least < 0 else f"{least}L", f"{_FAR}L"
    return (
        f"CAST(CASE WHEN {position} < {low} THEN {low} WHEN {position} > {high} THEN {high} ELSE {position} END AS INT)"
    )


def _count(sql: str) -> Spelled:
    return Spelled(f"CAST({sql} AS BIGINT)", INT, low=0, high=2**31)


def replace(call: Call) -> str:
    def body(x: Spelled, old: Spelled, new: Spelled) -> str:
        longest = f"CAST(length({x}) AS BIGINT) + CAST(length({x}) div length({old}) AS BIGINT) * length({new})"
        fits = f"CASE WHEN {longest} <= {LONGEST} THEN {x} END"
        return f"CASE WHEN {old} = '' AND {new} IS NOT NULL THEN {x} ELSE replace({fits}, {old}, {new}) END"

    return call.let(call.args, body)


def substring(call: Call) -> str:
    if len(call.args) == 2:
        return call.let(call.args, lambda x, start: f"substring({x}, {near(start.sql, 1)})")

    def body(x: Spelled, start: Spelled, length: Spelled) -> str:
        end = f"coalesce(try_add({start}, {length}), {_FAR}L)"  # of a length that is not below 0, only upward too far
        size = f"{near(end, 1)} - {near(start.sql, 1)}"
        return f"CASE WHEN {length} >= 0L THEN substring({x}, {near(start.sql, 1)}, {size}) END"

    return call.let(call.args, body)


def left(x: str, n: str) -> str:
    """For a number of characters below 0 all but the last so many."""
    rest = f"greatest(length({x}) + {near(n, -_FAR)}, 0)"
    return f"CASE WHEN {n} >= 0L THEN substring({x}, 1, {near(n, 0)}) WHEN {n} < 0L THEN substring({x}, 1, {rest}) END"


def _right(x: Spelled, n: Spelled) -> str:
    last = f"greatest(length({x}) - {near(n.sql, 0)}, 0) + 1"
    return f"CASE WHEN {n} >= 0L THEN substring({x}, {last}) ELSE substring({x}, 1 - {near(n.sql, -_FAR)}) END"


def _trim(name: str, side: str) -> Spelling:
    def spelling(call: Call) -> Spelled | str:
        if len(call.args) == 1:
            return f"{name}({call.args[0]})"
        wanted = call.args[1].value
        if not isinstance(wanted, str):
            return call.null
        return f"trim({side} {text(wanted)} FROM {call.args[0]})" if wanted else call.args[0]

    return spelling


def _matches(subject: str, signs: Signs) -> str:
    pieces = [""]
    for character, literally in signs:
        if literally or character not in "%_":
            pieces[-1] += exactly(character)
        elif character == "_":
            pieces[-1] += "(?s:.)"
        else:
            pieces.append("")
    first, *rest = pieces
    *inner, last = rest or [""]
    found = "".join(f"(?>(?s:.)*?{piece})" for piece in inner if piece)
    end = rf"(?s:.)*{last}\z" if last else "" if rest else r"\z"
    java = text(rf"\A{first}{found}{end}")
    return f"({subject} RLIKE {java})"


def exactly(character: str) -> str:
    return character if character.isascii() and character.isalnum() else f"\\x{{{ord(character):x}}}"


SPELLINGS: dict[str, Spelling] = {
    "lower": lambda call: lowered(call.args[0]),
    "upper": lambda call: uppered(call.args[0]),
    "length": lambda call: _count(f"length({call.args[0]})"),
    "concat": concat,
    "replace": replace,
    "substring": substring,
    "left": lambda call: call.let(call.args, lambda x, n: left(x.sql, n.sql)),
    "right": lambda call: call.let(call.args, _right),
    "trim": _trim("trim", "BOTH"),
    "ltrim": _trim("ltrim", "LEADING"),
    "rtrim": _trim("rtrim", "TRAILING"),
    "reverse": function("reverse"),
    **likes(_matches, str, lowered),
    "strpos": lambda call: _count(f"instr({call.args[0]}, {call.args[1]})"),
    "position": lambda call: _count(f"instr({call.args[1]}, {call.args[0]})"),
    "starts_with": function("startswith"),
    "ends_with": function("endswith"),
    "contains": function("contains"),
}
