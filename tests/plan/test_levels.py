"""Which marginals are measured: the error that is made least is that of the explicit matrix, and less is not found by
trying every choice of marginals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

from privql.diagnostics import Source
from privql.kernel.cost import Cost
from privql.kernel.gaussian import greatest_mu
from privql.kernel.measure import Together
from privql.kernel.sums import cells
from privql.pipeline.check import check_text
from privql.pipeline.steps import levels_of
from privql.plan.levels import Set, Split, best, intersections
from privql.plan.program import BlockPlan
from tests.finish.test_consistent import matrix, subsets
from tests.soundness.world import environment

ENV = environment()


def problems(seed: int, count: int) -> Iterator[tuple[tuple[int, ...], tuple[Set, ...], random.Random]]:
    choice = random.Random(seed)
    for _ in range(count):
        keys = choice.choice((1, 2, 2, 3))
        sizes = tuple(choice.choice((1, 2, 3, 5, 12, 31, 100)) for _ in range(keys))
        rollup = [frozenset(range(at)) for at in range(keys + 1)]
        some = choice.sample(subsets(keys), choice.randint(1, 2**keys))
        yield sizes, tuple(choice.choice((rollup, subsets(keys), some))), choice


def candidates(sizes: Sequence[int], asked: Sequence[Set]) -> list[Set]:
    return list(dict.fromkeys([frozenset(range(len(sizes))), *asked]))


def split(sizes: tuple[int, ...], asked: tuple[Set, ...], gains: dict[Set, float], power: int = 2) -> Split:
    return Split(sizes, asked, intersections(list(gains)), gains, power)


@pytest.mark.parametrize("power", [1, 2])
def test_the_error_is_that_of_the_matrix(power: int) -> None:
    choice, finite = random.Random(1), 0
    for _ in range(80):
        sizes = tuple(choice.choice((1, 2, 3, 4)) for _ in range(choice.randint(1, 3)))
        asked = tuple(choice.sample(subsets(len(sizes)), choice.randint(1, 2 ** len(sizes))))
        gains = {one: choice.choice((1.0, 1.0, 4.0)) for one in candidates(sizes, asked)}
        parts = {one: choice.random() for one in gains if choice.random() < 0.7} or {next(iter(gains)): 1.0}
        told = split(sizes, asked, gains, power).error(parts)
        whole = sum(parts.values())
        weighed = {one: math.sqrt((part / whole) ** power * gains[one]) for one, part in parts.items()}
        design = np.concatenate([matrix(one, sizes) * part for one, part in weighed.items()])
        if told == math.inf:
            assert any(not any(one <= of for of in parts) for one in asked)
            continue
        covariance = np.linalg.pinv(design.T @ design)
        assert np.allclose(told, sum(np.trace(by @ covariance @ by.T) for by in (matrix(one, sizes) for one in asked)))
        finite += 1
    assert finite > 30


@pytest.mark.parametrize("power", [1, 2])
def test_no_choice_of_marginals_is_much_better(power: int) -> None:
    several = 0
    for sizes, asked, choice in problems(2, 60):
        gains = dict.fromkeys(candidates(sizes, asked), 1.0)
        tried = split(sizes, asked, gains, power)
        found = best(sizes, asked, tuple(gains.items()), power)
        assert abs(sum(found.values()) - 1) < 1e-9
        several += len(found) > 1
        least = tried.error({frozenset(range(len(sizes))): 1.0})
        for size in range(1, len(gains) + 1):
            for some in combinations(gains, size):
                start = {one: tried.size(one) ** (1 / 3) * choice.uniform(0.5, 2) for one in some}
                if tried.error(start) < math.inf:
                    least = min(least, tried.error(tried.settled(start)))
        assert tried.error(found) <= least * 1.005
    assert several > 15


CUBE = [*chain.from_iterable(combinations(range(3), size) for size in range(4))]


@pytest.mark.parametrize(
    ("sizes", "asked", "gains"),
    [
        ((1, 12, 3, 2), [(), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)], (1, 2, 2, 1, 2)),
        ((31, 1, 5), CUBE, (1, 2, 4, 2, 1, 4, 1, 1)),
        ((31, 12, 1000), CUBE, (1, 4, 1, 1, 2, 2, 1, 2)),
        ((31, 2, 1), CUBE, (1, 1, 1, 2, 1, 4, 2, 4)),
        ((100, 100), [(1,), (), (0, 1), (0,)], (2, 2, 1, 1)),
        ((1000, 12, 1000, 3), [(0, 1, 2, 3), (0,), (3,), (1, 3), (0, 2, 3), (2, 3)], (1, 1, 1, 1, 2, 4)),
    ],
)
def test_what_is_taken_in_and_left_out_is_tried_from_both_ends(
    sizes: tuple[int, ...], asked: list[tuple[int, ...]], gains: tuple[int, ...]
) -> None:
    """Leaving out alone ends with more of an error here, or taking in alone, or beginning with all of them alone."""
    sets = tuple(map(frozenset, asked))
    of = dict(zip(candidates(sizes, sets), map(float, gains), strict=True))
    tried, found = split(sizes, sets, of), best(sizes, sets, tuple(of.items()))
    starts = [dict.fromkeys(some, 1.0) for size in range(1, 4) for some in combinations(of, size)]
    least = min(tried.error(tried.settled(start)) for start in starts if tried.error(start) < math.inf)
    assert tried.error(found) <= least * 1.001


@pytest.mark.parametrize("power", [1, 2])
def test_what_is_settled_is_where_no_small_change_is_better(power: int) -> None:
    for sizes, asked, choice in problems(3, 60):
        gains = {one: choice.choice((1.0, 4.0)) for one in candidates(sizes, asked)}
        tried, found = split(sizes, asked, gains, power), best(sizes, asked, tuple(gains.items()), power)
        for _ in range(5):
            near = {one: part * choice.uniform(0.98, 1.02) for one, part in found.items()}
            assert tried.error(near) >= tried.error(found) * (1 - 1e-9)


def test_what_has_very_many_sets_is_measured_at_once_by_its_finest_groups() -> None:
    keys = 12
    every = tuple(map(frozenset, chain.from_iterable(combinations(range(keys), size) for size in range(keys + 1))))
    found = best((2,) * keys, every, tuple((one, 1.0) for one in (frozenset(range(keys)), *every)))
    assert found == {frozenset(range(keys)): 1.0}


def planned(sets: str, asked: str = "COUNT(*)", table: str = "people", end: str = "SPEND EPSILON 1/7") -> BlockPlan:
    check, _ = next(iter(check_text(Source(f"SELECT {asked} FROM {table} GROUP BY {sets} {end}"), ENV)))
    assert check.ok and check.plan is not None, check.diagnostics
    (block,) = check.plan.blocks
    return block


@pytest.mark.parametrize(
    "sets", ["ROLLUP (a, d, b)", "GROUPING SETS ((a), (d))", "CUBE (s, k)", "CUBE (a, s)", "GROUPING SETS (a, ())"]
)
@pytest.mark.parametrize("table", ["people", "dues"])
@pytest.mark.parametrize("asked", ["COUNT(*)", "AVG(b), STDDEV(f), SUM(c), COUNT(*)"])
def test_the_shares_add_up_to_what_is_spent(sets: str, table: str, asked: str) -> None:
    block = planned(sets, asked, table)
    assert sum(one.share for one in block.marginals) == 1 and all(one.share > 0 for one in block.marginals)
    made = [block.measured, *block.beside]
    assert sum(one.cost.epsilon for one in made if one is not None) == Fraction(1, 7)
    levels = levels_of(block)
    assert [level.keys for level in levels] == [one.keys for one in block.marginals]
    for at, one in enumerate(block.measurements):
        parts, cell = block.parts(at), sum(cells(other.contribution) for other in block.measurements[:at])
        scales = [part.scale for _, part in parts] or [one.scale]
        assert [level.scales[cell] for level in levels] == scales
        assert one.split == (len(block.marginals) > 1) == bool(parts)
        assert not parts or sum(part.epsilon.constant for _, part in parts) == one.epsilon.constant
        for (_, part), each in zip(parts, made, strict=False):
            assert each is not None and each.parts[at].scale == part.scale


@pytest.mark.parametrize("sets", ["ROLLUP (a, d, b)", "GROUPING SETS ((a), (d))", "CUBE (s, k)", "CUBE (a, s)"])
@pytest.mark.parametrize("table", ["people", "dues"])
@pytest.mark.parametrize("asked", ["COUNT(*)", "AVG(b), STDDEV(f), SUM(c), COUNT(*)"])
def test_gaussian_levels_share_one_price(sets: str, table: str, asked: str) -> None:
    block = planned(sets, asked, table, "SPEND EPSILON 1/7 DELTA 1e-9 USING GAUSSIAN")
    assert sum(one.share for one in block.marginals) == 1 and len(block.marginals) > 1
    (made,) = block.all_over(None)
    assert isinstance(made, Together) and made.cost == Cost(Fraction(1, 7), Fraction(1, 10**9))
    bought = greatest_mu(made.cost.epsilon, made.cost.delta) ** 2
    squares = [one.mu_squared for one in made.of if one.mu_squared is not None]
    assert len(squares) == len(block.marginals) and bought * (1 - Fraction(1, 10**6)) < sum(squares) <= bought
    levels = levels_of(block)
    for at, one in enumerate(block.measurements):
        cell = sum(cells(other.contribution) for other in block.measurements[:at])
        scales = [part.scale for _, part in block.parts(at)]
        assert [level.scales[cell] for level in levels] == scales == [each.parts[at].scale for each in made.of]
        assert sum(part.epsilon.constant for _, part in block.parts(at)) == one.epsilon.constant
        assert sum(part.delta for _, part in block.parts(at)) == one.delta


def test_one_set_of_all_keys_is_measured_as_ever() -> None:
    assert planned("a, d").marginals == () and planned("a, d").beside == ()


def test_what_is_promised_is_promised_of_the_finest_groups() -> None:
    for asked, end in (
        ("COUNT(*)", "WITHIN 20"),
        ("COUNT(* WITHIN 20), SUM(b)", "SPEND EPSILON 50"),
        ("COUNT(* WITHIN 20)", "SPEND DELTA 1e-9 USING GAUSSIAN"),
    ):
        block = planned("GROUPING SETS ((a), (d))", asked, end=end)
        assert [one.keys for one in block.marginals] == [(0, 1)] and not block.beside


def test_a_parameter_may_still_have_no_value() -> None:
    block = planned("GROUPING SETS ((a), (d))", end="SPEND EPSILON $e")
    assert block.measured is None and len(block.marginals) == 2
    assert [str(part.epsilon) for _, part in block.parts(0)] == [f"{one.share}*$e" for one in block.marginals]


def test_a_lone_group_may_be_moved_by_less() -> None:
    """One changed person moves two groups by one each, but a total by one: half as much noise at the same price."""
    sizes, total, full = (12, 6), frozenset[int](), frozenset((0, 1))
    for table, gain in (("people", 1.0), ("members", 2.0)):
        block = planned("GROUPING SETS ((a, d), ())", table=table, end="SPEND EPSILON 1 DELTA 1e-9 USING GAUSSIAN")
        shares = best(sizes, (full, total), ((full, 1.0), (total, gain)), 1)
        assert all(abs(one.share - Fraction(shares[frozenset(one.keys)])) < 1e-3 for one in block.marginals)
    for table, gain in (("people", 1.0), ("members", 4.0)):
        block = planned("GROUPING SETS ((a, d), ())", table=table)
        shares = best(sizes, (full, total), ((full, 1.0), (total, gain)))
        assert all(abs(one.share - Fraction(shares[frozenset(one.keys)])) < 1e-3 for one in block.marginals)
        ((level, part),) = [(one, one.parts[0]) for one in block.beside]
        assert not level.term.keys and part.sensitivity.l1 == 1
