"""Every mechanism that draws anything: its sampler, its law written down another way, and a fault in its noise.

One that is new is a few lines here: what it draws as integers, P[X <= k] of what it should draw, and, where a sampler
may be given each word there is, how its own law is computed from them. `test_exact` and `test_chi_square` take it from
there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from privql.kernel import tails
from privql.kernel.picks import Way
from privql.kernel.selection import Count, Keep, keep_table
from privql.noise.entropy import Words, WordSource, system_words
from privql.noise.exponential import exponential
from privql.noise.flip import permute_and_flip
from privql.noise.gaussian import rounded_gaussian
from privql.noise.laplace import discrete_laplace
from privql.noise.minimum import noisy_minimum
from privql.noise.picks import picked
from privql.noise.selection import counted, kept
from tests.kernel import picks_law
from tests.mechanisms.words import Law, Sampler, law_of, law_of_several
from tests.noise.law import EXACT, decimal, pmf, power
from tests.noise.minimum_law import noisy_minimum_law

Draws = NDArray[np.int64]
LESS = Fraction(4, 5)  # of the noise: the fault that every check must see


@dataclass(frozen=True)
class Mechanism:
    name: str
    draw: Callable[[int], Draws]
    faulty: Callable[[int], Draws]  # the same with `LESS` of its noise
    edges: Sequence[int]  # outcomes are told apart as those below each of these, and those from the last one on
    below: Callable[[int], float]  # P[X < k]
    computed: Callable[[], Law] | None = None  # from all words that its sampler may be given
    chance: Callable[[Hashable], Fraction] | None = None  # P[X = k], far better than `computed` is known
    dear: int = 1  # how many times fewer draws are taken in a short run


def one(sampler: Callable[[WordSource], int]) -> Callable[[int], Draws]:
    """Drawn one by one, from words that the system gave in advance: to ask for each would take longer than to draw."""

    def draw(count: int) -> Draws:
        words = in_advance()
        return np.fromiter((sampler(words) for _ in range(count)), np.int64, count)

    return draw


def in_advance() -> WordSource:
    at, words = 0, system_words(0)

    def source(count: int) -> Words:
        nonlocal at, words
        if at + count > words.size:
            at, words = 0, system_words(max(count, 2**16))
        at += count
        return words[at - count : at]

    return source


# ---------------------------------------------------------------- discrete Laplace


def _laplace(scale: Fraction) -> Mechanism:
    width = max(1, int(scale / 40))
    edge = max(2, int(scale * 6))

    def first(source: Sampler) -> Hashable:
        return int(discrete_laplace(scale, 1, source=source)[0])

    small = scale <= 4
    return Mechanism(
        f"discrete_laplace {scale}",
        lambda count: discrete_laplace(scale, count).astype(np.int64),
        lambda count: discrete_laplace(scale * LESS, count).astype(np.int64),
        range(-edge, edge + 1, width),
        lambda k: tails.cdf(k - 1, scale),
        (lambda: law_of(first, 1)) if small else None,
        lambda k: Fraction(pmf(int(k), scale)),
    )


def _gaussian(sigma: Fraction) -> Mechanism:
    """Its law is put together of its parts in `test_exact_gaussian`."""
    width = max(1, int(sigma / 20))
    edge = max(1, int(sigma * 5))
    return Mechanism(
        f"rounded_gaussian {sigma}",
        lambda count: rounded_gaussian(sigma, count).astype(np.int64),
        lambda count: rounded_gaussian(sigma * LESS, count).astype(np.int64),
        range(-edge, edge + 1, width),
        lambda k: float(stats.norm.cdf((k - 0.5) / float(sigma))),
    )


# ---------------------------------------------------------------- the exponential mechanism, and what chooses among few


def _among(
    name: str,
    chances: Sequence[Fraction],
    draw: Callable[[int], Draws],
    faulty: Callable[[int], Draws],
    computed: Callable[[], Law],
    dear: int,
) -> Mechanism:
    """One of 0, 1, …"""
    added = [Fraction(0), *accumulate(chances)]
    return Mechanism(
        name,
        draw,
        faulty,
        range(1, len(chances)),
        lambda k: float(added[k]),
        computed,
        lambda k: chances[int(k)],
        dear,
    )


def shares(weights: Sequence[Decimal]) -> list[Fraction]:
    total = sum(map(Fraction, weights))
    return [Fraction(weight) / total for weight in weights]


def _exponential(runs: Sequence[tuple[int, int]], exponent: Fraction) -> Mechanism:
    weights = [EXACT.exp(-decimal(exponent * loss)) for n, loss in runs for _ in range(n)]
    return _among(
        f"exponential {runs} {exponent}",
        shares(weights),
        one(lambda source: exponential(runs, exponent, source=source)),
        one(lambda source: exponential(runs, exponent / LESS, source=source)),
        lambda: law_of(lambda source: exponential(runs, exponent, source=source), 8),
        16,
    )


def _minimum(scores: Sequence[int], scale: Fraction) -> Mechanism:
    return _among(
        f"noisy_minimum {scores} {scale}",
        noisy_minimum_law(scores, Fraction(power(scale, 1))),
        one(lambda source: noisy_minimum(scores, scale, source=source)),
        one(lambda source: noisy_minimum(scores, scale * LESS, source=source)),
        lambda: law_of_several(
            lambda source: noisy_minimum(scores, scale, source=source),
            lambda source: int(discrete_laplace(scale, 1, source=source)[0]),
            len(scores),
            Fraction(1, 10**5),
        ),
        8,
    )


def _kept(units: int, law: Keep) -> Mechanism:
    bits, chances = keep_table(law)
    share = Fraction(chances[units], 2**bits)
    worse = Keep(law.epsilon / LESS, law.delta)
    return _among(
        f"kept {units} {law.epsilon} {law.delta}",
        [1 - share, share],
        lambda count: np.array(kept([units] * count, law), dtype=np.int64),
        lambda count: np.array(kept([units] * count, worse), dtype=np.int64),
        lambda: law_of(lambda source: int(kept([units], law, source=source)[0]), 3),
        1,
    )


def _counted(units: int, law: Count) -> Mechanism:
    """0 where the group is not shown, else by how much its number exceeds the reach of the noise."""
    q, reach = Fraction(power(law.scale, 1)), law.reach
    whole = sum(q ** abs(x) for x in range(-reach, reach + 1))
    shown = [q ** abs(reach + by - units) / whole * (by <= units) for by in range(1, units + 1)]
    worse = replace(law, epsilon=law.epsilon / LESS)

    def by(found: int | None) -> int:
        return 0 if found is None else found - reach

    def less_noise(count: int) -> Draws:
        return np.array(
            [by(n) if n is None or n > reach else 0 for n in counted([units] * count, worse)], dtype=np.int64
        )

    return _among(
        f"counted {units} {law.epsilon} {law.delta}",
        [1 - sum(shown, Fraction(0)), *shown],
        lambda count: np.array([by(n) for n in counted([units] * count, law)], dtype=np.int64),
        less_noise,
        lambda: law_of(lambda source: by(counted([units], law, source=source)[0]), 3),
        1,
    )


# ---------------------------------------------------------------- the most frequent


def _flip(counts: Sequence[int], exponent: Fraction) -> Mechanism:
    return _among(
        f"permute_and_flip {counts} {exponent}",
        picks_law.one(counts, "FLIP", Fraction(power(1 / exponent, 1))),
        one(lambda source: permute_and_flip(counts, exponent, source=source)),
        one(lambda source: permute_and_flip(counts, exponent / LESS, source=source)),
        lambda: law_of(lambda source: permute_and_flip(counts, exponent, source=source), 8),
        16,
    )


def _picked(counts: Sequence[int], picks: int, way: Way, exponent: Fraction) -> Mechanism:
    """Several in order: the number of that order among all."""
    q = Fraction(round(Fraction(power(1 / exponent, 1)) * 2**96), 2**96)  # near enough, and quick to take to a power
    law = picks_law.law(tuple(counts), picks, way, q)
    orders = sorted(law)

    def draw(exponent: Fraction, source: WordSource) -> int:
        return orders.index(tuple(picked(counts, picks, way, exponent, source=source)))

    return _among(
        f"picked {picks} of {counts} {way} {exponent}",
        [law[order] for order in orders],
        one(lambda source: draw(exponent, source)),
        one(lambda source: draw(exponent / LESS, source)),
        (
            (lambda: law_of(lambda source: draw(exponent, source), 8))
            if way != "NOISY_MAX"
            else lambda: law_of_several(
                lambda source: draw(exponent, source),
                lambda source: int(discrete_laplace(1 / exponent, 1, source=source)[0]),
                len(counts),
                Fraction(1, 10**5),
            )
        ),
        16,
    )


@cache
def mechanisms() -> Mapping[str, Mechanism]:
    return {made.name: made for made in _all()}


def _all() -> Iterator[Mechanism]:
    for scale in ("1/4", "2/3", "7/3", "25", "80", "1000", "10000000"):
        yield _laplace(Fraction(scale))
    yield _exponential([(3, 0), (1, 2), (2, 1)], Fraction(1))
    yield _exponential([(20, 7), (1, 0), (5, 3), (2, 1)], Fraction(7, 10))
    yield _exponential([(4, 3000), (1, 1025), (4, 1024)], Fraction(1, 500))
    yield _minimum([3, 1, 2], Fraction(1))
    yield _minimum([0, 5], Fraction(3))
    yield _kept(8, Keep(Fraction(1), Fraction(1, 100)))
    yield _kept(30, Keep(Fraction(1, 3), Fraction(1, 10**6)))
    yield _counted(5, Count(Fraction(1), Fraction(1, 50)))
    for sigma in ("1/2", "10/3", "1000", "1000000000"):
        yield _gaussian(Fraction(sigma))
    yield _flip([0, 3, 2], Fraction(1, 2))
    yield _flip([7, 7, 5], Fraction(1))
    yield _picked([4, 2, 3], 1, "NOISY_MAX", Fraction(1))
    yield _picked([3, 4], 2, "FLIP", Fraction(1, 2))
    yield _picked([4, 2, 3], 2, "EXPONENTIAL", Fraction(1, 2))
    yield _picked([4, 2, 3], 2, "GUMBEL", Fraction(1, 2))
