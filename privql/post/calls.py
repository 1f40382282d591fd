"""How DuckDB computes each aggregate and window function, so that the result is exact where it can be, and total.

An aggregate may be made of several of the engine's own (`raw`) and an expression over their results (`final`). Sums are
gathered wider than their type and brought back at the end: what does not fit is NULL, and no order of rows changes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from privql.check.relations import AggregateCall
from privql.frozen import frozen
from privql.kernel.scalars import Apply, Const, Scalar

WIDE = 26  # digits: below, a sum of 10^12 rows fits the engine's 38
SPLIT = 10**19  # a wide DECIMAL is summed in two halves of as many digits

_FINITE = "CASE WHEN isfinite({0}) THEN {0} END"
_ORDER_MATTERS = frozenset({"string_agg", "any_value", "mode", "first_value", "last_value", "nth_value"})
_ROW_WISE = frozenset({"row_number", "ntile", "lag", "lead"})
_RANKS = _ROW_WISE | {"rank", "dense_rank", "percent_rank", "cume_dist"}
_SKIPS_NULLS = frozenset({"lag", "lead", "first_value", "last_value", "nth_value"})
_AS_IT_IS = frozenset(
    [
        "min",
        "max",
        "bool_and",
        "bool_or",
        "bit_and",
        "bit_or",
        "bit_xor",
        "any_value",
        "mode",
        "string_agg",
        "quantile_disc",
        "row_number",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
        "ntile",
        "lag",
        "lead",
        "first_value",
        "last_value",
        "nth_value",
    ]
)


@frozen
class Parts:
    """`raw`: functions of the engine with their arguments; `final`: the result, `{0}` being that of the first."""

    raw: tuple[tuple[str, tuple[str, ...]], ...]
    final: str


def order_matters(function: str) -> bool:
    """Whether the result depends on the order of the rows that go in."""
    return function in _ORDER_MATTERS


def row_wise(function: str) -> bool:
    """Whether a window function tells apart rows that its ORDER BY holds equal."""
    return function in _ROW_WISE


def ranks(function: str) -> bool:
    """Whether it looks at its whole partition, whatever the frame."""
    return function in _RANKS


def skips_nulls(function: str) -> bool:
    """Whether IGNORE NULLS says something to it."""
    return function in _SKIPS_NULLS


def parts(call: AggregateCall, args: Sequence[str]) -> Parts:
    """`args`: how the arguments are spelled, each a column or a constant."""
    match call.function:
        case "count":
            return _one("count", args or ("*",), "{0}")
        case "count_if":
            return _one("count", (f"CASE WHEN {args[0]} THEN 1 END",), "{0}")
        case "sum":
            return _sum(call, args[0])
        case "avg":
            return _avg(call, args[0])
        case "corr":
            return _one("corr", args, "CASE WHEN {0} > 1 AND {0} <= 2 THEN 1.0 WHEN {0} < -1 AND {0} >= -2 THEN -1.0 "
                        "WHEN isfinite({0}) THEN {0} END")  # fmt: skip
        case "quantile_cont" | "quantile_disc" if not _is_share(call.args[1]):
            return _one("first", (f"CASE WHEN FALSE THEN {args[0]} END",), "{0}")
        case "ntile":
            return _one("ntile", (f"CASE WHEN {args[0]} > 0 THEN {args[0]} END",), "{0}")
        case function:
            return _one(function, args, "{0}" if function in _AS_IT_IS else _FINITE)


def _one(function: str, args: Sequence[str], final: str) -> Parts:
    return Parts(((function, tuple(args)),), final)


def _is_share(term: Scalar) -> bool:
    """Whether a quantile lies between 0 and 1."""
    while isinstance(term, Apply) and term.op == "cast":
        term = term.args[0]
    value = term.value if isinstance(term, Const) else None
    return value is not None and not isinstance(value, (str, tuple)) and 0 <= value <= 1


def _sum(call: AggregateCall, arg: str) -> Parts:
    of = call.args[0].type
    match of.kind:
        case "INT":
            return _one("sum", (arg,), "TRY_CAST({0} AS BIGINT)")
        case "FLOAT":
            return _one("sum", (arg,), _FINITE)
        case _ if of.precision <= WIDE or call.distinct:
            return _one("sum", (arg,), f"CAST({{0}} AS DECIMAL(38,{of.scale}))")
        case _:
            return Parts(_halves(arg), _joined(of.scale))


def _avg(call: AggregateCall, arg: str) -> Parts:
    of = call.args[0].type
    if of.kind == "FLOAT":
        return _one("avg", (arg,), _FINITE)
    if of.kind == "INT" or of.precision <= WIDE or call.distinct:
        return Parts((("sum", (arg,)), ("count", (arg,))), "CAST({0} AS DOUBLE) / {1}")
    total = f"(CAST({{0}} AS DOUBLE) * 1e19 + CAST({{1}} AS DOUBLE)) / 1e{of.scale}"
    return Parts((*_halves(arg), ("count", (arg,))), f"{total} / {{2}}")


def _halves(arg: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The sums of the upper and the lower digits of a DECIMAL's unscaled integer."""
    unscaled = f"CAST(replace(CAST({arg} AS VARCHAR), '.', '') AS HUGEINT)"
    return (("sum", (f"{unscaled} // {SPLIT}",)), ("sum", (f"{unscaled} % {SPLIT}",)))


def _joined(scale: int) -> str:
    """The halves together again, NULL beyond 38 digits; the point is put back in text, where nothing overflows."""
    total = f"TRY(({{0}} + {{1}} // {SPLIT}) * {SPLIT} + {{1}} % {SPLIT})"
    text = f"CASE WHEN {total} < 0 THEN '-' ELSE '' END || CAST(abs({total}) // {10**scale} AS VARCHAR)"
    if scale:
        text += f" || '.' || lpad(CAST(abs({total}) % {10**scale} AS VARCHAR), {scale}, '0')"
    return f"TRY_CAST({text} AS DECIMAL(38,{scale}))"
