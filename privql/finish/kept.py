"""What is kept of an answer so that its errors can be computed later: its noisy cells, and what was made of them.

All of it is released or public. As JSON a record is its name and its fields; what a later version does not know any
more is no answer lost, but only its errors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privql.check import relations
from privql.check.relations import Aggregate, Attribute, Block, CheckedQuery, Label, Rows
from privql.diagnostics import Span
from privql.domains import Domain
from privql.finish import recipe as recipes_
from privql.finish.recipe import Level, Recipe
from privql.finish.table import Table
from privql.frozen import frozen
from privql.kernel import features, scalars, selection, sums
from privql.kernel.scalars import Value
from privql.kernel.terms import Unit

MOST_CELLS = 10_000  # an answer that is made of more noisy numbers has no errors but those of its own laws


@frozen
class NoisyBlock:
    """The cells of one block as they were released, and how its table is made of them."""

    block: Block
    recipes: tuple[Recipe, ...]
    cells: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[Value, ...], ...] | None
    levels: tuple[Level, ...] = ()


@frozen
class Made:
    """How an answer was made. `name` tells its noise from that of every other; `releases`: what it reads, by name."""

    name: str
    query: CheckedQuery
    blocks: tuple[NoisyBlock, ...]
    releases: Mapping[str, str]
    given: tuple[Table, ...] = ()  # what was looked up on the way; the query knows them as blocks after its own


def slim(query: CheckedQuery) -> CheckedQuery:
    """Without what only planning reads."""
    columns = tuple(Attribute(one.id, one.name, one.type, Domain(), Label.RELEASED) for one in query.columns)
    return replace(query, columns=columns, blocks=(), told=())


def slim_block(block: Block) -> Block:
    nothing = Rows((), ())
    aggregates = tuple(_slim_aggregate(one) for one in block.aggregates)
    keys = tuple(replace(key, value=_NULL) for key in block.keys)
    return replace(block, rel=nothing, aggregates=aggregates, keys=keys)


def _slim_aggregate(one: Aggregate) -> Aggregate:
    others = tuple((_NULL, domain) for _, domain in one.others)
    return replace(one, argument=None, where=None, privacy=None, order=(), bins=None, others=others)


_NULL = scalars.Const(None, scalars.NULL)


def written(made: Made) -> dict[str, Any]:
    return {
        "name": made.name,
        "query": _json(made.query),
        "blocks": [_json(one) for one in made.blocks],
        "releases": dict(made.releases),
        "given": _json(made.given),
    }


def read(stored: Mapping[str, Any]) -> Made | None:
    """None where it was written by a version that had other records."""
    try:
        query, blocks = _record(stored["query"]), tuple(map(_record, stored["blocks"]))
        given = _record(stored["given"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return Made(stored["name"], query, blocks, stored["releases"], given)


_KNOWN: dict[str, type[Any]] = {
    one.__name__: one
    for room in (relations, scalars, sums, features, selection, recipes_)
    for one in vars(room).values()
    if isinstance(one, type) and dataclasses.is_dataclass(one)
} | {one.__name__: one for one in (Domain, Unit, NoisyBlock, Table)}


def _json(value: Any) -> Any:
    match value:
        case Label():
            return {"label": value.name}
        case Span():
            return {"span": []}  # whose text is gone
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return {"ratio": str(value)}
        case tuple() | list():
            return [_json(each) for each in value]
        case _:
            name = type(value).__name__
            if _KNOWN.get(name) is not type(value):
                raise TypeError(f"{name} is not kept")
            fields = dataclasses.fields(value)
            return {name: {one.name: _json(getattr(value, one.name)) for one in fields if one.repr}}


def _record(stored: Any) -> Any:
    match stored:
        case list():
            return tuple(map(_record, stored))
        case {"label": str(name)}:
            return Label[name]
        case {"span": _}:
            return Span(0, 0)
        case {"ratio": str(text)}:
            return Fraction(text)
        case dict():
            ((name, fields),) = stored.items()
            return _KNOWN[name](**{field: _record(each) for field, each in fields.items()})
        case _:
            return stored


def numbers(blocks: Sequence[NoisyBlock]) -> int:
    return sum(len(row) for one in blocks for row in one.cells)
