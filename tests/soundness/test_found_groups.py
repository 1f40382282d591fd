"""Groups that nobody listed, on neighbours: one unit comes with groups of its own, and hardly anybody can tell."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pyarrow as pa
import pytest
from scipy import stats

import privql.release as room
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Data
from privql.kernel.enclosure import exp_minus
from privql.kernel.scalars import Value
from privql.kernel.selection import Keep, Selected, keep_table
from privql.pipeline.check import check_text
from privql.plan.program import BlockPlan
from tests import reference
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
            kept = room._selected(selected.selected, engine, {})
            assert ["cook"] in kept
            seen += ["king"] in kept
    keep = selected.selected.keep
    assert stats.binomtest(seen, runs, float(chance(units, keep))).pvalue > 1e-9
    if units == 1:
        assert chance(1, keep) <= keep.delta == Fraction(1, 100)
