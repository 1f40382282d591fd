"""BOUNDS AUTO on neighbours, before any noise: what is counted to find bounds, and the sums within those found."""

from __future__ import annotations

import math
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from scipy import stats

import privql.release as room
from privql.audit import reference
from privql.audit.exact import Remembering
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Data
from privql.functions.scalar import evaluate_term
from privql.kernel.bounds import Chosen
from privql.kernel.scalars import Value, fields
from privql.kernel.sums import Key
from privql.pipeline.check import check_text
from privql.plan.program import BlockPlan
from tests.noise.minimum_law import noisy_minimum_law
from tests.soundness.neighbours import SALT, Bag, answer, moves
from tests.soundness.world import KINDS, environment, random_row

RUNS = 300
QUERIES = [
    ("people", "SUM(z BOUNDS AUTO)"),
    ("people", "AVG(w BOUNDS AUTO), SUM(w BOUNDS AUTO)"),
    ("people", "s, SUM(c * 3 BOUNDS AUTO), COUNT(*)"),
    ("events", "SUM(z BOUNDS AUTO) FILTER (WHERE k), COUNT(*)"),
    ("events", "SUM(ABS(z) BOUNDS AUTO), SUM(c BOUNDS AUTO)"),
    ("events", "AVG(z BOUNDS AUTO), SUM(-ABS(w) BOUNDS AUTO)"),
    ("rows_alone", "SUM(w BOUNDS AUTO)"),
    ("people", "SUM(ABS(z) BOUNDS AUTO), SUM(-ABS(c) BOUNDS AUTO) FILTER (WHERE k)"),
    ("members", "k, SUM(z BOUNDS AUTO)"),
    ("dues", "SUM(z BOUNDS AUTO)"),
    ("dues", "AVG(GREATEST(w, 0) BOUNDS AUTO) FILTER (WHERE a > 0)"),
    ("strict", "AVG(a BOUNDS AUTO)"),
]


def planned(table: str, wanted: str) -> BlockPlan:
    keys = f" GROUP BY {wanted[0]}" if wanted[1] == "," else ""
    text = f"SELECT {wanted} FROM {table}{keys} SPEND EPSILON 3"
    one, _ = next(iter(check_text(Source(text), environment())))
    assert one.ok and one.plan is not None, one
    return one.plan.blocks[0]


def searched(plan: BlockPlan) -> list[Chosen]:
    return [search.chosen for search in plan.searches if search.chosen is not None]


@pytest.mark.parametrize(("table", "wanted"), QUERIES)
def test_a_unit_moves_what_is_counted_by_one_and_one_way(table: str, wanted: str) -> None:
    kind, choice = KINDS[table], random.Random(table + wanted)
    pool = [random_row(choice) for _ in range(12)]

    most = kind.rows_per_unit + (kind.rows_per_unit > 1)

    def bag() -> Bag:
        return tuple(choice.choice(pool) for _ in range(choice.randint(1, most)))

    for chosen in searched(planned(table, wanted)):
        farthest = 0
        for _ in range(60):
            others = [bag() for _ in range(choice.randint(0, 3))]
            one, other = ([*others, bag()] for _ in range(2))
            pair = (one, other) if kind.change_one else (one, others)
            scores = [chosen.scores([count for (count,) in answer(chosen.term, units, kind)]) for units in pair]
            found = {a - b for a, b in zip(*scores, strict=True)}
            assert found <= {0, 1} or (kind.change_one and found <= {0, -1})
            farthest = max(farthest, *map(abs, found))
        assert farthest == 1


@pytest.mark.parametrize(
    "wanted", ["SUM(w BOUNDS AUTO)", "AVG(-ABS(w) BOUNDS AUTO)", "AVG(GREATEST(w, 0) BOUNDS AUTO)"]
)
def test_what_is_tried_of_a_float_doubles_twice_over_from_the_finest_to_the_farthest(wanted: str) -> None:
    (search,) = planned("people", wanted).searches
    far = [max(-low, high) for low, high in search.intervals]
    assert (far[0], far[1], far[2], far[-1]) == (2**-40, 2**-39, 3 * Fraction(2**-40), 2**60)
    assert all(there == 2 * here for here, there in zip(far[1:], far[3:], strict=False))


