"""The last integer arithmetic, from the columns of a result to cells: exact however many rows and steps there are."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest

from privql.audit.reference.relations import contributed
from privql.engines.interface import Cells
from privql.engines.sql.aggregates import HALF, Summed
from privql.engines.sql.cells import cells
from privql.engines.sql.emit import Statement
from privql.kernel.features import Steps, Tally, Total
from privql.kernel.scalars import INT, Field, Value
from privql.kernel.sums import Balance, Contribution, Hats, Key, Powers, Sums
from tests.engines.small import scan

_NARROW = 2**13  # where NULL may be summed as a bound, and taken off again
SEEDS = range(800)
COLUMNS = (("g", INT), ("x", INT), ("y", INT))
X, Y = (Field(name, INT) for name in "xy")
Row = dict[str, Value]
Weighted = list[tuple[int, Row]]  # so many rows of each


class Result:
    """As an engine would find it: sums by their halves, of groups in any order."""

    def __init__(self, groups: list[Weighted]) -> None:
        self.groups = groups
        self.columns: dict[str, list[int]] = {}

    def counted(self, rows: list[list[int]]) -> str:
        name = f"n{len(self.columns)}"
        self.columns[name] = [sum(each) for each in rows]
        return name

    def summed(self, rows: list[list[int]], null_as: int = 0, of: str = "", present: str = "") -> Summed:
        name = f"s{len(self.columns)}"
        totals = [sum(each) for each in rows]
        signs = [-1 if total < 0 else 1 for total in totals]
        self.columns[f"{name}_high"] = [sign * (abs(t) // HALF) for sign, t in zip(signs, totals, strict=True)]
        self.columns[f"{name}_low"] = [sign * (abs(t) % HALF) for sign, t in zip(signs, totals, strict=True)]
        return Summed(name, null_as, of, present)

    def of(self, contribution: Contribution) -> tuple[str | None, tuple[Summed, ...]]:
        match contribution:
            case Tally():
                return self.counted([[n for n, _ in rows] for rows in self.groups]), ()
            case Total(steps=steps) | Balance(steps=steps):
                there = self.counted([[n for n, row in rows if row["x"] is not None] for rows in self.groups])
                every = self.counted([[n for n, _ in rows] for rows in self.groups])
                null_as = steps.low if steps.high - steps.low < _NARROW else 0
                added = [
                    [n * (null_as if row["x"] is None else _within(row, steps)) for n, row in rows]
                    for rows in self.groups
                ]
                summed = self.summed(added, null_as, every, there)
                return (there if isinstance(contribution, Balance) else None), (summed,)
            case Powers(factors=factors):
                read = [each.value.name for each, _ in factors if isinstance(each.value, Field)]
                whole = [[(n, row) for n, row in rows if None not in map(row.get, read)] for rows in self.groups]
                found = []
                for powers in product(*(range(degree + 1) for _, degree in factors)):
                    terms = [
                        [n * prod((_within(row, s) - s.low) ** p for (s, _), p in zip(factors, powers, strict=True))
                         for n, row in rows]
                        for rows in whole
                    ]  # fmt: skip
                    found.append(terms)
                return self.counted(found[0]), tuple(self.summed(each) for each in found[1:])
            case Hats(steps=steps, knots=knots):
                narrowed = [Steps(X, steps.grid, max(steps.low, -knot), min(steps.high, knot)) for knot in knots]
                return None, tuple(
                    self.summed([[n * _within(row, each) for n, row in rows] for rows in self.groups])
                    for each in narrowed
                )


def _within(row: Row, steps: Steps) -> int:
    value = row[steps.value.name] if isinstance(steps.value, Field) else None
    return min(max(value, steps.low), steps.high) if isinstance(value, int) else 0


def found(sums: Sums, groups: list[Weighted], order: list[int]) -> Cells:
    result = Result([groups[at] for at in order])
    parts = [result.of(contribution) for contribution in sums.contributions]
    tallies, totals = zip(*parts, strict=True)
    columns = {name: np.array(values, dtype=np.int64) for name, values in result.columns.items()}
    return cells(sums, Statement("", {}, {}, tallies, totals), {"group_at": np.array(order, dtype=np.int64), **columns})


def steps(random: Random, most: int, field: Field = X) -> Steps:
    """In any part of the range of numbers."""
    width = random.randint(1, 2 ** random.choice((random.randint(1, most), most, min(most, 12))))
    low = random.choice((0, -width, -width // 2, random.randint(-(2**62), 2**62 - width), 2**62 - width, -(2**62)))
    return Steps(field, Fraction(1), low, low + width)


def contribution(random: Random) -> Total | Balance | Powers | Hats:
    match random.randrange(4):
        case 0:
            return Total(steps(random, 62))
        case 1:
            return Balance(steps(random, 62))
        case 2:
            degrees = random.choice(((1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2)))
            most = random.choice((2, 60 // sum(degrees)))
            return Powers(tuple((steps(random, most, f), d) for f, d in zip((X, Y), degrees, strict=False)))
        case _:
            far = 2 ** random.randint(0, 62)
            return Hats(Steps(X, Fraction(1), *random.choice(((0, far), (-far, 0)))))


def value(random: Random, ends: list[int]) -> Value:
    return random.choice(
        (None, 0, 0, *ends, *ends, random.choice(ends) + random.randint(-9, 9), random.randint(-(2**62), 2**62))
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_cells_are_exact_however_large(seed: int) -> None:
    random = Random(seed)
    one = contribution(random)
    factors = [each for each, _ in one.factors] if isinstance(one, Powers) else [one.steps]
    ends = [end for each in factors for end in (each.low, each.high)]
    many = random.choice((0, 1, 2, 3, 20, 40))
    groups: list[Weighted] = [
        [
            (random.randint(1, 2**many), {"x": value(random, ends), "y": value(random, ends)})
            for _ in range(random.choice((1, 1, 2, 3)))
        ]
        for _ in range(random.choice((1, 1, 2, 5)))
    ]
    sums = Sums(scan(COLUMNS), (Key(Field("g", INT), tuple(range(len(groups)))),), (Tally(), one))
    order = random.sample(range(len(groups)), random.choice((0, *(len(groups),) * 4)))
    wanted = [
        [
            sum(cell)
            for each in sums.contributions
            for cell in zip(*([n * c for c in contributed(each, row)] for n, row in rows), strict=True)
        ]
        for rows in groups
    ]
    nothing = [0] * sums.width
    expected = [rows if at in order else nothing for at, rows in enumerate(wanted)]
    got = found(sums, groups, order)
    assert got.tolist() == expected
    assert (got.dtype == np.int64) == all(-(2**63) <= cell < 2**63 for row in expected for cell in row)
