"""Where an output column was measured, and the row number that travels with it."""

from __future__ import annotations

from fractions import Fraction

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
    Subquery,
    Where,
    WindowCall,
    Windowed,
)
from privql.finish.origins import Earlier, Origin, row_id, thread, trace
from privql.finish.origins import traced as traced_all
from privql.finish.present import threaded_ids
from privql.kernel.scalars import BOOL, FLOAT, INT, TEXT, Apply, Const, Field
from tests.finish.shapes import REGIONS, aggregate, block, count, mean, query

TRUE = Const(True, BOOL)
BLOCK = block(0, (REGIONS,), (aggregate("c2", "count", INT), aggregate("c3", "avg", FLOAT)))
ALONE = block(1, (), (aggregate("c9", "count", INT),))
LEAF = Measured(0, (("c1", TEXT), ("c2", INT), ("c3", FLOAT)))
MEAN = Field("c3", FLOAT)
ORIGIN = Origin(0, 1)


def traced(rel: Rel, id: str, **rest: object) -> Origin | None:
    return trace(query(rel, [(id, FLOAT)], (BLOCK, ALONE), **rest))[0]


def test_what_only_passes_through_keeps_its_origin() -> None:
    call = AggregateCall("row_number", (), INT)
    other = Rows((("x", INT),), ((Const(1, INT),),))
    for rel in (
        LEAF,
        Where(LEAF, TRUE),
        Sorted(LEAF, (), 3, 1),
        Windowed(LEAF, (("w", WindowCall(call)),)),
        Joined("LEFT", other, LEAF, TRUE),
        Joined("INNER", LEAF, other, TRUE),
    ):
        assert traced(rel, "c3") == ORIGIN
    assert traced(Compute(Where(LEAF, TRUE), (("c4", MEAN),)), "c4") == ORIGIN
    shared = {"shared": (("q1", Compute(LEAF, (("c4", MEAN),))),)}
    assert traced(Shared("q1", (("c5", "c4", FLOAT),)), "c5", **shared) == ORIGIN


def test_what_is_computed_grouped_or_merged_has_none() -> None:
    plus = Apply("add", (MEAN, Const(1.0, FLOAT)), FLOAT)
    calls = (("c5", AggregateCall("max", (MEAN,), FLOAT)),)
    for rel, id in (
        (Compute(LEAF, (("c4", plus),)), "c4"),
        (Grouped(LEAF, (("c4", MEAN),), calls, ((0,),)), "c4"),
        (Grouped(LEAF, (("c4", MEAN),), calls, ((0,),)), "c5"),
        (Distinct(LEAF), "c3"),
        (Combined("UNION", True, LEAF, ("c3",), LEAF, ("c3",), (("c4", FLOAT),)), "c4"),
        (LEAF, "c1"),
        (Windowed(LEAF, (("w", WindowCall(AggregateCall("sum", (MEAN,), FLOAT))),)), "w"),
    ):
        assert traced(rel, id) is None


def test_rows_that_are_put_together_have_the_origins_of_both() -> None:
    def together(left: Rel, right: Rel, all: bool = True) -> Combined:
        return Combined("UNION", all, left, ("c2",), right, ("c2",), (("c4", INT),))

    def origins(rel: Rel, **rest: object) -> object:
        return traced_all(query(rel, [("c4", INT)], (BLOCK, ALONE), **rest))[0]

    earlier = ReleasedScan("r", (("c2", "n", INT),))
    assert origins(together(LEAF, earlier)) == (Origin(0, 0), Earlier("r", "n"))
    assert origins(together(LEAF, LEAF)) == (Origin(0, 0), Origin(0, 0))
    assert origins(together(LEAF, Rows((("c2", INT),), ((Const(1, INT),),)))) == ()
    assert origins(together(LEAF, LEAF, all=False)) == ()
    shared: list[tuple[str, Rel]] = [("q0", LEAF)]
    for at in range(60):  # each reads the one before twice
        id = "c2" if not at else "c4"
        pair = [Shared(f"q{at}", (("c2", id, INT),)) for _ in range(2)]
        shared.append((f"q{at + 1}", together(*pair)))
    assert origins(Shared("q60", (("c4", "c4", INT),)), shared=tuple(shared)) == (Origin(0, 0), Origin(0, 0))


def test_a_subquery_has_its_origin_if_it_was_measured_without_groups() -> None:
    one = Rows((), ((),))
    alone = Subquery("scalar", Measured(1, (("c9", INT),)), "c9")
    grouped = Subquery("scalar", LEAF, "c3")
    subqueries = {"subqueries": (("s1", alone), ("s2", grouped))}
    assert traced(Compute(one, (("c4", Field("s1", INT)),)), "c4", **subqueries) == Origin(1, 0, 0)
    assert traced(Compute(one, (("c4", Field("s2", FLOAT)),)), "c4", **subqueries) is None


def test_only_means_of_groups_need_their_row() -> None:
    recipes = [[count(0), mean(1, Fraction(1), 0, 9)], [count(0)]]
    both = Joined("CROSS", LEAF, Measured(1, (("c9", INT),)))
    asked = query(both, [("c2", INT), ("c3", FLOAT), ("c9", INT)], (BLOCK, ALONE))
    assert threaded_ids(asked, recipes) == ("c3",)


def test_the_row_number_is_carried_once_to_every_place_that_passes_the_column() -> None:
    definition = Compute(LEAF, (("c4", MEAN), ("c6", MEAN)))
    rel = Compute(
        Joined("INNER", Shared("q1", (("c5", "c4", FLOAT), ("c7", "c6", FLOAT))), Rows((), ((),))),
        (("c8", Field("c5", FLOAT)), ("c10", Field("c7", FLOAT))),
    )
    asked = query(rel, [("c8", FLOAT), ("c10", FLOAT)], (BLOCK,), shared=(("q1", definition),))
    threaded = thread(asked, ["c8", "c10"])
    assert isinstance(threaded.rel, Compute)
    assert [id for id, _ in threaded.rel.columns] == ["c8", "c10", row_id("c8"), row_id("c10")]
    below = dict(threaded.shared)["q1"]
    assert isinstance(below, Compute)
    assert [id for id, _ in below.columns] == ["c4", "c6", row_id("c4"), row_id("c6")]
    assert below.input == Measured(0, (*LEAF.columns, (row_id("c3"), INT)))
    assert thread(threaded, ["c8"]) == threaded
