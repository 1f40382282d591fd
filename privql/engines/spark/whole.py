"""Spellings of operations on bits, of divisors and multiples, and of the buckets of a histogram."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privql.engines.spark.expressions import LEAST, literal, wide
from privql.engines.spark.numbers import least_units
from privql.engines.sql.expressions import Call, Spelled, Spelling, infix
from privql.functions.scalar.bits import PLACES
from privql.kernel.scalars import FLOAT, INT

_TURNS = (
    93  # Euclid's algorithm takes no more for two numbers of 64 bits: the 93rd Fibonacci number is the last of them
)


def _places(n: Spelled) -> str:
    return f"CASE WHEN {n} BETWEEN 0L AND {PLACES[-1]}L THEN CAST({n} AS INT) END"


def shift_left(call: Call) -> str:
    """Shifted back it is what it was, unless a bit or the sign was lost."""

    def body(x: Spelled, n: Spelled) -> str:
        made = f"shiftleft({x}, {_places(n)})"
        return f"CASE WHEN shiftright({made}, {_places(n)}) = {x} THEN {made} END"

    return call.let(call.args, body)


def shift_right(call: Call) -> str:
    x, n = call.args
    return f"shiftright({x}, {call.let((n,), _places)})"


def _divisor(call: Call, x: Spelled, y: Spelled) -> str:
    """The greatest common one, of either sign."""
    pair, turn = f"__{next(call.names)}", f"__{next(call.names)}"
    next_ = f"CASE WHEN {pair}.b = 0L THEN {pair} ELSE named_struct('a', {pair}.b, 'b', {pair}.a % {pair}.b) END"
    start = f"named_struct('a', {x}, 'b', {y})"
    return f"aggregate(sequence(1, {_TURNS}), {start}, ({pair}, {turn}) -> {next_}, {pair} -> {pair}.a)"


def gcd(call: Call) -> str:
    def body(x: Spelled, y: Spelled) -> str:
        return f"nullif(abs({_divisor(call, x, y)}), {LEAST})"

    return call.let(call.args, body)


def lcm(call: Call) -> str:
    def body(x: Spelled, y: Spelled) -> str:
        divisor = f"nullif(abs({_divisor(call, x, y)}), {LEAST})"
        multiple = f"nullif(abs(try_multiply({x} div {divisor}, {y})), {LEAST})"
        return f"CASE WHEN {x} = 0L AND {y} IS NOT NULL OR {y} = 0L AND {x} IS NOT NULL THEN 0L ELSE {multiple} END"

    return call.let(call.args, body)


def width_bucket(call: Call) -> str:
    """Counted from the first bound to the second, whichever is the greater."""
    given: list[Any] = [arg.value for arg in call.args[1:]]
    if None in given:
        return call.null
    first, last, count = given
    before, beyond = ("<", ">=") if first < last else (">", "<=")

    def body(x: Spelled) -> str:
        if x.type == FLOAT:
            wide_ = str(literal(abs(last - first), FLOAT))
            share = f"{_apart(x.sql, str(call.args[1]), first < last)} / {wide_} * {literal(count, FLOAT)}"
            place = f"least(floor({share}), {count - 1}L)"
        else:
            unit = 10**x.type.scale
            start, size = (wide(int(Fraction(n) * unit)) for n in (first, abs(last - first)))
            place = f"(({_apart(least_units(x), start, first < last)} * {wide(count)}) div {size})"
        return (
            f"CASE WHEN {x} {before} {call.args[1]} THEN 0L WHEN {x} {beyond} {call.args[2]} THEN {count + 1}L"
            f" WHEN {x} IS NOT NULL THEN CAST({place} + 1L AS BIGINT) END"
        )

    return f"CAST({call.let(call.args[:1], body)} AS BIGINT)"


def _apart(x: str, start: str, upward: bool) -> str:
    return f"({x} - {start})" if upward else f"({start} - {x})"


SPELLINGS: dict[str, Spelling] = {
    "bits_and": infix("&"),
    "bits_or": infix("|"),
    "bits_xor": infix("^"),
    "bits_not": lambda call: f"(~ {call.args[0]})",
    "shift_left": shift_left,
    "shift_right": shift_right,
    "bit_count": lambda call: Spelled(f"CAST(bit_count({call.args[0]}) AS BIGINT)", INT, low=0, high=len(PLACES)),
    "gcd": gcd,
    "lcm": lcm,
    "width_bucket": width_bucket,
}
