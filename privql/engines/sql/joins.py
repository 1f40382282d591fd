"""Rows beside each other: a unit's own, or public ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from privql.engines.interface import EngineError
from privql.engines.sql.expressions import Spelled
from privql.engines.sql.ordering import content_hash, first
from privql.engines.sql.relations import Column, Draft, Layer, Rows, Tail, column, named, one_zero
from privql.engines.sql.scalars import ScalarEmitter
from privql.kernel.scalars import BOOL, Field, Scalar
from privql.kernel.terms import Join, Lookup, Mark

Pairs = Iterable[tuple[Scalar, Scalar]]


def join(left: Rows, right: Rows, term: Join, draft: Draft) -> Rows:
    condition = _meet([same_unit(left, right), *_equal(left, right, term.on)], _where(left, right, term.where))
    outer_left, outer_right = term.kind == "FULL", term.kind in ("LEFT", "FULL")
    columns = {**_perhaps(left, outer_left), **_perhaps(right, outer_right)}
    unit, added = left.unit, {}
    if outer_left:
        unit = replace(left.owner, sql=draft.names.new("u"))
        added = {unit.sql: f"coalesce({left.unit}, {right.unit})"}
    kind = "" if term.kind == "INNER" else f"{term.kind} "
    joined = left.with_layers(Layer(added, _beside(right, kind, condition)))
    return replace(joined, columns=columns, unit=unit, alone=left.alone and right.alone and not outer_left)


def lookup(left: Rows, public: Rows, term: Lookup, draft: Draft) -> Rows:
    if term.most is not None:
        public = _first(public, [column for _, column in term.on], term.most, draft)
    pairs = [(value, Field(column, public.columns[column].spelled.type)) for value, column in term.on]
    condition = _meet(_equal(left, public, pairs), _where(left, public, term.where))
    columns = {**left.columns, **_perhaps(public, term.outer)}
    joined = left.with_layers(Layer({}, _beside(public, "LEFT " if term.outer else "", condition)))
    return replace(joined, columns=columns, alone=left.alone and term.most == 1)


def mark(left: Rows, right: Rows, term: Mark, draft: Draft) -> Rows:
    """Without a further condition, what a row may meet is one of a few values, each once; else, rows are looked for.
    Where that is done for each row anew, ours are numbered, meet those that agree with them, and each number stays
    once; but where all would meet all, the first that is found is enough."""
    name = draft.names.new("c")
    public = right.unit is None
    equal = [] if public else [same_unit(left, right)]
    equal += _equal(left, right, term.on)
    if term.where is None and equal:
        theirs = {draft.names.new("k"): value for _, value in equal}
        tail = f" GROUP BY {', '.join(theirs)}"
        there = next(iter(theirs))
        right = right.with_layers(Layer(theirs), Layer({key: key for key in theirs}, tail, closed=True, whole=True))
        condition = _meet([(ours, key) for (ours, _), key in zip(equal, theirs, strict=True)], None)
        layers = [Layer({}, _beside(right, "LEFT ", condition)), Layer({name: f"({there} IS NOT NULL)"})]
    else:
        condition = _meet(equal, _where(left, right, term.where))
        if left.dialect.looks_once or not equal:
            found = right.dialect.derived(right.sql(condition), beside=True)
            layers = [Layer({name: f"EXISTS (SELECT 1 FROM {found} WHERE {condition})"})]
        else:
            number, there, place = (draft.names.new(kind) for kind in "nkr")
            layers = [
                Layer({number: "row_number() OVER ()"}),
                Layer({}, _beside(right.with_layers(Layer({there: "TRUE"})), "LEFT ", condition)),
                Layer({name: f"({there} IS NOT NULL)", place: f"row_number() OVER (PARTITION BY {number})"}),
                first(place, 1),
            ]
    return replace(left.with_layers(*layers), columns={**left.columns, term.column: column(name, BOOL)})


def _first(public: Rows, by: list[str], most: int, draft: Draft) -> Rows:
    """Of public rows that agree in some columns, no more than that."""
    hashed, place = draft.names.new("h"), draft.names.new("r")
    emitter = public.emitter
    types = {name: column.spelled.type for name, column in public.columns.items()}
    agreeing = ", ".join(one_zero(emitter.settled(Field(name, types[name])), draft.dialect).sql for name in by)
    partition = f"PARTITION BY {agreeing} " if by else ""
    return public.with_layers(
        Layer({hashed: content_hash([column.spelled for column in public.columns.values()], draft)}),
        Layer({place: f"row_number() OVER ({partition}ORDER BY {hashed})"}),
        first(place, most),
    )


# ---- conditions


def same_unit(left: Rows, right: Rows) -> tuple[str, str]:
    """Rows that are their own units are known by their place in a file; in other sources they have none."""
    related = left.owner.type == right.owner.type and left.rows_of == right.rows_of
    if not related or not left.steady:  # then the other is as steady, being of the same table
        raise EngineError("unsupported")
    return left.owner.sql, right.owner.sql


def _equal(left: Rows, right: Rows, pairs: Pairs) -> list[tuple[str, str]]:
    ours, theirs = left.emitter, right.emitter
    found = []
    for one, other in pairs:
        if one.type != other.type:
            raise EngineError("unsupported")
        found.append((ours.sql(one), theirs.sql(other)))
    return found


def _where(left: Rows, right: Rows, where: Scalar | None) -> str | None:
    if where is None:
        return None
    both = {**left.columns, **right.columns}
    return ScalarEmitter(lambda wanted: named(both, wanted), left.dialect).sql(where)


def _meet(equal: list[tuple[str, str]], where: str | None) -> str:
    terms = [f"{one} = {other}" for one, other in equal]
    return " AND ".join([*terms, *([f"({where})"] if where is not None else [])]) or "TRUE"


def _beside(right: Rows, kind: str, condition: str) -> Tail:
    def tail(read: Collection[str]) -> str:
        met = right.dialect.derived(right.sql(" ".join([*read, condition])), beside=True)
        return f" {kind}JOIN {met} ON {condition}"

    return tail


def _perhaps(side: Rows, outer: bool) -> dict[str, Column]:
    """What is known of a column's one value no longer holds beside a row that met none."""
    if not outer:
        return dict(side.columns)
    return {name: replace(each, spelled=_or_null(each.spelled)) for name, each in side.columns.items()}


def _or_null(spelled: Spelled) -> Spelled:
    return replace(spelled, value=None)
