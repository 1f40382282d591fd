"""Spellings of arithmetic, rounding and powers of numbers.

INT is compared with what it may be added to, or computed as numeric where that is what tells. DECIMAL is numeric, whose
sums, products and remainders are exact, and whose own rounding takes a half away from zero; what has too many digits is
NULL. FLOAT is in `floats`, and what a mathematical library computes in `powers`.
"""

from __future__ import annotations

from privql.engines.postgres import floats
from privql.engines.postgres.expressions import between, double, let, numeric, whole
from privql.engines.sql.expressions import Call, Spelled, Spelling
from privql.functions.scalar.angles import DEGREES, RADIANS
from privql.functions.scalar.numbers import INT_MAX, INT_MIN
from privql.kernel.scalars import FLOAT, INT, ValueType

_SMALL = between("{}", -(2**31), 2**31)  # of two such numbers the product fits


def fits(call: Call, sql: str, type: ValueType) -> str:
    """A numeric as a DECIMAL of this type, NULL where it has too many digits."""
    most = numeric(10 ** (type.precision - type.scale))
    return let(call, sql, lambda x: f"CASE WHEN abs({x}) < {most} THEN {x} END", type)


def narrow(call: Call, sql: str) -> str:
    """A numeric without a fraction as an INT, NULL where it does not fit."""
    return let(call, sql, lambda x: f"CASE WHEN {inside(x)} THEN {x}::bigint END")


def inside(x: Spelled | str) -> str:
    return f"{x} BETWEEN {numeric(INT_MIN)} AND {numeric(INT_MAX)}"


def _exact(sql: str, low: int, high: int) -> Spelled:
    return Spelled(sql, INT, low=max(low, INT_MIN), high=min(high, INT_MAX))


def _whole_sum(call: Call, sign: str) -> Spelled:
    left, right = call.args
    low, high = (left.low + right.low, left.high + right.high)
    if sign == "-":
        low, high = (left.low - right.high, left.high - right.low)
    plain = f"({left} {sign} {right})"
    if low >= INT_MIN and high <= INT_MAX:
        return _exact(plain, low, high)

    def body(a: Spelled, b: Spelled) -> str:
        upward, downward = (f"{a} <= {whole(INT_MAX)} - {b}", f"{a} >= {whole(INT_MIN)} - {b}")
        if sign == "-":
            upward, downward = (f"{a} >= {whole(INT_MIN)} + {b}", f"{a} <= {whole(INT_MAX)} + {b}")
        made = f"{a} {sign} {b}"
        if b.low >= 0:
            return f"CASE WHEN {upward} THEN {made} END"
        if b.high <= 0:
            return f"CASE WHEN {downward} THEN {made} END"
        positive, negative = (f"CASE WHEN {guard} THEN {made} END" for guard in (upward, downward))
        return f"CASE WHEN {b} >= {whole(0)} THEN {positive} ELSE {negative} END"

    return _exact(call.let((left, right), body), low, high)


