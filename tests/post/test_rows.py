"""Rows above measured groups: which there are, in which order, and what needs no engine."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privql.check.relations import (
    AggregateCall,
    Combined,
    Compute,
    Distinct,
    Grouped,
    Joined,
    Measured,
    Rel,
    ReleasedScan,
    Rows,
    Shared,
    Sorted,
    SortKey,
    Subquery,
    Where,
    WindowCall,
    Windowed,
)
from privql.engines.interface import EngineError
from privql.finish.origins import row_id, thread
from privql.finish.table import Table
from privql.kernel.scalars import (
    BOOL,
    INT,
    TEXT,
    Apply,
    Const,
    Field,
    Scalar,
)
from privql.post.straight import straight
from tests.finish.shapes import REGIONS, aggregate, block
from tests.post.asking import LEAF, NAMES, PROCESSOR, N, asked


@given(st.lists(st.sampled_from(["c1", "c2", "row"]), min_size=1, max_size=4, unique=True), st.booleans())
@settings(max_examples=20, deadline=None)
def test_what_needs_no_engine_is_what_the_engine_gives(names: list[str], renamed: bool) -> None:
    leaf = Measured(0, (*LEAF.columns, ("row", INT)))
    types = {**dict(leaf.columns)}
    rel: Rel = Compute(leaf, tuple((name, Field(name, types[name])) for name in types)) if renamed else leaf
    query = asked(rel, *((name, types[name]) for name in names))
    short = straight(query, [NAMES], [(name, types[name]) for name in names])
    assert short is not None
    long = asked(Where(rel, Const(True, BOOL)), *((name, types[name]) for name in names))
    assert short == PROCESSOR.run(query, [NAMES]).rows == PROCESSOR.run(long, [NAMES]).rows


def test_a_scalar_subquery_is_not_taken_for_a_column() -> None:
    one = Subquery("scalar", Sorted(LEAF, (SortKey(N, True, False),), 1), "c2")
    rel = Compute(Measured(0, (("c8", TEXT), ("c9", INT))), (("c3", Field("s1", INT)),))
    assert PROCESSOR.run(asked(rel, ("c3", INT), subqueries=(("s1", one),)), [NAMES]).rows == ((7,),) * 3


def test_a_scalar_subquery_of_several_rows_is_null() -> None:
    rel = Compute(Rows((), ((),)), (("c3", Field("s1", INT)),))
    for rows, wanted in ((1, 3), (2, None), (3, None)):
        several = Subquery("scalar", Sorted(LEAF, (), rows), "c2")
        assert PROCESSOR.run(asked(rel, ("c3", INT), subqueries=(("s1", several),)), [NAMES]).rows == ((wanted,),)


def test_ties_keep_the_order_that_they_had() -> None:
    rows = [(f"g{at}", at % 3) for at in range(20_000)]
    many = Table(NAMES.columns, tuple(rows))
    rel = Sorted(LEAF, (SortKey(N, True, False),), 7000, 10)
    found = PROCESSOR.run(asked(rel, ("c1", TEXT), ("c2", INT)), [many]).rows
    wanted = sorted(rows, key=lambda row: -row[1])
    assert list(found) == wanted[10:7010]


def test_a_shared_query_is_computed_once_and_read_in_order() -> None:
    below = Sorted(LEAF, (SortKey(N, True, False), SortKey(Field("c1", TEXT), False, True)))
    first = Shared("q1", (("a", "c1", TEXT),))
    second = Shared("q1", (("b", "c1", TEXT),))
    rel = Combined("UNION", True, first, ("a",), second, ("b",), (("c", TEXT),))
    found = PROCESSOR.run(asked(rel, ("c", TEXT), shared=(("q1", below),)), [NAMES]).rows
    assert [row[0] for row in found] == ["S", None, "N"] * 2


def test_group_numbers_arrive_beside_their_values() -> None:
    shape = block(0, (REGIONS,), (aggregate("c2", "avg", INT),))
    kept = Where(LEAF, Apply("lt", (N, Const(5, INT)), BOOL))
    rel = Sorted(Compute(kept, (("c4", N),)), (SortKey(Field("c4", INT), True, False),), 1, 1)
    query = thread(asked(rel, ("c4", INT), blocks=(shape,)), ["c4"])
    answer = PROCESSOR.run(query, [NAMES], extra=[(row_id("c4"), INT)])
    assert answer.columns == (("c4", INT), (row_id("c4"), INT))
    assert answer.rows == ((3, 2),)


def test_a_long_chain_of_steps_is_no_deeper_than_the_engine_goes() -> None:
    rel: Rel = LEAF
    for at in range(60):
        rel = Where(
            Compute(rel, (("c1", Field("c1", TEXT)), ("c2", Apply("add", (N, Const(at, INT)), INT)))), Const(True, BOOL)
        )
    for _ in range(150):
        rel = Combined("UNION", True, rel, ("c1", "c2"), LEAF, ("c1", "c2"), (("c1", TEXT), ("c2", INT)))
    assert len(PROCESSOR.run(asked(rel, ("c1", TEXT)), [NAMES]).rows) == 3 * 151


def test_having_alone_and_counts_of_nothing() -> None:
    alone = Grouped(LEAF, (), (), ((),))
    assert PROCESSOR.run(asked(Compute(alone, (("x", Const(1, INT)),)), ("x", INT)), [NAMES]).rows == ((1,),)
    empty = Where(LEAF, Const(False, BOOL))
    counted = Grouped(empty, (), (("n", AggregateCall("count", (), INT)),), ((),))
    assert PROCESSOR.run(asked(counted, ("n", INT)), [NAMES]).rows == ((0,),)
    keyed = Grouped(empty, (("k", Const(1, INT)),), (("n", AggregateCall("count", (), INT)),), ((0,),))
    assert PROCESSOR.run(asked(keyed, ("k", INT), ("n", INT)), [NAMES]).rows == ()


def test_a_shared_query_may_read_the_columns_around_it() -> None:
    """WITH inside LATERAL: it is computed where it is read."""
    below = Compute(LEAF, (("c3", Apply("add", (N, Field("o1", INT)), INT)),))
    right = Joined("CROSS", Shared("q1", (("a", "c3", INT),)), Shared("q1", (("b", "c3", INT),)))
    left = Rows((("o1", INT),), ((Const(10, INT),), (Const(20, INT),)))
    rel = Joined("CROSS", left, right, None, True)
    found = PROCESSOR.run(asked(rel, ("o1", INT), ("a", INT), ("b", INT), shared=(("q1", below),)), [NAMES]).rows
    numbers = [3, 7, 3]
    assert list(found) == [(o, o + a, o + b) for o in (10, 20) for a in numbers for b in numbers]


def test_rows_that_only_the_right_side_has_come_last() -> None:
    nothing: tuple[Scalar, ...] = (Const(None, INT),)
    left = Distinct(Rows((("o1", INT),), (nothing, (Const(7, INT),))))
    rel = Joined("FULL", left, LEAF, Apply("eq", (Field("o1", INT), N), BOOL))
    found = PROCESSOR.run(asked(rel, ("o1", INT), ("c1", TEXT)), [NAMES]).rows
    assert found == ((7, "S"), (None, None), (None, "N"), (None, None))


def test_peers_have_an_order_too() -> None:
    """Values of a frame are told apart by the order of rows where ORDER BY holds them equal."""
    many = Table(NAMES.columns, tuple((f"g{at}", at % 2) for at in range(6000)))
    order = (SortKey(N, False, False),)
    calls = tuple(
        (name, WindowCall(AggregateCall(name, (Field("c1", TEXT),), TEXT), (), order))
        for name in ("first_value", "last_value")
    )
    others = (("x", WindowCall(AggregateCall("rank", (), INT), (Field("c1", TEXT),), (SortKey(N, True, True),))),)
    rel = Windowed(LEAF, (*others, *calls))
    found = PROCESSOR.run(asked(rel, ("c2", INT), ("first_value", TEXT), ("last_value", TEXT)), [many]).rows
    assert set(found) == {(0, "g0", "g5998"), (1, "g0", "g5999")}


def test_what_cannot_be_computed_is_known_before_anything_is_measured() -> None:
    shape = block(0, (REGIONS,), (aggregate("c2", "count", INT),))
    for separator, good in ((Const(",", TEXT), True), (Field("c1", TEXT), False)):
        call = AggregateCall("string_agg", (Field("c1", TEXT), separator), TEXT)
        query = asked(Grouped(LEAF, (), (("c3", call),), ((),)), ("c3", TEXT), blocks=(shape,))
        if good:
            PROCESSOR.rehearse(query)
        else:
            with pytest.raises(EngineError):
                PROCESSOR.rehearse(query)


def test_a_left_join_with_nothing_keeps_its_rows() -> None:
    left = Combined("UNION", True, LEAF, ("c1",), LEAF, ("c1",), (("c3", TEXT),))
    empty = ReleasedScan("r", (("c4", "b", BOOL),))
    there = Subquery("exists", Joined("LEFT", left, empty, Field("c4", BOOL)), None)
    rel = Compute(Where(LEAF, Field("s1", BOOL)), (("c5", Field("s1", BOOL)),))
    query = asked(rel, ("c5", BOOL), subqueries=(("s1", there),))
    assert PROCESSOR.run(query, [NAMES], released={"r": Table((("b", BOOL),), ())}).rows == ((True,),) * 3


def test_what_the_engine_would_get_wrong_is_refused() -> None:
    """A subquery with GROUPING SETS over rows that depend on the query around it."""
    shape = block(0, (REGIONS,), (aggregate("c2", "count", INT),))
    outer = Measured(0, (("o1", TEXT), ("o2", INT)))
    for sets, known in ((((0,), ()), False), (((0,),), True)):
        below = Where(LEAF, Apply("eq", (N, Field("o2", INT)), BOOL))
        counted = Grouped(below, (("k", Field("c1", TEXT)),), (("n", AggregateCall("count", (), INT)),), sets)
        subquery = Subquery("scalar", Sorted(counted, (SortKey(Field("n", INT), True, False),), 1), "n")
        rel = Compute(outer, (("c3", Field("s1", INT)),))
        query = asked(rel, ("c3", INT), blocks=(shape,), subqueries=(("s1", subquery),))
        if known:
            assert PROCESSOR.run(query, [NAMES]).rows == ((1,), (1,), (1,))
        else:
            with pytest.raises(EngineError) as failed:
                PROCESSOR.rehearse(query)
            assert failed.value.kind == "unsupported"


def test_a_subquery_picked_twice_is_no_column() -> None:
    one = Subquery("scalar", Sorted(LEAF, (), 1), "c2")
    inner = Compute(LEAF, (("c3", Field("s1", INT)),))
    rel = Compute(inner, (("c4", Field("s1", INT)), ("c5", Field("c3", INT))))
    query = asked(rel, ("c4", INT), ("c5", INT), subqueries=(("s1", one),))
    assert PROCESSOR.run(query, [NAMES]).rows == ((3, 3),) * 3
