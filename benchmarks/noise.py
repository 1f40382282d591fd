"""How fast and how true the noise is: bulk draws beside OpenDP's, the cost of a small call, and a long chi-square.

    python benchmarks/noise.py [--peer-python PATH] [--chi2] [--draws N] [--repeats N]

The peer is OpenDP's vector Laplace over integers, its fastest route to many draws, run by another interpreter that
has it (`--peer-python`, or PRIVQL_PEERS). Times are medians; ratios are taken within this run.
"""

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from privql.kernel import tails
from privql.noise.laplace import discrete_laplace

SCALES = [Fraction(1), Fraction(10), Fraction(1000), Fraction(10**7), Fraction(2**43)]
GOAL = 50
CALLS = 500

PEER = """
import sys, time
from importlib.metadata import version
import opendp.prelude as dp
dp.enable_features("contrib")
scale, draws = float(sys.argv[1]), int(sys.argv[2])
space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
measure, zeros = dp.m.make_laplace(*space, scale), [0] * draws
print(version("opendp"), flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    measure(zeros)
    print(time.perf_counter() - start, flush=True)
"""


class Peer:
    """OpenDP at one scale in a process of its own, made to draw once whenever it is asked."""

    def __init__(self, python: str, scale: Fraction, draws: int) -> None:
        command = [python, "-c", PEER, str(float(scale)), str(draws)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.draws = draws
        self.version = self._line()

    def draw(self) -> float:
        """Seconds a draw."""
        assert self.process.stdin is not None
        self.process.stdin.write("draw\n")
        return float(self._line()) / self.draws

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def timed(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def bulk(draws: int, peer_draws: int, repeats: int, python: str | None) -> None:
    if python is None:
        print("no peer: name an interpreter that has OpenDP (--peer-python or PRIVQL_PEERS) to see it beside")
    print(f"bulk: {draws:,} draws a call (peer: {peer_draws:,}), median of {repeats}")
    print(
        f"{'scale':>16} {'build ms':>9} {'ns/draw':>8} {'peer ns/draw':>13} {'ratio':>6}   goal {GOAL}, against OpenDP"
    )
    for scale in SCALES:
        start = time.perf_counter()
        discrete_laplace(scale, 1)
        build = time.perf_counter() - start
        peer = Peer(python, scale, peer_draws) if python else None
        ours, theirs = [], []
        for _ in range(repeats):  # taking turns, so that a busy moment slows both
            ours.append(timed(partial(discrete_laplace, scale, draws), 3) / draws)
            if peer is not None:
                theirs.append(peer.draw())
        beside = f"{'-':>13} {'-':>6}"
        if peer is not None:
            beside = f"{median(theirs) * 1e9:>13.0f} {median(theirs) / median(ours):>6.0f}   {peer.version}"
            peer.end()
        print(f"{float(scale):>16.6g} {build * 1e3:>9.2f} {median(ours) * 1e9:>8.1f} {beside}")


def often(scale: Fraction, size: int) -> None:
    for _ in range(CALLS):
        discrete_laplace(scale, size)


def small_calls() -> None:
    print(f"\nsmall calls, warm, microseconds a call\n{'scale':>16} {'1 draw':>8} {'10':>8} {'100':>8}")
    for scale in SCALES:
        costs = [timed(partial(often, scale, size), 7) / CALLS for size in (1, 10, 100)]
        print(f"{float(scale):>16.6g} " + " ".join(f"{cost * 1e6:>8.1f}" for cost in costs))


def chi_square(draws: NDArray[np.int64], scale: Fraction) -> tuple[float, int]:
    """The statistic and its degrees of freedom, over bins a hundredth of the scale wide."""
    width, edge = max(1, int(scale / 100)), max(2, int(scale * 10))
    starts = np.arange(-edge, edge + 1, width)
    expected = np.diff([0.0, *(tails.cdf(int(start) - 1, scale) for start in starts), 1.0]) * draws.size
    seen = np.bincount(np.searchsorted(starts, draws, side="right"), minlength=starts.size + 1)
    thin = expected < 10
    if thin.any():
        seen = np.append(seen[~thin], seen[thin].sum())
        expected = np.append(expected[~thin], expected[thin].sum())
    return float(((seen - expected) ** 2 / expected).sum()), expected.size - 1


def p_value(statistic: float, freedom: int) -> float:
    """P[chi-square >= statistic], by Wilson and Hilferty's cube root."""
    spread = 2 / (9 * freedom)
    return math.erfc(((statistic / freedom) ** (1 / 3) - 1 + spread) / math.sqrt(2 * spread)) / 2


def long_chi_square(draws: int) -> None:
    print(f"\nchi-square over {draws:,} draws\n{'scale':>16} {'statistic':>10} {'freedom':>8} {'p':>8}")
    for scale in [Fraction(7, 3), *SCALES]:
        statistic, freedom = chi_square(discrete_laplace(scale, draws).astype(np.int64), scale)
        print(f"{float(scale):>16.6g} {statistic:>10.1f} {freedom:>8} {p_value(statistic, freedom):>8.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", default=os.environ.get("PRIVQL_PEERS"), help="an interpreter that has OpenDP")
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--peer-draws", type=int, default=200_000, help="its cost is linear, and long")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chi2", action="store_true", help="only the long chi-square")
    parser.add_argument("--chi2-draws", type=int, default=10_000_000)
    options = parser.parse_args()
    if not options.chi2:
        bulk(options.draws, options.peer_draws, options.repeats, options.peer_python)
        small_calls()
    long_chi_square(options.chi2_draws)


if __name__ == "__main__":
    main()
