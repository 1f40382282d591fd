"""Spellings of functions that make text of text. What DuckDB would throw for never reaches it."""

from __future__ import annotations

from privql.engines.duckdb.texts import near
from privql.engines.sql import building
from privql.engines.sql.expressions import Call, Spelled, Spelling, function
from privql.engines.sql.texts import lowered, uppered
from privql.functions.scalar.building import HALVES, LAST_CHARACTER
from privql.functions.scalar.text import LONGEST

_WORD = r"0-9A-Za-z\x80-\x{10ffff}"


def repeat(call: Call) -> str:
    def body(x: Spelled, n: Spelled) -> str:
        fits = f"CASE WHEN CAST(length({x}) AS HUGEINT) * {n} <= {LONGEST} THEN {x} END"
        times = f"CASE WHEN {n} < 0 OR {x} = '' THEN 0 WHEN {n} > {LONGEST} THEN {LONGEST} ELSE {n} END"
        return f"repeat({fits}, {times})"

    return call.let(call.args, body)


def _padded(name: str) -> Spelling:
    def spelling(call: Call) -> str:
        fill = call.args[2:] or (Spelled("' '", call.result, leaf=True, value=" "),)

        def body(x: Spelled, n: Spelled, fill: Spelled) -> str:
            length = f"CASE WHEN {n} < 0 THEN 0 WHEN {n} <= {LONGEST} THEN CAST({n} AS INTEGER) END"
            some = f"CASE WHEN {fill} = '' THEN ' ' ELSE {fill} END"
            return f"CASE WHEN {fill} = '' THEN left({x}, {length}) ELSE {name}({x}, {length}, {some}) END"

        return call.let((*call.args[:2], *fill), body)

    return spelling


def split_part(call: Call) -> str:
    def body(x: Spelled, separator: Spelled, n: Spelled) -> str:
        undivided = f"CASE WHEN {n} IN (-1, 1) THEN {x} ELSE left({x}, 0) END"
        part = f"split_part({x}, {separator}, {near(n.sql, -LONGEST * LONGEST)})"
        return f"CASE WHEN {n} <> 0 THEN CASE WHEN {separator} = '' THEN {undivided} ELSE {part} END END"

    return call.let(call.args, body)


def initcap(call: Call) -> str:
    """Words and what is between them, each with its first character in upper case."""
    part = f"__{next(call.names)}"
    cased = f"{uppered(f'left({part}, 1)')} || {lowered(f'substring({part}, 2)')}"
    parts = f"regexp_extract_all({call.args[0]}, '[{_WORD}]+|[^{_WORD}]+')"
    return f"array_to_string(list_transform({parts}, lambda {part}: {cased}), '')"


def character(call: Call) -> str:
    def body(n: Spelled) -> str:
        known = f"{n} BETWEEN 1 AND {HALVES.start - 1} OR {n} BETWEEN {HALVES.stop} AND {LAST_CHARACTER}"
        return f"chr(CASE WHEN {known} THEN CAST({n} AS INTEGER) END)"

    return call.let(call.args, body)


def overlay(call: Call) -> str:
    x, new, start, *length = call.args
    return call.let((x, new, start, *length), _overlaid)


def _overlaid(x: Spelled, new: Spelled, start: Spelled, length: Spelled | None = None) -> str:
    width = f"length({new})" if length is None else str(length)
    first = f"left({x}, ({near(start.sql, 1)}) - 1)"
    rest = f"substring({x}, CAST({near(f'(CAST({start} AS HUGEINT) + {width})', 1)} AS BIGINT))"
    fits = f"length({first}) + length({new}) + length({rest}) <= {LONGEST}"
    return f"CASE WHEN {start} >= 1 THEN CASE WHEN {fits} THEN {first} || {new} || {rest} END END"


SPELLINGS: dict[str, Spelling] = {
    **building.SPELLINGS,
    "repeat": repeat,
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "split_part": split_part,
    "initcap": initcap,
    "ascii": lambda call: f"CAST(ascii({call.args[0]}) AS BIGINT)",
    "chr": character,
    "octet_length": function("strlen"),
    "bit_length": lambda call: f"(8 * strlen({call.args[0]}))",
    "overlay": overlay,
    "to_hex": lambda call: f"lower(to_hex({call.args[0]}))",
    "md5": function("md5"),
    "sha256": function("sha256"),
}
