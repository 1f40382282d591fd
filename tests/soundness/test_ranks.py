"""Whole queries of values by rank on neighbours, before anything is drawn: no unit moves losses beyond its claim."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
import pytest
from scipy import stats

import privql.release as room
from privql.audit.claims import losses_apart, pieces
from privql.audit.exact import Remembering
from privql.audit.reference.ranks import ranked
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Data
from privql.kernel.ranks import Placed, Ranked, Ranks
from privql.pipeline.check import check_text
from privql.plan import ranks as plan_room
from privql.plan.program import BlockPlan
from tests.soundness.neighbours import SALT, Bag
from tests.soundness.world import KINDS, Kind, environment, random_row

PAIRS = 120
RUNS = 600
QUERIES = [
    ("people", "MEDIAN(a)"),
    ("people", "QUANTILE(f, 0.9)"),
    ("people", "s, MEDIAN(b) FILTER (WHERE k)"),
    ("people", "MAX(a * b)"),
    ("events", "MEDIAN(c)"),
    ("events", "s, PERCENTILE_DISC(0.1) WITHIN GROUP (ORDER BY a)"),
    ("events", "k, MIN(a)"),
    ("events", "QUANTILE(DISTINCT a, 0.3)"),
    ("rows_alone", "s, MEDIAN(CASE WHEN k THEN a ELSE b END)"),
    ("members", "MEDIAN(a)"),
    ("members", "s, MEDIAN(a)"),
    ("members", "k, MAX(b)"),
    ("dues", "QUANTILE(a, 0.9)"),
    ("dues", "s, MEDIAN(a)"),
    ("strict", "MEDIAN(b)"),
]


def planned(table: str, wanted: str) -> BlockPlan:
    keys = f" GROUP BY {wanted[0]}" if wanted[1] == "," else ""
    one, _ = next(iter(check_text(Source(f"SELECT {wanted} FROM {table}{keys} SPEND EPSILON 1"), environment())))
    assert one.ok and one.plan is not None, one
    return one.plan.blocks[0]


def placed(table: str, wanted: str) -> Placed:
    measured = planned(table, wanted).measured
    assert isinstance(measured, Placed)
    return measured


def near(term: Ranks, units: Sequence[Bag], kind: Kind) -> list[Ranked]:
    rows = [{**row, **({"id": f"u{at}"} if kind.has_id else {})} for at, bag in enumerate(units) for row in bag]
    if kind.has_id:  # nobody's rows may change nothing
        rows += [{**row, "id": None} for bag in units[:1] for row in bag]
    return ranked(term, {kind.table: rows}, SALT)


def farthest(made: Placed, table: str, seed: str) -> int:
    kind, choice = KINDS[table], random.Random(seed)
    pool = [random_row(choice) for _ in range(40)]
    ends = [{**row, "a": a, "b": b, "s": s, "k": k} for row in pool[:2] for a, b in ((-3, 0), (7, 5), (0, 1))
            for s in "xy" for k in (True, False)]  # fmt: skip

    def bag() -> Bag:
        rows = choice.choice((pool, ends))
        most = kind.rows_per_unit + (kind.rows_per_unit > 1)
        return tuple(choice.choice(rows) for _ in range(choice.randint(1, most)))

    found = 0
    for _ in range(PAIRS):
        others = [bag() for _ in range(choice.randint(0, 6))]
        pair = [*others, bag()], ([*others, bag()] if kind.change_one else others)
        found = max(found, losses_apart(made, *(near(made.term, units, kind) for units in pair)))
    return found


@pytest.mark.parametrize(("table", "wanted"), QUERIES)
def test_no_unit_moves_the_losses_beyond_its_claim_and_most_claims_are_reached(table: str, wanted: str) -> None:
    made = placed(table, wanted)
    found = farthest(made, table, table + wanted)
    assert found <= made.draw.moved
    if not KINDS[table].change_one and "DISTINCT" not in wanted:
        assert found == made.draw.moved


@pytest.mark.parametrize("fault", ["halved", "rows forgotten", "groups forgotten"])
def test_a_planted_fault_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from privql.kernel import ranks

    honest = ranks.moved
    match fault:
        case "halved":
            monkeypatch.setattr(ranks, "moved", lambda *given: max(1, honest(*given) // 2))
        case "rows forgotten":
            monkeypatch.setattr(ranks, "moved", lambda unit, rows, *rest: honest(unit, 1, *rest))
        case _:
            monkeypatch.setattr(ranks, "moved", lambda unit, rows, grouped, rank: honest(unit, rows, False, rank))
    pairs = [("events", "MEDIAN(a)"), ("dues", "s, MEDIAN(a)"), ("dues", "QUANTILE(a, 0.9)"), ("members", "s, MAX(a)")]
    made = [placed(*pair) for pair in pairs]
    assert any(farthest(one, pair[0], fault) > one.draw.moved for one, pair in zip(made, pairs, strict=True))


def _each(made: Placed, group: Ranked) -> list[int]:
    return [loss for length, loss in pieces(made, group) for _ in range(length)]


def test_from_the_engine_to_the_answer_values_are_drawn_as_often_as_their_law_says() -> None:
    made = placed("people", "MEDIAN(a)")
    ages = [-3, 0, 1, 1, 1, 2, 5, None, 7]
    people = {"id": [f"u{at}" for at in range(len(ages))], "a": pa.array(ages, pa.int64())}
    with DuckDBEngine({"people": Data(frame=pa.table(people))}) as counting:
        engine = Remembering(counting)
        seen = Counter(room.drawn(made, engine, {})[0][0] for _ in range(RUNS))
        losses = _each(made, engine.ranks(made.term, SALT)[0])
    assert losses == [6, 6, 6, 4, 0, 2, 4, 4, 4, 6, 6]
    weights = [math.exp(-float(made.draw.exponent) * loss) for loss in losses]
    wanted = [weight / sum(weights) * RUNS for weight in weights]
    found = [seen[step] for step in range(-3, 8)]
    assert sum(found) == RUNS and stats.chisquare(found, wanted).pvalue > 1e-9


def test_where_epsilon_is_tiny_steps_are_wider_and_no_more_are_told_apart() -> None:
    one, _ = next(iter(check_text(Source("SELECT MEDIAN(f) FROM people SPEND EPSILON 0.000001"), environment())))
    assert one.plan is not None
    made = one.plan.blocks[0].measured
    assert isinstance(made, Placed)
    assert made.term.steps.high - made.term.steps.low <= plan_room._MOST
    fine = placed("people", "MEDIAN(f)").term.steps
    assert fine.high - fine.low >= 2**40 and made.term.steps.grid > fine.grid
