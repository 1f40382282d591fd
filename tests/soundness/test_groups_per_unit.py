"""AT MOST n GROUPS, and groups that a unit is in anyway, on neighbours: no sum,
and no search, moves further."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from privql.audit import reference
from privql.diagnostics import Source
from privql.kernel.measure import Measured
from privql.pipeline.check import check_text
from privql.plan.program import BlockPlan
from tests.assurance import assured, length
from tests.soundness.neighbours import apart
from tests.soundness.related import environment
from tests.soundness.related_neighbours import SALT, World, groups_moved, once_found, world

WORLDS = length(6, 200)
# the rows and their keys, and in how many groups a unit with four rows can be
GROUPED = [
    ("visits v", "v.ward", 4),
    ("visits v", "v.ward KEYS ('a', 'b')", 2),
    ("visits v", "v.fee", 4),
    ("visits v", "v.minutes, v.urgent", 4),
    ("visits v", "v.fee, v.urgent", 4),
    ("visits v JOIN tests t ON v.vid = t.vid", "t.kind, v.fee", 4),
    ("patients p JOIN visits v ON p.pid = v.pid", "p.job", 1),
    ("patients p JOIN visits v ON p.pid = v.pid", "p.sex, p.age + 1", 1),
    ("visits v LEFT JOIN patients p ON p.pid = v.pid", "p.job", 1),
    ("visits v LEFT JOIN patients p ON p.pid = v.pid AND p.age = v.minutes", "p.job", 2),
    ("visits v FULL JOIN patients p ON p.pid = v.pid AND p.age = v.minutes", "p.job", 2),
    ("patients p JOIN visits v ON p.pid = v.pid JOIN wards w ON w.ward = p.ward", "w.floor", 1),
    ("patients p JOIN visits v ON p.pid = v.pid LEFT JOIN wards w ON w.ward = v.ward", "w.open", 3),
    ("(SELECT ward, COUNT(*) AS n FROM visits GROUP BY pid, ward) v", "ward", 4),
]
AGGREGATES = ("COUNT(*)", "SUM(CLAMP({}, -1, 3))", "COUNT(*), AVG(CLAMP({}, 0, 3))", "SUM(CLAMP({}, 0, 3) BOUNDS AUTO)")
ENVS = [(environment(at_most, change_one), change_one) for at_most in (4, None) for change_one in (False, True)]


def planned(rows: str, keys: str, limit: str, env: object, aggregates: str = "COUNT(*) AS n") -> tuple[BlockPlan, ...]:
    ((check, _),) = check_text(Source(f"SELECT {aggregates} FROM {rows} GROUP BY {keys} {limit} SPEND EPSILON 1"), env)
    assert check.ok and check.plan is not None, check.diagnostics
    return check.plan.blocks


def moved(measured: Measured, there: World) -> Iterator[tuple[int, int, int, int]]:
    """For each contribution, by its number: how far the sums are apart, and in how many groups."""
    for one, other in there.neighbours(lambda tables: reference.run(measured.term, tables, SALT, there.publics)):
        groups = sum(a != b for a, b in zip(one, other, strict=True))
        for at, move in enumerate(apart(measured, one, other)):
            yield at, move.l1, move.l2_squared, groups


@pytest.mark.parametrize(("rows", "keys", "_reach"), GROUPED)
def test_a_unit_moves_no_more_groups_than_it_may(rows: str, keys: str, _reach: int) -> None:
    with assured("groups") as tally:
        tally["tried"] += len(ENVS) * len(AGGREGATES) * (WORLDS // 3)
        choice = random.Random(rows + keys)
        value = "v.minutes" if "n FROM" not in rows else "n"
        for (env, change_one), aggregates in ((env, one) for env in ENVS for one in AGGREGATES):
            most = choice.choice((1, 1, 2, 3))
            limit = f"AT MOST {most} GROUPS AND {choice.choice((1, 3, 4))} ROWS PER UNIT"
            (plan,) = planned(rows, keys, limit, env, aggregates.format(value).replace("CLAMP(n, 0, 3) B", "n B"))
            for there in (world(plan, choice, change_one, units=8) for _ in range(WORLDS // 3)):
                measured = once_found(plan, there, choice)
                if plan.selection is not None:
                    assert plan.selection.most <= most and plan.selection.selected is not None
                    assert all(len(one) <= plan.selection.moved for one in groups_moved(plan.selection.selected, there))
                for at, l1, l2_squared, groups in moved(measured, there) if measured is not None else ():
                    assert measured is not None
                    claim = measured.parts[at].sensitivity
                    assert l1 <= claim.l1 and l2_squared <= claim.l2_squared, (limit, aggregates)
                    assert groups <= most * (1 + change_one), (limit, aggregates)


@pytest.mark.parametrize(("rows", "keys", "reach"), GROUPED)
@pytest.mark.parametrize("most", [1, 2])
def test_as_many_groups_as_it_may(rows: str, keys: str, reach: int, most: int) -> None:
    """A search pays for the groups that a unit can be in, no fewer and no more; and it counts in as many."""
    choice = random.Random(rows + keys)
    env, _ = ENVS[0]
    (plan,) = planned(rows, keys, f"AT MOST {most} GROUPS AND 4 ROWS PER UNIT", env)
    far = found = 0
    for _ in range(200):
        there = world(plan, choice, False, units=6)
        measured = once_found(plan, there, choice)
        if measured is not None:
            far = max(far, *(groups for *_, groups in moved(measured, there)))
        if plan.selection is not None and plan.selection.selected is not None:
            found = max(found, *(len(one) for one in groups_moved(plan.selection.selected, there)))
        if far == min(most, reach) and (plan.selection is None or found == plan.selection.moved):
            break
    assert far == min(most, reach)
    assert plan.selection is None or found == plan.selection.moved == min(most, reach)


@pytest.mark.parametrize(("rows", "keys", "reach"), GROUPED)
def test_a_limit_beyond_reach_changes_nothing(rows: str, keys: str, reach: int) -> None:
    env, _ = ENVS[0]
    for aggregates in AGGREGATES[:1] + AGGREGATES[2:3]:
        written = aggregates.format("v.minutes" if "n FROM" not in rows else "n")
        (free,) = planned(rows, keys, "AT MOST 4 ROWS PER UNIT", env, written)
        (limited,) = planned(rows, keys, "AT MOST 40 GROUPS AND 4 ROWS PER UNIT", env, written)
        assert limited.measured == free.measured
        assert (
            reach > 1
            or planned(rows, keys, "AT MOST 1 GROUPS AND 4 ROWS PER UNIT", env, written)[0].measured == free.measured
        )


def test_a_unit_in_one_group_pays_for_one() -> None:
    env, _ = ENVS[0]
    for rows, keys, reach in GROUPED:
        (plan,) = planned(rows, keys, "AT MOST 4 ROWS PER UNIT", env)
        assert plan.lowered.bounds.one_group == (reach == 1)
        if reach == 1:
            assert plan.lowered.bounds.how == "totals"
            assert plan.selection is None or plan.selection.most == 1
        (limited,) = planned(rows, keys, "AT MOST 1 GROUPS AND 4 ROWS PER UNIT", env)
        assert limited.lowered.stable.rows == 1  # its total is clamped


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("change_one", [False, True])
def test_groups_alone_are_looked_for_without_a_number(most: int, change_one: bool) -> None:
    """What is shown is which groups there are: nothing else is measured, and all that is spent is spent on them."""
    choice, env = random.Random(most), environment(None, change_one)
    (plan,) = planned("visits v", "v.fee, v.urgent", f"AT MOST {most} GROUPS PER UNIT", env, "v.fee, v.urgent")
    assert plan.measured is None and plan.selection is not None and plan.selection.selected is not None
    assert plan.selection.most == most and plan.selection.epsilon.constant == 1
    far = 0
    for _ in range(400):
        there = world(plan, choice, change_one, units=6)
        far = max(far, *(len(one) for one in groups_moved(plan.selection.selected, there)))
        if far == plan.selection.moved:
            break
    assert far == plan.selection.moved == most * (1 + change_one)
