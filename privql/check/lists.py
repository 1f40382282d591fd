"""Answers that are several rows: the rows of each group, and the columns that have a value for each of them.

There are no lists as values. As PostgreSQL's functions that return sets do, `QUANTILE(x, [0.1, 0.9])` makes of its
group as many rows as its answer has, in order, all other columns repeated; one whose rows have several fields makes as
many columns:

    SELECT sex, QUANTILE(age, [0.25, 0.75]) AS age, COUNT(*) AS n       sex, age, n      two rows of each sex
    SELECT HISTOGRAM(cost, 4)                                           low, high, n     four rows
    SELECT HISTOGRAM(cost, 4) AS h                                      h_low, h_high, h_n

The numbers of the rows, 1 to n, are rows of their own, which meet each group above all that is measured, and after
HAVING and windows (`expanded`). `column(values, node, place)` is a column with one of n values in each; what has a row
for each number already, as the counts of bins do, is joined by it (`Context.binned`). Of private rows, the n values are
those of n `Aggregate`s that are `together`: their block measures them as one. Which aggregates there are of this kind
says `several.py`; one more is a function there that makes of a call its fields:

    def top(node, place):                         # TOP(x, 3): rows of one value each, in one column
        return (("", column([value_1, value_2, value_3], node, place)),)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

from privql.check import expressions as ex
from privql.check.grouping import Collector, Elements
from privql.check.operations import agree, apply, coerce
from privql.check.relations import Attribute, Joined, Label, Rel, Rows
from privql.check.typed import Context, Place, Typed, const
from privql.diagnostics import refuse
from privql.domains import Domain, finite
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar
from privql.syntax import ast

MOST = 1000

Fields = tuple[tuple[str, Typed], ...]  # of one row of the answer: the name of each, "" where it is the only one


def column(values: Sequence[Typed], node: ast.Call, place: Place) -> Typed:
    """A column of the answer of `node`: in its rows these values, in their order."""
    collector = place.collector
    assert collector is not None
    elements = numbered(len(values), node, place)
    terms = tuple(value.term for value in values)
    if all(isinstance(term, Const) for term in terms):
        known = elements.known.get(terms)
        if known is None:
            domain = values[0].domain
            for value in values[1:]:
                domain = domain.union(value.domain)
            known = Field(_column(collector.context, values[0], domain, Label.PUBLIC), values[0].type)
            elements.known[terms] = known
        return Typed(known, place.domain(known.name), node.span)
    number = Typed(elements.number, place.domain(elements.number.name), node.span)
    args: list[Typed] = []
    for at, value in enumerate(values[:-1], 1):
        args += [apply("eq", [number, const(at, INT, node.span)], node.span), value]
    return apply("case", [*args, values[-1]], node.span) if args else values[0]


def of_one_type(values: Sequence[Typed], node: ast.ListOf) -> list[Typed]:
    """0, 0.5, 1: a column has one type."""
    common = apply("greatest", values, node.span).type if len({value.type for value in values}) > 1 else values[0].type
    return [coerce(value, common) for value in agree("greatest", values)]


def how_many(node: ast.Expr, inner: Place, name: str, most: int, or_else: str = "") -> int:
    value = ex.typed(node, inner)
    if value.free or not isinstance(value.term, Const) or value.type != INT or not isinstance(value.term.value, int):
        message = f"`{name}` needs a constant whole number{or_else}"
        raise refuse("PQL0308", message, value.span, help=f"write {name}(x, 10)")
    if not 1 <= value.term.value <= most:
        raise refuse("PQL0302", f"`{name}` takes a number from 1 to {most}", value.span, help=f"write {name}(x, 10)")
    return value.term.value


def numbered(count: int, node: ast.Call, place: Place) -> Elements:
    """The numbers of the rows; all answers of several rows of a SELECT have as many."""
    collector = place.collector
    assert collector is not None
    if not 1 <= count <= MOST:
        raise refuse(
            "PQL0308",
            f"an answer of {count} rows",
            node.span,
            help=f"ask for 1 to {MOST}, in as many queries as it takes",
        )
    known = collector.elements
    if known is None:
        members = Typed(Const(1, INT), finite(range(1, count + 1), False, Fraction(1)), node.span)
        id = _column(collector.context, members, members.domain, Label.PUBLIC)
        known = collector.elements = Elements(Field(id, INT), count, node.span)
    if known.count != count:
        raise refuse(
            "PQL0305",
            f"{known.count} rows and {count} rows beside each other",
            node.span,
            why="answers of several rows in one SELECT are put side by side, row by row",
            help="ask for them in two queries",
        )
    return known


def _column(context: Context, of: Typed, domain: Domain, label: Label) -> str:
    return context.add(Attribute(context.fresh(), "", of.type, domain, label, span=of.span)).id


def expanded(rel: Rel, collector: Collector, context: Context) -> Rel:
    """Of each row so many, where the SELECT has answers of several rows."""
    elements = collector.elements
    if elements is None:
        return rel
    names = ((elements.number.name, INT), *((known.name, known.type) for known in elements.known.values()))
    numbers: list[Scalar] = [Const(at, INT) for at in range(1, elements.count + 1)]
    rel = Joined("CROSS", rel, Rows(names, tuple(zip(numbers, *elements.known, strict=True))))
    for one in collector.measured.values():
        if one.bins is not None:
            other, bin, same = context.binned[one.id]
            on = Apply("eq", (elements.number, bin), BOOL)
            rel = Joined("INNER", rel, other, on if same is None else Apply("and", (on, same), BOOL))
    return rel


def nowhere_else(read: Collection[str], collector: Collector, name: str) -> None:
    """HAVING, QUALIFY and windows are of groups, and come before their rows."""
    elements = collector.elements
    if elements is None:
        return
    made = {elements.number.name, *(known.name for known in elements.known.values())}
    made |= {one.id for one in collector.measured.values() if one.bins is not None}
    if not made.isdisjoint(read):
        raise refuse(
            "PQL0305",
            f"what has several rows cannot stand in {name}",
            elements.span,
            why=f"{name} is of groups, before each becomes several rows",
            help="name it in a subquery, and put the condition around that",
        )
