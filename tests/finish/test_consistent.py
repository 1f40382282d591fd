"""Noisy marginals made one: what the closed form gives is what generalised least squares gives on the explicit matrix;
whole numbers stay near, and every total is the sum of its parts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privql.check.relations import Block
from privql.domains import interval
from privql.finish.cells import finish_block
from privql.finish.consistent import Marginal, reconciled, whole
from privql.finish.recipe import Level, Recipe
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import FLOAT, INT, TEXT, decimal
from privql.kernel.sums import Balance
from privql.plan.levels import Set, variances
from tests.finish.shapes import ZERO, aggregate, block, key


def subsets(keys: int) -> list[Set]:
    every = chain.from_iterable(combinations(range(keys), size) for size in range(keys + 1))
    return [frozenset(one) for one in every]


def matrix(of: Set, sizes: Sequence[int]) -> Any:
    """What adds the finest groups up to those of some keys."""
    made: Any = np.ones((1, 1))
    for at, size in enumerate(sizes):
        made = np.kron(made, np.eye(size) if at in of else np.ones((1, size)))
    return made


def cells(of: Set, sizes: Sequence[int], choice: random.Random, wide: int = 100) -> Any:
    shape = tuple(size if at in of else 1 for at, size in enumerate(sizes))
    return np.array([choice.randint(-wide, wide) for _ in range(prod(shape))], dtype=object).reshape(shape)


def families(seed: int, count: int) -> Iterator[tuple[tuple[int, ...], list[Marginal], random.Random]]:
    choice = random.Random(seed)
    for _ in range(count):
        sizes = tuple(choice.choice((1, 2, 2, 3, 4)) for _ in range(choice.choice((1, 2, 2, 3, 3))))
        sets = choice.sample(subsets(len(sizes)), choice.randint(1, min(5, 2 ** len(sizes))))
        scales = [Fraction(choice.randint(1, 40), choice.randint(1, 7)) for _ in sets]
        yield sizes, [Marginal(of, cells(of, sizes, choice), s) for of, s in zip(sets, scales, strict=True)], choice


def test_the_closed_form_is_generalised_least_squares() -> None:
    """Of the tables that fit equally well, the one without any interaction that nobody measured."""
    several = 0
    for sizes, measured, _ in families(1, 150):
        design = np.concatenate([matrix(one.keys, sizes) / float(one.scale) for one in measured])
        seen = np.concatenate([one.cells.ravel().astype(float) / float(one.scale) for one in measured])
        wanted = np.linalg.lstsq(design, seen, rcond=None)[0]
        found, over = reconciled(sizes, measured)
        assert np.allclose([float(Fraction(int(x), over)) for x in found.ravel()], wanted, rtol=0, atol=1e-8)
        several += len(measured) > 1
    assert several > 60


def test_the_variance_that_is_told_is_that_of_the_matrix() -> None:
    for sizes, measured, choice in families(2, 80):
        design = np.concatenate([matrix(one.keys, sizes) / float(one.scale) for one in measured])
        covariance = np.linalg.pinv(design.T @ design)
        within = [one for one in subsets(len(sizes)) if any(one <= of.keys for of in measured)]
        asked = choice.sample(within, choice.randint(1, len(within)))
        told = variances(sizes, asked, {one.keys: float(one.scale) ** 2 for one in measured})
        for one, variance in zip(asked, told, strict=True):
            by = matrix(one, sizes)
            assert np.allclose(np.diag(by @ covariance @ by.T), variance, rtol=1e-9)


def test_what_has_no_noise_comes_out_as_it_is() -> None:
    for sizes, measured, choice in families(3, 60):
        full = frozenset(range(len(sizes)))
        truth = cells(full, sizes, choice, 10**30)  # of any size
        exact = [
            Marginal(one.keys, truth.sum(axis=tuple(full - one.keys), keepdims=True), one.scale) for one in measured
        ]
        found, over = reconciled(sizes, [*exact, Marginal(full, truth, Fraction(3, 7))])
        assert (found == truth * over).all() and (whole(found, over, subsets(len(sizes))) == truth).all()


@pytest.mark.parametrize("kind", ["rollup", "cube", "any"])
def test_whole_numbers_stay_near_in_every_set(kind: str) -> None:
    choice = random.Random(kind)
    for _ in range(60):
        sizes = tuple(choice.choice((1, 2, 3, 7)) for _ in range(choice.randint(1, 4)))
        keys = choice.sample(range(len(sizes)), len(sizes))
        sets = [frozenset(keys[:at]) for at in range(len(keys) + 1)]
        sets = sets if kind == "rollup" else subsets(len(sizes))
        if kind == "any":
            sets = choice.sample(sets, choice.randint(1, len(sets)))
        table, over = cells(frozenset(range(len(sizes))), sizes, choice, 10**6), choice.choice((1, 2, 7, 1000))
        rounded = whole(table, over, sets)
        assert all(isinstance(one, int) for one in rounded.ravel()) and rounded.shape == sizes
        for one in sets:
            left_out = tuple(set(range(len(sizes))) - one)
            off = rounded.sum(axis=left_out) * over - table.sum(axis=left_out)
            most = 1 if kind == "rollup" else Fraction(2 ** len(one), 2)
            assert max(map(abs, np.ravel(off))) <= most * over
        assert abs(rounded.sum() * over - table.sum()) * 2 <= over


NAMES = ("c1", "c2", "c3")
STEPS = Steps(ZERO, Fraction(1, 4), -3, 9)
MEASURED = (
    Recipe(Tally(), 0, Fraction(2), INT),
    Recipe(Total(STEPS), 1, Fraction(8), decimal(38, 2)),
    Recipe(Balance(STEPS), 2, Fraction(5), INT, "count"),
    Recipe(Balance(STEPS), 2, Fraction(5), decimal(38, 2), "sum"),
    Recipe(Balance(STEPS), 2, Fraction(5), FLOAT, "mean"),
)
WIDTH = 4


def rolled(sizes: Sequence[int], sets: Sequence[Sequence[int]]) -> Block:
    keys = tuple(
        key(name, TEXT, *[f"{at}" for at in range(size - 1)], None) for name, size in zip(NAMES, sizes, strict=False)
    )
    made = tuple(aggregate(f"a{at}", "sum", one.type) for at, one in enumerate(MEASURED))
    made = (*made[:-1], replace(made[-1], domain=interval(Fraction(-3, 4), Fraction(9, 4), True, None)))
    groupings = (("w", tuple(range(len(keys)))),)
    return replace(block(0, keys, made), sets=tuple(map(tuple, sets)), groupings=groupings)


@st.composite
def answered(draw: st.DrawFn) -> tuple[Block, list[list[int]], list[Level]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    every = [tuple(sorted(one)) for one in subsets(len(sizes))]
    asked = draw(st.lists(st.sampled_from(every), min_size=1, max_size=6))
    more = draw(st.lists(st.sampled_from(every), max_size=3))
    measured = list(dict.fromkeys([*more, *asked]))
    scales = st.fractions(Fraction(1, 9), 50, max_denominator=9)
    levels = [Level(one, tuple(draw(scales) for _ in range(WIDTH))) for one in measured]
    shape = rolled(sizes, asked)
    rows = sum(level.groups(shape) for level in levels)
    cell = st.integers(-(10**5), 10**5) | st.integers(-(2**70), 2**70)
    return shape, [[draw(cell) for _ in range(WIDTH)] for _ in range(rows)], levels


@settings(max_examples=60, deadline=None, derandomize=True)
@given(answered())
def test_every_total_is_the_sum_of_its_parts(made: tuple[Block, list[list[int]], list[Level]]) -> None:
    shape, noisy, levels = made
    table = finish_block(shape, MEASURED, noisy, None, levels)
    keys = len(shape.keys)
    where = {of: sum(1 << (keys - 1 - at) for at in range(keys) if at not in of) for of in shape.sets}
    expected = [prod(len(shape.keys[at].members or ()) for at in of) for of in shape.sets]
    assert len(table.rows) == sum(expected) and [id for id, _ in table.columns][-1] == "w"
    for fine, coarse in product(set(shape.sets), repeat=2):
        if set(coarse) < set(fine):
            for column in range(keys, keys + 4):  # a mean is no sum
                parts: dict[tuple[object, ...], list[Any]] = {}
                for row in rows_of(table.rows, where[fine], shape.sets.count(fine)):
                    part = tuple(value if at in coarse else None for at, value in enumerate(row[:keys]))
                    parts.setdefault(part, []).append(row[column])
                totals = {row[:keys]: row[column] for row in rows_of(table.rows, where[coarse], 1)}
                assert totals.keys() == parts.keys()
                for group, total in totals.items():
                    known = [one for one in parts[group] if one is not None]
                    if total is not None and len(known) == len(parts[group]):  # beyond its type's range there is none
                        assert total == sum(known)


def rows_of(rows: Sequence[tuple[object, ...]], mask: int, times: int) -> list[tuple[object, ...]]:
    """Those of one set: once, where it is asked for several times."""
    found = [row for row in rows if row[-1] == mask]
    return found[: len(found) // times] if times > 1 else list(dict.fromkeys(found))
