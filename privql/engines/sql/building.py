"""Spellings of functions that put texts together: what engines say alike. None makes a text longer than any may be."""

from __future__ import annotations

from collections.abc import Iterable

from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.building import translation
from privql.functions.scalar.layout import pieces
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import TEXT


def _size(part: Spelled | str) -> str:
    return f"CAST(length({part}) AS BIGINT)"


def _present(parts: Iterable[Spelled]) -> str:
    return ", ".join(f"coalesce({part}, '')" for part in parts)


def join(call: Call) -> str:
    def body(*parts: Spelled) -> str:
        length = " + ".join(f"coalesce({_size(part)}, 0)" for part in parts)
        return f"CASE WHEN {length} <= {LONGEST} THEN concat({_present(parts)}) END"

    return call.let(call.args, body)


def join_with(call: Call) -> str:
    def body(separator: Spelled, *parts: Spelled) -> str:
        each = [f"coalesce({_size(part)} + {_size(separator)}, 0)" for part in parts]
        none = " AND ".join(f"{part} IS NULL" for part in parts)  # then no separator is too many
        fits = f"{' + '.join(each)} - CASE WHEN {none} THEN 0 ELSE {_size(separator)} END <= {LONGEST}"
        return f"CASE WHEN {fits} THEN concat_ws({separator}, {', '.join(map(str, parts))}) END"

    return call.let(call.args, body)


def translate(call: Call) -> str:
    old, new = call.args[1].value, call.args[2].value
    if not isinstance(old, str) or not isinstance(new, str):
        return call.null
    table = translation(old, new)
    kept = {character: made for character, made in table.items() if made}
    gone = [character for character, made in table.items() if not made]  # those without a counterpart stand last
    source, target = "".join([*kept, *gone]), "".join(kept.values())
    return f"translate({call.args[0]}, {call.dialect.literal(source, TEXT)}, {call.dialect.literal(target, TEXT)})"


def format(call: Call) -> str:
    given = call.args[0].value
    found = pieces(given) if isinstance(given, str) else None
    if found is None:
        return call.null

    def body(*args: Spelled) -> str:
        given = (call.dialect.literal(piece, TEXT) if isinstance(piece, str) else args[piece - 1] for piece in found)
        parts = ["''", *(f"coalesce({piece}, '')" for piece in given)]  # at least one
        fits = " + ".join(map(_size, parts))
        return f"CASE WHEN {fits} <= {LONGEST} THEN concat({', '.join(parts)}) END"

    return call.let(call.args[1:], body)


SPELLINGS: dict[str, Spelling] = {"join": join, "join_with": join_with, "translate": translate, "format": format}
