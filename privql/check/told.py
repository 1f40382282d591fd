"""ERROR(x), LOW(x, p) and HIGH(x, p): how far a released number may be from the exact one, as a released number.

It costs nothing. The checker notes what is asked for; what the numbers are is known once the answer is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from privql.check import expressions as ex
from privql.check.env import USUAL
from privql.check.operations import coerce
from privql.check.relations import Attribute, Block, CheckedQuery, Label, Shared, Told
from privql.check.typed import Context, Place, Typed
from privql.diagnostics import Span, refuse
from privql.domains import NUMERIC, Domain
from privql.frozen import inside
from privql.kernel.scalars import FLOAT, Const, Field
from privql.syntax import ast

_KINDS: dict[str, Literal["error", "low", "high"]] = {"error": "error", "low": "low", "high": "high"}
TOLD = frozenset(_KINDS)


def told(node: ast.Call, place: Place) -> Typed:
    context, name = place.context, node.name.upper()
    if any((node.distinct, node.order, node.limit, node.nulls, node.privacy, node.within_group, node.filter)):
        help = "leave out what only aggregates have"
        raise refuse("PQL0305", f"`{node.name}` is not an aggregate", node.span, help=help)
    if not 1 <= len(node.args) <= 2:
        raise refuse("PQL0303", f"`{name}` takes a number and a confidence", node.span, help=f"write {name}(x, 0.95)")
    value = ex.typed(node.args[0], place)
    if value.type.kind not in NUMERIC:
        raise refuse("PQL0301", f"`{name}` takes a number", value.span, help="only numbers have an error")
    if place.collector is not None:
        value = place.collector.above(value)
    if context.label(value.term) is not Label.RELEASED:
        raise _exact(value.span, name, context.label(value.term))
    kind = _KINDS[name.lower()]
    confidence = _confidence(node.args[1], place) if len(node.args) > 1 else USUAL
    made = Told(kind, value.term, confidence, value.type, span=node.span)
    id = next((id for id, known in context.told.items() if known == made), None)
    if id is None:
        id = context.add(Attribute(context.fresh(), name.lower(), value.type, Domain(), Label.RELEASED)).id
        context.told[id] = made
    return Typed(Field(id, value.type), Domain(), node.span)


def _confidence(node: ast.Expr, place: Place) -> Fraction:
    value = ex.typed(node, place)
    value = coerce(value, FLOAT) if value.free or value.text is not None else value
    known = value.term.value if isinstance(value.term, Const) and not value.free else None
    if isinstance(known, bool) or not isinstance(known, int | float | Fraction):
        raise refuse("PQL0308", "a confidence must be constant", node.span, help="write it out: 0.95 for 95 percent")
    if not 0 < known < 1:
        raise refuse(
            "PQL0302", "a confidence lies strictly between 0 and 1", node.span, help="write 0.95 for 95 percent"
        )
    return Fraction(str(known)) if isinstance(known, float) else Fraction(known)


def _exact(span: Span, name: str, label: Label) -> Exception:
    if label is Label.PRIVATE:
        why, help = "private rows have no noise yet; what is measured of them has", f"write {name}(COUNT(*))"
    else:
        why, help = "it is public, and so exact", "use the number itself"
    return refuse("PQL0309", "this number has no error", span, why=why, help=help)


def among_released_rows(query: CheckedQuery, context: Context) -> None:
    """What is measured of private rows cannot depend on the error of an answer of the same statement."""
    shared, seen = dict(query.shared), set[str]()
    todo: list[object] = [(block.rel, block.aggregates, block.keys) for block in query.blocks]
    while todo:
        match todo.pop():
            case Field(name=name) if name in context.told:
                raise refuse(
                    "PQL0309",
                    "private rows are beside this",
                    context.told[name].span,
                    why="an error is known once its answer is, and this would be part of what is measured next",
                    help="CREATE RELEASE of the query that has it, then name the release here",
                )
            case Field(name=name):
                if name not in seen and name in context.subqueries:
                    seen.add(name)
                    todo.append(context.subqueries[name])
            case Shared(name=name):
                if name not in seen:
                    seen.add(name)
                    todo.append(shared.get(name, ()))
            case Block() | tuple() as several:
                todo.extend(inside(several))
            case node:
                todo.extend(inside(node))
