"""A query beside private rows that is answered for each of them: LATERAL, and what no join on its ties alone can say.

The rows around are numbered within each unit and stand in the query's own FROM, as an `Around`; whatever the query
does - groups, ranks, LIMIT, DISTINCT - it does within a number, and its answers find their rows by that. Columns around
have other names inside, so that both may be read beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from privql.check.conditions import both
from privql.check.inside import around, read_inside, rewritten, terms_in
from privql.check.operations import not_yet
from privql.check.relations import (
    AggregateCall,
    Around,
    Attribute,
    Compute,
    Each,
    Gathered,
    Joined,
    Label,
    Rel,
    Rows,
    Shared,
    SortKey,
    Where,
    WindowCall,
    Windowed,
)
from privql.check.scope import InSight, Scope
from privql.check.tail import Tail
from privql.check.typed import Context, Correlation, Typed
from privql.diagnostics import Span
from privql.domains import Domain
from privql.frozen import inside, rebuilt
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field, Scalar, fields


def seen_from_inside(scope: Scope, frame: Correlation, context: Context) -> Scope:
    """The scope around a query, where private rows are in it: with names of its own for every column."""
    if not any(column.label is Label.PRIVATE for level in scope.outwards() for column in level.every_column()):
        return scope
    known: dict[str, str] = {}

    def again(column: Attribute) -> Attribute:
        if column.id not in known:
            id = known[column.id] = context.fresh()
            context.add(replace(column, id=id))
            frame.seen[id] = Field(column.id, column.type)
            every: tuple[dict[str, Any], ...] = (context.domains, context.members_from, context.public_columns)
            for facts in every:
                if column.id in facts:
                    facts[id] = facts[column.id]
        return replace(column, id=known[column.id])

    def level(at: Scope | None) -> Scope | None:
        if at is None:
            return None
        items = tuple(InSight(item.alias, tuple(map(again, item.columns))) for item in at.items)
        made = replace(at, items=items, merged=tuple(map(again, at.merged)), parent=level(at.parent))
        if beside_private(at, context):
            frame.private |= {column.id for column in made.every_column()}
        return made

    made = level(scope)
    assert made is not None
    return made


def beside_private(scope: Scope, context: Context) -> bool:
    """Whether the rows of this FROM are, or will be, private; or are known to be by other names, further around."""
    columns = [column for item in scope.items for column in item.columns]
    if any(column.label is Label.PRIVATE for column in columns):
        return True
    return any(
        frame.inner is scope or any(column.id in frame.private for column in columns) for frame in context.correlations
    )


def seen_from_outside(rel: Rel, frame: Correlation, context: Context) -> Rel:
    """A query that needs no numbers: what it reads of the row around has that row's names again."""
    return rewritten(rel, names_outside(frame), context) if around(rel, context) & frame.seen.keys() else rel


def names_outside(frame: Correlation) -> dict[Scalar, Field]:
    return {Field(id, outside.type): outside for id, outside in frame.seen.items()}


def untouched(rel: Rel, span: Span, context: Context) -> None:
    """Only the SELECT itself of a query beside private rows may name their columns, and queries in its expressions."""
    if context.correlations and around(rel, context) & context.correlations[-1].private:
        raise not_yet("a query in FROM that reads private columns from further around", span, "join instead")


def own_columns_only(on: Typed, inner: bool, context: Context) -> None:
    """Private columns around stand in the ON of an inner join, which is a condition like any other, but are read by no
    query there: its rows are not known to be beside private ones yet."""
    if not context.correlations:
        return
    seen = context.correlations[-1].seen.keys()
    queries = (context.subqueries[name] for name in fields(on.term) & context.subqueries.keys())
    asked = [term for query in queries for term in terms_in(replace(query, operand=None))]
    if any(read_inside(term, context) & seen for term in (asked if inner else [on.term])):
        what = "a query in ON that reads" if inner else "an outer join by"
        raise not_yet(f"{what} private columns from further around", on.span, "write the condition in WHERE")


def beside_around(rel: Rel, frame: Correlation, context: Context) -> tuple[Rel, Field]:
    """The query's FROM with the rows around in it, and their number there."""
    frame.number = _column(context)
    row = Field(_column(context), INT)
    columns = ((row.name, Field(frame.number, INT)), *frame.seen.items())
    known = Around(frame.number, columns)
    return known if rel == Rows((), ((),)) else Joined("CROSS", known, rel), row


