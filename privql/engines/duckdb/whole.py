"""Spellings of operations on bits, of divisors and multiples, and of the buckets of a histogram."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privql.engines.duckdb.expressions import huge, literal
from privql.engines.duckdb.numbers import least_units, narrow
from privql.engines.sql.expressions import Call, Spelled, Spelling, infix
from privql.functions.scalar.bits import PLACES
from privql.kernel.scalars import FLOAT


def _places(n: Spelled) -> str:
    return f"CASE WHEN {n} BETWEEN 0 AND {PLACES[-1]} THEN {n} END"


def shift_left(call: Call) -> str:
    x, n = call.args
    power = call.let((n,), lambda n: f"CAST(1 AS HUGEINT) << CAST({_places(n)} AS HUGEINT)")
    return narrow(f"({huge(x)} * ({power}))")


def shift_right(call: Call) -> str:
    x, n = call.args
    return f"({x} >> {call.let((n,), _places)})"


def _in_128_bits(name: str) -> Spelling:
    return lambda call: narrow(f"{name}({', '.join(map(huge, call.args))})")


def width_bucket(call: Call) -> str:
    """Counted from the first bound to the second, whichever is the greater."""
    given: list[Any] = [arg.value for arg in call.args[1:]]
    if None in given:
        return call.null
    first, last, count = given
    before, beyond = ("<", ">=") if first < last else (">", "<=")

    def body(x: Spelled) -> str:
        if x.type == FLOAT:
            wide = str(literal(abs(last - first), FLOAT))
            place = f"least(floor({_apart(x.sql, str(call.args[1]), first < last)} / {wide} * {count}), {count - 1})"
        else:
            unit = 10**x.type.scale
            start, wide = (huge(int(Fraction(n) * unit)) for n in (first, abs(last - first)))
            place = f"{_apart(least_units(x), start, first < last)} * {count} // {wide}"
        return (
            f"CASE WHEN {x} {before} {call.args[1]} THEN 0 WHEN {x} {beyond} {call.args[2]} THEN {count + 1}"
            f" WHEN {x} IS NOT NULL THEN CAST({place} + 1 AS BIGINT) END"
        )

    return f"CAST({call.let(call.args[:1], body)} AS BIGINT)"


def _apart(x: str, start: str, upward: bool) -> str:
    return f"({x} - {start})" if upward else f"({start} - {x})"


SPELLINGS: dict[str, Spelling] = {
    "bits_and": infix("&"),
    "bits_or": infix("|"),
    "bits_xor": lambda call: f"xor({call.args[0]}, {call.args[1]})",
    "bits_not": lambda call: f"(~ {call.args[0]})",
    "shift_left": shift_left,
    "shift_right": shift_right,
    "bit_count": lambda call: f"CAST(bit_count({call.args[0]}) AS BIGINT)",
    "gcd": _in_128_bits("gcd"),
    "lcm": _in_128_bits("lcm"),
    "width_bucket": width_bucket,
}
