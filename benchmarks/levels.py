"""How far CUBE and ROLLUP are off: the finest groups added up, and what is planned, by the noise that is drawn.

    python benchmarks/levels.py [RUNS]

Of each grouping set the root of the mean squared error of its rows, of counts whose truth is 0 everywhere - noise knows
nothing of it - beside what least squares alone come to, without whole numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from privql.finish.consistent import Marginal, reconciled, whole
from privql.noise.laplace import discrete_laplace
from privql.plan.levels import Set, best, variances
from privql.plan.spend import fractions_of

ROLLUP = [frozenset(range(at)) for at in range(4)]


def cube(keys: int) -> list[Set]:
    return [frozenset(one) for size in range(keys + 1) for one in combinations(range(keys), size)]


CASES: list[tuple[str, tuple[int, ...], list[Set]]] = [
    ("CUBE 2 x 12", (2, 12), cube(2)),
    ("CUBE 5 x 20 x 3", (5, 20, 3), cube(3)),
    ("CUBE 31 x 31", (31, 31), cube(2)),
    ("ROLLUP 10, 10, 10", (10, 10, 10), ROLLUP),
    ("GROUPING SETS (5), (20), (3)", (5, 20, 3), [frozenset((0,)), frozenset((1,)), frozenset((2,))]),
]


def drawn(sizes: Sequence[int], sets: Sequence[Set], shares: dict[Set, Fraction], epsilon: Fraction) -> list[float]:
    """The squared errors of each set's rows, in the mean."""
    measured = []
    for one, share in shares.items():
        shape = tuple(size if at in one else 1 for at, size in enumerate(sizes))
        scale = 1 / (epsilon * share)
        noise = discrete_laplace(scale, math.prod(shape)).astype(object).reshape(shape)
        measured.append(Marginal(one, noise, scale))
    made = whole(*reconciled(sizes, measured), sets)
    every = [made.sum(axis=tuple(set(range(len(sizes))) - one)) for one in sets]
    return [float(np.mean(np.ravel(one).astype(float) ** 2)) for one in every]


def line(sizes: tuple[int, ...], sets: list[Set], shares: dict[Set, Fraction], epsilon: Fraction, runs: int) -> str:
    found = np.sqrt(np.mean([drawn(sizes, sets, shares, epsilon) for _ in range(runs)], axis=0))
    q = {one: math.exp(-epsilon * share) for one, share in shares.items()}
    told = variances(sizes, sets, {one: 2 * each / (1 - each) ** 2 for one, each in q.items()})
    return "  ".join(f"{met:8.2f} ({math.sqrt(of):.2f})" for met, of in zip(found, told, strict=True))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for name, sizes, sets in CASES:
        full = frozenset(range(len(sizes)))
        among = tuple((one, 1.0) for one in dict.fromkeys((full, *sets)))
        parts = best(sizes, tuple(sets), among)
        planned = dict(zip(parts, fractions_of(list(parts.values())), strict=True))
        print(f"{name}: rows by {[sorted(one) for one in sets]}")
        print(f"  measured: {', '.join(f'{float(share):.3f} by {sorted(one)}' for one, share in planned.items())}")
        for epsilon in (Fraction(1, 10), Fraction(1)):
            print(f"  ε = {float(epsilon):3}  finest  {line(sizes, sets, {full: Fraction(1)}, epsilon, runs)}")
            print(f"           planned {line(sizes, sets, planned, epsilon, runs)}")


if __name__ == "__main__":
    main()