@pytest.mark.parametrize(("table", "wanted"), QUERIES)
def test_within_what_was_found_no_neighbour_moves_a_sum_beyond_its_claim(table: str, wanted: str) -> None:
    """The price was fixed before; sensitivities and noise follow the bounds."""
    plan, choice = planned(table, wanted), random.Random(wanted + table)
    assert plan.measured is not None
    for _ in range(2):
        levels = [choice.choice((0, 1, 3, len(one.intervals) // 2, len(one.intervals) - 1)) for one in plan.searches]
        found = plan.within(levels)
        assert found.measured is not None and found.measured.cost == plan.measured.cost
        assert not any(one.open for one in found.measurements)
        for apart in moves(found.measured, choice):
            for move, part in zip(apart, found.measured.parts, strict=True):
                assert move.l1 <= part.sensitivity.l1


@pytest.mark.parametrize(("table", "wanted"), QUERIES)
def test_wider_bounds_take_more_noise(table: str, wanted: str) -> None:
    plan = planned(table, wanted)
    for search in plan.searches:
        others = {other.at: 0 for other in plan.searches}
        widths = []
        for level, (low, high) in enumerate(search.intervals):
            one = plan.within([(others | {search.at: level})[other.at] for other in plan.searches])
            made = one.measurements[search.at]
            widths.append(made.sensitivity.l1 * made.grid)
            assert widths[-1] >= max(high, -low, key=abs) or search.aggregate.function == "avg"
        assert widths == sorted(widths)


@pytest.mark.parametrize(("table", "wanted"), QUERIES)
def test_the_engine_counts_the_units_of_each_level(table: str, wanted: str) -> None:
    kind, choice = KINDS[table], random.Random(wanted)
    most = 1 if kind.rows_per_unit == 1 else 3
    rows = [{**random_row(choice), "id": f"u{unit}"} for unit in range(60) for _ in range(choice.randint(1, most))]
    types = {"a": pa.int64(), "b": pa.int64(), "z": pa.int64(), "w": pa.float64(), "c": pa.decimal128(4, 1)}
    types |= {"k": pa.bool_(), "s": pa.string()}
    columns = {name: pa.array([_plain(row[name]) for row in rows], type) for name, type in types.items()}
    frame = pa.table({**columns, "id": [row["id"] for row in rows]})
    with DuckDBEngine({table: Data(frame=frame)}) as engine:
        for chosen in searched(planned(table, wanted)):
            assert engine.run(chosen.term, SALT).tolist() == reference.run(chosen.term, {table: rows}, SALT)


def _plain(value: Value) -> object:
    return Decimal(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def test_levels_hold_what_they_say() -> None:
    """Each value lies within the bounds of its level, and not within those before; beyond all, it has the last."""
    for text, values in (
        ("SUM(z BOUNDS AUTO)", (0, 1, -1, 2, -2, 3, 4, 5, 1000, -(2**40), 2**62, -(2**63), None)),
        ("AVG(w BOUNDS AUTO)", (0.0, 1.0, -1.0, 1.5, 1e-300, 1e18, -1e19, 1e308, None)),
        ("AVG(ABS(z) BOUNDS AUTO)", (0, 1, -1, 2, -3, 2**63 - 1, None)),
        ("AVG(LEAST(w, 5) BOUNDS AUTO)", (5.0, 6.0, 4.5, -1e9, -1e300, None)),
    ):
        (search,), (chosen,) = (found(planned("people", text)) for found in (lambda plan: plan.searches, searched))
        (key,) = chosen.term.keys
        assert isinstance(key, Key) and search.aggregate.argument is not None
        (name,) = fields(search.aggregate.argument)
        for value in values:
            level = evaluate_term(key.value, {name: value})
            there = evaluate_term(search.aggregate.argument, {name: value})
            if there is None:
                assert level is None
                continue
            assert isinstance(there, int | float)
            holding = [at for at, (low, high) in enumerate(search.intervals) if low <= there <= high]
            assert level == (holding[0] if holding else len(search.intervals) - 1)


def test_from_the_engine_to_the_answer_bounds_are_found_as_seldom_as_their_law_says() -> None:
    (chosen,) = searched(planned("people", "SUM(z BOUNDS AUTO)"))
    people = {"id": [f"u{at}" for at in range(12)], "z": [1] * 6 + [2] * 3 + [3] * 3}
    with DuckDBEngine({"people": Data(frame=pa.table(people))}) as counting:
        engine = Remembering(counting)
        seen = Counter(room.drawn(chosen, engine, {})[0][0] for _ in range(RUNS))
        scores = chosen.scores([count for (count,) in engine.run(chosen.term, SALT).tolist()])
    law = noisy_minimum_law(scores[:8], math.exp(-float(chosen.cost.epsilon)))  # the others are as good as never taken
    assert min(law[:3]) > 0.1
    for level, chance in enumerate(law):
        assert stats.binomtest(seen[level], RUNS, min(chance, 1.0)).pvalue > 1e-9
