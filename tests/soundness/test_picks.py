"""Whole queries of most frequent values on neighbours, before anything is drawn: no unit moves more than its claim."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
import pytest
from scipy import stats

import privql.release as room
from privql.audit import reference
from privql.audit.exact import Remembering
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Data
from privql.kernel import picks
from privql.kernel.picks import Picked
from privql.noise.picks import picked
from privql.pipeline.check import check_text
from tests.soundness.neighbours import SALT, Bag
from tests.soundness.world import KINDS, environment, random_row

PAIRS = 100
RUNS = 600
QUERIES = [
    ("people", "MODE(a)", ""),
    ("people", "s, MODE(b) FILTER (WHERE k)", ""),
    ("people", "TOP(a * b, 2)", ""),
    ("events", "MODE(d)", ""),
    ("events", "k, TOP(s, 2)", ""),
    ("events", "k, TOP(s, 2 USING GUMBEL)", ""),
    ("members", "TOP(a, 3 USING GUMBEL)", ""),
    ("events", "s, MODE(a)", "AT MOST 1 GROUPS PER UNIT"),
    ("events", "MODE(a)", "AT MOST 1 ROWS PER UNIT"),
    ("(SELECT DISTINCT id, s FROM events) AS e", "TOP(s, 2)", ""),
    ("(SELECT DISTINCT id, s, k FROM events) AS e", "k, MODE(s)", ""),
    ("rows_alone", "s, MODE(CASE WHEN k THEN a ELSE b END)", ""),
    ("members", "MODE(a)", ""),
    ("members", "s, TOP(a, 3)", ""),
    ("dues", "MODE(k)", ""),
    ("dues", "s, MODE(k)", ""),
    ("(SELECT DISTINCT id, s FROM dues) AS e", "TOP(s, 2)", ""),
]


def made_of(source: str, wanted: str, limits: str) -> Picked:
    keys = f" GROUP BY {wanted[0]}" if wanted[1] == "," else ""
    text = f"SELECT {wanted} FROM {source}{keys} {limits} SPEND EPSILON 1 DELTA 1e-6"
    one, _ = next(iter(check_text(Source(text), environment())))
    assert one.ok and one.plan is not None, one
    made = one.plan.blocks[0].measured
    assert isinstance(made, Picked)
    return made


def counted(made: Picked, units: Sequence[Bag], table: str) -> list[list[int]]:
    """Of each group, the counts of its candidates."""
    rows = [{**row, **({"id": f"u{at}"} if KINDS[table].has_id else {})} for at, bag in enumerate(units) for row in bag]
    flat = [cells[0] for cells in reference.run(made.term, {table: rows}, SALT)]
    width = len(made.candidates.members)
    return [flat[at : at + width] for at in range(0, len(flat), width)]


def moved(made: Picked, one: list[list[int]], other: list[list[int]]) -> int:
    """By how much more one count of a group rises than another, all groups together; of a histogram, all counts."""
    moves = [[b - a for a, b in zip(old, new, strict=True)] for old, new in zip(one, other, strict=True)]
    if made.way == "HISTOGRAM":
        return sum(abs(move) for group in moves for move in group)
    return sum(max(group) - min(group) for group in moves)


def farthest(made: Picked, source: str, seed: str) -> int:
    table = source.split("FROM ")[-1].split(")")[0]
    kind, choice = KINDS[table], random.Random(seed)
    pool = [random_row(choice) for _ in range(30)]
    pool += [{**row, "a": a, "b": b, "s": s, "k": k} for row in pool[:2] for a, b in ((-3, 0), (7, 5), (0, 1))
             for s in "xy" for k in (True, False)]  # fmt: skip

    def bag() -> Bag:
        most = kind.rows_per_unit + (kind.rows_per_unit > 1)
        return tuple(choice.choice(pool) for _ in range(choice.randint(1, most)))

    found = 0
    for _ in range(PAIRS):
        others = [bag() for _ in range(choice.randint(0, 4))]
        pair = [*others, bag()], ([*others, bag()] if kind.change_one else others)
        found = max(found, moved(made, *(counted(made, units, table) for units in pair)))
    return found


@pytest.mark.parametrize(("source", "wanted", "limits"), QUERIES)
def test_no_unit_moves_the_counts_beyond_its_claim_and_the_claim_is_reached(
    source: str, wanted: str, limits: str
) -> None:
    made = made_of(source, wanted, limits)
    assert farthest(made, source, source + wanted) == made.moved


@pytest.mark.parametrize("fault", ["halved", "rows forgotten", "always apart"])
def test_a_planted_fault_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = picks.moved
    match fault:
        case "halved":
            monkeypatch.setattr(picks, "moved", lambda *given: max(1, honest(*given) // 2))
        case "rows forgotten":
            monkeypatch.setattr(picks, "moved", lambda rows, *_: 1 + rows.unit.change_one)
        case _:
            monkeypatch.setattr(picks, "apart", lambda *_: True)
    asked = [query for query in QUERIES if query[0] in ("events", "dues", "members")]
    assert any(farthest(made, query[0], fault) > made.moved for query in asked for made in [made_of(*query)])


def test_how_many_groups_a_unit_is_in_counts_where_its_rows_differ() -> None:
    """Two rows of a unit in one group of a key, each of another candidate, are two of `SELECT DISTINCT`."""
    made = made_of("(SELECT DISTINCT id, s, k FROM events) AS e", "k, MODE(s)", "")
    assert made.moved == 2 and made.way == "FLIP"
    assert made_of("(SELECT DISTINCT id, s FROM events) AS e", "TOP(s, 2)", "").moved == 1
    assert made_of("(SELECT id, s FROM events) AS e", "TOP(s, 2)", "").way == "HISTOGRAM"


def test_from_the_engine_to_the_answer_values_are_chosen_as_often_as_their_law_says() -> None:
    made = made_of("people", "MODE(a)", "")
    ages = [-3, 0, 1, 1, 1, 2, 5, None, 7, 7, 99]
    people = {"id": [f"u{at}" for at in range(len(ages))], "a": pa.array(ages, pa.int64())}
    with DuckDBEngine({"people": Data(frame=pa.table(people))}) as counting:
        engine = Remembering(counting)
        seen = Counter(room.drawn(made, engine, {})[0][0] for _ in range(RUNS))
        counts = engine.run(made.term, SALT)[:, 0].tolist()
    assert counts == [1, 0, 0, 1, 3, 1, 0, 0, 1, 0, 2 + 1]
    other = Counter(picked(counts, 1, "FLIP", made.exponent)[0] for _ in range(RUNS))
    both = [[seen[at] for at in range(11)], [other[at] for at in range(11)]]
    likely = [at for at in range(11) if both[0][at] + both[1][at] > 10]
    assert stats.chi2_contingency([[row[at] for at in likely] for row in both]).pvalue > 1e-9
