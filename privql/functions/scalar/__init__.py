"""Scalar functions: one declaration each, read by the checker, the engines' conformance kit and the reference."""

from privql.functions.scalar.declare import Example, Resolved, ScalarFunction
from privql.functions.scalar.registry import (
    all_functions,
    by_sql_name,
    constant_args,
    evaluate,
    evaluate_term,
    function,
    given,
    infer,
    objection,
    resolve,
    resolve_cast,
    signatures,
)

__all__ = [
    "Example",
    "Resolved",
    "ScalarFunction",
    "all_functions",
    "by_sql_name",
    "constant_args",
    "evaluate",
    "evaluate_term",
    "function",
    "given",
    "infer",
    "objection",
    "resolve",
    "resolve_cast",
    "signatures",
]
