"""Spellings of text functions, of a server whose encoding is UTF-8: there PostgreSQL counts code points.

Under the collation "C", `lower` and `upper` map ASCII letters and nothing else; under any other they map what it says.
"""

from __future__ import annotations

from privql.engines.postgres.expressions import plain, text, whole
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.engines.sql.texts import Signs, escaped, likes, side, trim
from privql.functions.scalar.text import LONGEST

_FAR = 2**30  # a position beyond every text


def lowered(arg: Spelled | str) -> str:
    return f"lower({plain(arg)})"


def uppered(arg: Spelled | str) -> str:
    return f"upper({plain(arg)})"


def near(position: str, least: int) -> str:
    """A whole number brought to where PostgreSQL takes it as a position. NULL stays NULL."""
    low, high = whole(least), whole(_FAR)
    return (
        f"(CASE WHEN {position} < {low} THEN {low} WHEN {position} > {high} THEN {high} ELSE {position} END)::integer"
    )


def size(of: Spelled | str) -> str:
    return f"length({of})::bigint"


def concat(call: Call) -> str:
    def body(*parts: Spelled) -> str:
        length = " + ".join(map(size, parts))
        return f"CASE WHEN {length} <= {LONGEST} THEN {' || '.join(map(str, parts))} END"

    return call.let(call.args, body)


def replace(call: Call) -> str:
    def body(x: Spelled, old: Spelled, new: Spelled) -> str:
        longest = f"{size(x)} + {size(x)} / {size(old)} * {size(new)}"
        made = f"CASE WHEN {longest} <= {LONGEST} THEN replace({plain(x)}, {old}, {new}) END"
        return f"CASE WHEN {plain(old)} = '' THEN CASE WHEN {new} IS NOT NULL THEN {x} END ELSE {made} END"

    return call.let(call.args, body)


def substring(call: Call) -> str:
    if len(call.args) == 2:
        return call.let(call.args, lambda x, start: f"substring({x}, {near(start.sql, 1)})")

    def body(x: Spelled, start: Spelled, length: Spelled) -> str:
        """A length that is too large reaches as far as one that is large enough."""
        end = f"({start}::numeric + {length})"
        inside = f"CASE WHEN {end} <= 1 THEN 1 WHEN {end} > {_FAR} THEN {_FAR} ELSE {end}::integer END"
        first = near(start.sql, 1)
        taken = f"CASE WHEN {inside} > {first} THEN substring({x}, {first}, {inside} - {first}) ELSE left({x}, 0) END"
        return f"CASE WHEN {length} >= {whole(0)} AND {start} IS NOT NULL THEN {taken} END"

    return call.let(call.args, body)


def _as_position(n: str) -> str:
    return near(n, -_FAR)


def _matches(subject: str, signs: Signs) -> str:
    return f"({subject} LIKE {text(escaped(signs))} ESCAPE {text(chr(92))})"


def _found(x: Spelled, part: Spelled) -> str:
    return f"strpos({plain(x)}, {part})"


def ends(call: Call) -> str:
    return call.let(call.args, lambda x, end: f"({plain(f'right({x}, length({end}))')} = {end})")


SPELLINGS: dict[str, Spelling] = {
    "lower": lambda call: lowered(call.args[0]),
    "upper": lambda call: uppered(call.args[0]),
    "length": lambda call: size(call.args[0]),
    "concat": concat,
    "replace": replace,
    "substring": substring,
    "left": side("left", _as_position),
    "right": side("right", _as_position),
    "trim": trim("btrim"),
    "ltrim": trim("ltrim"),
    "rtrim": trim("rtrim"),
    "reverse": lambda call: f"reverse({call.args[0]})",
    **likes(_matches, plain, lowered),
    "strpos": lambda call: f"{_found(*call.args)}::bigint",
    "position": lambda call: f"{_found(call.args[1], call.args[0])}::bigint",
    "starts_with": lambda call: f"starts_with({plain(call.args[0])}, {call.args[1]})",
    "ends_with": ends,
    "contains": lambda call: f"({_found(*call.args)} > 0)",
}
