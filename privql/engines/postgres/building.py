"""Spellings of functions that make text of text. What PostgreSQL would raise for never reaches it."""

from __future__ import annotations

from privql.engines.postgres.expressions import between, plain, text, whole
from privql.engines.postgres.texts import lowered, near, size, uppered
from privql.engines.sql import building
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.building import HALVES, LAST_CHARACTER
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import TEXT

_PARTS = text(r"[0-9A-Za-z\u0080-\U0010ffff]+|[^0-9A-Za-z\u0080-\U0010ffff]+")


def repeat(call: Call) -> str:
    def body(x: Spelled, n: Spelled) -> str:
        few = f"CASE WHEN {size(x)} * {n} <= {LONGEST} THEN repeat({x}, {n}::integer) END"
        return (
            f"CASE WHEN {n} <= {whole(0)} OR {plain(x)} = '' THEN left({x}, 0)"
            f" WHEN {n} <= {whole(LONGEST)} THEN {few} END"
        )

    return call.let(call.args, lambda x, n: f"CASE WHEN {n} IS NOT NULL THEN {body(x, n)} END")


def _padded(name: str) -> Spelling:
    def spelling(call: Call) -> str:
        fill = call.args[2:] or (Spelled("' '::text", TEXT, leaf=True, value=" "),)

        def body(x: Spelled, n: Spelled, fill: Spelled) -> str:
            length = f"(CASE WHEN {n} < {whole(0)} THEN {whole(0)} ELSE {n} END)::integer"
            return f"CASE WHEN {n} <= {whole(LONGEST)} THEN {name}({x}, {length}, {fill}) END"

        return call.let((*call.args[:2], *fill), body)

    return spelling


def split_part(call: Call) -> str:
    """A list's places are counted from the end by us: before version 14 the server's own function does not."""

    def body(x: Spelled, separator: Spelled, n: Spelled) -> str:
        parts = f"string_to_array({plain(x)}, {separator})"
        place = f"CASE WHEN {n} > {whole(0)} THEN {n} ELSE {n} + 1 + cardinality({parts}) END"
        part = f"coalesce(({parts})[{near(f'({place})', 0)}], '')"
        known = f"{x} IS NOT NULL AND {separator} IS NOT NULL"
        return f"CASE WHEN {known} THEN CASE WHEN {n} <> {whole(0)} THEN {part} END END"

    return call.let(call.args, body)


def initcap(call: Call) -> str:
    """The server's own, which takes all that is not ASCII for signs between words, where nothing is that."""
    word, words = f"__{next(call.names)}", f"__{next(call.names)}"
    cased = f"{uppered(f'left({word}, 1)')} || {lowered(f'substring({word}, 2)')}"

    def body(x: Spelled) -> str:
        found = f"regexp_matches({plain(x)}, {_PARTS}, 'g') WITH ORDINALITY AS {words}({words}_m, {words}_n)"
        each = f"SELECT {words}_m[1] AS {word}, {words}_n FROM {found} OFFSET 0"
        made = f"SELECT string_agg({cased}, '' ORDER BY {words}_n) FROM ({each}) AS {words}_s"
        return f"CASE WHEN octet_length({x}) = length({x}) THEN initcap({plain(x)}) ELSE ({made}) END"

    return call.let(call.args, body)


def character(call: Call) -> str:
    def body(n: Spelled) -> str:
        known = f"{between(n, 1, HALVES.start - 1)} OR {between(n, HALVES.stop, LAST_CHARACTER)}"
        return f"CASE WHEN {known} THEN chr({n}::integer) END"

    return call.let(call.args, body)


def overlay(call: Call) -> str:
    return call.let(call.args, lambda *args: _overlaid(call, *args))


def _overlaid(call: Call, x: Spelled, new: Spelled, start: Spelled, length: Spelled | None = None) -> str:
    width = f"length({new})" if length is None else str(length)
    after = f"({start}::numeric + {width})"
    end = f"CASE WHEN {after} <= 1 THEN 1 WHEN {after} > 1000000000 THEN 1000000000 ELSE {after}::integer END"
    first = Spelled(f"left({x}, {near(start.sql, 1)} - 1)", TEXT)
    rest = Spelled(f"substring({x}, {end})", TEXT)

    def body(first: Spelled, rest: Spelled) -> str:
        fits = f"{size(first)} + {size(new)} + {size(rest)} <= {LONGEST}"
        return f"CASE WHEN {start} >= {whole(1)} THEN CASE WHEN {fits} THEN {first} || {new} || {rest} END END"

    return call.let((first, rest), body)


SPELLINGS: dict[str, Spelling] = {
    **building.SPELLINGS,
    "repeat": repeat,
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "split_part": split_part,
    "initcap": initcap,
    "ascii": lambda call: f"ascii({call.args[0]})::bigint",
    "chr": character,
    "octet_length": lambda call: f"octet_length({call.args[0]})::bigint",
    "bit_length": lambda call: f"(8 * octet_length({call.args[0]})::bigint)",
    "overlay": overlay,
    "to_hex": lambda call: f"to_hex({call.args[0]})",
    "md5": lambda call: f"md5({call.args[0]})",
    "sha256": lambda call: f"encode(sha256(convert_to({call.args[0]}, 'UTF8')), 'hex')",
}
