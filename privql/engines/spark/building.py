"""Spellings of functions that make text of text. What Spark would fail at never reaches it."""

from __future__ import annotations

from privql.engines.spark.expressions import text
from privql.engines.spark.texts import left, near
from privql.engines.sql import building
from privql.engines.sql.expressions import Call, Spelled, Spelling, function
from privql.engines.sql.texts import lowered, uppered
from privql.functions.scalar.building import HALVES, LAST_CHARACTER
from privql.functions.scalar.text import LONGEST
from privql.kernel.scalars import INT

_WORD = r"0-9A-Za-z\x{80}-\x{10ffff}"


def repeat(call: Call) -> str:
    def body(x: Spelled, n: Spelled) -> str:
        times = f"CASE WHEN {n} < 0L OR {x} = '' THEN 0L WHEN {n} > {LONGEST}L THEN {LONGEST + 1}L ELSE {n} END"
        fits = f"CASE WHEN CAST(length({x}) AS BIGINT) * ({times}) <= {LONGEST} THEN {x} END"
        return f"repeat({fits}, CAST({times} AS INT))"

    return call.let(call.args, body)


def _padded(name: str) -> Spelling:
    def spelling(call: Call) -> str:
        fill = call.args[2:] or (Spelled("' '", call.result, leaf=True, value=" "),)

        def body(x: Spelled, n: Spelled, fill: Spelled) -> str:
            length = f"CASE WHEN {n} < 0L THEN 0 WHEN {n} <= {LONGEST}L THEN CAST({n} AS INT) END"
            some = f"CASE WHEN {fill} = '' THEN ' ' ELSE {fill} END"
            return f"CASE WHEN {fill} = '' THEN substring({x}, 1, {length}) ELSE {name}({x}, {length}, {some}) END"

        return call.let((*call.args[:2], *fill), body)

    return spelling


def split_part(call: Call) -> str:
    def body(x: Spelled, separator: Spelled, n: Spelled) -> str:
        undivided = f"CASE WHEN {n} IN (-1L, 1L) THEN {x} ELSE substring({x}, 1, 0) END"
        place = f"nullif({near(n.sql, -(2**30))}, 0)"
        part = f"split_part({x}, {separator}, {place})"
        # a separator becomes a pattern, which takes time by the square of its length
        whole = f"{separator} = '' OR length({separator}) > length({x})"
        return f"CASE WHEN {n} <> 0L THEN CASE WHEN {whole} THEN {undivided} ELSE {part} END END"

    return call.let(call.args, body)


def initcap(call: Call) -> str:
    """Words and what is between them, each with its first character in upper case."""
    part = f"__{next(call.names)}"
    cased = f"concat({uppered(f'substring({part}, 1, 1)')}, {lowered(f'substring({part}, 2)')})"
    parts = f"regexp_extract_all({call.args[0]}, {text(f'[{_WORD}]+|[^{_WORD}]+')}, 0)"
    return f"array_join(transform({parts}, {part} -> {cased}), '')"


def character(call: Call) -> str:
    def body(n: Spelled) -> str:
        known = f"{n} BETWEEN 1L AND {HALVES.start - 1}L OR {n} BETWEEN {HALVES.stop}L AND {LAST_CHARACTER}L"
        return f"decode(unhex(lpad(hex(CASE WHEN {known} THEN {n} END), 8, '0')), 'UTF-32')"

    return call.let(call.args, body)


def overlay(call: Call) -> str:
    x, new, start, *length = call.args
    return call.let((x, new, start, *length), _overlaid)


def _overlaid(x: Spelled, new: Spelled, start: Spelled, length: Spelled | None = None) -> str:
    width = f"length({new})" if length is None else str(length)
    sum_ = f"try_add({start}, CAST({width} AS BIGINT))"
    end = f"CASE WHEN {start} IS NOT NULL AND {width} IS NOT NULL THEN coalesce({sum_}, {2**30}L) END"
    first = left(x.sql, f"({near(start.sql, 1)} - 1)")
    rest = f"substring({x}, {near(f'({end})', 1)})"
    fits = f"length({first}) + length({new}) + length({rest}) <= {LONGEST}"
    return f"CASE WHEN {start} >= 1L THEN CASE WHEN {fits} THEN ({first}) || {new} || {rest} END END"


def _count(sql: str) -> Spelled:
    return Spelled(f"CAST({sql} AS BIGINT)", INT, low=0, high=2**34)


SPELLINGS: dict[str, Spelling] = {
    **building.SPELLINGS,
    "repeat": repeat,
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "split_part": split_part,
    "initcap": initcap,
    "ascii": lambda call: _count(f"ascii({call.args[0]})"),
    "chr": character,
    "octet_length": lambda call: _count(f"octet_length({call.args[0]})"),
    "bit_length": lambda call: f"(8L * octet_length({call.args[0]}))",
    "overlay": overlay,
    "to_hex": lambda call: f"lower(hex({call.args[0]}))",
    "md5": function("md5"),
    "sha256": lambda call: f"sha2({call.args[0]}, 256)",
}