def _column(context: Context) -> str:
    id = context.fresh()
    context.add(Attribute(id, "", INT, Domain(), Label.PRIVATE, locates=f"a row around: {id}"))
    return id


def in_sight(scope: Scope) -> Scope:
    """For messages: the rows around are in FROM, too."""
    return replace(scope, items=tuple(item for level in scope.outwards() for item in level.items))


def grouped_by(row: Field, rel: Gathered, key: Field, always: bool, read: set[str], frame: Correlation) -> Rel:
    """Groups, beside the rows around that they are of; `always`: without GROUP BY there is one of no rows, too."""
    seen = [(id, outside) for id, outside in frame.seen.items() if id in read]
    known = Around(frame.number, ((row.name, Field(frame.number, INT)), *seen))
    frame.most = 1 if always else None
    made = Joined("LEFT" if always else "INNER", known, rel, Apply("eq", (row, key), BOOL))
    if not always:
        return made
    counts = {one.id: Field(one.id, one.type) for one in rel.features if one.function == "count"}
    others = [(one.id, Field(one.id, one.type)) for one in rel.features if one.id not in counts]
    filled = [(id, Apply("coalesce", (n, Const(0, n.type)), n.type)) for id, n in counts.items()]
    return Compute(made, (*((id, Field(id, value.type)) for id, value in known.columns), *others, *filled))


def first_of_each(rel: Rel, keys: Sequence[SortKey], tail: Tail, row: Field, context: Context) -> Rel:
    """LIMIT and OFFSET, for each row around."""
    if not tail.cuts:
        return rel
    rank = Field(_column(context), INT)
    rel = Windowed(rel, ((rank.name, WindowCall(AggregateCall("row_number", (), INT), (row,), tuple(keys))),))
    tests: list[Scalar] = [Apply("gt", (rank, Const(tail.offset, INT)), BOOL)]
    if tail.limit is not None:
        tests.append(Apply("le", (rank, Const(tail.offset + tail.limit, INT)), BOOL))
        context.correlations[-1].most = tail.limit
    condition = both(tests)
    assert condition is not None
    return Where(rel, condition)


def answered(rel: Rel, row: Field, context: Context) -> Compute:
    """The query's rows, which say of which row around they are."""
    assert isinstance(rel, Compute)
    frame = context.correlations[-1]
    frame.row = _column(context)
    return replace(rel, columns=(*rel.columns, (frame.row, row)))


def each(rel: Rel, frame: Correlation, context: Context) -> Each:
    """The answers for each row around, of which no more is known inside than is read there."""
    assert frame.row is not None
    read = reads(rel, context, frame.number)

    def kept(record: Any) -> Any:
        match record:
            case Around(number=frame.number, columns=columns):
                (number, value), *others = columns
                return replace(record, columns=((number, value), *(one for one in others if one[0] in read)))
            case Field() | Const() | Apply():
                return record
            case _:
                return None

    return Each(rebuilt(rel, kept), frame.number, frame.row, frame.most)


def read_around(rel: Each) -> set[str]:
    """The columns of the rows around that the query reads."""
    todo: list[Any] = [rel.input]
    read: set[str] = set()
    while todo:
        at = todo.pop()
        if isinstance(at, Around) and at.number == rel.number:
            read |= {id for _, value in at.columns for id in fields(value)} - {rel.number}
        else:
            todo.extend(inside(at))
    return read


def reads(node: Any, context: Context, number: str = "") -> set[str]:
    """Every column that is read in it, but for those that the rows around of this number have there."""
    read: set[str] = set()
    seen: set[str] = set()
    todo: list[Any] = [node]
    while todo:
        match todo.pop():
            case Field(name=name):
                if name not in read and name in context.subqueries:
                    todo.append(context.subqueries[name])
                read.add(name)
            case Around(number=same) if same == number:
                pass
            case Shared(name=name):
                if name not in seen:
                    seen.add(name)
                    todo.extend(shared for known, shared in context.shared if known == name)
            case node:
                todo.extend(inside(node))
    return read
