"""Expressions: literals and operators, calls to total functions, and the domain of each, narrowed by what is known.

`typed` is one small function a construct. Types come from the signatures of `functions.scalar`; implicit casts are
INT to DECIMAL to FLOAT and DATE to TIMESTAMP, and a string literal takes its partner's type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from privql.check import constants
from privql.check.operations import (
    OPERATORS,
    agree,
    apply,
    branches,
    cast,
    coerce,
    negated,
    not_yet,
    sized,
)
from privql.check.relations import SubqueryKind
from privql.check.resolved import column, identifier, identifiers
from privql.check.row_values import by_parts
from privql.check.typed import Place, Typed, const
from privql.diagnostics import Span, refuse
from privql.domains.types import value_type
from privql.functions.scalar import infer, resolve_cast
from privql.functions.scalar.calendar import named
from privql.kernel.scalars import BOOL, NULL, TEXT, Apply, Const, ValueType
from privql.syntax import ast, unparse


def typed(node: ast.Expr, place: Place) -> Typed:
    from privql.check import matching  # what fixes an operator is an expression, too
    from privql.check.subqueries import subquery  # queries are made of expressions, and expressions of queries

    node = by_parts(node, place) or node
    match node:
        case ast.Number(text=text):
            return constants.number(text, node.span)
        case ast.String(value=value):
            return constants.string(value, node.span)
        case ast.Boolean(value=value):
            return const(value, BOOL, node.span)
        case ast.Null():
            return const(None, NULL, node.span)
        case ast.Typed(type=name, text=text):
            return _typed_literal(name, text, node.span)
        case ast.Interval():
            return constants.interval(node, place.context)
        case ast.Param():
            return constants.parameter(node, place.context)
        case ast.Column():
            return column(node, place)
        case ast.Unary():
            return _unary(node, place)
        case ast.Binary():
            return _binary(node, place)
        case ast.Is():
            return _is(node, place)
        case ast.IsDistinct(left=left, right=right, negated=negates):
            return negated(apply("is_distinct", [typed(left, place), typed(right, place)], node.span), negates)
        case ast.Like():
            return matching.like(node, place)
        case ast.Between():
            return _between(node, place)
        case ast.InList(operand=operand, items=items, negated=negates):
            parts = [typed(operand, place), *(typed(item, place) for item in items)]
            return negated(apply("in", parts, node.span), negates)
        case ast.InQuery(operand=operand, query=query, negated=negates):
            tested = identifier(operand, place) or typed(operand, place)
            return negated(subquery("in", query, place, node.span, tested), negates)
        case ast.Quantified(op="=", left=left, quantifier="ANY", query=query):
            return typed(ast.InQuery(left, query, False, span=node.span), place)
        case ast.Quantified(op="<>", left=left, quantifier="ALL", query=query):
            return typed(ast.InQuery(left, query, True, span=node.span), place)
        case ast.Quantified(op=op, left=left, quantifier=quantifier, query=query):
            kind: SubqueryKind = "any" if quantifier == "ANY" else "all"
            return subquery(kind, query, place, node.span, typed(left, place), op)
        case ast.Exists(query=query):
            return subquery("exists", query, place, node.span)
        case ast.Scalar(query=query):
            return subquery("scalar", query, place, node.span)
        case ast.Case():
            return _case(node, place)
        case ast.Cast():
            return _cast(node, place)
        case ast.Extract(field=field, operand=operand):
            return apply("extract", [constants.string(named(field), node.span), typed(operand, place)], node.span)
        case ast.Call():
            from privql.check.calls import call  # calls are made of expressions, and expressions of calls

            return call(node, place)
        case ast.Row() | ast.ListOf() | ast.Index():
            raise not_yet("rows and lists as values", node.span, "write each value as a column of its own")
        case ast.Star():
            raise refuse("PQL0301", "`*` is not a value", node.span, help="name a column, or write COUNT(*)")
        case ast.Named(name=name):
            raise refuse("PQL0303", f"no argument is named `{name}` here", node.span, help="write the value alone")
        case _:
            assert_never(node)


def condition(node: ast.Expr, place: Place, where: str = "") -> Typed:
    """An expression that must be BOOL; `where` names the part of an expression that wants it."""
    value = typed(node, place)
    if value.type.kind == "NULL" or value.free or value.text is not None:
        return coerce(value, BOOL)
    if value.type != BOOL:
        raise refuse(
            "PQL0301",
            f"{where or place.clause} needs a condition, and this is {value.type}",
            value.span,
            help=f"compare it: `{unparse(node)} = …`",
        )
    return value


# ---------------------------------------------------------------- one function a construct


def storable(value: Typed) -> Typed:
    """What a column, a group key or a row of VALUES may be."""
    if value.type.kind == "INTERVAL":
        raise refuse(
            "PQL0301",
            "an INTERVAL is no value by itself",
            value.span,
            why="a month has no fixed number of days",
            help="add it to a DATE or a TIMESTAMP",
        )
    return value


def stored(value: Typed) -> Typed:
    """As a column or a group key has it: what has no type of its own, and is always NULL, is a TEXT."""
    value = storable(value)
    return coerce(value, TEXT) if value.free or value.type.kind == "NULL" else value


def _typed_literal(name: str, text: str, span: Span) -> Typed:
    type = value_type(ast.TypeName(name))
    if type is None:
        raise not_yet(f"the type {name}", span)
    return constants.literal(text, type, span)


def _unary(node: ast.Unary, place: Place) -> Typed:
    operand = typed(node.operand, place)
    match node.op:
        case "NOT":
            return apply("not", [coerce(operand, BOOL) if operand.type.kind == "NULL" else operand], node.span)
        case "-":
            if isinstance(operand.term, Const) and isinstance(node.operand, ast.Number):
                if node.operand.text == "9223372036854775808":  # the least INT is written as a negative number
                    return const(-(2**63), ValueType("INT"), node.span)
                value = operand.term.value
                assert value is not None and not isinstance(value, (str, tuple))
                return const(-value, operand.type, node.span)
            return apply("neg", [operand], node.span)
        case "+":
            return operand
        case "~":
            return apply("bits_not", [operand], node.span)


def _binary(node: ast.Binary, place: Place) -> Typed:
    from privql.check import matching

    same = identifiers(node, place) if node.op == "=" else None
    if same is not None:
        return same
    if node.op in matching.MATCHES:
        return matching.regular(node, place)
    if node.op in matching.ARROWS:
        return matching.field(node, place)
    left = typed(node.left, place)
    right = typed(node.right, place)
    op = OPERATORS[node.op]
    if op in ("and", "or"):
        # facts of the left side hold where the right side matters, but totality means no guard is needed
        return _flat(op, left, right, node.span)
    return apply(op, [left, right], node.span)


def _flat(op: str, left: Typed, right: Typed, span: Span) -> Typed:
    """`a AND b AND c` is one conjunction: equal however it was bracketed, and no deeper than it is long."""
    if op == "or" and left.type == right.type == BOOL:
        for one, other in ((left, right), (right, left)):
            if other.domain.values == (False,) and not other.domain.nullable:
                return one  # what cannot be true ties nothing, and unties nothing
    sides = [coerce(s, BOOL) if s.type.kind == "NULL" or s.free else s for s in (left, right)]
    if isinstance(sides[0].term, Apply) and sides[0].term.op == op and sides[1].type == BOOL:
        term = Apply(op, (*sides[0].term.args, sides[1].term), BOOL)
        domain = infer(op, (BOOL, BOOL), BOOL, (sides[0].domain, sides[1].domain))
        return Typed(term, domain, span, size=sized(sides, span))
    return apply(op, sides, span)


def _is(node: ast.Is, place: Place) -> Typed:
    operand = (identifier(node.operand, place) if node.what == "NULL" else None) or typed(node.operand, place)
    if node.what in ("NULL", "UNKNOWN"):
        return negated(apply("is_null", [operand], node.span), node.negated)
    return negated(apply("is_true" if node.what == "TRUE" else "is_false", [operand], node.span), node.negated)


def _between(node: ast.Between, place: Place) -> Typed:
    value, low, high = (typed(part, place) for part in (node.operand, node.low, node.high))

    def inside(a: Typed, b: Typed) -> Typed:
        return _flat("and", apply("ge", [value, a], node.span), apply("le", [value, b], node.span), node.span)

    inner = inside(low, high)
    if node.symmetric:
        inner = apply("or", [inner, inside(high, low)], node.span)
    return negated(inner, node.negated)


def _case(node: ast.Case, place: Place) -> Typed:
    subject = typed(node.operand, place) if node.operand is not None else None
    parts: list[Typed] = []
    here = place
    for when, then in node.whens:
        if subject is not None:
            test = apply("eq", [subject, typed(when, here)], when.span)
        else:
            test = condition(when, here, "WHEN")
        test, there, here = branches(test, here)
        parts += [test, typed(then, there)]
    otherwise = typed(node.otherwise, here) if node.otherwise is not None else const(None, NULL, node.span)
    results = agree("case", [*parts[1::2], otherwise])
    return apply(
        "case", [p for pair in zip(parts[::2], results[:-1], strict=True) for p in pair] + [results[-1]], node.span
    )


def _cast(node: ast.Cast, place: Place) -> Typed:
    type = value_type(node.type)
    if type is None:
        raise refuse(
            "PQL0301",
            f"there is no type `{node.type.name}`",
            node.type.span,
            help="the types are INT, FLOAT, DECIMAL(p,s), BOOL, TEXT, DATE and TIMESTAMP",
        )
    operand = typed(node.operand, place)
    if operand.type == type:
        return replace(operand, span=node.span)
    if operand.free or operand.type.kind == "NULL":
        return coerce(operand, type)
    if resolve_cast(operand.type, type) is None:
        raise refuse(
            "PQL0301", f"{operand.type} cannot be cast", node.span, help="cast a number, text, date or truth value"
        )
    return cast(operand, type, node.span)
