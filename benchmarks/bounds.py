"""How exact a sum is whose bounds nobody stated: `SUM(x BOUNDS AUTO)` beside clamps that somebody guessed.

    python benchmarks/bounds.py [--runs N] [--share SHARE] [--level LEVEL]

For each set of values, errors in parts of the true sum: of a sum at knots, of automatic bounds, of a clamp at the true
maximum (which nobody knows), of one at 10^9 (which one writes to be safe), and of the best clamp among the candidates
(an oracle). `vector` is the textbook's way to find bounds: an ascending sparse vector over the same counts, at the same
share of ε, which stops where fewer than 8/ε units are beyond. What is measured is measured by the engine and the
kernel's own terms, once for each candidate; noise is drawn anew in each run. The most that a run is off by shows what
root mean squares of a finite number of runs can hide. `held`: how often an interval of a sum at knots encloses the true
one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from privql.check.env import Env
from privql.diagnostics import Source
from privql.engines.duckdb import DuckDBEngine
from privql.engines.interface import Source as Data
from privql.finish import hats
from privql.finish.resampling import OF_KNOTS
from privql.kernel.measure import Measured
from privql.noise.laplace import discrete_laplace
from privql.noise.minimum import noisy_minimum
from privql.pipeline.check import check_text
from privql.plan import automatic
from privql.plan.program import BlockPlan
from privql.policy.build import build_catalog

POLICY = "CREATE UNIT person; CREATE PRIVATE TABLE people (id INT UNIT person KEY, x INT);"
SAFE = 10**9
JUDGED = 50  # runs whose intervals are computed
Values = NDArray[np.int64]


def data(random: np.random.Generator) -> dict[str, Callable[[int], Values]]:
    return {
        "uniform to 1000": lambda n: random.integers(0, 1001, n),
        "exponential": lambda n: random.exponential(500, n).astype(np.int64),
        "log-normal, σ = 0.5": lambda n: random.lognormal(8, 0.5, n).astype(np.int64),
        "log-normal, σ = 1": lambda n: random.lognormal(8, 1, n).astype(np.int64),
        "log-normal, σ = 2": lambda n: random.lognormal(8, 2, n).astype(np.int64),
        "Pareto, α = 2": lambda n: (1000 * (1 + random.pareto(2, n))).astype(np.int64),
        "all alike": lambda n: np.full(n, 3000 + random.integers(0, 3000)),
        "two kinds": lambda n: np.where(random.random(n) < 0.5, 0, 100_000) + random.integers(0, 1001, n),
        "mostly 0": lambda n: (random.lognormal(8, 1, n) * (random.random(n) < 0.1)).astype(np.int64),
        "ages": lambda n: random.integers(18, 90, n),
    }


def planned(epsilon: Fraction, knots: bool) -> BlockPlan:
    at_knots = automatic.at_knots
    if not knots:
        automatic.at_knots = lambda *_: None
    catalog, _ = build_catalog(Source(POLICY, "policy"))
    text = f"SELECT SUM(GREATEST(x, 0) BOUNDS AUTO) FROM people SPEND EPSILON {epsilon}"
    one, _ = next(iter(check_text(Source(text), Env(catalog))))
    automatic.at_knots = at_knots
    assert one.plan is not None, one
    return one.plan.blocks[0]


def vector(beyond: list[int], epsilon: Fraction) -> int:
    """The first candidate at which the noisy count is at most a noisy threshold; the last, where none is."""
    scale = 2 / epsilon
    threshold = round(8 / epsilon) + int(discrete_laplace(scale, 1)[0])
    noise = discrete_laplace(scale, len(beyond)).tolist()
    return next((at for at, x in enumerate(noise) if beyond[at] + x <= threshold), len(beyond) - 1)


def enclosed(cells: list[int], scale: Fraction, total: int) -> bool:
    """Whether an interval at 90% encloses the whole sum: by replicates, as answers have them."""
    answer, random = hats.total(cells, scale), np.random.default_rng()
    noise = random.laplace(0, float(scale * OF_KNOTS), (99, len(cells))).tolist()
    anew = [hats.total([cell - int(off) for cell, off in zip(cells, drawn, strict=True)], scale) for drawn in noise]
    low, high = sorted(anew)[4], sorted(anew)[94]
    return min(low, 2 * answer - high) <= total <= max(high, 2 * answer - low)


def errors(values: Values, epsilon: Fraction, runs: int) -> tuple[float, dict[str, NDArray[np.float64]]]:
    """How often intervals of a sum at knots enclose it; and how far off are sums."""
    plan, at_knots, total = planned(epsilon, False), planned(epsilon, True).measured, int(values.sum())
    (search,) = plan.searches
    chosen = search.chosen
    assert chosen is not None and isinstance(at_knots, Measured)
    with DuckDBEngine({"people": Data(frame=pd.DataFrame({"id": range(len(values)), "x": values}))}) as engine:
        scores = chosen.scores([int(count) for (count,) in engine.run(chosen.term, b"")])
        within = [plan.within([level]).measured for level in range(len(search.intervals))]
        sums = [int(engine.run(one.term, b"")[0, 0]) for one in within if one is not None]
        cells = engine.run(at_knots.term, b"")[0].tolist()
    scale, width = at_knots.parts[0].scale, len(cells)
    noise = discrete_laplace(scale, runs * width).tolist()
    scales = [one.parts[0].scale for one in within if one is not None]
    beyond = [score - chosen.penalty * level for level, score in enumerate(scores)]

    def off(level: int) -> int:
        return sums[level] + int(discrete_laplace(scales[level], 1)[0]) - total

    def released(run: int) -> list[int]:
        return [cell + off for cell, off in zip(cells, noise[run * width : (run + 1) * width], strict=True)]

    def clamped(high: int) -> NDArray[np.float64]:
        bias = int(np.minimum(values, high).sum()) - total
        return np.array([bias + int(x) for x in discrete_laplace(high / epsilon, runs)], dtype=float)

    ends = [int(high) for _, high in search.intervals]
    best = min(ends, key=lambda high: (int(np.minimum(values, high).sum()) - total) ** 2 + 2 * (high / epsilon) ** 2)
    found = {
        "knots": [hats.total(released(run), scale) - total for run in range(runs)],
        "automatic": [off(noisy_minimum(scores, chosen.scale)) for _ in range(runs)],
        "vector": [off(vector(beyond, chosen.cost.epsilon)) for _ in range(runs)],
        "true maximum": clamped(int(values.max())),
        "10^9": clamped(SAFE),
        "oracle": clamped(best),
    }
    held = np.mean([enclosed(released(run), scale, total) for run in range(min(runs, JUDGED))])
    return float(held), {name: np.abs(np.array(off, dtype=float)) / total for name, off in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--share", type=Fraction, default=automatic.SHARE)
    parser.add_argument("--level", type=Fraction, default=automatic.LEVEL)
    given = parser.parse_args()
    automatic.SHARE, automatic.LEVEL = given.share, given.level
    print(f"share {given.share}, level {given.level}, {given.runs} runs; errors in % of the sum")
    head = f"{'values':20} {'n':>7} {'ε':>4}  {'RMSE: knots':>11} {'automatic':>9} {'vector':>9} {'true max':>9}"
    head += f" {'10^9':>9} {'oracle':>8}   {'median: knots':>13} {'automatic':>9} {'vector':>8}"
    print(head + f"   {'most: knots':>11} {'automatic':>9} {'vector':>9}   held")
    ratios, shares = [], []
    for n in (1000, 10_000, 100_000):
        for name, drawn in data(np.random.default_rng(n)).items():
            values = drawn(n)
            for epsilon in (Fraction(1, 10), Fraction(1)):
                if n * epsilon < 1000:
                    continue
                held, off_by = errors(values, epsilon, given.runs)
                found = {way: 100 * off for way, off in off_by.items()}
                rmse = {way: float(np.sqrt(np.mean(off**2))) for way, off in found.items()}
                median = {way: float(np.median(off)) for way, off in found.items()}
                line = f"{name:20} {n:7} {float(epsilon):4}  {rmse['knots']:11.3g} {rmse['automatic']:9.3g}"
                line += f" {rmse['vector']:9.3g} {rmse['true maximum']:9.3g} {rmse['10^9']:9.3g} {rmse['oracle']:8.3g}"
                line += f"   {median['knots']:13.3g} {median['automatic']:9.3g} {median['vector']:8.3g}"
                most = {way: float(off.max()) for way, off in found.items()}
                print(line + f"   {most['knots']:11.3g} {most['automatic']:9.3g} {most['vector']:9.3g}   {held:4.0%}")
                ratios.append([rmse[way] / rmse["oracle"] for way in ("knots", "automatic")])
                shares.append(held)
    at_knots, searched = np.exp(np.mean(np.log(ratios), axis=0))
    better = sum(one < other for one, other in ratios)
    print(f"RMSE in parts of the oracle's, geometric means: at knots {at_knots:.2f}, automatic bounds {searched:.2f}")
    print(
        f"at knots it is less in {better} of {len(ratios)}; intervals at 90% enclose the sum in {np.mean(shares):.0%}"
    )


if __name__ == "__main__":
    main()