def add(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == INT:
        return _whole_sum(call, "+")
    return floats.plus(call, left, right) if call.result == FLOAT else _decimal_sum("+", call)


def sub(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == INT:
        return _whole_sum(call, "-")
    return floats.plus(call, left, right, "-") if call.result == FLOAT else _decimal_sum("-", call)


def _decimal_sum(sign: str, call: Call) -> str:
    """Both sides are brought to the sum's type first, which may hold fewer digits before the point than they."""
    made = call.result
    digits = max(arg.type.precision - arg.type.scale for arg in call.args)
    if digits < made.precision - made.scale:
        return f"({call.args[0]} {sign} {call.args[1]})"
    most = numeric(10 ** (made.precision - made.scale))

    def body(a: Spelled, b: Spelled) -> str:
        held = " AND ".join(f"abs({x}) < {most}" for x in (a, b, f"{a} {sign} {b}"))
        return f"CASE WHEN {held} THEN {a} {sign} {b} END"

    return call.let(call.args, body)


def mul(call: Call) -> Spelled | str:
    left, right = call.args
    if call.result == FLOAT:
        return floats.times(call, left, right)
    if call.result == INT:
        return _whole_product(call, left, right)
    exact = f"({left} * {right})"
    digits = sum(arg.type.precision - arg.type.scale for arg in call.args)
    return exact if digits <= call.result.precision - call.result.scale else fits(call, exact, call.result)


def _multiple(call: Call, x: Spelled, constant: Spelled, value: int) -> str:
    ends = sorted(_toward_zero(end, value) for end in (INT_MIN, INT_MAX))
    few = between("{}", max(ends[0], INT_MIN), min(ends[1], INT_MAX))
    return call.let((x,), lambda v: f"CASE WHEN {few.format(v)} THEN {v} * {constant} END")


def _whole_product(call: Call, left: Spelled, right: Spelled) -> Spelled:
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    low, high = min(corners), max(corners)
    if low >= INT_MIN and high <= INT_MAX:
        return _exact(f"({left} * {right})", low, high)
    for x, constant in ((left, right), (right, left)):
        if isinstance(constant.value, int):
            return _exact(_multiple(call, x, constant, constant.value), low, high)

    def body(a: Spelled, b: Spelled) -> str:
        small = f"{_SMALL.format(a)} AND {_SMALL.format(b)}"
        return f"CASE WHEN {small} THEN {a} * {b} ELSE CASE WHEN {inside(f'{a}::numeric * {b}')} THEN {a} * {b} END END"

    return _exact(call.let((left, right), body), low, high)


def _toward_zero(left: int, right: int) -> int:
    size = abs(left) // abs(right)
    return -size if (left < 0) != (right < 0) else size


def neg(call: Call) -> Spelled | str:
    (arg,) = call.args
    if call.result != INT or arg.low > INT_MIN:
        return _exact(f"(- {arg})", -arg.high, -arg.low) if call.result == INT else f"(- {arg})"
    return call.let((arg,), lambda x: f"CASE WHEN {x} > {whole(INT_MIN)} THEN - {x} END")


def absolute(call: Call) -> str:
    (arg,) = call.args
    if call.result != INT or arg.low > INT_MIN:
        return f"abs({arg})"
    return call.let((arg,), lambda x: f"CASE WHEN {x} > {whole(INT_MIN)} THEN abs({x}) END")


def int_div(call: Call) -> str:
    def body(a: Spelled, b: Spelled) -> str:
        """The least INT over -1 is none."""
        if a.low > INT_MIN or b.low > -1 or b.high < -1:
            return f"CASE WHEN {b} <> {whole(0)} THEN {a} / {b} END"
        return (
            f"CASE WHEN {b} NOT IN ({whole(0)}, {whole(-1)}) THEN {a} / {b}"
            f" WHEN {b} = {whole(-1)} THEN CASE WHEN {a} > {whole(INT_MIN)} THEN - {a} END END"
        )

    return call.let(call.args, body)


def mod(call: Call) -> str:
    zero = whole(0) if call.result == INT else numeric(0)
    return call.let(call.args, lambda a, b: f"CASE WHEN {b} <> {zero} THEN {a} % {b} END")


def _to_whole(function: str) -> Spelling:
    def spelling(call: Call) -> Spelled | str:
        (arg,) = call.args
        if call.result == FLOAT:
            return f"{function}({arg})"
        if arg.type == INT or arg.type.scale == 0:
            return arg
        made = f"{function}({arg})"
        kept = arg.type.precision - arg.type.scale < call.result.precision
        return made if kept or function == "trunc" else fits(call, made, call.result)

    return spelling


def rounded(call: Call) -> Spelled | str:
    arg = call.args[0]
    places = call.args[1].value if len(call.args) == 2 else 0
    if not isinstance(places, int):
        return call.null
    if call.result == FLOAT:
        return _rounded_double(call, arg, places)
    if places >= arg.type.scale:
        return arg
    if call.result == INT:
        return narrow(call, f"round({arg}::numeric, {places})")
    return fits(call, f"round({arg}, {places})", call.result)


def truncated(call: Call) -> Spelled | str:
    if len(call.args) == 1:
        return _to_whole("trunc")(call)
    arg, places = call.args[0], call.args[1].value
    if not isinstance(places, int):
        return call.null
    if places >= arg.type.scale:
        return arg
    return f"trunc({arg}::numeric, {places})::bigint" if call.result == INT else f"trunc({arg}, {places})"


def _rounded_double(call: Call, arg: Spelled, places: int) -> str:
    if places == 0:
        return call.let((arg,), floats.nearest_whole)
    power = float(10 ** abs(places))
    there, back = ("*", "/") if places > 0 else ("/", "*")

    def body(x: Spelled) -> str:
        near = let(call, floats.scaled(call, x, there, power).sql, floats.nearest_whole)
        made = floats.scaled(call, Spelled(near, FLOAT), back, power).sql
        most = double(floats.MOST / power)
        return made if places < 0 else f"CASE WHEN abs({x}) < {most} THEN {made} ELSE {x} END"

    return call.let((arg,), body)


def sign(call: Call) -> str:
    return f"sign({call.args[0]})::bigint"


SPELLINGS: dict[str, Spelling] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "neg": neg,
    "abs": absolute,
    "div": lambda call: floats.over(call, *call.args),
    "int_div": int_div,
    "mod": mod,
    "sign": sign,
    "floor": _to_whole("floor"),
    "ceil": _to_whole("ceil"),
    "trunc": truncated,
    "round": rounded,
    "degrees": lambda call: floats.scaled(call, call.args[0], "*", DEGREES),
    "radians": lambda call: floats.scaled(call, call.args[0], "*", RADIANS),
}
