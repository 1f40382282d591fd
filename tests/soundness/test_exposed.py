"""A checker that takes private rows for public ones shows nobody anything: such a query is refused as it is planned,
and the engine that answers for what is public has no private row to give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from privql.check import inside as room_inside
from privql.check.exposed import nothing_around, nothing_private
from privql.check.query import checked
from privql.check.relations import (
    Around,
    Attribute,
    CheckedQuery,
    Combined,
    Each,
    Gathered,
    Label,
    Once,
    PrivateScan,
    PublicScan,
    Rel,
    Rows,
    Shared,
    Sorted,
    Subquery,
    Where,
)
from privql.check.typed import Context
from privql.diagnostics import NOWHERE, PrivQLError
from privql.domains import Domain
from privql.engines.interface import EngineError
from privql.frozen import inside, rebuilt
from privql.kernel.proved import Unproved
from privql.kernel.scalars import BOOL, INT, Apply, Const, Field
from privql.pipeline.steps import derived
from privql.plan.planning import plan
from privql.syntax.parse import parse_query
from tests.soundness.exactly import public_engine
from tests.soundness.related import PUBLIC, environment
from tests.soundness.related_text import read
from tests.soundness.test_plain import FOUND

ENV = environment(3, change_one=False)
SCAN = PrivateScan("visits", ())
PRIVATE: list[Rel] = [
    SCAN,
    Around("n", ()),
    Each(Rows((), ((),)), "n", "r"),
    Gathered(Rows((), ((),)), (), ()),
    Once(Rows((), ((),))),
]
QUERIES = [line for line in FOUND.read_text(encoding="utf-8").splitlines() if "wards" in line or "codes" in line]


def understood(text: str) -> tuple[CheckedQuery, Context]:
    context = Context(ENV)
    return checked(parse_query(text), context), context


def public_scans(query: CheckedQuery) -> Iterator[PublicScan]:
    todo: list[Any] = [query]
    while todo:
        at = todo.pop()
        if isinstance(at, PublicScan):
            yield at
        todo.extend(inside(at))


def lied(query: CheckedQuery, about: PublicScan) -> CheckedQuery:
    """The same, with rows of a private table in place of those of a public one."""

    def change(record: Any) -> Any:
        if record == about:
            return PrivateScan("visits", tuple((id, "minutes", type) for id, _, type in about.columns))
        return record if isinstance(record, Field | Const | Apply) else None

    parts = {name: rebuilt(getattr(query, name), change) for name in ("rel", "blocks", "shared", "subqueries")}
    return replace(query, **parts)


@pytest.mark.parametrize("line", QUERIES)
def test_private_rows_in_place_of_public_ones_are_handed_to_nobody(line: str) -> None:
    """Either there is no plan, or they are private to it as well."""
    query, context = understood(read(line.split("|", 1)[1], plain=False))
    post = public_engine(ENV.catalog, PUBLIC)
    for about in set(public_scans(query)):
        lie = lied(query, about)
        try:
            made = plan(lie, context.clauses, context.manners, ENV)
        except (PrivQLError, Unproved):
            continue
        for block in made.blocks:
            for _, rel, columns in block.publics:
                post.rehearse(derived(lie, rel, columns))
    post.close()


@pytest.mark.parametrize("private", PRIVATE, ids=lambda one: type(one).__name__)
def test_what_is_private_is_seen_wherever_it_stands(private: Rel) -> None:
    """In it, in what it names, and in what it asks, however deep."""
    asked, named = Field("asked", BOOL), Shared("named", ())
    nothing = Rows((), ((),))
    empty = CheckedQuery(nothing, (), (), (), ())
    places: list[tuple[Rel, CheckedQuery]] = [
        (Sorted(private, ()), empty),
        (Combined("UNION", True, nothing, (), private, (), ()), empty),
        (named, replace(empty, shared=(("named", Where(private, asked)),))),
        (Where(nothing, Apply("not", (asked,), BOOL)), replace(empty, subqueries=(("asked", exists(private)),))),
        (
            Where(named, Const(True, BOOL)),
            replace(empty, shared=(("named", Where(nothing, asked)),), subqueries=(("asked", exists(private)),)),
        ),
    ]
    for rel, query in places:
        with pytest.raises(PrivQLError) as refused:
            nothing_private(rel, query, NOWHERE)
        assert refused.value.diagnostics[0].code == "PQL0408"
        nothing_private(nothing, query, NOWHERE)


def test_a_column_of_private_rows_around_is_seen_wherever_it_is_read() -> None:
    asked, around = Field("asked", BOOL), Field("theirs", BOOL)
    own = Rows((("ours", BOOL),), ((Const(True, BOOL),),))
    empty = CheckedQuery(own, (), (), (), ())
    for value, closed in ((around, False), (Field("ours", BOOL), True)):
        inner = replace(empty, subqueries=(("asked", exists(Where(own, Apply("not", (value,), BOOL)))),))
        for rel, query in ((Where(own, value), empty), (Where(own, asked), inner)):
            if closed:
                nothing_around(rel, query, NOWHERE)
            else:
                with pytest.raises(PrivQLError):
                    nothing_around(rel, query, NOWHERE)


@pytest.mark.parametrize("private", PRIVATE, ids=lambda one: type(one).__name__)
def test_the_engine_of_public_rows_has_no_private_row_to_give(private: Rel) -> None:
    post = public_engine(ENV.catalog, PUBLIC)
    with pytest.raises(EngineError):
        post.run(CheckedQuery(private, (), (), (), ()), [])
    misread = PublicScan("visits", (("m", "minutes", INT),))
    columns = (Attribute("m", "m", INT, Domain(), Label.PUBLIC),)
    with pytest.raises(EngineError):
        post.run(CheckedQuery(misread, columns, (), (), ()), [])
    post.close()


def exists(rel: Rel) -> Subquery:
    return Subquery("exists", rel, None, None, "=", (), None, None)


TWO_NAMES_DEEP = """SELECT p.sex, (WITH a AS (SELECT * FROM wards w WHERE w.floor = p.age), b AS (SELECT * FROM a)
  SELECT MAX(floor) FROM b), COUNT(*) FROM patients p GROUP BY p.{}"""


def test_a_private_column_is_found_however_deep_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`age` varies within a group by `sex`. Where that is overlooked, the last look at the whole query refuses it."""
    assert understood(TWO_NAMES_DEEP.replace("p.sex", "p.age").format("age"))
    with pytest.raises(PrivQLError) as refused:
        understood(TWO_NAMES_DEEP.format("sex"))
    assert [found.code for found in refused.value.diagnostics] == ["PQL0306"]
    monkeypatch.setattr(room_inside, "_named", lambda node, seen, context: iter(()))
    with pytest.raises(PrivQLError) as refused:
        understood(TWO_NAMES_DEEP.format("sex"))
    assert [found.code for found in refused.value.diagnostics] == ["PQL0408"]


@pytest.mark.parametrize(
    "joined",
    [
        "wards y ON y.floor < (SELECT COUNT(*) FROM codes s WHERE s.code < p.age)",
        "LATERAL (SELECT e.floor + 1 AS floor) y ON y.floor < (SELECT COUNT(*) FROM codes s WHERE s.code < p.age)",
        "LATERAL (SELECT e.floor + 1 AS floor) y ON y.floor < (SELECT COUNT(*) FROM visits s WHERE s.pid = p.pid)",
    ],
)
def test_a_query_in_on_that_reads_private_rows_around_is_refused_and_asked_in_where_is_not(joined: str) -> None:
    text = "SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM wards e JOIN {})"
    with pytest.raises(PrivQLError) as refused:
        understood(text.format(joined))
    (found,) = refused.value.diagnostics
    assert found.code == "PQL0408" and "in WHERE" in str(found)
    known = ["wards y ON y.floor < p.age", "wards y ON p.age IN (SELECT s.code FROM codes s)"]
    known += [joined.replace(" ON ", " ON TRUE WHERE ")] if "visits" not in joined else []
    for accepted in known:
        query, context = understood(text.format(accepted))
        assert plan(query, context.clauses, context.manners, ENV)
