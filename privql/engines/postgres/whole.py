"""Spellings of operations on bits, of divisors and multiples, and of the buckets of a histogram."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privql.engines.postgres import floats
from privql.engines.postgres.expressions import between, literal, numeric, whole
from privql.engines.postgres.numbers import narrow
from privql.engines.sql.expressions import Call, Spelled, Spelling, infix
from privql.functions.scalar.bits import PLACES
from privql.functions.scalar.numbers import INT_MIN
from privql.kernel.scalars import FLOAT


def _known_place(n: Spelled) -> str:
    return between(n, 0, PLACES[-1])


def shift_left(call: Call) -> str:
    """What fits comes back when it is shifted back."""

    def body(x: Spelled, n: Spelled) -> str:
        there = f"({x} << {n}::integer)"
        return f"CASE WHEN {_known_place(n)} THEN CASE WHEN ({there} >> {n}::integer) = {x} THEN {there} END END"

    return call.let(call.args, body)


def shift_right(call: Call) -> str:
    return call.let(call.args, lambda x, n: f"CASE WHEN {_known_place(n)} THEN {x} >> {n}::integer END")


def _as_numeric(name: str) -> Spelling:
    """Of the least INT they may be too large."""
    return lambda call: narrow(call, f"{name}({', '.join(f'{arg}::numeric' for arg in call.args)})")


def divisor(call: Call) -> str:
    """The greatest common one is too large for 64 bits only of the least INT."""
    small, large = "gcd({}, {})", _as_numeric("gcd")

    def body(a: Spelled, b: Spelled) -> str:
        guard = f"{a} > {whole(INT_MIN)} AND {b} > {whole(INT_MIN)}"
        return f"CASE WHEN {guard} THEN {small.format(a, b)} ELSE {large(Call('', (a, b), *rest))} END"

    rest = (call.result, call.names, call.dialect)
    return call.let(call.args, body)


def width_bucket(call: Call) -> str:
    """Counted from the first bound to the second, whichever is the greater."""
    given: list[Any] = [arg.value for arg in call.args[1:]]
    if None in given:
        return call.null
    first, last, count = given
    before, beyond = ("<", ">=") if first < last else (">", "<=")
    upward = first < last

    def body(x: Spelled) -> str:
        if x.type == FLOAT:
            apart = Spelled(_apart(x.sql, str(call.args[1]), upward), FLOAT)
            share = floats.scaled(call, apart, "/", abs(float(last) - float(first)))
            place = f"least(floor({share} * {literal(float(count), FLOAT)}), {literal(float(count - 1), FLOAT)})"
        else:
            unit = 10**x.type.scale
            start, wide = (numeric(int(Fraction(n) * unit)) for n in (first, abs(last - first)))
            units = f"{x}::numeric * {numeric(unit)}" if unit > 1 else f"{x}::numeric"
            place = f"div({_apart(units, start, upward)} * {numeric(count)}, {wide})"
        return (
            f"CASE WHEN {x} {before} {call.args[1]} THEN {whole(0)} WHEN {x} {beyond} {call.args[2]}"
            f" THEN {whole(count + 1)} WHEN {x} IS NOT NULL THEN ({place})::bigint + 1 END"
        )

    return call.let(call.args[:1], body)


def _apart(x: str, start: str, upward: bool) -> str:
    return f"({x} - {start})" if upward else f"({start} - {x})"


SPELLINGS: dict[str, Spelling] = {
    "bits_and": infix("&"),
    "bits_or": infix("|"),
    "bits_xor": infix("#"),
    "bits_not": lambda call: f"(~ {call.args[0]})",
    "shift_left": shift_left,
    "shift_right": shift_right,
    "bit_count": lambda call: f"length(replace({call.args[0]}::bit(64)::text, '0', ''))::bigint",
    "gcd": divisor,
    "lcm": _as_numeric("lcm"),
    "width_bucket": width_bucket,
}
