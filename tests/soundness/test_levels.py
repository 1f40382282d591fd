"""CUBE, ROLLUP and GROUPING SETS measured at several levels: one unit moves all of them together by no more than was
paid, and what comes out without noise is what plain sums give."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

import pytest

from privql.audit import reference
from privql.audit.reference.values import Tables
from privql.finish.cells import finish_block
from privql.kernel.cost import Cost
from privql.kernel.gaussian import greatest_mu
from privql.kernel.measure import Measured
from privql.kernel.scalars import Value
from privql.pipeline.steps import levels_of, recipes_of
from privql.plan.program import BlockPlan
from tests.soundness.neighbours import SALT, answer, apart, bags, moves
from tests.soundness.test_sharing import plan_of
from tests.soundness.world import KINDS, random_row

ROLLED = [
    ("people", "COUNT(*)", "GROUPING SETS ((a), (b))"),
    ("members", "COUNT(*), SUM(b)", "GROUPING SETS ((a), (d), ())"),
    ("events", "COUNT(*)", "GROUPING SETS ((a), (b), (d))"),
    ("dues", "SUM(b), AVG(f)", "GROUPING SETS ((a), (d))"),
    ("strict", "COUNT(*), STDDEV(f)", "ROLLUP (a, d, b)"),
    ("members", "COUNT(*)", "CUBE (a, s)"),
]


HONEST = {"a": (-3, 0, 1, 7, None), "d": (19_780, 19_782, 19_784, None)}


def all_of(plan: BlockPlan) -> list[Measured]:
    made = [plan.measured, *plan.beside]
    return [one for one in made if isinstance(one, Measured)]


@pytest.mark.parametrize(("table", "asked", "sets"), ROLLED)
@pytest.mark.parametrize("using", ["", " DELTA 1e-9 USING GAUSSIAN"])
def test_no_neighbour_moves_all_levels_beyond_what_is_paid(table: str, asked: str, sets: str, using: str) -> None:
    """What is lost is ε, or of Gaussian noise μ²."""
    plan, choice, kind = (
        plan_of(f"SELECT {asked} FROM {table} GROUP BY {sets} SPEND EPSILON 1/3{using}"),
        random.Random(4),
        KINDS[table],
    )
    measured = all_of(plan)
    assert len(measured) == len(plan.marginals) and (sets.startswith("CUBE") or len(measured) > 1)
    paid = Fraction(1, 3)
    if using:
        assert all(one.cost == Cost(paid, Fraction(1, 10**9)) for one in measured)
        paid = greatest_mu(paid, Fraction(1, 10**9)) ** 2
    else:
        assert sum(one.cost.epsilon for one in measured) == paid
    rows = [random_row(choice) for _ in range(8)]
    rows += [
        {**row, "a": end, "b": 5, "f": 3.0, "s": "x", "d": 19_780 + at}
        for at, row in enumerate(rows[:3])
        for end in (-3, 7)
    ]
    own = bags(rows, kind, choice)
    own = choice.sample(own, min(len(own), 14)) + [(row,) * kind.rows_per_unit for row in rows[8:]]
    farthest = Fraction(0)
    for beside in ((), (own[0],)):
        cells = [
            [answer(one.term, units, kind) for units in (beside, *((*beside, bag) for bag in own))] for one in measured
        ]
        for one in range(len(own) + 1):
            for other in range(len(own) + 1) if kind.change_one else [0]:
                lost = Fraction(0)
                for each, found in zip(measured, cells, strict=True):
                    for move, part in zip(apart(each, found[one], found[other]), each.parts, strict=True):
                        assert move.l1 <= part.sensitivity.l1 and move.l2_squared <= part.sensitivity.l2_squared
                        lost += move.l2_squared / part.scale**2 if using else move.l1 / part.scale
                farthest = max(farthest, lost)
    assert farthest <= paid
    if asked == "COUNT(*)" and not kind.change_one:  # a changed one moves a total, or leaves a group for another
        assert farthest > paid * (1 - Fraction(1, 10**6)) if using else farthest == paid


def test_each_level_is_moved_as_far_as_its_claim_and_no_further() -> None:
    plan = plan_of("SELECT COUNT(*), SUM(a) FROM members GROUP BY GROUPING SETS ((b), (d), ()) SPEND EPSILON 1")
    for one in all_of(plan):
        farthest = [0] * len(one.parts)
        for found in moves(one, random.Random(3)):
            for at, (move, part) in enumerate(zip(found, one.parts, strict=True)):
                assert move.l1 <= part.sensitivity.l1
                farthest[at] = max(farthest[at], move.l1)
        assert farthest == [part.sensitivity.l1 for part in one.parts]


@pytest.mark.parametrize("sets", [((0,), (1,)), ((0, 1), (0,), ()), ((0,), (1,), (0, 1), ()), ((0,), (0,), ())])
@pytest.mark.parametrize("table", ["people", "members"])
def test_without_noise_each_row_is_the_sum_of_its_rows(table: str, sets: tuple[tuple[int, ...], ...]) -> None:
    choice, names = random.Random(7), ("a", "d")
    written = ", ".join(f"({', '.join(names[at] for at in one)})" for one in sets)
    plan = plan_of(f"SELECT COUNT(*), SUM(b), AVG(b) FROM {table} GROUP BY GROUPING SETS ({written}) SPEND EPSILON 1")
    rows: list[Mapping[str, Value]] = [
        {**random_row(choice), **{name: choice.choice(values) for name, values in HONEST.items()}, "id": f"u{at}"}
        for at in range(60)
    ]
    tables: Tables = {table: rows}
    exact = [row for one in all_of(plan) for row in reference.run(one.term, tables, SALT)]
    found = finish_block(plan.block, recipes_of(plan), exact, None, levels_of(plan)).rows
    order = [names.index(key.name) for key in plan.block.keys]
    wanted: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        values = [row[names[at]] for at in order]
        for of in plan.block.sets:
            wanted[of, tuple(value if at in of else None for at, value in enumerate(values))] += 1
    got: Counter[tuple[object, ...]] = Counter()
    at = 0
    for of in plan.block.sets:
        size = 1
        for key in of:
            size *= len(plan.block.keys[key].members or ())
        for each in found[at : at + size]:
            count = each[len(order)]
            assert isinstance(count, int)
            got[of, each[: len(order)]] += count
        at += size
    assert at == len(found) and +got == +wanted and sum(wanted.values()) > 60
