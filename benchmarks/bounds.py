"""How exact a sum is whose bounds nobody stated: `SUM(x BOUNDS AUTO)` beside clamps that somebody guessed.

    python benchmarks/bounds.py [--runs N] [--share SHARE] [--level LEVEL]

For each set of skewed values, errors in parts of the true sum: of the automatic bounds, of a clamp at the true maximum
(which nobody knows), of one at 10^9 (which one writes to be safe), and of the best clamp among the same candidates (an
oracle). `vector` is the textbook's way to find bounds: an ascending sparse vector over the same counts, at the same
share of ε, which stops where fewer than 8/ε units are beyond. What is measured is measured by the engine and the
kernel's own terms, once for each candidate; noise is drawn anew in each run. The most that a run is off by shows what
root mean squares of a finite number of runs can hide.
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
from privql.noise.laplace import discrete_laplace
from privql.noise.minimum import noisy_minimum
from privql.pipeline.check import check_text
from privql.plan import automatic
from privql.plan.program import BlockPlan
from privql.policy.build import build_catalog

POLICY = "CREATE UNIT person; CREATE PRIVATE TABLE people (id INT UNIT person KEY, x INT);"
SAFE = 10**9
Values = NDArray[np.int64]


def data(random: np.random.Generator) -> dict[str, Callable[[int], Values]]:
    return {
        "uniform to 1000": lambda n: random.integers(0, 1001, n),
        "exponential": lambda n: random.exponential(500, n).astype(np.int64),
        "log-normal, σ = 1": lambda n: random.lognormal(8, 1, n).astype(np.int64),
        "log-normal, σ = 2": lambda n: random.lognormal(8, 2, n).astype(np.int64),
        "Pareto, α = 2": lambda n: (1000 * (1 + random.pareto(2, n))).astype(np.int64),
    }


def planned(epsilon: Fraction) -> BlockPlan:
    catalog, _ = build_catalog(Source(POLICY, "policy"))
    text = f"SELECT SUM(GREATEST(x, 0) BOUNDS AUTO) FROM people SPEND EPSILON {epsilon}"
    one, _ = next(iter(check_text(Source(text), Env(catalog))))
    assert one.plan is not None, one
    return one.plan.blocks[0]


def vector(beyond: list[int], epsilon: Fraction) -> int:
    """The first candidate at which the noisy count is at most a noisy threshold; the last, where none is."""
    scale = 2 / epsilon
    threshold = round(8 / epsilon) + int(discrete_laplace(scale, 1)[0])
    noise = discrete_laplace(scale, len(beyond)).tolist()
    return next((at for at, x in enumerate(noise) if beyond[at] + x <= threshold), len(beyond) - 1)


def errors(values: Values, epsilon: Fraction, runs: int) -> dict[str, NDArray[np.float64]]:
    plan, total = planned(epsilon), int(values.sum())
    (search,) = plan.searches
    chosen = search.chosen
    assert chosen is not None
    with DuckDBEngine({"people": Data(frame=pd.DataFrame({"id": range(len(values)), "x": values}))}) as engine:
        scores = chosen.scores([int(count) for (count,) in engine.run(chosen.term, b"")])
        within = [plan.within([level]).measured for level in range(len(search.intervals))]
        sums = [int(engine.run(one.term, b"")[0, 0]) for one in within if one is not None]
    scales = [one.parts[0].scale for one in within if one is not None]
    beyond = [score - chosen.penalty * level for level, score in enumerate(scores)]

    def off(level: int) -> int:
        return sums[level] + int(discrete_laplace(scales[level], 1)[0]) - total

    def clamped(high: int) -> NDArray[np.float64]:
        bias = int(np.minimum(values, high).sum()) - total
        return np.array([bias + int(x) for x in discrete_laplace(high / epsilon, runs)], dtype=float)

    ends = [int(high) for _, high in search.intervals]
    best = min(ends, key=lambda high: (int(np.minimum(values, high).sum()) - total) ** 2 + 2 * (high / epsilon) ** 2)
    found = {
        "automatic": [off(noisy_minimum(scores, chosen.scale)) for _ in range(runs)],
        "vector": [off(vector(beyond, chosen.cost.epsilon)) for _ in range(runs)],
        "true maximum": clamped(int(values.max())),
        "10^9": clamped(SAFE),
        "oracle": clamped(best),
    }
    return {name: np.abs(np.array(off, dtype=float)) / total for name, off in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--share", type=Fraction, default=automatic.SHARE)
    parser.add_argument("--level", type=Fraction, default=automatic.LEVEL)
    given = parser.parse_args()
    automatic.SHARE, automatic.LEVEL = given.share, given.level
    print(f"share {given.share}, level {given.level}, {given.runs} runs; errors in % of the sum")
    head = f"{'values':20} {'n':>7} {'ε':>4}  {'RMSE: automatic':>15} {'vector':>9} {'true max':>9} {'10^9':>9}"
    print(head + f" {'oracle':>8}   {'median: automatic':>17} {'vector':>8}   {'most: automatic':>15} {'vector':>9}")
    for n in (1000, 10_000, 100_000):
        for name, drawn in data(np.random.default_rng(n)).items():
            values = drawn(n)
            for epsilon in (Fraction(1, 10), Fraction(1)):
                if n * epsilon < 1000:
                    continue
                found = {way: 100 * off for way, off in errors(values, epsilon, given.runs).items()}
                rmse = {way: float(np.sqrt(np.mean(off**2))) for way, off in found.items()}
                line = f"{name:20} {n:7} {float(epsilon):4}  {rmse['automatic']:15.3g} {rmse['vector']:9.3g}"
                line += f" {rmse['true maximum']:9.3g} {rmse['10^9']:9.3g} {rmse['oracle']:8.3g}"
                line += f"   {np.median(found['automatic']):17.3g} {np.median(found['vector']):8.3g}"
                print(line + f"   {found['automatic'].max():15.3g} {found['vector'].max():9.3g}")


if __name__ == "__main__":
    main()
