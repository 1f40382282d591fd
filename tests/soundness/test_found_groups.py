"""Groups that nobody listed, on neighbours: one unit comes with groups of its own, and hardly anybody can tell."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod

import pyarrow as pa
import pytest
from scipy import stats

import privql.release as room
from privql.audit import reference
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Data
from privql.kernel.cost import Cost
from privql.kernel.enclosure import exp_minus
from privql.kernel.scalars import Value
from privql.kernel.selection import Count, Keep, Selected, keep_table
from privql.pipeline.check import check_text
from privql.plan.program import BlockPlan
from tests.soundness.neighbours import SALT, Bag
from tests.soundness.world import KINDS, Kind, environment, random_row

QUERIES = [
    ("people", "z"),
    ("people", "t, w"),
    ("events", "t"),
    ("events", "z, s"),
    ("rows_alone", "w, z"),
    ("members", "z"),
    ("members", "k, t"),
    ("dues", "t"),
    ("dues", "w, t"),
    ("strict", "CASE WHEN a > 0 THEN t END"),
]
Groups = Mapping[tuple[Value, ...], int]


def planned(table: str, keys: str, most: str = "", what: str = "SUM(1) AS n") -> BlockPlan:
    query = f"SELECT {keys}, {what} FROM {table} GROUP BY {keys} {most} SPEND EPSILON 2 DELTA 1e-2"
    one, _ = next(iter(check_text(Source(query), environment())))
    assert one.ok and one.plan is not None, one
    return one.plan.blocks[0]


def test_groups_are_found_once_whatever_else_is_written() -> None:
    """A query of a WITH that nothing reads is not measured: those that share a search for groups still do."""
    wanted = "SELECT z, COUNT(*) AS n, COUNT(DISTINCT a) AS m FROM people GROUP BY z"
    alone, beside = (
        next(iter(check_text(Source(f"{unread}{wanted} SPEND EPSILON 2 DELTA 1e-2"), environment())))[0]
        for unread in ("", "WITH unread AS (SELECT COUNT(*) AS c FROM people) ")
    )
    assert alone.plan is not None and beside.plan is not None
    assert alone.cost == beside.cost
    for plan in (alone.plan, beside.plan):
        assert [(one.block.index, one.block.groups_of) for one in plan.blocks] == [(0, None), (1, 0)]


def found(selected: Selected, units: Sequence[Bag], kind: Kind) -> Groups:
    rows: list[reference.Row] = [
        {**row, **({"id": f"u{at}"} if kind.has_id else {})} for at, bag in enumerate(units) for row in bag
    ]
    if kind.has_id:  # nobody's rows are in no group
        rows += [{**row, "id": None} for bag in units[:1] for row in bag]
    return dict(reference.counted(selected.term, {kind.table: rows}, SALT))


def neighbours(kind: Kind, choice: random.Random) -> Iterator[tuple[list[Bag], list[Bag]]]:
    """One unit more, or one changed, beside up to five others; a unit may own more rows than may stay."""
    pool = [random_row(choice) for _ in range(6)]
    most = kind.rows_per_unit + (kind.rows_per_unit > 1)
    bags: list[Bag] = [bag for size in range(1, most + 1) for bag in combinations_with_replacement(pool, size)]
    bags = choice.sample(bags, min(len(bags), 12))
    for beside in range(5):
        others = [choice.choice(bags) for _ in range(beside)]
        for bag in bags:
            yield [*others, bag], [*others, choice.choice(bags)] if kind.change_one else others


@pytest.mark.parametrize(("table", "keys"), QUERIES)
@pytest.mark.parametrize("most", ["", "AT MOST 1 GROUPS PER UNIT"])
def test_a_unit_moves_as_many_groups_as_are_paid_for_by_one_each(table: str, keys: str, most: str) -> None:
    kind, choice = KINDS[table], random.Random(table + keys)
    plan = planned(table, keys, most)
    assert plan.selection is not None and plan.selection.selected is not None
    selected = plan.selection.selected
    moved = plan.selection.moved
    assert moved == (1 if most else kind.rows_per_unit) * (2 if kind.change_one else 1)
    farthest = 0
    for one, other in neighbours(kind, choice):
        a, b = found(selected, one, kind), found(selected, other, kind)
        differ = [abs(a.get(group, 0) - b.get(group, 0)) for group in a.keys() | b.keys()]
        assert max(differ, default=0) <= 1
        assert sum(differ) <= moved
        farthest = max(farthest, sum(differ))
    assert farthest == moved


def chance(units: int, keep: Keep) -> Fraction:
    bits, chances = keep_table(keep)
    return Fraction(chances[units], 2**bits) if units < len(chances) else Fraction(1)


def beyond(one: Groups, other: Groups, keep: Keep, epsilon: Fraction) -> Fraction:
    """How much more likely than e^ε times as likely an event can be: the δ that is truly needed, from above."""
    high = exp_minus(epsilon, 512)[1]
    groups = sorted(one.keys() | other.keys(), key=repr)
    out = Fraction(0)
    for outcome in product((False, True), repeat=len(groups)):
        p, q = Fraction(1), Fraction(1)
        for group, there in zip(groups, outcome, strict=True):
            a, b = chance(one.get(group, 0), keep), chance(other.get(group, 0), keep)
            p, q = p * (a if there else 1 - a), q * (b if there else 1 - b)
        out += max(p - q * Fraction(2**512, high), Fraction(0))
    return out


@pytest.mark.parametrize(("table", "keys"), QUERIES)
def test_which_groups_appear_is_as_likely_on_neighbours_as_was_paid_for(table: str, keys: str) -> None:
    """Over every set of groups that may come out, exactly; and both ways round."""
    kind, choice = KINDS[table], random.Random(keys + table)
    plan = planned(table, keys)
    assert plan.selection is not None and plan.selection.selected is not None
    selected = plan.selection.selected
    worst = Fraction(0)
    pairs = [pair for pair in neighbours(kind, choice) if len(pair[0]) < 4]
    for one, other in choice.sample(pairs, min(len(pairs), 12)):
        a, b = found(selected, one, kind), found(selected, other, kind)
        if len(a.keys() | b.keys()) <= 8:
            for pair in ((a, b), (b, a)):
                worst = max(worst, beyond(*pair, selected.keep, selected.cost.epsilon))
    assert 0 < worst <= selected.cost.delta


COUNTED = [("people", "z"), ("people", "t, w"), ("members", "z"), ("strict", "CASE WHEN a > 0 THEN t END")]
Shown = int | None


def shown(units: int, law: Count) -> Mapping[Shown, Fraction]:
    """What comes out of a group of so many units, noise by noise; None: nothing. q is a little more than it is."""
    q = Fraction(exp_minus(law.epsilon, 256)[1], 2**256).limit_denominator(10**6)
    noise = {x: q ** abs(x) for x in range(-law.reach, law.reach + 1)}
    out: dict[Shown, Fraction] = {None: Fraction(0)}
    for x, weight in noise.items():
        number = units + x if units + x > law.reach else None
        out[number] = out.get(number, Fraction(0)) + weight / sum(noise.values())
    return out


def joint(one: Groups, other: Groups, law: Count, epsilon: Fraction) -> Fraction:
    """The δ that is needed for all groups that differ, what is shown of each and its number together."""
    high = Fraction(exp_minus(epsilon, 512)[1], 2**512)
    differ = [group for group in one.keys() | other.keys() if one.get(group, 0) != other.get(group, 0)]
    laws = [(shown(one.get(group, 0), law), shown(other.get(group, 0), law)) for group in differ]
    out = Fraction(0)
    for outcome in product(*(sorted(a, key=repr) for a, _ in laws)):
        p = prod((a[value] for value, (a, _) in zip(outcome, laws, strict=True)), start=Fraction(1))
        q = prod((b.get(value, Fraction(0)) for value, (_, b) in zip(outcome, laws, strict=True)), start=Fraction(1))
        out += max(p - q / high, Fraction(0))
    return out


@pytest.mark.parametrize(("table", "keys"), COUNTED)
def test_groups_and_their_numbers_are_as_likely_on_neighbours_as_was_paid_for(table: str, keys: str) -> None:
    kind, choice = KINDS[table], random.Random(keys + table)
    plan = planned(table, keys, what="COUNT(*) AS n")
    assert plan.selection is not None and plan.selection.selected is not None and plan.measured is None
    selected = plan.selection.selected
    law = selected.keep
    assert isinstance(law, Count) and selected.cost == plan_cost(plan)
    worst = Fraction(0)
    pairs = [pair for pair in neighbours(kind, choice) if len(pair[0]) < 5]
    for one, other in choice.sample(pairs, min(len(pairs), 12)):
        a, b = found(selected, one, kind), found(selected, other, kind)
        worst = max(worst, joint(a, b, law, selected.cost.epsilon), joint(b, a, law, selected.cost.epsilon))
    assert 0 < worst <= selected.cost.delta * Fraction(1001, 1000)  # q is a millionth off


def plan_cost(plan: BlockPlan) -> Cost:
    """All of it: nothing else is measured."""
    assert plan.selection is not None and not plan.measurements
    return Cost(plan.selection.epsilon.constant, plan.selection.delta)


def test_the_number_that_is_shown_is_that_of_the_engine() -> None:
    """From the engine to the noise, the real ones: numbers stay within the reach of the truth, beyond it itself."""
    selected = planned("people", "t", what="COUNT(*) AS n").selection
    assert selected is not None and selected.selected is not None
    law, runs = selected.selected.keep, 300
    assert isinstance(law, Count)
    people = {"id": [f"u{at}" for at in range(43)], "t": ["king"] + ["maid"] * 2 + ["cook"] * 40}
    seen: dict[str, list[int]] = {"king": [], "maid": [], "cook": []}
    with DuckDBEngine({"people": Data(frame=pa.table(people))}) as engine:
        for _ in range(runs):
            for job, number in room.drawn(selected.selected, engine, {}):
                seen[job].append(number)
    assert len(seen["cook"]) == runs and set(seen["king"]) <= {law.reach + 1}
    for job, units in (("king", 1), ("maid", 2), ("cook", 40)):
        chances = shown(units, law)
        assert all(number in chances for number in seen[job])
        assert stats.binomtest(len(seen[job]), runs, float(1 - chances[None])).pvalue > 1e-9


def test_the_sums_over_what_was_found_cost_what_was_planned() -> None:
    """However many groups there are: the price was fixed before the first step."""
    for table, keys in QUERIES:
        plan = planned(table, keys)
        assert plan.measured is not None
        unlisted = sum(key.members is None for key in plan.block.keys)
        for count in (1, 2, 7):
            over = plan.measured_over([tuple([at] * unlisted) for at in range(count)])
            assert over is not None and over.cost == plan.measured.cost
            assert over.term.groups == len(plan.groups([tuple([at] * unlisted) for at in range(count)]))
        assert plan.measured_over([]) is None


@pytest.mark.parametrize("units", [1, 2])
def test_a_group_of_one_person_appears_as_seldom_as_delta_says(units: int) -> None:
    """From the engine to the coin, the real ones: what is seen is the law's, and for one person no more than δ."""
    selected = planned("people", "t").selection
    assert selected is not None and selected.selected is not None
    people = {"id": [f"u{at}" for at in range(units + 40)], "t": ["king"] * units + ["cook"] * 40}
    runs, seen = 400, 0
    with DuckDBEngine({"people": Data(frame=pa.table(people))}) as engine:
        for _ in range(runs):
            kept = room.drawn(selected.selected, engine, {})
            assert ["cook"] in kept
            seen += ["king"] in kept
    keep = selected.selected.keep
    assert stats.binomtest(seen, runs, float(chance(units, keep))).pvalue > 1e-9
    if units == 1:
        assert chance(1, keep) <= keep.delta == Fraction(1, 100)
