"""Spellings of comparisons, of three-valued logic and of the functions that choose: what engines say alike.

Texts are compared as they are put in order: one side that says how is enough.
"""

from __future__ import annotations

from privql.engines.sql.expressions import Call, Spelled, Spelling


def _postfix(words: str) -> Spelling:
    return lambda call: f"({call.args[0]} {words})"


def _joined(word: str) -> Spelling:
    return lambda call: "(" + f" {word} ".join(arg.sql for arg in call.args) + ")"


def _compared(sign: str) -> Spelling:
    return lambda call: f"({call.dialect.ordered(call.args[0])} {sign} {call.args[1]})"


def among(call: Call) -> str:
    return f"({call.dialect.ordered(call.args[0])} IN ({', '.join(arg.sql for arg in call.args[1:])}))"


def case(call: Call) -> str:
    arms = zip(call.args[:-1:2], call.args[1::2], strict=True)
    return "CASE " + "".join(f"WHEN {c} THEN {v} " for c, v in arms) + f"ELSE {call.args[-1]} END"


def clamp(call: Call) -> Spelled | str:
    """Two comparisons; NULL and nothing else takes the last arm as NULL (GREATEST and LEAST would pass NULL over)."""
    _, low, high = call.args
    sql = call.let(
        call.args, lambda x, lo, hi: f"CASE WHEN {x} <= {lo} THEN {lo} WHEN {x} >= {hi} THEN {hi} ELSE {x} END"
    )
    if low.value is None or high.value is None:
        return f"CASE WHEN {low} IS NOT NULL AND {high} IS NOT NULL THEN {sql} END"
    if isinstance(low.value, int) and isinstance(high.value, int):
        return Spelled(sql, call.result, low=min(low.value, high.value), high=max(low.value, high.value))
    return sql


def nullif(call: Call) -> str:
    return call.let(call.args, lambda x, y: f"CASE WHEN {call.dialect.ordered(x)} = {y} THEN NULL ELSE {x} END")


def _counting(test: str) -> Spelling:
    return lambda call: "(" + " + ".join(f"CAST(CAST({arg} {test} AS INTEGER) AS BIGINT)" for arg in call.args) + ")"


def _extreme(name: str) -> Spelling:
    def spelling(call: Call) -> Spelled | str:
        first, *others = call.args
        return f"{name}({', '.join([call.dialect.ordered(first), *map(str, others)])})" if others else first

    return spelling


SPELLINGS: dict[str, Spelling] = {
    "eq": _compared("="),
    "ne": _compared("<>"),
    "lt": _compared("<"),
    "le": _compared("<="),
    "gt": _compared(">"),
    "ge": _compared(">="),
    "is_distinct": _compared("IS DISTINCT FROM"),
    "is_null": _postfix("IS NULL"),
    "is_true": _postfix("IS TRUE"),
    "is_false": _postfix("IS FALSE"),
    "in": among,
    "and": _joined("AND"),
    "or": _joined("OR"),
    "not": lambda call: f"(NOT {call.args[0]})",
    "case": case,
    "if": case,
    "coalesce": lambda call: f"coalesce({', '.join(map(str, call.args))})",
    "nullif": nullif,
    "num_nulls": _counting("IS NULL"),
    "num_nonnulls": _counting("IS NOT NULL"),
    "greatest": _extreme("greatest"),
    "least": _extreme("least"),
    "clamp": clamp,
}
