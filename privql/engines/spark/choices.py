"""Spellings of comparisons, of three-valued logic and of the functions that choose."""

from __future__ import annotations

from privql.engines.sql.expressions import Call, Spelled, Spelling, function, infix


def _postfix(words: str) -> Spelling:
    return lambda call: f"({call.args[0]} {words})"


def _joined(word: str) -> Spelling:
    return lambda call: "(" + f" {word} ".join(arg.sql for arg in call.args) + ")"


def among(call: Call) -> str:
    """A longer list is looked up in a table of its values, in which the two zeros are not one number."""
    zero = " + 0.0D" if call.args[0].type.kind == "FLOAT" else ""
    return f"({call.args[0]}{zero} IN ({', '.join(arg.sql + zero for arg in call.args[1:])}))"


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


def _counting(test: str) -> Spelling:
    return lambda call: "(" + " + ".join(f"CAST({arg} {test} AS BIGINT)" for arg in call.args) + ")"


def _extreme(name: str) -> Spelling:
    return lambda call: call.args[0] if len(call.args) == 1 else function(name)(call)


SPELLINGS: dict[str, Spelling] = {
    "eq": infix("="),
    "ne": infix("<>"),
    "lt": infix("<"),
    "le": infix("<="),
    "gt": infix(">"),
    "ge": infix(">="),
    "is_distinct": infix("IS DISTINCT FROM"),
    "is_null": _postfix("IS NULL"),
    "is_true": _postfix("IS TRUE"),
    "is_false": _postfix("IS FALSE"),
    "in": among,
    "and": _joined("AND"),
    "or": _joined("OR"),
    "not": lambda call: f"(NOT {call.args[0]})",
    "case": case,
    "if": case,
    "coalesce": function("coalesce"),
    "nullif": function("nullif"),
    "num_nulls": _counting("IS NULL"),
    "num_nonnulls": _counting("IS NOT NULL"),
    "greatest": _extreme("greatest"),
    "least": _extreme("least"),
    "clamp": clamp,
}
