"""Queries inside expressions, as kernel terms: a value is looked up or joined, a test is a mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privql.check.columns import produced
from privql.check.conditions import both, conjuncts
from privql.check.named import private
from privql.check.relations import Each, Subquery
from privql.kernel import relating, rules
from privql.kernel.scalars import BOOL, Apply, Const, Field, Scalar, fields
from privql.kernel.stable import Stable
from privql.plan.beside import beside_each, equalities
from privql.plan.fanout import most_alike

if TYPE_CHECKING:
    from privql.plan.related import Related

_TRUE, _FALSE, _UNKNOWN = Const(True, BOOL), Const(False, BOOL), Const(None, BOOL)
_OPPOSITE = {"=": "ne", "<>": "eq", "!=": "eq", "<": "ge", "<=": "gt", ">": "le", ">=": "lt"}
_COMPARED = {"=": "eq", "<>": "ne", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def answered(tree: Related, below: Stable, *terms: Scalar) -> Stable:
    """The relation with a column for each query that the terms ask."""
    for term in terms if tree.subqueries else ():
        for name in sorted(fields(term) & tree.subqueries.keys()):
            if name not in below.columns:
                tree.types[name] = next(field.type for field in _fields(term) if field.name == name)
                below = _answered(tree, below, name, tree.subqueries[name])
    return below


def _answered(tree: Related, below: Stable, name: str, asked: Subquery) -> Stable:
    if isinstance(asked.rel, Each):
        below = tree.number(below, asked.rel)
    if asked.kind == "scalar":
        return _valued(tree, below, name, asked)
    if asked.kind == "exists":
        return _marked(tree, below, name, asked, ())
    assert asked.operand is not None and asked.column is not None
    below = answered(tree, below, asked.operand)
    column = Field(asked.column, produced(asked.rel)[asked.column])
    compared = Apply(_COMPARED[asked.op], (asked.operand, column), BOOL)
    if asked.kind == "all":
        compared = Apply(_OPPOSITE[asked.op], (asked.operand, column), BOOL)
    met, some, null = f"{name}_met", f"{name}_some", f"{name}_null"
    below = _marked(tree, below, met, asked, (compared,))
    below = _marked(tree, below, some, asked, ())
    below = _marked(tree, below, null, asked, (Apply("is_null", (column,), BOOL),))
    without = Apply("and", (Apply("is_null", (asked.operand,), BOOL), Field(some, BOOL)), BOOL)
    unknown = Apply("or", (Field(null, BOOL), without), BOOL)  # each said so that no row is compared with each
    found, otherwise = (_FALSE, _TRUE) if asked.kind == "all" else (_TRUE, _FALSE)
    value = Apply("case", (Field(met, BOOL), found, unknown, _UNKNOWN, otherwise), BOOL)
    return _with(tree, below, name, value, hidden=(met, some, null))


def _valued(tree: Related, below: Stable, name: str, asked: Subquery) -> Stable:
    assert asked.column is not None
    types = produced(asked.rel)
    value: Scalar = Field(asked.column, types[asked.column])
    read = frozenset({asked.column, *(id for _, inner in asked.on for id in fields(inner))})
    before = below.columns
    if private(asked.rel):
        right = tree.relation(asked.rel, read)
        if isinstance(asked.rel, Each):
            below = beside_each("LEFT", below, right, asked.on, asked.where, asked.rel.most)
        else:
            below, right = tree.meetings.of_private(below, right, asked.on)
            below = relating.join("LEFT", below, right, asked.on, asked.where)
    else:
        public, on = tree.public(asked.rel, read, asked.on)
        below = relating.lookup(below, public, on, asked.where, 1, True)
    if asked.default is not None and asked.on:
        inner = asked.on[0][1]  # equal to something, so it is NULL only where no row was found
        value = Apply("case", (Apply("is_null", (inner,), BOOL), asked.default, value), value.type)
    return _with(tree, below, name, value, hidden=tuple(below.columns - before))


def _marked(tree: Related, below: Stable, column: str, asked: Subquery, tests: tuple[Scalar, ...]) -> Stable:
    """TRUE where some row meets the ties to this row and these tests."""
    types = produced(asked.rel)
    pairs, rest = equalities([*tests, *conjuncts(asked.where)], below.columns, types)
    pairs = (*asked.on, *pairs)
    read = frozenset(id for test in (*(b for _, b in pairs), *rest) for id in fields(test)).intersection(types)
    if private(asked.rel):
        among = tree.relation(asked.rel, read)
        for test in [test for test in rest if fields(test) <= among.columns]:
            among = rules.keep_where(among, test)
            rest.remove(test)
        if rest:  # else rows are found by their values
            below, among = tree.meetings.of_private(below, among, pairs)
        return relating.mark(below, column, among, pairs, both(rest))
    public, on = tree.public(asked.rel, read, pairs)
    if rest:
        tried = most_alike(asked.rel, frozenset(id for _, id in on), tree.query, tree.env)
        tree.meetings.tried(tried or 1)
    types = dict(public.columns)
    named = tuple((outside, Field(id, types[id])) for outside, id in on)
    return relating.mark(below, column, public, named, both(rest))


def _with(tree: Related, below: Stable, name: str, value: Scalar, hidden: tuple[str, ...]) -> Stable:
    kept = tuple((id, Field(id, tree.types[id])) for id in sorted(below.columns - set(hidden)))
    return rules.compute(below, (*kept, (name, value)))


def _fields(term: Scalar) -> list[Field]:
    match term:
        case Field():
            return [term]
        case Apply(args=args):
            return [one for arg in args for one in _fields(arg)]
        case _:
            return []
