"""Whole queries whose answers are several rows: histograms on neighbouring tables, and several ranks that are drawn."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from scipy import stats

import privql.release as release
from privql.audit.exact import Remembering
from privql.audit.reference.ranks import near_of
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Data
from privql.kernel import measure
from privql.kernel.measure import Measured, Sensitivity
from privql.kernel.places import FINE, Runs, chosen
from privql.kernel.ranks import FARTHEST, Placed, Ranked
from privql.pipeline.check import check_text
from privql.plan.program import BlockPlan
from tests.soundness.neighbours import moves
from tests.soundness.world import KINDS, environment

RUNS = 250
HISTOGRAMS = [
    "HISTOGRAM(a, 3)",
    "s, HISTOGRAM(a, [0, 2, 5])",
    "HISTOGRAM(f, 2) FILTER (WHERE k)",
    "k, HISTOGRAM(a + b, 9)",
]


def planned(table: str, wanted: str, epsilon: int = 1) -> BlockPlan:
    keys = f" GROUP BY {wanted[0]}" if wanted[1] == "," else ""
    one, _ = next(
        iter(check_text(Source(f"SELECT {wanted} FROM {table}{keys} SPEND EPSILON {epsilon}"), environment()))
    )
    assert one.ok and one.plan is not None, one
    return one.plan.blocks[0]


def farthest(block: BlockPlan, seed: str) -> int:
    assert isinstance(block.measured, Measured)
    return max(move.l1 for (move,) in moves(block.measured, random.Random(seed)))


@pytest.mark.parametrize("table", KINDS)
@pytest.mark.parametrize("wanted", HISTOGRAMS)
def test_no_unit_moves_the_counts_of_all_bins_beyond_their_claim_and_each_claim_is_reached(
    table: str, wanted: str
) -> None:
    block = planned(table, wanted)
    assert isinstance(block.measured, Measured)
    (part,) = block.measured.parts
    kind = KINDS[table]
    assert part.sensitivity.l1 == kind.rows_per_unit * (2 if kind.change_one else 1)
    assert farthest(block, table + wanted) == part.sensitivity.l1


def test_a_row_that_leaves_a_bin_for_another_is_seen_where_it_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = measure.sensitivity

    def forgotten(*given: Any) -> Sensitivity:
        return replace(honest(*given), l1=honest(*given).l1 // 2)

    table = next(name for name, kind in KINDS.items() if kind.change_one)
    monkeypatch.setattr(measure, "sensitivity", forgotten)
    block = planned(table, HISTOGRAMS[0])
    assert isinstance(block.measured, Measured)
    assert farthest(block, "forgotten") > block.measured.parts[0].sensitivity.l1


# ---- several ranks


class _Open(Exception):
    """A draw that nothing is said of yet: what may be drawn, and how likely."""


def law(placed: Placed, values: list[int]) -> dict[tuple[int, ...], float]:
    """How likely each answer is."""
    out: defaultdict[tuple[int, ...], float] = defaultdict(float)
    near = near_of(replace(placed.term, far=FARTHEST), values)
    todo: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while todo:
        said, likely = todo.pop()
        left = list(said)

        def drawn(runs: Runs, exponent: Fraction, left: list[int] = left) -> int:
            if not left:
                raise _Open(runs, exponent)
            return left.pop(0)

        try:
            out[tuple(chosen(placed, near, lambda: near, drawn))] += likely
        except _Open as open_:
            runs, exponent = open_.args
            whole = math.fsum(length * math.exp(-float(exponent) * loss) for length, loss in runs)
            todo += [
                ((*said, at), likely * many * math.exp(-float(exponent) * loss) / whole)
                for at, many, loss in _alike(runs, cuts=sum(length for length, _ in runs) >= FINE)
            ]
    return dict(out)


def _alike(runs: Runs, cuts: bool) -> Iterator[tuple[int, int, int]]:
    """One of each kind, how many there are of it, and their loss: of cuts, those of one twelfth of a step, which part
    up to four rows alike."""
    start = 0
    for length, loss in runs:
        at, end = start, start + length
        while at < end:
            step, part = divmod(at, FINE)
            twelfth = -(-(part * 12 // FINE + 1) * FINE // 12)
            upto = min(end, step * FINE + twelfth if cuts else at + 1)
            yield at, upto - at, loss
            at = upto
        start = end


def test_from_the_engine_to_the_answer_all_are_drawn_together_as_often_as_their_law_says() -> None:
    """With ties, so that cuts go through them."""
    made = planned("people", "QUANTILE(a, [0.3, 0.7])", 6).measured
    assert isinstance(made, Placed)
    ages = [-3, 0, 1, 1, 1, 1, 2, 5, None, 7]
    people = {"id": [f"u{at}" for at in range(len(ages))], "a": pa.array(ages, pa.int64())}
    wanted = law(made, [age for age in ages if age is not None])
    assert math.isclose(sum(wanted.values()), 1, rel_tol=1e-9)
    assert all(list(answer) == sorted(answer) for answer in wanted)
    with DuckDBEngine({"people": Data(frame=pa.table(people))}) as counting:
        engine = Remembering(counting)
        seen = Counter(tuple(release._placed(made, engine, {}, release.EXACT)[0]) for _ in range(RUNS))
    assert seen.keys() <= wanted.keys()
    often = [answer for answer, likely in wanted.items() if likely * RUNS >= 5]
    found = [*(seen[answer] for answer in often), sum(n for answer, n in seen.items() if answer not in set(often))]
    expected = [*(wanted[answer] * RUNS for answer in often), RUNS * (1 - sum(wanted[answer] for answer in often))]
    assert stats.chisquare(found, expected).pvalue > 1e-9 and len(often) > 5


class _Astray(release.Samplers):
    """Draws what is least likely where rows are cut, and what is most likely where nothing follows."""

    def exponential(self, runs: Runs, exponent: Fraction) -> int:
        lengths = [length for length, _ in runs]
        if sum(lengths) >= FINE:
            return sum(lengths) - 1
        best = min(range(len(runs)), key=lambda at: runs[at][1])
        return sum(lengths[:best])


def test_a_draw_that_goes_astray_is_followed_by_draws_from_the_values_of_its_own_group() -> None:
    made = planned("people", "s, QUANTILE(a, [0.2, 0.4, 0.6, 0.8])", 500).measured
    assert isinstance(made, Placed)
    (key,) = made.term.keys
    groups = [name for name in key.members if name is not None]
    ages = [[(number * number + 3 * at) % 11 - 3 for number in range(300 + 40 * at)] for at in range(len(groups))]
    pairs = [(name, age) for name, of in zip(groups, ages, strict=True) for age in of]
    frame = {"id": [f"u{at}" for at in range(len(pairs))], "s": [name for name, _ in pairs]}
    table = pa.table({**frame, "a": pa.array([age for _, age in pairs], pa.int64())})
    samplers, asked = _Astray(), 0
    wanted = []
    for name in key.members:
        values = ages[groups.index(name)] if name in groups else []
        every = near_of(replace(made.term, far=FARTHEST), values)

        def whole(every: Ranked = every) -> Ranked:
            nonlocal asked
            asked += 1
            return every

        wanted.append(chosen(made, near_of(made.term, values), whole, samplers.exponential))
    assert asked >= len(groups) > 1 and len({tuple(answer) for answer in wanted[: len(groups)]}) > 1
    with DuckDBEngine({"people": Data(frame=table)}) as engine:
        assert release._placed(made, engine, {}, samplers) == wanted
