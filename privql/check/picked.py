"""MODE and TOP: the most frequent of the values that a column may have, or several of them, most frequent first.

They are chosen among all values that there may be, so these must be listed. A choice is a block of its own; the values
of one `TOP` are as many aggregates, measured together.
"""

from __future__ import annotations

from dataclasses import replace

from privql.check import expressions as ex
from privql.check.arguments import arguments, renamed, unordered
from privql.check.conditions import also, present
from privql.check.env import MOST_GROUPS
from privql.check.lists import MOST, Fields, column, how_many, numbered
from privql.check.operations import coerce, not_yet
from privql.check.relations import Aggregate, Choice
from privql.check.typed import Place, Typed
from privql.diagnostics import refuse
from privql.domains import finite
from privql.kernel.picks import Way
from privql.kernel.scalars import Value
from privql.syntax import ast, unparse

_WAYS: dict[str, Way] = {
    "PERMUTE_AND_FLIP": "FLIP",
    "NOISY_MAX": "NOISY_MAX",
    "EXPONENTIAL": "EXPONENTIAL",
    "GUMBEL": "GUMBEL",
    "HISTOGRAM": "HISTOGRAM",
}


def mode(node: ast.Call, place: Place) -> Typed:
    (found,) = _picked(node, place, 1)
    return found


def top(node: ast.Call, place: Place) -> Fields:
    """Of private rows alone: over others, grouping and counting is exact and free."""
    collector = place.collector
    assert collector is not None
    if len(node.args) != 2:
        raise refuse("PQL0303", "`TOP` takes a value and how many", node.span, help="write TOP(x, 3)")
    if not collector.private:
        wanted = unparse(node.args[0])
        raise not_yet("TOP of public or released rows", node.span, f"write `GROUP BY {wanted} ORDER BY COUNT(*) DESC`")
    picks = how_many(node.args[1], replace(collector.input, clause="the argument of TOP"), "TOP", MOST)
    numbered(picks, node, place)
    return (("", column(_picked(node, place, picks), node, place)),)


def _picked(node: ast.Call, place: Place, picks: int) -> list[Typed]:
    collector = place.collector
    assert collector is not None
    name, text = node.name.upper(), renamed(node, node.name)
    if node.order or (node.within_group and name != "MODE"):
        raise unordered(node)
    if node.distinct:
        raise refuse(
            "PQL0305",
            f"`{name}` of DISTINCT values",
            node.span,
            why="of different values each occurs once",
            help="leave out DISTINCT; to count each unit once, select DISTINCT rows of it in a subquery",
        )
    if collector.rolled_up:
        raise not_yet(f"`{name}` in CUBE, ROLLUP and GROUPING SETS", node.span, "group by the same keys")
    if node.privacy is not None and node.privacy.bounds_auto:
        raise refuse("PQL0408", "a choice needs no bounds", node.privacy.span, help="leave out BOUNDS AUTO")
    way = _way(node)
    args = node.args if name == "MODE" else node.args[:1]
    plain = replace(node, args=(*(item.expr for item in node.within_group), *args), within_group=())
    nodes, inner, where, star = arguments(plain, place)
    if star or len(nodes) != 1:
        raise refuse("PQL0303", f"`{name}` takes one argument", node.span, help=f"write {name}(x)")
    value = ex.typed(nodes[0], inner)
    value = coerce(value, value.type) if value.text is not None else value
    candidates = _candidates(value, name, picks, nodes[0], place)
    counted = also(where, present(value.term))
    listed = value.domain.size != len(candidates)  # else they are all that it can be: to sort a million takes seconds
    answer = finite(candidates, False, value.domain.grid) if listed else value.domain.with_null(False)
    made = []
    together = place.context.fresh() if picks > 1 else ""
    for at in range(picks):
        aggregate = Aggregate(
            place.context.fresh(),
            name.lower(),
            value.term,
            value.domain,
            value.type,
            counted,
            value.type,
            text,
            node.span,
            node.privacy,
            together=together,
            choice=Choice(candidates, picks, way),
        )
        key = ("picked", value.term, counted, picks, at, node.privacy)
        made.append(Typed(collector.release(key, aggregate, answer), answer, node.span))
    return made


def _way(node: ast.Call) -> Way | None:
    if node.privacy is None or node.privacy.mechanism in (None, "AUTO"):
        return None
    way = _WAYS.get(node.privacy.mechanism)
    if way is None:
        raise refuse(
            "PQL0408",
            f"USING {node.privacy.mechanism} does not choose among values",
            node.privacy.span,
            help=f"leave it out, or write one of USING {', '.join(_WAYS)}",
        )
    return way


def _candidates(value: Typed, name: str, picks: int, written: ast.Expr, place: Place) -> tuple[Value, ...]:
    members = value.domain.members(MOST_GROUPS)
    if members is None:
        domain = place.context.beside_public_values(value, lambda held, known: finite(held, known.nullable, known.grid))
        members = domain.members(MOST_GROUPS)
    if members is None:
        many = value.domain.size is not None
        coarser = "choose among coarser values: `WIDTH_BUCKET`, `DATE_TRUNC`, `//`"
        raise refuse(
            "PQL0404" if many else "PQL0402",
            f"`{name}` chooses among {'too many' if many else 'values that are not known'}",
            value.span,
            label=f"{value.domain.size} values" if many else "no finite list of values is known",
            why="it may choose any value there may be, so that it does not show which there are",
            help=coarser if many else f"list them: `WHERE {unparse(written)} IN (…)`",
        )
    if picks > len(members):
        raise refuse(
            "PQL0302",
            f"{picks} of {len(members)} values" if members else f"`{name}` of no value",
            value.span,
            why=f"the argument is in {value.domain.describe(value.type)}",
            help="ask for fewer" if members else "correct the condition that excludes every value",
        )
    return members
